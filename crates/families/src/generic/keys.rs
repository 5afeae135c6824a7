//! Removal, presence and kind of keys: DEL, EXISTS, TOUCH, TYPE.

use command::{Call, Outcome, windows};
use session::{AccessModes, Refusal};
use store::{Access, Event, Key};

pub fn del(call: &mut Call<'_>) -> Outcome {
    let removed = count_keys(call, |access, key| {
        let is_removed = access.remove(key);
        access.report_changes(is_removed.into(), Event::DEL, key);
        is_removed
    })?;
    call.reply.integer(removed.cast_signed());
    Ok(())
}

pub fn exists(call: &mut Call<'_>) -> Outcome {
    let found = count_keys(call, |access, key| {
        access.do_not_touch();
        access.read(key).is_some()
    })?;
    call.reply.integer(found.cast_signed());
    Ok(())
}

pub fn touch(call: &mut Call<'_>) -> Outcome {
    // TOUCH notes a use of the key even under CLIENT NO-TOUCH.
    let modes = call.session.modes;
    call.session.modes.remove(AccessModes::NO_TOUCH);
    let found = count_keys(call, |access, key| access.read(key).is_some());
    call.session.modes = modes;
    call.reply.integer(found?.cast_signed());
    Ok(())
}

/// Counts the keys for which `is_one` holds.
fn count_keys(
    call: &mut Call<'_>,
    is_one: impl Fn(&mut Access<'_>, &Key<'_>) -> bool,
) -> Result<u64, Refusal> {
    let len = call.args.len();
    if len == 2 {
        let (mut access, key, _) = call.on_key(1);
        return Ok(u64::from(is_one(&mut access, &key)));
    }
    let (mut access, keys, _) = call.on_keys(1..len);
    let mut count = 0;
    for (window, next) in windows(&keys) {
        access.look_ahead(next);
        count += window.iter().map(|key| u64::from(is_one(&mut access, key))).sum::<u64>();
    }
    Ok(count)
}

pub fn type_of(call: &mut Call<'_>) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    access.do_not_touch();
    reply.simple(access.read(&key).map_or("none", |value| value.kind.name()));
    Ok(())
}
