//! Lines with a data block: set, add, replace, append, prepend, cas.

use super::write::put;
use super::{answer, expiry_at, item_bytes_max};
use crate::string::APPEND;
use command::{Call, Outcome, effects};
use memcached::{number, reply};
use session::{MemcachedCounts, Refusal};
use store::value::string;
use store::{Access, Attributes, Cas, Encoding, Event, Expiry, Key, Kind};

/// Places of the words.
const FLAGS: usize = 2;
const EXPIRY: usize = 3;
const BLOCK: usize = 5;
const CAS_AT: usize = 5;
const BLOCK_OF_CAS: usize = 6;

/// What a key must hold to be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    /// Whatever it holds.
    Always,
    /// Nothing.
    Absent,
    /// An item.
    Present,
    /// An item of this CAS.
    Cas(u64),
}

pub fn set(call: &mut Call<'_>) -> Outcome {
    store(call, Condition::Always, BLOCK)
}

pub fn add(call: &mut Call<'_>) -> Outcome {
    store(call, Condition::Absent, BLOCK)
}

pub fn replace(call: &mut Call<'_>) -> Outcome {
    store(call, Condition::Present, BLOCK)
}

pub fn cas(call: &mut Call<'_>) -> Outcome {
    let wanted = number::unsigned64(call.args.get(CAS_AT)).ok_or(Refusal::SYNTAX)?;
    store(call, Condition::Cas(wanted), BLOCK_OF_CAS)
}

fn store(call: &mut Call<'_>, condition: Condition, block: usize) -> Outcome {
    let Some(line) = call.session.line.get() else { return Err(Refusal::SYNTAX.into()) };
    if let Some(refusal) = line.refusal {
        return drop_value(call, refusal);
    }
    let (args, counts) = (call.args, &call.statistics.memcached);
    counts.sets.add(1);
    let flags = number::item_flags(args.get(FLAGS)).ok_or(Refusal::SYNTAX)?;
    let expiry = number::item_expiry(args.get(EXPIRY)).ok_or(Refusal::SYNTAX)?;
    let expiry = expiry_at(call, expiry);
    let attributes = Attributes { flags, ..Attributes::default() };
    let (value, staged) = (args.get(block), call.session.take_staged());
    let (mut access, key, _) = call.on_key(1);
    let before = access.lookup_value_for_write(&key);
    let of_item = before.filter(|it| it.kind() == Kind::String).map(|it| it.attributes());
    let refused = match condition {
        Condition::Always => None,
        Condition::Absent => before.map(|_| reply::NOT_STORED),
        Condition::Present => of_item.is_none().then_some(reply::NOT_STORED),
        Condition::Cas(wanted) => match of_item {
            None => Some(reply::NOT_FOUND),
            Some(it) if it.cas.number().is_some_and(|cas| cas.get() == wanted) => None,
            Some(_) => Some(reply::EXISTS),
        },
    };
    if let Condition::Cas(_) = condition {
        count_cas(counts, refused);
    }
    if let Some(refused) = refused {
        drop(access);
        answer(call, refused);
        return Ok(());
    }
    put(&mut access, &key, (value, staged), (expiry, attributes))?;
    counts.stored.add(1);
    drop(access);
    answer(call, reply::STORED);
    Ok(())
}

/// Counts a condition on a CAS, by the answer if it is not met.
pub(super) fn count_cas(counts: &MemcachedCounts, refused: Option<&[u8]>) {
    let count = match refused {
        None => &counts.cas_hits,
        Some(reply::NOT_FOUND | reply::NF) => &counts.cas_misses,
        Some(_) => &counts.cas_badval,
    };
    count.add(1);
}

/// Removes the key of a value that is too large: what it held is not to be served any more.
pub fn drop_value(call: &mut Call<'_>, refusal: memcached::Refusal) -> Outcome {
    call.statistics.memcached.too_large.add(1);
    let (mut access, key, _) = call.on_key(1);
    let is_removed = access.remove(&key);
    access.report_changes(is_removed.into(), Event::DEL, &key);
    if is_removed {
        effects::del(&mut access, &key);
    }
    drop(access);
    answer(call, refusal.line());
    Ok(())
}

pub fn append(call: &mut Call<'_>) -> Outcome {
    extend_item(call, true)
}

pub fn prepend(call: &mut Call<'_>) -> Outcome {
    extend_item(call, false)
}

