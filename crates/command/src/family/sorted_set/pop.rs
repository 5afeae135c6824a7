//! Taking members from an end: ZPOPMIN, ZPOPMAX, ZMPOP.

use super::Shown;
use crate::call::{Call, Outcome};
use crate::refusal::Refusal;
use store::value::sorted_set::{self, End};
use store::{Access, Key};
use wire::Reply;

pub fn zpopmin(call: &mut Call<'_>) -> Outcome {
    pop(call, End::Min)
}

pub fn zpopmax(call: &mut Call<'_>) -> Outcome {
    pop(call, End::Max)
}

fn pop(call: &mut Call<'_>, end: End) -> Outcome {
    let (args, statistics) = (call.args, call.statistics);
    let (count, is_counted) = match args.len() {
        2 => (1, false),
        3 => (args.positive(2)?, true),
        _ => return Err(Refusal::SYNTAX),
    };
    let (mut access, key, reply) = call.on_key(1)?;
    // Without a count the one member is not in an array of its own.
    let shown = if is_counted { Shown::new(reply, true) } else { Shown::Flat };
    let popped = sorted_set::pop(&mut access, &key, end, count, |count, pairs| {
        shown.begin(reply, count);
        pairs.for_each(|(member, score)| shown.write(reply, member, score));
    })?;
    match popped {
        Some(popped) => statistics.count_changes(popped),
        None => reply.array(0),
    }
    Ok(())
}

pub fn zmpop(call: &mut Call<'_>) -> Outcome {
    let asked = ManyPop::parse(call, 1)?;
    let statistics = call.statistics;
    let (mut access, keys, reply) = call.on_keys(asked.keys())?;
    match asked.pop(&mut access, &keys, reply)? {
        Some(popped) => statistics.count_changes(popped),
        None => reply.null_array(),
    }
    Ok(())
}

/// What ZMPOP and BZMPOP ask for.
pub struct ManyPop {
    first_key: usize,
    key_count: usize,
    end: End,
    count: u64,
}

impl ManyPop {
    /// Reads the words from the number of keys on, which stands at `at`.
    pub fn parse(call: &Call<'_>, at: usize) -> Result<ManyPop, Refusal> {
        let args = call.args;
        let key_count = args.at_least_one(at, "ERR numkeys should be greater than 0")?;
        let key_count = usize::try_from(key_count).unwrap_or(usize::MAX);
        let first_key = at + 1;
        let end_at = first_key.saturating_add(key_count);
        let end = match () {
            () if args.is(end_at, "MIN") => End::Min,
            () if args.is(end_at, "MAX") => End::Max,
            () => return Err(Refusal::SYNTAX),
        };
        let (mut count, mut at) = (None, end_at + 1);
        while at < args.len() {
            if count.is_some() || !args.is(at, "COUNT") || at + 1 == args.len() {
                return Err(Refusal::SYNTAX);
            }
            count = Some(args.at_least_one(at + 1, "ERR count should be greater than 0")?);
            at += 2;
        }
        Ok(ManyPop { first_key, key_count, end, count: count.unwrap_or(1) })
    }

    /// Positions of the keys.
    pub fn keys(&self) -> std::ops::Range<usize> {
        self.first_key..self.first_key + self.key_count
    }

    /// Pops from the first set that there is, and replies with its key and what was popped.
    /// Returns how many; `None`, without a reply, if there is no set.
    pub fn pop(
        &self,
        access: &mut Access<'_>,
        keys: &[Key<'_>],
        reply: &mut Reply<'_>,
    ) -> Result<Option<u64>, Refusal> {
        for key in keys {
            let popped = sorted_set::pop(access, key, self.end, self.count, |count, pairs| {
                reply.array(2);
                reply.bulk(key.bytes);
                reply.array(count as usize);
                pairs.for_each(|(member, score)| Shown::Nested.write(reply, member, score));
            })?;
            if popped.is_some() {
                return Ok(popped);
            }
        }
        Ok(None)
    }
}
