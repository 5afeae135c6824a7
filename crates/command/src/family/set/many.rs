//! All members: SMEMBERS.

use crate::call::{Call, Outcome};
use crate::element::bulk;
use store::value::set;

pub fn smembers(call: &mut Call<'_>) -> Outcome {
    let (mut access, key, reply) = call.on_key(1)?;
    let Some(set) = set::read(&mut access, &key)? else {
        reply.set(0);
        return Ok(());
    };
    reply.set(set.len() as usize);
    set.members().for_each(|member| bulk(reply, member));
    Ok(())
}
