//! Taking members from an end: ZPOPMIN, ZPOPMAX, ZMPOP.

use super::Shown;
use command::{Call, Outcome, effects};
use session::Refusal;
use store::value::sorted_set::{self, End};
use store::{Access, Element, Event, Fault, Key};
use wire::Reply;

const ZPOPMIN: Event = Event::sorted_set("zpopmin");
const ZPOPMAX: Event = Event::sorted_set("zpopmax");

pub fn zpopmin(call: &mut Call<'_>) -> Outcome {
    pop(call, End::Min)
}

pub fn zpopmax(call: &mut Call<'_>) -> Outcome {
    pop(call, End::Max)
}

fn pop(call: &mut Call<'_>, end: End) -> Outcome {
    let args = call.args;
    let count = match args.len() {
        2 => None,
        3 => Some(args.positive(2)?),
        _ => return Err(Refusal::SYNTAX.into()),
    };
    let (mut access, key, reply) = call.on_key(1);
    // Without a count the one member is not in an array of its own.
    let shown = if count.is_some() { Shown::new(reply, true) } else { Shown::Flat };
    let is_there = take(&mut access, &key, end, count, |count, pairs| {
        shown.begin(reply, count);
        pairs.for_each(|(member, score)| shown.write(reply, member, score));
    })?;
    if !is_there {
        reply.array(0);
    }
    Ok(())
}

/// Takes up to `count` members from an end of a set; `None` for one, without a count. Before they
/// are removed, `show` gets their number, and each with its score. Returns true if there is a set.
pub fn take(
    access: &mut Access<'_>,
    key: &Key<'_>,
    end: End,
    count: Option<u64>,
    show: impl FnOnce(u64, &mut dyn Iterator<Item = (Element<'_>, f64)>),
) -> Result<bool, Fault> {
    let popped = sorted_set::pop(access, key, end, count.unwrap_or(1), show)?;
    let taken = popped.unwrap_or(0);
    let event = if end == End::Min { ZPOPMIN } else { ZPOPMAX };
    access.report_removals(taken, event, key);
    let told = if taken == 0 { Some(0) } else { count.map(|_| taken) };
    match end {
        End::Min => effects::popped(access, key, b"ZPOPMIN", told),
        End::Max => effects::popped(access, key, b"ZPOPMAX", told),
    }
    Ok(popped.is_some())
}

pub fn zmpop(call: &mut Call<'_>) -> Outcome {
    let asked = ManyPop::parse(call, 1)?;
    let (mut access, keys, reply) = call.on_keys(asked.keys());
    if !asked.pop(&mut access, &keys, reply)? {
        reply.null_array();
    }
    Ok(())
}

/// Arguments of ZMPOP and BZMPOP.
pub struct ManyPop {
    first_key: usize,
    key_count: usize,
    end: End,
    count: u64,
}

impl ManyPop {
    /// Reads the arguments from the number of keys on, which stands at `at`.
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

    /// Pops from the first set that exists, and replies with its key and the members. Returns
    /// false, without a reply, if there is no set.
    pub fn pop(
        &self,
        access: &mut Access<'_>,
        keys: &[Key<'_>],
        reply: &mut Reply<'_>,
    ) -> Result<bool, Refusal> {
        for key in keys {
            let is_there = take(access, key, self.end, Some(self.count), |count, pairs| {
                reply.array(2);
                reply.bulk(key.bytes);
                reply.array(narrow::to_usize(count));
                pairs.for_each(|(member, score)| Shown::Nested.write(reply, member, score));
            })?;
            if is_there {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
