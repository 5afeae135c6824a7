//! Random members: SPOP, SRANDMEMBER.

use super::limit;
use command::element::{bulk, bulks};
use command::{Call, Outcome, Pieces, effects};
use session::Refusal;
use settings::memory::LAZYFREE_LAZY_SERVER_DEL;
use store::Event;
use store::value::set;

const SPOP: Event = Event::set("spop");

pub fn spop(call: &mut Call<'_>) -> Outcome {
    match call.args.len() {
        2 => pop_one(call),
        3 => pop_many(call),
        _ => Err(Refusal::SYNTAX.into()),
    }
}

fn pop_one(call: &mut Call<'_>) -> Outcome {
    let limit = limit(call);
    let (mut access, key, reply) = call.on_key(1);
    let mut gone = Pieces::new(access.is_recording(), &[b"SREM", key.bytes]);
    let Some(pop) = set::pop(&mut access, &key, 1, limit)? else {
        reply.null();
        return Ok(());
    };
    pop.finish(|member| {
        bulk(reply, member);
        gone.add_element(member);
    })?;
    access.report_removals(1, SPOP, &key);
    access.record_effects(&key, gone);
    Ok(())
}

fn pop_many(call: &mut Call<'_>) -> Outcome {
    let limit = limit(call);
    let is_lazy = LAZYFREE_LAZY_SERVER_DEL.get(&call.instance.settings);
    let count = call.args.positive(2)?;
    let (mut access, key, reply) = call.on_key(1);
    let is_recording = access.is_recording();
    let Some(pop) = set::pop(&mut access, &key, count, limit)? else {
        reply.set(0);
        return Ok(());
    };
    let (popped, takes_all) = (pop.count(), pop.takes_all());
    let mut gone = Pieces::new(is_recording && !takes_all, &[b"SREM", key.bytes]);
    reply.set(narrow::to_usize(popped));
    pop.finish(|member| {
        bulk(reply, member);
        gone.add_element(member);
    })?;
    access.report_removals(popped, SPOP, &key);
    access.record_effects(&key, gone);
    if takes_all {
        effects::removed(&mut access, &key, is_lazy);
    }
    Ok(())
}

pub fn srandmember(call: &mut Call<'_>) -> Outcome {
    match call.args.len() {
        2 => {
            let (mut access, key, reply) = call.on_key(1);
            match set::random_member(&mut access, &key)? {
                Some(member) => bulk(reply, member),
                None => reply.null(),
            }
            Ok(())
        }
        3 => random_members(call),
        _ => Err(Refusal::SYNTAX.into()),
    }
}

fn random_members(call: &mut Call<'_>) -> Outcome {
    let count = call.args.integer_above(2, i64::MIN)?;
    let (mut access, key, reply) = call.on_key(1);
    let Some((set, mut random)) = set::draw(&mut access, &key)? else {
        reply.array(0);
        return Ok(());
    };
    if count < 0 {
        let times = count.unsigned_abs();
        reply.array(narrow::to_usize(times));
        let drawn = (0..times).map_while(|_| set.get(random.below(set.len())));
        bulks(reply, drawn);
        return Ok(());
    }
    let count = count.unsigned_abs().min(set.len());
    reply.array(narrow::to_usize(count));
    if count == set.len() {
        bulks(reply, set.members());
    } else {
        set.sample(&mut random, count, |member| bulk(reply, member));
    }
    Ok(())
}
