//! mg and me: an item is read, and its client may be told to write it anew.
//!
//! ```text
//! item   stale ──▶ X, and W for the first that asks, then Z for others until it is written
//!        below R seconds, or just made by N ──▶ W for the first, Z for others
//! ```

use super::expiry_at;
use super::get::count_found;
use super::told::{
    Asked, Deadlines, FLAGS, KEY, Told, answer_without_item, expiry_of_made, given, is_base64,
    is_item, key_for_flags, left_of, make_room, write_flags, write_key,
};
use super::write::set_expiry;
use crate::generic::object::idle_seconds;
use crate::string::{SET, raw_value};
use base::Millis;
use command::{Call, Outcome, effects};
use heap::RECORD_OVERHEAD_MAX;
use memcached::meta::GetFlags;
use memcached::reply;
use session::Refusal;
use std::num::NonZeroU64;
use store::{Access, Attributes, Encoding, Expiry, Key, ValueRef};
use text::IntegerText;
use wire::Reply;

pub fn mg(call: &mut Call<'_>) -> Outcome {
    let key = key_for_flags(call, is_base64(call));
    let flags = GetFlags::parse(key, call.args.from(FLAGS)).map_err(|_| Refusal::SYNTAX)?;
    let is_asked = |letter| flags.common.echoes.letters().contains(&letter);
    // Who is stale has been marked before, so it has a place for what else is marked.
    if flags.recache.is_some() || is_asked(b'c') {
        make_room(call)?;
    }
    if flags.vivify.is_some() {
        call.reserve(call.args.bytes() + RECORD_OVERHEAD_MAX)?;
    }
    let (args, counts) = (call.args, &call.statistics.memcached);
    let expired = call.thread.expired();
    let expiry = flags.expiry.map(|it| expiry_at(call, it));
    let vivified = flags.vivify.map(|it| expiry_at(call, it));
    let made_with = expiry_of_made(&args, vivified, expiry);
    // Each of these is a search of its own.
    let asks_for_idle = is_asked(b'l') && !call.instance.store.eviction_policy().counts_uses();
    let needs_deadlines = expiry.is_some() || flags.recache.is_some() || is_asked(b't');
    let now = call.now;
    let (mut access, key, out) = call.on_key(KEY);
    let history = if asks_for_idle { access.access_bits(&key) } else { None };
    let idle = history.map_or(0, |level| idle_seconds(level).into());
    let found = find_or_make(&mut access, &key, &flags, vivified.and(made_with))?;
    let Some(is_made) = found else {
        drop(access);
        count_found(counts, false, false);
        counts.get_expired.add((call.thread.expired() != expired).into());
        if !flags.common.is_quiet {
            answer_without_item(call, reply::EN, &flags.common);
        }
        return Ok(());
    };
    count_found(counts, true, expiry.is_some());
    counts.stored.add(is_made.into());
    let deadlines = match needs_deadlines {
        true => touch(&mut access, &key, now, vivified.filter(|_| is_made), expiry)?,
        false => Deadlines::default(),
    };
    let recaches = left_of(now, deadlines.found_by(&args, b'R'));
    let cas = if is_asked(b'c') { access.draw_cas(&key).ok().flatten() } else { None };
    let Some(told) = tell(&mut access, &key, recaches, &flags, is_made) else {
        drop(access);
        answer_without_item(call, reply::EN, &flags.common);
        return Ok(());
    };
    let left = left_of(now, deadlines.found_by(&args, b't'));
    write_item(&access, &key, out, &flags, &Told { cas, idle, left, ..told });
    // What is over at once has been told of.
    let last = if is_made { made_with } else { expiry };
    if last == Some(None) {
        let is_removed = access.expire(&key);
        access.report_changes_silently(is_removed.into());
    } else if !flags.keeps_history && !told.was_fetched {
        access.note_fetched(&key);
    }
    Ok(())
}

/// Finds the item, or makes an empty one if that is asked for. Returns true if it was made; `None`
/// if there is none.
fn find_or_make(
    access: &mut Access<'_>,
    key: &Key<'_>,
    flags: &GetFlags<'_>,
    vivified: Option<Option<Expiry>>,
) -> Result<Option<bool>, Refusal> {
    let is_there = match flags.keeps_history {
        true => access.lookup_value_without_touch(key).is_some_and(is_item),
        false => access.read_value(key).is_some_and(is_item),
    };
    if is_there {
        return Ok(Some(false));
    }
    let Some(expiry) = vivified.filter(|_| access.lookup_without_touch(key).is_none()) else {
        return Ok(None);
    };
    make_empty(access, key, expiry, flags)?;
    Ok(Some(true))
}

