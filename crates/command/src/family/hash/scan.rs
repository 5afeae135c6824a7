//! HSCAN.

use crate::args::Args;
use crate::call::{Call, Outcome};
use crate::family::generic::scan::{INVALID_CURSOR, NO_SCORES, parse_cursor};
use crate::refusal::Refusal;
use store::value::hash;

/// Fields that one HSCAN looks at unless COUNT says otherwise.
const COUNT: usize = 10;

struct Options<'c> {
    count: usize,
    pattern: Option<&'c [u8]>,
    with_values: bool,
}

pub fn hscan(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let cursor = parse_cursor(args.get(2)).ok_or(INVALID_CURSOR)?;
    let (mut access, key, reply) = call.on_key(1)?;
    let Some(hash) = hash::read(&mut access, &key)? else {
        reply.array(2);
        reply.bulk(b"0");
        reply.array(0);
        return Ok(());
    };
    let options = parse(args)?;
    // The cursor stands in front of the fields, and is known after them.
    let mut fields = Vec::new();
    let mut told = 0;
    let mut part = wire::Reply::new(&mut fields, reply.protocol());
    let next = hash.scan(cursor, options.count, |pair| {
        let matches =
            |name: &[u8]| options.pattern.is_none_or(|it| text::glob_match(it, name, false));
        if !pair.field.with_text(matches) {
            return;
        }
        pair.field.with_text(|text| part.bulk(text));
        told += 1;
        if options.with_values {
            pair.value.with_text(|text| part.bulk(text));
            told += 1;
        }
    });
    reply.array(2);
    reply.bulk(next.to_string().as_bytes());
    reply.array(told);
    reply.raw(&fields);
    Ok(())
}

fn parse(args: Args<'_>) -> Result<Options<'_>, Refusal> {
    let mut options = Options { count: COUNT, pattern: None, with_values: true };
    let mut at = 3;
    while at < args.len() {
        let has_value = at + 1 < args.len();
        if args.is(at, "COUNT") && has_value {
            let count = args.integer(at + 1)?;
            options.count =
                usize::try_from(count).ok().filter(|count| *count > 0).ok_or(Refusal::SYNTAX)?;
            at += 2;
        } else if args.is(at, "MATCH") && has_value {
            let pattern = args.get(at + 1);
            options.pattern = (pattern != b"*").then_some(pattern);
            at += 2;
        } else if args.is(at, "NOVALUES") {
            options.with_values = false;
            at += 1;
        } else if args.is(at, "NOSCORES") {
            return Err(NO_SCORES);
        } else {
            return Err(Refusal::SYNTAX);
        }
    }
    Ok(options)
}
