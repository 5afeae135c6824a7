//! Looking at lists: LLEN, LINDEX, LRANGE, LPOS.

use command::{Call, Outcome, element};
use session::Refusal;
use store::Element;
use store::value::list::{self, List};

pub fn llen(call: &mut Call<'_>) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    let len = list::read(&mut access, &key)?.map_or(0, |list| list.len());
    reply.integer(len as i64);
    Ok(())
}

pub fn lindex(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let (mut access, key, reply) = call.on_key(1);
    let Some(list) = list::read(&mut access, &key)? else {
        reply.null();
        return Ok(());
    };
    // A wrong number is reported only if the list exists.
    let at = list::position(list.len(), args.integer(2)?);
    element::bulk_or_null(reply, at.and_then(|at| list.get(at)));
    Ok(())
}

pub fn lrange(call: &mut Call<'_>) -> Outcome {
    let (start, end) = (call.args.integer(2)?, call.args.integer(3)?);
    let (mut access, key, reply) = call.on_key(1);
    let Some(list) = list::read(&mut access, &key)? else {
        reply.array(0);
        return Ok(());
    };
    let (from, count) = list::range(list.len(), start, end);
    reply.array(narrow::to_usize(count));
    element::bulks(reply, list.iter_from(from).take(narrow::to_usize(count)));
    Ok(())
}

const ZERO_RANK: Refusal = Refusal::of(
    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use \
     negative to start from the end of the list",
);

/// Arguments of LPOS.
struct Search<'c> {
    wanted: Element<'c>,
    rank: i64,
    count: Option<u64>,
    most_compared: u64,
}

impl<'c> Search<'c> {
    fn parse(call: &Call<'c>) -> Result<Search<'c>, Refusal> {
        let args = call.args;
        let wanted = Element::of(args.get(2));
        let mut search = Search { wanted, rank: 1, count: None, most_compared: 0 };
        let mut at = 3;
        while at < args.len() {
            let has_value = at + 1 < args.len();
            if args.is(at, "RANK") && has_value {
                search.rank = args.integer_above(at + 1, i64::MIN)?;
                if search.rank == 0 {
                    return Err(ZERO_RANK);
                }
            } else if args.is(at, "COUNT") && has_value {
                search.count = Some(args.positive_or(at + 1, "ERR COUNT can't be negative")?);
            } else if args.is(at, "MAXLEN") && has_value {
                search.most_compared = args.positive_or(at + 1, "ERR MAXLEN can't be negative")?;
            } else {
                return Err(Refusal::SYNTAX);
            }
            at += 2;
        }
        Ok(search)
    }

    /// Returns the positions of the wanted element, in the order in which they are met.
    fn in_list<'x>(&'x self, list: &List<'x>) -> Box<dyn Iterator<Item = u64> + 'x> {
        let most = match self.most_compared {
            0 => usize::MAX,
            most => usize::try_from(most).unwrap_or(usize::MAX),
        };
        let is_wanted = |(at, element): (u64, Element<'x>)| (element == self.wanted).then_some(at);
        let skipped = narrow::to_usize(self.rank.unsigned_abs()) - 1;
        if self.rank > 0 {
            let all = (0..).zip(list.iter_from(0));
            Box::new(all.take(most).filter_map(is_wanted).skip(skipped))
        } else {
            let last = list.len() - 1;
            let all = (0..=last).rev().zip(list.iter_back_from(last));
            Box::new(all.take(most).filter_map(is_wanted).skip(skipped))
        }
    }
}

pub fn lpos(call: &mut Call<'_>) -> Outcome {
    let search = Search::parse(call)?;
    let (mut access, key, reply) = call.on_key(1);
    let list = list::read(&mut access, &key)?;
    let mut found = list.iter().flat_map(|list| search.in_list(list));
    match search.count {
        None => match found.next() {
            Some(at) => reply.integer(at as i64),
            None => reply.null(),
        },
        Some(count) => {
            let most = if count == 0 { usize::MAX } else { narrow::to_usize(count) };
            let (mark, mut len) = (reply.deferred_array(), 0);
            for at in found.take(most) {
                if reply.is_over_limit() {
                    break;
                }
                reply.integer(at as i64);
                len += 1;
            }
            reply.close_array(mark, len);
        }
    }
    Ok(())
}
