//! Writing one string: SET, SETEX, PSETEX, SETNX, GETSET.

use super::options::{self, Of, Options, Time};
use super::read::bulk_or_null;
use crate::call::{Call, Outcome};
use crate::key_spec::{FoundKeys, KeyFlags, KeySpec, find_with_flags};
use store::{Encoding, Expiry};

pub fn set(call: &mut Call<'_>) -> Outcome {
    if call.args.len() > 3 {
        return set_with_options(call);
    }
    let (value, statistics) = (call.args.get(2), call.statistics);
    let (mut access, key, reply) = call.on_key(1)?;
    access.write(&key, value, Encoding::of_new(value), Expiry::Never)?;
    statistics.count_changes(1);
    reply.ok();
    Ok(())
}

/// The key of SET, which reads what it replaces only if it is to return it.
pub fn keys<'r>(specs: &[KeySpec], request: &[&'r [u8]]) -> Option<FoundKeys<'r>> {
    let returns = request.iter().skip(3).any(|word| word.eq_ignore_ascii_case(b"GET"));
    let flags = if returns { KeyFlags::RW | KeyFlags::ACCESS } else { KeyFlags::OW };
    find_with_flags(flags | KeyFlags::UPDATE, specs, request)
}

fn set_with_options(call: &mut Call<'_>) -> Outcome {
    let (args, statistics) = (call.args, call.statistics);
    let options = Options::parse(args, 3, Of::Set)?;
    let deadline = options.deadline(call)?;
    let is_over = deadline.is_some_and(|deadline| call.is_over(deadline));
    let (mut access, key, reply) = call.on_key(1)?;
    if options.get {
        bulk_or_null(reply, access.read_string(&key)?);
    }
    if !options.condition.holds(&mut access, &key)? {
        if !options.get {
            reply.null();
        }
        return Ok(());
    }
    let changed = if is_over {
        access.expire(&key)
    } else {
        let value = args.get(2);
        let expiry = options::expiry(deadline, options.keep);
        access.write(&key, value, Encoding::of_new(value), expiry)?;
        true
    };
    statistics.count_changes(u64::from(changed));
    if !options.get {
        reply.ok();
    }
    Ok(())
}

pub fn setex(call: &mut Call<'_>) -> Outcome {
    set_for(call, Time { seconds: true, relative: true })
}

pub fn psetex(call: &mut Call<'_>) -> Outcome {
    set_for(call, Time { seconds: false, relative: true })
}

fn set_for(call: &mut Call<'_>, time: Time) -> Outcome {
    let (value, statistics) = (call.args.get(3), call.statistics);
    let expiry = options::expiry(Some(options::deadline(call, 2, time)?), false);
    let (mut access, key, reply) = call.on_key(1)?;
    access.write(&key, value, Encoding::of_new(value), expiry)?;
    statistics.count_changes(1);
    reply.ok();
    Ok(())
}

pub fn setnx(call: &mut Call<'_>) -> Outcome {
    let (value, statistics) = (call.args.get(2), call.statistics);
    let (mut access, key, reply) = call.on_key(1)?;
    let is_new = access.look(&key).is_none();
    if is_new {
        access.write(&key, value, Encoding::of_new(value), Expiry::Never)?;
        statistics.count_changes(1);
    }
    reply.integer(i64::from(is_new));
    Ok(())
}

pub fn getset(call: &mut Call<'_>) -> Outcome {
    let (value, statistics) = (call.args.get(2), call.statistics);
    let (mut access, key, reply) = call.on_key(1)?;
    bulk_or_null(reply, access.read_string(&key)?);
    access.write(&key, value, Encoding::of_new(value), Expiry::Never)?;
    statistics.count_changes(1);
    Ok(())
}
