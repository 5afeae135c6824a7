//! Writing: HSET, HMSET, HSETNX, HSETEX, HDEL.

use super::options::{Condition, Of, Options};
use super::{HDEL, HEXPIRE, HEXPIRED, HSET, fields, limit, record_deadline_effect};
use base::Millis;
use command::{Call, Outcome, Pieces, effects};
use session::Refusal;
use store::value::hash::{Deadline, HashMut};
use store::{Access, Event, Key};

pub fn hset(call: &mut Call<'_>) -> Outcome {
    let created = set_pairs(call)?;
    call.reply.integer(created as i64);
    Ok(())
}

pub fn hmset(call: &mut Call<'_>) -> Outcome {
    set_pairs(call)?;
    call.reply.ok();
    Ok(())
}

/// Sets the pairs of field and value behind the key; returns the number of new fields.
#[inline]
fn set_pairs(call: &mut Call<'_>) -> Result<u64, Refusal> {
    let (args, limit) = (call.args, limit(call));
    if args.len() % 2 != 0 {
        let name = &call.row.full_name;
        return Err(Refusal::new(format!("ERR wrong number of arguments for '{name}' command")));
    }
    let pairs = (0..(args.len() - 2) / 2).map(|at| (args.get(2 + 2 * at), args.get(3 + 2 * at)));
    let changes = pairs.len() as u64;
    let (mut access, key, _) = call.on_key(1);
    let created = HashMut::open(&mut access, &key, limit)?.set_all(pairs)?;
    access.report_changes(changes, HSET, &key);
    Ok(created)
}

pub fn hsetnx(call: &mut Call<'_>) -> Outcome {
    let (args, limit) = (call.args, limit(call));
    let (mut access, key, reply) = call.on_key(1);
    let mut hash = HashMut::open(&mut access, &key, limit)?;
    let (is_new, has_deadlines) = (hash.get(args.get(2)).is_none(), hash.has_deadlines());
    if is_new {
        hash.set_all(std::iter::once((args.get(2), args.get(3))))?;
        access.report_changes(1, HSET, &key);
        if has_deadlines {
            // A replica, which ignores deadlines, may still have the field, so the effect is an
            // HSET.
            effects::words(&mut access, &key, &[b"HSET", key.bytes, args.get(2), args.get(3)]);
        }
    }
    reply.integer(i64::from(is_new));
    Ok(())
}

pub fn hdel(call: &mut Call<'_>) -> Outcome {
    let (fields, limit) = (call.args.from(2), limit(call));
    let (mut access, key, reply) = call.on_key(1);
    let is_recording = access.is_recording();
    let mut hash = HashMut::open(&mut access, &key, limit)?;
    // Fields that have expired are left to the sweep.
    let mut gone = Pieces::new(is_recording && hash.has_deadlines(), &[b"HDEL", key.bytes]);
    let mut removed = 0;
    for field in fields.filter(|field| hash.remove(field)) {
        gone.add(&[field]);
        removed += 1;
    }
    access.report_removals(removed, HDEL, &key);
    access.record_effects(&key, gone);
    reply.integer(removed as i64);
    Ok(())
}

pub fn hsetex(call: &mut Call<'_>) -> Outcome {
    let (args, limit) = (call.args, limit(call));
    let end = fields::find(args, 1).ok_or(fields::WRONG_NUMBER)?;
    let options = Options::parse(args, end, Of::SetEx)?;
    let first = fields::behind(args, end + 1, 2)?;
    let deadline = options.deadline(call);
    let is_over = |deadline: Millis| call.is_over(deadline);
    let over = deadline.as_ref().is_ok_and(|deadline| deadline.is_some_and(is_over));
    let (mut access, key, reply) = call.on_key(1);
    let is_recording = access.is_recording();
    let mut hash = HashMut::open(&mut access, &key, limit)?;
    if !options.key.is_met(hash.exists()) {
        reply.integer(0);
        return Ok(());
    }
    let deadline = match deadline? {
        Some(at) => Deadline::At(at),
        None if options.keep => Deadline::Keep,
        None => Deadline::Never,
    };
    let pairs = (first..args.len()).step_by(2);
    let is_new = !hash.exists();
    let is_met = |at: usize| options.fields.is_met(hash.get(args.get(at)).is_some());
    if options.fields != Condition::Always && !pairs.clone().all(is_met) {
        reply.integer(0);
        return Ok(());
    }
    let mut changes = 0;
    let (mut set, mut gone) = (
        Pieces::new(is_recording, &[b"HSET", key.bytes]),
        Pieces::new(is_recording, &[b"HDEL", key.bytes]),
    );
    for at in pairs.clone() {
        if !over {
            hash.set(args.get(at), args.get(at + 1), deadline)?;
            set.add(&[args.get(at), args.get(at + 1)]);
            changes += 1;
        } else if hash.set_expired(args.get(at)) {
            gone.add(&[args.get(at)]);
            changes += 1;
        }
    }
    access.record_effects(&key, set);
    access.record_effects(&key, gone);
    if is_recording && !over && deadline != Deadline::Never {
        pairs.for_each(|at| record_deadline_effect(&mut access, &key, args.get(at)));
    }
    // Fields set with a past deadline raise events even if none existed and none is created.
    access.report_changes_silently(changes);
    if over && is_new {
        access.record_event(Event::NEW, &key);
    }
    happened_set(&mut access, &key, deadline, over);
    reply.integer(1);
    Ok(())
}

/// Reports that fields were set with a deadline, which is over or not.
fn happened_set(access: &mut Access<'_>, key: &Key<'_>, deadline: Deadline, over: bool) {
    access.record_event(HSET, key);
    if let Deadline::At(_) = deadline {
        access.record_event(HEXPIRE, key);
    }
    if over {
        access.record_event(HEXPIRED, key);
        access.record_del_if_gone(key);
    }
}
