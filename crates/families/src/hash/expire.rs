//! Deadlines of fields: HEXPIRE, HTTL, HPERSIST and their kin.

use super::deadline::{self, MILLIS, SECONDS, Scale, UNIX_MILLIS, UNIX_SECONDS};
use super::{HEXPIRE, HEXPIRED, HPERSIST, expiring, fields, limit};
use crate::generic::expire::{Condition, parse_condition};
use command::{Call, Outcome, Pieces};
use store::value::hash::{self, HashMut};

/// Replies about one field.
const NO_FIELD: i64 = -2;
const NO_DEADLINE: i64 = -1;
const NOT_ALLOWED: i64 = 0;
const DONE: i64 = 1;
const EXPIRED: i64 = 2;

pub fn hexpire(call: &mut Call<'_>) -> Outcome {
    set_deadlines(call, SECONDS)
}

pub fn hexpireat(call: &mut Call<'_>) -> Outcome {
    set_deadlines(call, UNIX_SECONDS)
}

pub fn hpexpire(call: &mut Call<'_>) -> Outcome {
    set_deadlines(call, MILLIS)
}

pub fn hpexpireat(call: &mut Call<'_>) -> Outcome {
    set_deadlines(call, UNIX_MILLIS)
}

fn set_deadlines(call: &mut Call<'_>, scale: Scale) -> Outcome {
    let (args, limit) = (call.args, limit(call));
    let end = fields::find(args, 3).ok_or(fields::WRONG_NUMBER)?;
    let condition: Condition = parse_condition(args, 3..end)?;
    let first = fields::behind(args, end + 1, 1)?;
    let deadline = deadline::parse(call, 2, scale)?;
    let is_over = call.is_over(deadline);
    let (mut access, key, reply) = call.on_key(1);
    let is_recording = access.is_recording();
    let mut hash = HashMut::open(&mut access, &key, limit)?;
    let mut changed = match is_over {
        true => Pieces::new(is_recording, &[b"HDEL", key.bytes]),
        false => expiring(is_recording, &key, deadline),
    };
    reply.array(args.len() - first);
    let mut changes = 0;
    for field in args.from(first) {
        let present = hash.get(field).map(|pair| pair.deadline);
        let answer = match present {
            None => NO_FIELD,
            Some(present) if !condition.allows(deadline, present) => NOT_ALLOWED,
            Some(_) if is_over => {
                hash.expire(field);
                EXPIRED
            }
            Some(_) => {
                hash.set_deadline(field, Some(deadline))?;
                DONE
            }
        };
        if answer > 0 {
            changed.add(&[field]);
            changes += 1;
        }
        reply.integer(answer);
    }
    access.report_removals(changes, if is_over { HEXPIRED } else { HEXPIRE }, &key);
    access.record_effects(&key, changed);
    Ok(())
}

pub fn hpersist(call: &mut Call<'_>) -> Outcome {
    let (args, limit) = (call.args, limit(call));
    let first = fields::at(args, 2)?;
    let (mut access, key, reply) = call.on_key(1);
    let mut changed = Pieces::of_fields(access.is_recording(), &[b"HPERSIST", key.bytes]);
    let mut hash = HashMut::open(&mut access, &key, limit)?;
    reply.array(args.len() - first);
    let mut changes = 0;
    for field in args.from(first) {
        let answer = match hash.get(field).map(|pair| pair.deadline) {
            None => NO_FIELD,
            Some(None) => NO_DEADLINE,
            Some(Some(_)) => {
                hash.set_deadline(field, None)?;
                changed.add(&[field]);
                changes += 1;
                DONE
            }
        };
        reply.integer(answer);
    }
    access.report_changes(changes, HPERSIST, &key);
    access.record_effects(&key, changed);
    Ok(())
}

pub fn httl(call: &mut Call<'_>) -> Outcome {
    reply_with_deadlines(call, SECONDS)
}

pub fn hpttl(call: &mut Call<'_>) -> Outcome {
    reply_with_deadlines(call, MILLIS)
}

pub fn hexpiretime(call: &mut Call<'_>) -> Outcome {
    reply_with_deadlines(call, UNIX_SECONDS)
}

pub fn hpexpiretime(call: &mut Call<'_>) -> Outcome {
    reply_with_deadlines(call, UNIX_MILLIS)
}

/// Replies with the deadlines of fields.
fn reply_with_deadlines(call: &mut Call<'_>, scale: Scale) -> Outcome {
    let (args, now) = (call.args, call.now);
    let first = fields::at(args, 2).map_err(|refusal| {
        // A wrong number has another error text here.
        if refusal == fields::WRONG_NUMBER { session::Refusal::SYNTAX } else { refusal }
    })?;
    let (mut access, key, reply) = call.on_key(1);
    let hash = hash::read(&mut access, &key)?;
    reply.array(args.len() - first);
    for field in args.from(first) {
        let pair = hash.and_then(|hash| hash.get(field));
        reply.integer(match pair.map(|pair| pair.deadline) {
            None => NO_FIELD,
            Some(None) => NO_DEADLINE,
            Some(Some(deadline)) => deadline::format(deadline, now, scale),
        });
    }
    Ok(())
}
