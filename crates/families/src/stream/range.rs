//! XRANGE and XREVRANGE.

use super::{entries, id};
use command::{Call, Outcome};
use session::Refusal;
use store::value::stream;

pub fn xrange(call: &mut Call<'_>) -> Outcome {
    range(call, 2, 3, false)
}

pub fn xrevrange(call: &mut Call<'_>) -> Outcome {
    range(call, 3, 2, true)
}

fn range(call: &mut Call<'_>, from: usize, to: usize, is_back: bool) -> Outcome {
    let args = call.args;
    let from = id::parse_start(args.get(from))?;
    let to = id::parse_end(args.get(to))?;
    let (mut count, mut at) = (None, 4);
    while at < args.len() {
        if !args.is(at, "COUNT") || at + 1 == args.len() {
            return Err(Refusal::SYNTAX.into());
        }
        count = Some(u64::try_from(args.integer(at + 1)?).unwrap_or(0));
        at += 2;
    }
    let (mut access, key, reply) = call.on_key(1);
    let Some(stream) = stream::read(&mut access, &key)? else {
        reply.array(0);
        return Ok(());
    };
    match count {
        Some(0) => reply.null_array(),
        _ if from > to => reply.array(0),
        count if is_back => {
            entries::write_all(reply, stream.range_back(from, to), count.unwrap_or(0));
        }
        count => entries::write_all(reply, stream.range(from, to), count.unwrap_or(0)),
    }
    Ok(())
}
