//! Several strings at once: MGET, MSET, MSETNX, MSETEX.

use super::SET;
use super::options::{self, Of, Options};
use super::read::bulk_or_null;
use crate::generic::expire::EXPIRE;
use command::{Call, Keys, Outcome, Pieces, effects, windows};
use heap::RECORD_OVERHEAD_MAX;
use session::Refusal;
use store::value::string::Condition;
use store::{Access, Encoding, Expiry, WINDOW};

pub fn mget(call: &mut Call<'_>) -> Outcome {
    let len = call.args.len();
    let (mut access, keys, reply) = call.on_keys(1..len);
    reply.array(keys.len());
    for (window, next) in windows(&keys) {
        access.look_ahead(next);
        for key in window {
            if reply.is_over_limit() {
                return Ok(());
            }
            bulk_or_null(reply, access.read_string(key).unwrap_or(None));
        }
    }
    Ok(())
}

pub fn mset(call: &mut Call<'_>) -> Outcome {
    let written = set_pairs(call, 1, call.args.len(), Condition::Always, Expiry::Never)?;
    debug_assert!(written, "nothing was asked for");
    call.reply.ok();
    Ok(())
}

pub fn msetnx(call: &mut Call<'_>) -> Outcome {
    let written = set_pairs(call, 1, call.args.len(), Condition::Absent, Expiry::Never)?;
    call.reply.integer(i64::from(written));
    Ok(())
}

pub fn msetex(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let pairs = text::parse_i64(args.get(1)).and_then(|pairs| i32::try_from(pairs).ok());
    let pairs = pairs.and_then(|pairs| usize::try_from(pairs).ok()).filter(|pairs| *pairs > 0);
    let pairs = pairs.ok_or(Refusal::of("ERR invalid numkeys value or out of range"))?;
    let end = 2 + 2 * pairs;
    if end > args.len() {
        return Err(Refusal::SYNTAX.into());
    }
    let options = Options::parse(args, end, Of::MSetEx)?;
    // A key with a deadline in the past is gone at once, as far as clients can see.
    let deadline = options.deadline(call)?;
    let expiry = options::expiry(deadline, options.keep);
    let written = set_pairs(call, 2, end, options.condition, expiry)?;
    call.reply.integer(i64::from(written));
    Ok(())
}

/// Writes the pairs of key and value among the arguments from `first` up to `end`, if the condition
/// holds for every key. Returns true if it did.
fn set_pairs(
    call: &mut Call<'_>,
    first: usize,
    end: usize,
    condition: Condition<'_>,
    expiry: Expiry,
) -> Result<bool, Refusal> {
    let args = call.args;
    if !(end - first).is_multiple_of(2) {
        let name = &call.row.full_name;
        return Err(Refusal::new(format!("ERR wrong number of arguments for '{name}' command")));
    }
    let pairs = (end - first) / 2;
    call.reserve(args.bytes() + pairs * RECORD_OVERHEAD_MAX)?;
    let (mut access, keys, _) = call.on_keys((first..end).step_by(2));
    let unseen = (condition, expiry) == (Condition::Always, Expiry::Never);
    if !unseen && !is_met_for_all(&mut access, &keys, condition)? {
        return Ok(false);
    }
    for (number, key) in keys.iter().enumerate() {
        if number.is_multiple_of(WINDOW) {
            access.look_ahead(&keys[(number + WINDOW).min(pairs)..]);
        }
        let value = args.get(first + 1 + 2 * number);
        access.set_string(key, value, Encoding::of_new(value), expiry)?;
        access.report_changes(1, SET, key);
        if matches!(expiry, Expiry::At(_)) {
            access.record_event(EXPIRE, key);
        }
        if expiry != Expiry::Never {
            effects::set(&mut access, key, value, expiry);
        }
    }
    // MSETEX is a younger word.
    if expiry == Expiry::Never && first > 1 && access.is_recording() {
        let mut pairs = Pieces::new(true, &[b"MSET"]);
        (first..end).step_by(2).for_each(|at| pairs.add(&[args.get(at), args.get(at + 1)]));
        access.record_effects(&keys[0], pairs);
    }
    Ok(true)
}

/// Returns true if the condition is met for every key. Looks every key up, so that none past its
/// deadline is overwritten and keeps it.
fn is_met_for_all(
    access: &mut Access<'_>,
    keys: &Keys<'_>,
    condition: Condition<'_>,
) -> Result<bool, Refusal> {
    for key in keys {
        if !condition.is_met(access, key)? {
            return Ok(false);
        }
    }
    Ok(true)
}
