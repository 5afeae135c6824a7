//! Iterating in steps: HSCAN.

use crate::element_scan::{Bare, Options, answer, answer_nothing, cursor};
use command::{Call, Outcome};
use store::value::hash;

pub fn hscan(call: &mut Call<'_>) -> Outcome {
    let (args, cursor) = (call.args, cursor(call.args)?);
    let (mut access, key, reply) = call.on_key(1);
    // The options are not read if the hash is missing.
    let Some(hash) = hash::read(&mut access, &key)? else {
        answer_nothing(reply);
        return Ok(());
    };
    let options = Options::parse(args, Bare::Values)?;
    let count = usize::try_from(options.count).unwrap_or(usize::MAX);
    answer(reply, &options, |found| {
        hash.scan(cursor, count, |pair| {
            if found.add(pair.field) && options.is_whole {
                found.add_beside(pair.value);
            }
        })
    });
    Ok(())
}
