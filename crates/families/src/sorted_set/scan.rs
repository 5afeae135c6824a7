//! Iterating in steps: ZSCAN.

use crate::element_scan::{Bare, Options, answer, answer_nothing, cursor};
use command::{Call, Outcome};
use store::value::sorted_set;
use store::{Element, Encoding};

pub fn zscan(call: &mut Call<'_>) -> Outcome {
    let (args, cursor) = (call.args, cursor(call.args)?);
    let (mut access, key, reply) = call.on_key(1);
    // The options are not read if the sorted set is missing.
    let Some(set) = sorted_set::read(&mut access, &key)? else {
        answer_nothing(reply);
        return Ok(());
    };
    let options = Options::parse(args, Bare::Scores)?;
    // Scores are written as Valkey keeps them: as texts in a listpack, as doubles in a skiplist.
    let score_text = match set.encoding() {
        Encoding::Skiplist => text::format_g17,
        _ => text::format_f64,
    };
    answer(reply, &options, |found| {
        sorted_set::scan(&set, cursor, options.count, |member, score| {
            if found.add(member) && options.is_whole {
                // A string in every protocol.
                found.add_beside(Element::Bytes(score_text(score).as_bytes()));
            }
        })
    });
    Ok(())
}
