//! Iterating in steps: SSCAN.

use crate::element_scan::{Bare, Options, answer, answer_nothing, cursor};
use command::{Call, Outcome};
use store::value::set;

pub fn sscan(call: &mut Call<'_>) -> Outcome {
    let (args, cursor) = (call.args, cursor(call.args)?);
    let (mut access, key, reply) = call.on_key(1);
    // The options are not read if the set is missing.
    let Some(set) = set::read(&mut access, &key)? else {
        answer_nothing(reply);
        return Ok(());
    };
    let options = Options::parse(args, Bare::Never)?;
    answer(reply, &options, |found| {
        set.scan(cursor, options.count, |member| {
            found.add(member);
        })
    });
    Ok(())
}
