//! Lines of keys: get, gets, gat, gats.

use super::expiry_at;
use super::write::set_expiry;
use crate::string::raw_value;
use command::{Call, Outcome, Unanswered};
use memcached::reply;
use session::{MemcachedCounts, Refusal};
use smallvec::SmallVec;
use store::{Attributes, Fault, Key, Kind, LOCKS_AHEAD, NoSpace, WINDOW};
use text::IntegerText;

pub fn get(call: &mut Call<'_>) -> Outcome {
    read(call, 1, false)
}

pub fn gets(call: &mut Call<'_>) -> Outcome {
    read(call, 1, true)
}

pub fn gat(call: &mut Call<'_>) -> Outcome {
    read(call, 2, false)
}

pub fn gats(call: &mut Call<'_>) -> Outcome {
    read(call, 2, true)
}

/// Answers with the items of the keys from an argument on, and with the end behind the last of the
/// line. A key that holds no string has none.
fn read(call: &mut Call<'_>, first: usize, with_cas: bool) -> Outcome {
    let Some(line) = call.session.line.get() else { return Err(Refusal::SYNTAX.into()) };
    if call.session.line.passes_over_part() {
        return Err(Unanswered::Part);
    }
    // Each is hashed once.
    let keys: SmallVec<[Key<'_>; WINDOW]> =
        (first..call.args.len()).map(|at| call.key(at)).collect();
    if keys.len() > 1 {
        call.instance.store.prefetch_window(&keys);
    }
    for (at, key) in keys.iter().enumerate() {
        if call.reply.is_over_limit() {
            break;
        }
        let ahead = keys.get(at + LOCKS_AHEAD);
        ahead.into_iter().for_each(|key| call.instance.store.prefetch_lock(key.hash));
        let has_item = item(call, *key, (with_cas, first == 2))?;
        if has_item && first == 2 {
            touch(call, *key, line.request.expiry)?;
        }
    }
    if line.request.is_last {
        call.reply.raw(reply::END);
    }
    if line.is_whole() { Ok(()) } else { Err(Unanswered::Part) }
}

/// Sets the expiry of an item.
fn touch<'c>(call: &mut Call<'c>, key: Key<'c>, number: i32) -> Outcome {
    let expiry = expiry_at(call, number);
    let (mut access, _) = call.on(key);
    if access.lookup_value_for_write(&key).is_some_and(|it| it.kind() == Kind::String) {
        set_expiry(&mut access, &key, expiry)?;
    }
    Ok(())
}

/// Looks a key up, answers with its item, and counts it. Returns true if there is one.
fn item<'c>(
    call: &mut Call<'c>,
    key: Key<'c>,
    (with_cas, is_touched): (bool, bool),
) -> Result<bool, Refusal> {
    let (counts, expired) = (&call.statistics.memcached, call.thread.expired());
    if with_cas {
        make_room_for_cas(call, key)?;
    }
    let has_item = write_item(call, key, with_cas)?;
    count_found(counts, has_item, is_touched);
    if !has_item && !is_touched {
        let has_expired = call.thread.expired() != expired;
        counts.get_expired.add(has_expired.into());
    }
    Ok(has_item)
}

/// Counts a key that was looked up, as one that was to be read or to get another expiry.
pub(super) fn count_found(counts: &MemcachedCounts, has_item: bool, is_touched: bool) {
    let count = match (has_item, is_touched) {
        (true, false) => &counts.get_hits,
        (false, false) => &counts.get_misses,
        (true, true) => &counts.touch_hits,
        (false, true) => &counts.touch_misses,
    };
    count.add(1);
}

/// Answers with the item of a key, if there is one. Returns true if there is.
fn write_item<'c>(call: &mut Call<'c>, key: Key<'c>, with_cas: bool) -> Result<bool, Refusal> {
    let (mut access, out) = call.on(key);
    let cas = match with_cas.then(|| access.draw_cas(&key)) {
        // Others have taken the room for it meanwhile: a line without the number is none.
        Some(Err(Fault::NoSpace)) => return Err(NoSpace.into()),
        Some(Ok(cas)) => cas,
        None | Some(Err(Fault::WrongKind)) => None,
    };
    let Some(value) = access.read_value(&key) else { return Ok(false) };
    let (Attributes { flags, .. }, is_fetched) = (value.attributes(), value.is_fetched());
    let Ok(string) = value.string() else { return Ok(false) };
    let mut numbers = [IntegerText::new(), IntegerText::new(), IntegerText::new()];
    let [flag_text, len_text, cas_text] = &mut numbers;
    let flag_text = flag_text.format_unsigned(flags.into());
    let len_text = len_text.format_unsigned(string.len() as u64);
    let (blank, cas_text) = match cas {
        Some(cas) => (&b" "[..], cas_text.format_unsigned(cas.get())),
        None => (&b""[..], &b""[..]),
    };
    let head = [reply::VALUE, key.bytes, b" ", flag_text, b" ", len_text, blank, cas_text];
    out.raw_parts(&head);
    match string.as_slice() {
        Some(bytes) => out.raw_parts(&[reply::LINE_END, bytes, reply::LINE_END]),
        None => {
            out.raw(reply::LINE_END);
            raw_value(out, &string);
            out.raw(reply::LINE_END);
        }
    }
    if !is_fetched {
        access.note_fetched(&key);
    }
    Ok(true)
}

/// Makes room for a CAS of the item, before its lock is taken to draw it.
fn make_room_for_cas<'c>(call: &mut Call<'c>, key: Key<'c>) -> Result<(), Refusal> {
    let (access, _) = call.on(key);
    let bytes = access.bytes_to_draw(&key);
    drop(access);
    if bytes > 0 { call.reserve(bytes) } else { Ok(()) }
}
