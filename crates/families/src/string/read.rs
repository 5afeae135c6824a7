//! Reading one string, also with a change or removal: GET, STRLEN, GETEX, GETDEL, DELIFEQ.

use super::options::{Of, Options};
use crate::generic::expire::{EXPIRE, PERSIST};
use command::{Call, Outcome, effects};
use heap::Pinned;
use std::io::IoSlice;
use std::ops::Range;
use store::Event;
use store::value::string::{Form, StringView};
use wire::{LentBytes, Reply};

pub fn get(call: &mut Call<'_>) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    bulk_or_null(reply, access.read_string(&key)?);
    Ok(())
}

pub fn strlen(call: &mut Call<'_>) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    let len = access.read_string(&key)?.map_or(0, |string| string.len());
    reply.integer(len as i64);
    Ok(())
}

pub fn getex(call: &mut Call<'_>) -> Outcome {
    let options = Options::parse(call.args, 2, Of::GetEx)?;
    let deadline = options.deadline(call)?;
    let is_over = deadline.is_some_and(|deadline| call.is_over(deadline));
    let (mut access, key, reply) = call.on_key(1);
    let value = access.read_string(&key)?;
    bulk_or_null(reply, value);
    let Some(value) = value else { return Ok(()) };
    let has_deadline = value.deadline.is_some();
    match deadline {
        Some(_) if is_over => {
            let is_removed = access.expire(&key);
            access.report_changes_silently(is_removed.into());
        }
        Some(deadline) => {
            access.set_deadline(&key, Some(deadline))?;
            access.report_changes(1, EXPIRE, &key);
            effects::expire_at(&mut access, &key, deadline);
        }
        None if options.persist && has_deadline => {
            access.set_deadline(&key, None)?;
            access.report_changes(1, PERSIST, &key);
            effects::persist(&mut access, &key);
        }
        None => {}
    }
    Ok(())
}

pub fn getdel(call: &mut Call<'_>) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    bulk_or_null(reply, access.read_string(&key)?);
    let removed = access.remove(&key);
    access.report_changes(removed.into(), Event::DEL, &key);
    if removed {
        effects::del(&mut access, &key);
    }
    Ok(())
}

pub fn delifeq(call: &mut Call<'_>) -> Outcome {
    let wanted = call.args.get(2);
    let (mut access, key, reply) = call.on_key(1);
    let is_equal = access.lookup_string_for_write(&key)?.is_some_and(|string| string == *wanted);
    let removed = is_equal && access.remove(&key);
    access.report_changes(removed.into(), Event::DEL, &key);
    if removed {
        effects::del(&mut access, &key);
    }
    reply.integer(i64::from(removed));
    Ok(())
}

/// Fewest bytes of a long string that are sent from where they lie: below this a copy costs less.
const LENT_BYTES_MIN: usize = 64 << 10;

/// Bytes of a long string, sent from where they lie.
#[derive(Debug)]
struct LentString(Pinned);

impl LentBytes for LentString {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn overhead(&self) -> usize {
        self.0.overhead()
    }

    fn slices<'l>(&'l self, from: usize, most: usize, slices: &mut [IoSlice<'l>]) -> usize {
        self.0.slices(from, most, slices)
    }
}

/// Replies with a value, or null if there is none.
#[inline]
pub fn bulk_or_null(reply: &mut Reply<'_>, string: Option<StringView<'_>>) {
    match string {
        Some(StringView { form: Form::Whole(bytes), .. }) => reply.bulk(bytes),
        Some(long) => bulk_pieces(reply, &long, 0..long.len()),
        None => reply.null(),
    }
}

/// Replies with a part of a string.
#[inline]
pub fn bulk_range(reply: &mut Reply<'_>, string: &StringView<'_>, range: Range<usize>) {
    match string.as_slice() {
        Some(bytes) => reply.bulk(&bytes[range]),
        None => bulk_pieces(reply, string, range),
    }
}

/// Replies with the bytes of a string and nothing else.
#[inline]
pub fn raw_value(reply: &mut Reply<'_>, string: &StringView<'_>) {
    match string.as_slice() {
        Some(bytes) => reply.raw(bytes),
        None => raw_pieces(reply, string),
    }
}

#[cold]
#[inline(never)]
fn raw_pieces(reply: &mut Reply<'_>, string: &StringView<'_>) {
    let len = string.len();
    if let Form::Long(long) = string.form
        && len >= LENT_BYTES_MIN
        && reply.raw_lent(len, || {
            long.pin(0..len).map(|pinned| Box::new(LentString(pinned)) as Box<dyn LentBytes>)
        })
    {
        return;
    }
    string.pieces(0..len).for_each(|piece| reply.raw(piece));
}

#[cold]
#[inline(never)]
fn bulk_pieces(reply: &mut Reply<'_>, string: &StringView<'_>, range: Range<usize>) {
    if let Form::Long(long) = string.form
        && range.len() >= LENT_BYTES_MIN
        && reply.bulk_lent(range.len(), || {
            long.pin(range.clone()).map(|pinned| Box::new(LentString(pinned)) as Box<dyn LentBytes>)
        })
    {
        return;
    }
    reply.bulk_pieces(range.len(), string.pieces(range));
}
