//! Several sets at once: ZUNION, ZINTER, ZDIFF, their forms that store, and ZINTERCARD.

use super::{Shown, limit, record_stored_effects, stored};
use command::{Call, Outcome};
use session::{Args, Refusal};
use smallvec::SmallVec;
use std::ops::Range;
use store::value::sorted_set::{self, Aggregate, Gathered, Source};
use store::{Access, Element, Event, Key};

const ZUNIONSTORE: Event = Event::sorted_set("zunionstore");
const ZINTERSTORE: Event = Event::sorted_set("zinterstore");
const ZDIFFSTORE: Event = Event::sorted_set("zdiffstore");

const WEIGHT_NOT_FLOAT: Refusal = Refusal::of("ERR weight value is not a float");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Union,
    Intersection,
    Difference,
    /// Number of members of the intersection.
    Count,
}

/// Positions of the keys.
struct Keys {
    sources: Range<usize>,
    is_stored: bool,
}

/// Options behind the keys.
struct Options {
    weights: SmallVec<[f64; 4]>,
    aggregate: Aggregate,
    has_scores: bool,
    count_max: u64,
}

pub fn zunion(call: &mut Call<'_>) -> Outcome {
    show(call, Operation::Union)
}

pub fn zinter(call: &mut Call<'_>) -> Outcome {
    show(call, Operation::Intersection)
}

pub fn zdiff(call: &mut Call<'_>) -> Outcome {
    show(call, Operation::Difference)
}

pub fn zunionstore(call: &mut Call<'_>) -> Outcome {
    store(call, Operation::Union, ZUNIONSTORE)
}

pub fn zinterstore(call: &mut Call<'_>) -> Outcome {
    store(call, Operation::Intersection, ZINTERSTORE)
}

pub fn zdiffstore(call: &mut Call<'_>) -> Outcome {
    store(call, Operation::Difference, ZDIFFSTORE)
}

pub fn zintercard(call: &mut Call<'_>) -> Outcome {
    let keys = Keys::parse(call, 1)?;
    let args = call.args;
    let (mut access, all, reply) = call.on_keys(keys.sources.clone());
    let (sources, options) = read(&mut access, &all, args, &keys, Operation::Count)?;
    reply.integer(sorted_set::count_shared(sources, options.count_max) as i64);
    Ok(())
}

fn show(call: &mut Call<'_>, operation: Operation) -> Outcome {
    let keys = Keys::parse(call, 1)?;
    let args = call.args;
    let (mut access, all, reply) = call.on_keys(keys.sources.clone());
    let (sources, options) = read(&mut access, &all, args, &keys, operation)?;
    let combined = combine(operation, sources, options.aggregate);
    let shown = Shown::new(reply, options.has_scores);
    shown.begin(reply, combined.len() as u64);
    for (member, score) in combined {
        shown.write(reply, member, score);
        if reply.is_over_limit() {
            break;
        }
    }
    Ok(())
}

fn store(call: &mut Call<'_>, operation: Operation, event: Event) -> Outcome {
    let keys = Keys::parse(call, 2)?;
    let (args, limit) = (call.args, limit(call));
    let (mut access, all, reply) = call.on_keys(std::iter::once(1).chain(keys.sources.clone()));
    let mut gathered = Gathered::default();
    let is_rounded;
    {
        let (sources, options) = read(&mut access, &all[1..], args, &keys, operation)?;
        is_rounded = options.rounds_often(sources.len());
        let combined = combine(operation, sources, options.aggregate);
        combined.into_iter().for_each(|(member, score)| gathered.push(member, score));
    }
    let is_change = sorted_set::store(&mut access, &all[0], &mut gathered, limit)?;
    access.report_changes(u64::from(is_change), stored(event, &gathered), &all[0]);
    if is_change && is_rounded {
        record_stored_effects(&mut access, &all[0], &gathered);
    }
    reply.integer(gathered.len() as i64);
    Ok(())
}

