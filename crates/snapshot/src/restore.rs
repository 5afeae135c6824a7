//! Collected values, stored under a key.

use crate::collect::{Collected, Contents, StreamContents};
use crate::id::id_of;
use crate::limits::Limits;
use base::Millis;
use store::value::hash::{HashLimit, HashMut};
use store::value::sorted_set::Gathered;
use store::value::stream::Whole;
use store::value::{Texts, list, set, sorted_set};
use store::{Access, Element, Encoding, Expiry, Key, NoSpace};

impl Collected {
    /// Bytes that must be free before the value is stored.
    pub fn byte_len(&self) -> usize {
        let texts = |texts: &Texts| texts.byte_len() + texts.len() * TEXT_COST;
        match &self.0 {
            Contents::String(bytes) => bytes.len(),
            Contents::List(elements) => texts(elements),
            Contents::Set { members, .. } => texts(members),
            Contents::SortedSet { members, scores, .. } => {
                2 * texts(members) + scores.len() * TEXT_COST
            }
            Contents::Hash { texts: pairs, .. } => texts(pairs),
            Contents::Stream(stream) => texts(&stream.texts) + stream.entries.len() * TEXT_COST,
        }
    }

    /// The value, if it is a string.
    pub fn as_string(&self) -> Option<&[u8]> {
        if let Contents::String(bytes) = &self.0 { Some(bytes) } else { None }
    }

    /// Puts the value under a key, in place of any other, with a deadline or none.
    ///
    /// # Errors
    /// When there is no room; the key holds nothing then, or its value of before.
    pub fn store(
        &self,
        access: &mut Access<'_>,
        key: &Key<'_>,
        deadline: Option<Millis>,
        limits: &Limits,
    ) -> Result<(), NoSpace> {
        let expiry = deadline.map_or(Expiry::Never, Expiry::At);
        match &self.0 {
            Contents::String(bytes) => {
                return access.set_string(key, bytes, Encoding::of_new(bytes), expiry);
            }
            Contents::List(elements) => list::store(access, key, elements.iter(), limits.list)?,
            Contents::Set { members, was_listpack } => {
                set::replace(access, key, members.iter(), *was_listpack, limits.set)?;
            }
            Contents::SortedSet { members, scores, was_packed } => {
                let mut gathered =
                    if *was_packed { Gathered::of_texts() } else { Gathered::default() };
                for (member, score) in members.iter().zip(scores) {
                    gathered.push(Element::Bytes(member), *score);
                }
                sorted_set::store(access, key, &mut gathered, limits.sorted_set)?;
            }
            Contents::Hash { texts, deadlines } => {
                store_hash(access, key, texts, deadlines, limits.hash)?;
            }
            Contents::Stream(stream) => store_stream(access, key, stream)?,
        }
        let stored = access.set_deadline(key, deadline);
        if stored.is_err() {
            access.remove(key);
        }
        stored.map(drop)
    }
}

/// About the bytes that a text takes besides its own.
pub(crate) const TEXT_COST: usize = 8;

fn store_hash(
    access: &mut Access<'_>,
    key: &Key<'_>,
    texts: &Texts,
    deadlines: &[(usize, Millis)],
    limit: HashLimit,
) -> Result<(), NoSpace> {
    access.remove(key);
    let stored = fill_hash(access, key, texts, deadlines, limit);
    if stored.is_err() {
        access.remove(key);
    }
    stored
}

fn fill_hash(
    access: &mut Access<'_>,
    key: &Key<'_>,
    texts: &Texts,
    deadlines: &[(usize, Millis)],
    limit: HashLimit,
) -> Result<(), NoSpace> {
    let pairs = (0..texts.len() / 2).map(|at| (texts.get(2 * at), texts.get(2 * at + 1)));
    let opened = HashMut::open(access, key, limit);
    let mut hash = opened.expect("the key holds nothing");
    hash.set_all(pairs.clone())?;
    for (at, deadline) in deadlines {
        hash.set_deadline(texts.get(2 * at), Some(*deadline))?;
    }
    Ok(())
}

fn store_stream(
    access: &mut Access<'_>,
    key: &Key<'_>,
    stream: &StreamContents,
) -> Result<(), NoSpace> {
    let mut whole = Whole::begin(access, key)?;
    let stored = append_entries(&mut whole, stream).and_then(|()| end_stream(&mut whole, stream));
    if stored.is_err() {
        whole.give_up();
        return stored;
    }
    whole.finish();
    Ok(())
}

/// Appends the entries that were read.
pub(crate) fn append_entries(
    whole: &mut Whole<'_, '_>,
    stream: &StreamContents,
) -> Result<(), NoSpace> {
    let mut begin = 0;
    for (id, starts_node, end) in &stream.entries {
        let texts = (begin..*end).map(|at| stream.texts.get(at));
        whole.append(*id, *starts_node, texts)?;
        begin = *end;
    }
    Ok(())
}

/// Adds to a stream what it has besides its entries.
pub(crate) fn end_stream(
    whole: &mut Whole<'_, '_>,
    stream: &StreamContents,
) -> Result<(), NoSpace> {
    let facts = &stream.facts;
    let [last_id, max_deleted] = [facts.last_id, facts.max_deleted].map(id_of);
    whole.set_facts(last_id, max_deleted, facts.added);
    stream.groups.iter().try_for_each(|group| whole.add_group(&group))
}