/// Sets the deadline of an item that was there, and returns those that its line has seen. It is
/// left to the caller to remove an item that is over at once.
fn touch(
    access: &mut Access<'_>,
    key: &Key<'_>,
    now: Millis,
    vivified: Asked,
    expiry: Asked,
) -> Result<Deadlines, Refusal> {
    if vivified.is_some() {
        return Ok(Deadlines::new(now, None, vivified, expiry));
    }
    let before = access.lookup_value_without_touch(key).and_then(|it| it.deadline());
    if let Some(Some(expiry)) = expiry {
        set_expiry(access, key, Some(expiry))?;
    }
    Ok(Deadlines::new(now, before, None, expiry))
}

/// Writes what is told of an item, and its value if that is wanted.
fn write_item(
    access: &Access<'_>,
    key: &Key<'_>,
    out: &mut Reply<'_>,
    flags: &GetFlags<'_>,
    told: &Told,
) {
    let wants_value = flags.wants_value && !has_cas(access, key, flags.compare);
    let mut line = Vec::new();
    if wants_value {
        line.extend_from_slice(reply::VA);
        line.extend_from_slice(IntegerText::new().format_unsigned(told.len as u64));
    } else {
        line.extend_from_slice(reply::HD);
    }
    write_flags(&mut line, key.bytes, &flags.common, told);
    line.extend_from_slice(reply::LINE_END);
    out.raw(&line);
    if wants_value
        && let Some(Ok(string)) = access.lookup_value_without_touch(key).map(ValueRef::string)
    {
        raw_value(out, &string);
        out.raw(reply::LINE_END);
    }
}

/// Returns true if the item has this CAS value: its client knows the value.
fn has_cas(access: &Access<'_>, key: &Key<'_>, cas: Option<u64>) -> bool {
    let number = |it: ValueRef<'_>| it.attributes().cas.number().map(NonZeroU64::get);
    cas.is_some() && access.lookup_value_without_touch(key).and_then(number) == cas
}

/// Makes an empty item, which its client is to write: it is won from the begin, so that files and
/// replicas, who are told of it now, do not take it for one that was written.
fn make_empty(
    access: &mut Access<'_>,
    key: &Key<'_>,
    expiry: Option<Expiry>,
    flags: &GetFlags<'_>,
) -> Result<(), Refusal> {
    let attributes = Attributes {
        cas: given(flags.new_cas),
        is_won: true,
        is_key_in_base64: flags.common.is_base64,
        ..Attributes::default()
    };
    let expiry = expiry.unwrap_or(Expiry::Never);
    access.set_string_with(key, b"", Encoding::of_new(b""), expiry, attributes)?;
    access.report_changes(1, SET, key);
    effects::set_with_attributes(access, key, b"", expiry);
    Ok(())
}

/// Decides which client is to write an item anew that has `left` seconds, and returns what is told
/// of it.
fn tell(
    access: &mut Access<'_>,
    key: &Key<'_>,
    left: Option<u64>,
    flags: &GetFlags<'_>,
    is_made: bool,
) -> Option<Told> {
    let value = access.lookup_value_without_touch(key)?;
    let attributes = value.attributes();
    let is_short = flags.recache.is_some_and(|recache| {
        left.is_some_and(|left| i64::try_from(left).is_ok_and(|left| left < recache.into()))
    });
    let told = Told {
        cas: None,
        flags: attributes.flags,
        was_fetched: value.is_fetched(),
        idle: 0,
        len: value.string().ok()?.len(),
        left,
        is_key_in_base64: attributes.is_key_in_base64,
        is_won_before: attributes.is_won && !is_made,
        is_stale: attributes.is_stale,
        wins: is_made || !attributes.is_won && (is_short || attributes.is_stale),
    };
    if told.wins && !is_made {
        let _ = access.mark(key, |it| it.is_won = true);
    }
    Some(told)
}

/// Answers with what is known of an item, for people.
pub fn me(call: &mut Call<'_>) -> Outcome {
    let (now, is_base64) = (call.now, is_base64(call));
    call.statistics.memcached.debugs.add(1);
    let (access, key, out) = call.on_key(KEY);
    let Some(value) = access.lookup_value_without_touch(&key).filter(|it| is_item(*it)) else {
        out.raw(reply::EN);
        out.raw(reply::LINE_END);
        return Ok(());
    };
    let mut line = reply::ME.to_vec();
    // Where it came so, and nobody asks so, it is base64 without a flag.
    match !is_base64 && value.attributes().is_key_in_base64 {
        true => memcached::base64::encode(key.bytes, &mut line),
        false => write_key(&mut line, key.bytes, is_base64),
    }
    let left = left_of(now, value.deadline()).map_or("-1".to_owned(), |left| left.to_string());
    let cas = value.attributes().cas.number().map_or(0, NonZeroU64::get);
    let fetched = if value.is_fetched() { "yes" } else { "no" };
    let (idle, size) = (idle_seconds(value.access_bits()), value.live_bytes());
    let text = format!(" exp={left} la={idle} cas={cas} fetch={fetched} cls=1 size={size}\r\n");
    line.extend_from_slice(text.as_bytes());
    out.raw(&line);
    Ok(())
}