fn combine<'x>(
    operation: Operation,
    sources: Vec<Source<'x>>,
    aggregate: Aggregate,
) -> Vec<(Element<'x>, f64)> {
    match operation {
        Operation::Union => sorted_set::union(sources, aggregate),
        Operation::Difference => sorted_set::difference(&sources),
        Operation::Intersection | Operation::Count => sorted_set::intersection(sources, aggregate),
    }
}

/// Reads the sets of the keys, and the options; errors of the sets come first.
fn read<'x>(
    access: &'x mut Access<'_>,
    keys: &[Key<'_>],
    args: Args<'_>,
    at: &Keys,
    operation: Operation,
) -> Result<(Vec<Source<'x>>, Options), Refusal> {
    let operands = sorted_set::read_all(access, keys)?;
    let options = Options::parse(args, at, operation)?;
    let weights = options.weights.iter().copied().chain(std::iter::repeat(1.0));
    let sources = operands.into_iter().zip(weights);
    let sources = sources.map(|(operand, weight)| Source { operand, weight }).collect();
    Ok((sources, options))
}

impl Keys {
    /// Reads the number of keys, which stands at `at` before them.
    fn parse(call: &Call<'_>, at: usize) -> Result<Keys, Refusal> {
        let count = call.args.integer(at)?;
        if count < 1 {
            let name = &call.row.full_name;
            let text = format!("ERR at least 1 input key is needed for '{name}' command");
            return Err(Refusal::new(text));
        }
        let (first, count) = (at + 1, usize::try_from(count).unwrap_or(usize::MAX));
        if count > call.args.len() - first {
            return Err(Refusal::SYNTAX);
        }
        Ok(Keys { sources: first..first + count, is_stored: at > 1 })
    }
}

impl Options {
    /// Returns true if a score of the result may be rounded more than once, so that it depends on
    /// the order.
    fn rounds_often(&self, sources: usize) -> bool {
        let is_sum = self.aggregate == Aggregate::Sum;
        is_sum && (sources > 2 || self.weights.iter().any(|weight| *weight != 1.0))
    }

    fn parse(args: Args<'_>, keys: &Keys, operation: Operation) -> Result<Options, Refusal> {
        let mut options = Options {
            weights: SmallVec::new(),
            aggregate: Aggregate::Sum,
            has_scores: false,
            count_max: u64::MAX,
        };
        let is_weighted = matches!(operation, Operation::Union | Operation::Intersection);
        let is_counted = operation == Operation::Count;
        let mut at = keys.sources.end;
        while at < args.len() {
            let left = args.len() - at - 1;
            if is_weighted && left >= keys.sources.len() && args.is(at, "WEIGHTS") {
                let words = at + 1..at + 1 + keys.sources.len();
                let weight = |at| text::parse_f64(args.get(at)).ok_or(WEIGHT_NOT_FLOAT);
                options.weights = words.map(weight).collect::<Result<_, _>>()?;
                at += keys.sources.len();
            } else if is_weighted && left >= 1 && args.is(at, "AGGREGATE") {
                options.aggregate = aggregate(args, at + 1)?;
                at += 1;
            } else if !keys.is_stored && !is_counted && args.is(at, "WITHSCORES") {
                options.has_scores = true;
            } else if is_counted && left >= 1 && args.is(at, "LIMIT") {
                let most = args.positive_or(at + 1, "ERR LIMIT can't be negative")?;
                options.count_max = if most == 0 { u64::MAX } else { most };
                at += 1;
            } else {
                return Err(Refusal::SYNTAX);
            }
            at += 1;
        }
        Ok(options)
    }
}

fn aggregate(args: Args<'_>, at: usize) -> Result<Aggregate, Refusal> {
    let named = [("SUM", Aggregate::Sum), ("MIN", Aggregate::Min), ("MAX", Aggregate::Max)];
    let found = named.into_iter().find(|(name, _)| args.is(at, name));
    found.map(|(_, aggregate)| aggregate).ok_or(Refusal::SYNTAX)
}
