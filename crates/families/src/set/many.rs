//! All members: SMEMBERS.

use command::element::bulks;
use command::{Call, Outcome};
use store::value::set;

pub fn smembers(call: &mut Call<'_>) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    let Some(set) = set::read(&mut access, &key)? else {
        reply.set(0);
        return Ok(());
    };
    reply.set(narrow::to_usize(set.len()));
    bulks(reply, set.members());
    Ok(())
}
