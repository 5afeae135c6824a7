//! Writing one string: SET, SETEX, PSETEX, SETNX, GETSET.

use super::SET;
use super::options::{self, Of, Options, Time};
use super::read::bulk_or_null;
use crate::generic::expire::EXPIRE;
use command::key_spec::find_with_flags;
use command::{Call, FoundKeys, KeyFlags, KeySpec, Outcome, effects};
use store::value::long_string::Staged;
use store::{Access, Encoding, Expiry, Key, NoSpace};

pub fn set(call: &mut Call<'_>) -> Outcome {
    if call.args.len() > 3 || call.session.apart.is_some() {
        return set_with_options(call);
    }
    let value = call.args.get(2);
    let (mut access, key, reply) = call.on_key(1);
    access.set_string(&key, value, Encoding::of_new(value), Expiry::Never)?;
    access.report_changes(1, SET, &key);
    reply.ok();
    Ok(())
}

/// Finds the key of SET, which is read only if the request has GET.
pub fn keys<'r>(specs: &[KeySpec], request: &[&'r [u8]]) -> Option<FoundKeys<'r>> {
    let returns = request.iter().skip(3).any(|word| word.eq_ignore_ascii_case(b"GET"));
    let flags = if returns { KeyFlags::RW | KeyFlags::ACCESS } else { KeyFlags::OW };
    find_with_flags(flags | KeyFlags::UPDATE, specs, request)
}

fn set_with_options(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let options = Options::parse(args, 3, Of::Set)?;
    let deadline = options.deadline(call)?;
    let is_over = deadline.is_some_and(|deadline| call.is_over(deadline));
    let staged = call.session.take_staged();
    let (mut access, key, reply) = call.on_key(1);
    if options.get {
        bulk_or_null(reply, access.read_string(&key)?);
    }
    if !options.condition.is_met(&mut access, &key)? {
        if !options.get {
            reply.null();
        }
        return Ok(());
    }
    if is_over {
        let is_removed = access.expire(&key);
        access.report_changes_silently(is_removed.into());
    } else {
        let value = args.get(2);
        let expiry = options::expiry(deadline, options.keep);
        write(&mut access, &key, (value, staged), expiry)?;
        access.report_changes(1, SET, &key);
        if deadline.is_some() {
            access.record_event(EXPIRE, &key);
        }
        effects::set(&mut access, &key, value, expiry);
    }
    if !options.get {
        reply.ok();
    }
    Ok(())
}

/// Sets a key to what was received into the store, or to these bytes.
fn write(
    access: &mut Access<'_>,
    key: &Key<'_>,
    (bytes, staged): (&[u8], Option<Staged>),
    expiry: Expiry,
) -> Result<(), NoSpace> {
    match staged {
        Some(staged) => access.set_staged(key, staged, expiry),
        None => access.set_string(key, bytes, Encoding::of_new(bytes), expiry),
    }
}

pub fn setex(call: &mut Call<'_>) -> Outcome {
    set_for(call, Time { seconds: true, relative: true })
}

pub fn psetex(call: &mut Call<'_>) -> Outcome {
    set_for(call, Time { seconds: false, relative: true })
}

fn set_for(call: &mut Call<'_>, time: Time) -> Outcome {
    let value = call.args.get(3);
    let expiry = options::expiry(Some(options::deadline(call, 2, time)?), false);
    let staged = call.session.take_staged();
    let (mut access, key, reply) = call.on_key(1);
    write(&mut access, &key, (value, staged), expiry)?;
    access.report_changes(1, SET, &key);
    access.record_event(EXPIRE, &key);
    effects::set(&mut access, &key, value, expiry);
    reply.ok();
    Ok(())
}

pub fn setnx(call: &mut Call<'_>) -> Outcome {
    let value = (call.args.get(2), call.session.take_staged());
    let (mut access, key, reply) = call.on_key(1);
    let is_new = access.lookup_for_write(&key).is_none();
    if is_new {
        write(&mut access, &key, value, Expiry::Never)?;
        access.report_changes(1, SET, &key);
    }
    reply.integer(i64::from(is_new));
    Ok(())
}

pub fn getset(call: &mut Call<'_>) -> Outcome {
    let value = (call.args.get(2), call.session.take_staged());
    let (mut access, key, reply) = call.on_key(1);
    bulk_or_null(reply, access.read_string(&key)?);
    write(&mut access, &key, value, Expiry::Never)?;
    access.report_changes(1, SET, &key);
    Ok(())
}