fn extend_item(call: &mut Call<'_>, is_append: bool) -> Outcome {
    let (bytes, len_max) = (call.args.get(BLOCK), item_bytes_max(call));
    let counts = &call.statistics.memcached;
    counts.sets.add(1);
    let (mut access, key, _) = call.on_key(1);
    let is_item = access.lookup_value_for_write(&key).is_some_and(|it| it.kind() == Kind::String);
    let more = Extension { is_append, is_base64: false, cas: Cas::None, bytes };
    let is_done = is_item && extend(&mut access, &key, more, len_max)?.is_some();
    counts.stored.add(is_done.into());
    drop(access);
    answer(call, if is_done { reply::STORED } else { reply::NOT_STORED });
    Ok(())
}

/// Bytes that are added to those of an item.
#[derive(Clone, Copy, Debug)]
pub struct Extension<'c> {
    /// True if they come behind those that are there.
    pub is_append: bool,
    /// True if the key was given in base64.
    pub is_base64: bool,
    /// CAS that is given.
    pub cas: Cas,
    /// The bytes.
    pub bytes: &'c [u8],
}

/// Adds bytes behind or before those of an item. It is then one that nobody has fetched, and is
/// neither stale nor won. Returns the bytes of its value; `None` if they would be too many, and
/// nothing has changed.
pub fn extend(
    access: &mut Access<'_>,
    key: &Key<'_>,
    more: Extension<'_>,
    len_max: u64,
) -> Result<Option<usize>, Refusal> {
    let Extension { is_append, is_base64, cas, bytes: more } = more;
    let before = access.lookup_value_without_touch(key);
    let before = before.and_then(|it| Some((it.string().ok()?, it.attributes())));
    let Some((string, before)) = before else { return Ok(None) };
    let len = string.len() + more.len();
    if len as u64 > len_max {
        return Ok(None);
    }
    let attributes = Attributes {
        flags: before.flags,
        cas,
        is_key_in_base64: is_base64,
        ..Attributes::default()
    };
    if is_append && cas == Cas::None {
        // A snapshot has those that go; who watches the key sees it change below.
        access.unseen_if(true, |access| access.change_attributes(key, |it| *it = attributes))?;
        access.forget_fetched(key);
        string::append(access, key, more, len_max)?;
        effects::words(access, key, &[b"APPEND", key.bytes, more]);
        // Alone, it leaves all but the CAS.
        if (Attributes { cas: Cas::None, ..before }) != attributes {
            effects::attributes(access, key);
        }
    } else {
        let mut value = Vec::with_capacity(len);
        let (first, last) = if is_append { (&b""[..], more) } else { (more, &b""[..]) };
        value.extend_from_slice(first);
        string.pieces(0..string.len()).for_each(|piece| value.extend_from_slice(piece));
        value.extend_from_slice(last);
        let encoding = Encoding::of_new(&value);
        access.set_string_with(key, &value, encoding, Expiry::Keep, attributes)?;
        effects::set_with_attributes(access, key, &value, Expiry::Keep);
    }
    access.report_changes(1, APPEND, key);
    Ok(Some(len))
}

#[cfg(test)]
mod tests {
    use super::extend_item;
    use crate::testing::{BEGIN, World, reply_to};
    use std::sync::Arc;
    use store::Copies;

    #[test]
    fn a_snapshot_under_way_has_what_an_append_takes_from_an_item() {
        let mut world = World::new();
        assert_eq!(reply_to(&mut world, "VARVE.NOTED 'f5 c9 s b' SET k v"), "+OK");
        let instance = Arc::clone(&world.instance);
        let mut saver = instance.store.thread_context().expect("a thread");
        let mut cut = instance.store.cut(&mut saver, BEGIN, || ()).expect("there is no other");
        let words: [&[u8]; 6] = [b"append", b"k", b"0", b"0", b"1", b"w"];
        assert!(world.with_call(&words, |call| extend_item(call, true).is_ok()).0);
        let mut copies = Copies::default();
        assert!(cut.take(&mut copies));
        let notes = copies.iter().map(|copied| copied.attributes().note().to_text());
        assert_eq!(notes.collect::<Vec<_>>(), [b"f5 c9 s b"]);
        drop(cut);
        assert_eq!(reply_to(&mut world, "GET k"), "$2 vw");
        assert_eq!(reply_to(&mut world, "VARVE.ATTRIBUTES k"), "$2 f5");
    }
}
