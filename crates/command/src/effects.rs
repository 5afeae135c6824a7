//! Effects: plain commands that do to the data what a request has done, in the words of Redis 7.2,
//! and HPEXPIREAT and HPERSIST for deadlines of fields.
//!
//! ```text
//! request ──▶ handler ──▶ what was changed ──▶ effects::... ──▶ the unit of its access
//! ```
//! A server that executes an effect has the same keys and fields, but another clock, another
//! generator of random numbers, and perhaps another program: deadlines are absolute, and where
//! chance, order, a waiting line or more than one rounding decides, the effect is the result. A
//! handler that names no effect lets its request stand for itself. Nothing is made while nobody
//! listens.
//!
//! A command that changes one key as if another were absent removes that one first, since it may be
//! past its deadline here and present there: `Call::lock` does so. Of fields, only those are named
//! that were really changed.
//!
//! Attributes of strings, which no plain command writes, are noted before the command that writes
//! the string: such an effect tells all that it has then.
//!
//! A command that has begun to change data is not refused. If its record turns out, under the lock,
//! to be longer than the room that was made, it goes beyond the budget, and the next command makes
//! room. Where even that fails, the unit records what its keys hold now, in the words of
//! `store::value::words`.

use base::Millis;
pub use store::Pieces;
use store::{Access, Expiry, Key};
use text::IntegerText;

/// Says that these words, the first of which is a command, have the effect on a key.
pub fn words(access: &mut Access<'_>, key: &Key<'_>, words: &[&[u8]]) {
    if access.is_recording() {
        access.record_effect(key.keyspace, words.iter().map(|word| word.to_vec()).collect());
    }
}

/// Says that a key holds a string now.
pub fn set(access: &mut Access<'_>, key: &Key<'_>, value: &[u8], expiry: Expiry) {
    match expiry {
        Expiry::Never => words(access, key, &[b"SET", key.bytes, value]),
        Expiry::Keep => words(access, key, &[b"SET", key.bytes, value, b"KEEPTTL"]),
        Expiry::At(at) => {
            let mut millis = IntegerText::new();
            let millis = millis.format_unsigned(at.0);
            words(access, key, &[b"SET", key.bytes, value, b"PXAT", millis]);
        }
    }
}

/// Says that a key holds a string now, with the attributes that it has by now.
pub fn set_with_attributes(access: &mut Access<'_>, key: &Key<'_>, value: &[u8], expiry: Expiry) {
    if !access.is_recording() {
        return;
    }
    let Some(note) = access.attributes_of(key).note().unless_empty() else {
        return set(access, key, value, expiry);
    };
    let mut args = vec![b"SET".to_vec(), key.bytes.to_vec(), value.to_vec()];
    match expiry {
        Expiry::Never => {}
        Expiry::Keep => args.push(b"KEEPTTL".to_vec()),
        Expiry::At(at) => args.extend([b"PXAT".to_vec(), at.0.to_string().into_bytes()]),
    }
    access.record_noted_effect(key.keyspace, note, args);
}

/// Says that a key has the value of a payload now, with the attributes that it has by now.
pub fn restored(access: &mut Access<'_>, key: &Key<'_>, payload: &[u8], deadline: Option<Millis>) {
    let mut millis = IntegerText::new();
    let millis = millis.format_unsigned(deadline.map_or(0, |deadline| deadline.0));
    let request = [b"RESTORE", key.bytes, millis, payload, b"REPLACE", b"ABSTTL"];
    let Some(note) = access.attributes_of(key).note().unless_empty() else {
        return words(access, key, &request);
    };
    let args = request.iter().map(|word| word.to_vec()).collect();
    access.record_noted_effect(key.keyspace, note, args);
}

/// Says that the string of a key has the attributes that it has by now, and is the same: other
/// servers are asked for it, and find it or not.
pub fn attributes(access: &mut Access<'_>, key: &Key<'_>) {
    if access.is_recording() {
        let note = access.attributes_of(key).note();
        let args = vec![b"EXISTS".to_vec(), key.bytes.to_vec()];
        access.record_noted_effect(key.keyspace, note, args);
    }
}

/// Says that a key has this deadline now.
pub fn expire_at(access: &mut Access<'_>, key: &Key<'_>, at: Millis) {
    let mut millis = IntegerText::new();
    words(access, key, &[b"PEXPIREAT", key.bytes, millis.format_unsigned(at.0)]);
}

/// Says that a key has no deadline now.
pub fn persist(access: &mut Access<'_>, key: &Key<'_>) {
    words(access, key, &[b"PERSIST", key.bytes]);
}

/// Says that a key is gone, by UNLINK if that is lazy: a setting such as `lazyfree-lazy-server-del`
/// tells.
pub fn removed(access: &mut Access<'_>, key: &Key<'_>, is_lazy: bool) {
    words(access, key, &[if is_lazy { b"UNLINK" } else { b"DEL" }, key.bytes]);
}

/// Says that a key is gone.
pub fn del(access: &mut Access<'_>, key: &Key<'_>) {
    words(access, key, &[b"DEL", key.bytes]);
}

/// Says that a field of a hash has this deadline now.
pub fn field_expires_at(access: &mut Access<'_>, key: &Key<'_>, field: &[u8], at: Millis) {
    let mut millis = IntegerText::new();
    let millis = millis.format_unsigned(at.0);
    words(access, key, &[b"HPEXPIREAT", key.bytes, millis, b"FIELDS", b"1", field]);
}

/// Says that so many elements were taken from an end of a key, by a command such as LPOP; `None` if
/// it was asked for one without a count, and took it.
pub fn popped(access: &mut Access<'_>, key: &Key<'_>, command: &[u8], count: Option<u64>) {
    let mut number = IntegerText::new();
    match count {
        Some(0) => {}
        None => words(access, key, &[command, key.bytes]),
        Some(count) => words(access, key, &[command, key.bytes, number.format_unsigned(count)]),
    }
}
