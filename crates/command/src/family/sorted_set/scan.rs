//! Iterating in steps: ZSCAN.

use crate::args::Args;
use crate::call::{Call, Outcome};
use crate::element;
use crate::family::generic::scan::{INVALID_CURSOR, NO_VALUES, is_hopeless, parse_cursor, pattern};
use crate::refusal::Refusal;
use store::value::sorted_set;

/// Members that one call looks at unless COUNT says otherwise.
const COUNT: u64 = 10;

struct Options<'c> {
    count: u64,
    pattern: Option<&'c [u8]>,
    has_scores: bool,
}

pub fn zscan(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let cursor = parse_cursor(args.get(2)).ok_or(INVALID_CURSOR)?;
    let (mut access, key, reply) = call.on_key(1)?;
    let Some(set) = sorted_set::read(&mut access, &key)? else {
        reply.array(2);
        reply.bulk(b"0");
        reply.array(0);
        return Ok(());
    };
    let options = parse(args)?;
    let is_hopeless = is_hopeless(options.pattern);
    // The cursor stands in front of the members, and is known after them.
    let (mut members, mut found) = (Vec::new(), 0);
    let mut part = wire::Reply::new(&mut members, reply.protocol());
    let next = sorted_set::scan(&set, cursor, options.count, |member, score| {
        let matches = |pattern| member.with_text(|text| text::glob_match(pattern, text, false));
        if is_hopeless || !options.pattern.is_none_or(matches) {
            return;
        }
        element::bulk(&mut part, member);
        found += 1;
        if options.has_scores {
            // A string in every protocol.
            part.bulk(text::format_f64(score).as_bytes());
            found += 1;
        }
    });
    reply.array(2);
    reply.bulk(next.to_string().as_bytes());
    reply.array(found);
    reply.raw(&members);
    Ok(())
}

fn parse(args: Args<'_>) -> Result<Options<'_>, Refusal> {
    let mut options = Options { count: COUNT, pattern: None, has_scores: true };
    let mut at = 3;
    while at < args.len() {
        let has_value = at + 1 < args.len();
        if args.is(at, "COUNT") && has_value {
            let count = u64::try_from(args.integer(at + 1)?).ok().filter(|count| *count > 0);
            options.count = count.ok_or(Refusal::SYNTAX)?;
            at += 1;
        } else if args.is(at, "MATCH") && has_value {
            options.pattern = pattern(args.get(at + 1));
            at += 1;
        } else if args.is(at, "NOVALUES") {
            return Err(NO_VALUES);
        } else if args.is(at, "NOSCORES") {
            options.has_scores = false;
        } else {
            return Err(Refusal::SYNTAX);
        }
        at += 1;
    }
    Ok(options)
}
