//! Reading with a change: HGETEX, HGETDEL.

use super::options::{Of, Options};
use super::{HDEL, HEXPIRE, HEXPIRED, HPERSIST, expiring, fields, limit, value_or_null};
use command::{Call, Outcome, Pieces};
use store::value::hash::HashMut;

pub fn hgetdel(call: &mut Call<'_>) -> Outcome {
    let (args, limit) = (call.args, limit(call));
    let first = fields::at(args, 2)?;
    let (mut access, key, reply) = call.on_key(1);
    let mut gone = Pieces::new(access.is_recording(), &[b"HDEL", key.bytes]);
    let mut hash = HashMut::open(&mut access, &key, limit)?;
    reply.array(args.len() - first);
    let mut changes = 0;
    for field in args.from(first) {
        value_or_null(reply, hash.get(field));
        if hash.remove(field) {
            gone.add(&[field]);
            changes += 1;
        }
    }
    access.report_removals(changes, HDEL, &key);
    access.record_effects(&key, gone);
    Ok(())
}

pub fn hgetex(call: &mut Call<'_>) -> Outcome {
    let (args, limit) = (call.args, limit(call));
    let end = fields::find(args, 1).ok_or(fields::WRONG_NUMBER)?;
    let options = Options::parse(args, end, Of::GetEx)?;
    let first = fields::behind(args, end + 1, 1)?;
    let deadline = options.deadline(call);
    let over = deadline.as_ref().is_ok_and(|at| at.is_some_and(|at| call.is_over(at)));
    let (mut access, key, reply) = call.on_key(1);
    let is_recording = access.is_recording();
    let mut hash = HashMut::open_to_read(&mut access, &key, limit)?;
    let deadline = deadline?;
    let mut changed = match deadline {
        Some(_) if over => Pieces::new(is_recording, &[b"HDEL", key.bytes]),
        Some(at) => expiring(is_recording, &key, at),
        None => Pieces::of_fields(is_recording, &[b"HPERSIST", key.bytes]),
    };
    reply.array(args.len() - first);
    let mut changes = 0;
    for field in args.from(first) {
        let pair = hash.get(field);
        value_or_null(reply, pair);
        let has_deadline = pair.is_some_and(|pair| pair.deadline.is_some());
        let is_changed = if over {
            hash.expire(field)
        } else if deadline.is_some() || (options.persist && has_deadline) {
            hash.set_deadline(field, deadline)?
        } else {
            false
        };
        if is_changed {
            changed.add(&[field]);
            changes += 1;
        }
    }
    let event = match deadline {
        Some(_) if over => HEXPIRED,
        Some(_) => HEXPIRE,
        None => HPERSIST,
    };
    access.report_removals(changes, event, &key);
    access.record_effects(&key, changed);
    Ok(())
}
