//! Lines of keys: get, gets, gat, gats.

use super::expiry_at;
use super::write::set_expiry;
use crate::string::raw_value;
use command::{Call, Outcome};
use memcached::reply;
use session::{MemcachedCounts, Refusal};
use store::{Attributes, Kind};
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
    let Some(line) = call.session.line else { return Err(Refusal::SYNTAX.into()) };
    if !line.request.is_first && call.session.is_line_refused {
        return Ok(());
    }
    call.session.is_line_refused = false;
    look_ahead(call, first);
    for at in first..call.args.len() {
        if call.reply.is_over_limit() {
            return Ok(());
        }
        let has_item = item(call, at, (with_cas, first == 2))?;
        if has_item && first == 2 {
            touch(call, at, line.request.expiry)?;
        }
    }
    if line.request.is_last {
        call.reply.raw(reply::END);
    }
    Ok(())
}

/// Has memory prefetched what the items need, if there are several.
fn look_ahead(call: &mut Call<'_>, first: usize) {
    if call.args.len() > first + 1 {
        let keys: command::Keys<'_> = (first..call.args.len()).map(|at| call.key(at)).collect();
        call.instance.store.prefetch_window(&keys);
    }
}

/// Sets the expiry of an item.
fn touch(call: &mut Call<'_>, at: usize, number: i32) -> Outcome {
    let expiry = expiry_at(call, number);
    let (mut access, key, _) = call.on_key(at);
    if access.lookup_value_for_write(&key).is_some_and(|it| it.kind() == Kind::String) {
        set_expiry(&mut access, &key, expiry)?;
    }
    Ok(())
}

/// Answers with the item of a key, if there is one, and counts it. Returns true if there is.
fn item(
    call: &mut Call<'_>,
    at: usize,
    (with_cas, is_touched): (bool, bool),
) -> Result<bool, Refusal> {
    let (counts, expired) = (call.statistics, call.thread.expired());
    if with_cas {
        make_room_for_cas(call, at)?;
    }
    let has_item = write_item(call, at, with_cas).is_some();
    count_found(&counts.memcached, has_item, is_touched);
    if !has_item && !is_touched {
        let has_expired = call.thread.expired() != expired;
        counts.memcached.get_expired.add(has_expired.into());
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

fn write_item(call: &mut Call<'_>, at: usize, with_cas: bool) -> Option<()> {
    let (mut access, key, out) = call.on_key(at);
    let cas = if with_cas { access.draw_cas(&key).ok().flatten() } else { None };
    let value = access.read_value(&key)?;
    let Attributes { flags, .. } = value.attributes();
    let string = value.string().ok()?;
    let mut number = IntegerText::new();
    out.raw(reply::VALUE);
    out.raw(key.bytes);
    out.raw(b" ");
    out.raw(number.format_unsigned(flags.into()));
    out.raw(b" ");
    out.raw(number.format_unsigned(string.len() as u64));
    if let Some(cas) = cas {
        out.raw(b" ");
        out.raw(number.format_unsigned(cas.get()));
    }
    out.raw(reply::LINE_END);
    raw_value(out, &string);
    out.raw(reply::LINE_END);
    access.note_fetched(&key);
    Some(())
}

/// Makes room for a CAS of the item, before its lock is taken to draw it.
fn make_room_for_cas(call: &mut Call<'_>, at: usize) -> Result<(), Refusal> {
    let (access, key, _) = call.on_key(at);
    let bytes = access.bytes_to_draw(&key);
    drop(access);
    if bytes > 0 { call.reserve(bytes) } else { Ok(()) }
}
