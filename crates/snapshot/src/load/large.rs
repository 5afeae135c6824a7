//! Large values, read in pieces.
//!
//! ```text
//! set, hash, sorted set   gathered, and built from below once all rows are there
//! list, stream            each piece is appended to what the key holds
//! ```

use super::error::LoadError;
use super::rules::Rules;
use crate::collect::StreamContents;
use crate::limits::Limits;
use crate::restore::{TEXT_COST, append_entries, end_stream};
use base::Millis;
use rdb::{Error, Flaw, Input, KeyFacts, Kind, Part, ValueReader};
use store::value::hash::GatheredHash;
use store::value::list::{self, End};
use store::value::set::GatheredSet;
use store::value::sorted_set::GatheredSortedSet;
use store::value::stream::Whole;
use store::value::{NotStored, Texts};
use store::{Access, Key, NoSpace};

/// A key whose value comes in pieces.
#[derive(Debug)]
pub(crate) struct LargeValue {
    pub facts: KeyFacts<'static>,
    pub database: u64,
    pub at: u64,
    /// True once all rows were read.
    pub is_complete: bool,
    /// True once the key holds a part of the value.
    pub is_begun: bool,
    reader: ValueReader,
    rows: Rows,
}

/// Rows that were read and are not stored yet.
#[derive(Debug)]
enum Rows {
    /// The key is left out.
    Dropped,
    List(Texts),
    Set(GatheredSet),
    SortedSet(GatheredSortedSet),
    Hash(GatheredHash),
    Stream(StreamContents),
}

impl LargeValue {
    pub fn new(facts: KeyFacts<'static>, database: u64, at: u64, rules: &Rules<'_>) -> LargeValue {
        let (hasher, limits) = (rules.store.hasher(), rules.limits);
        let rows = match facts.value_type.kind() {
            _ if rules.drops(&facts) => Rows::Dropped,
            Kind::List => Rows::List(Texts::default()),
            Kind::Set => Rows::Set(GatheredSet::new(hasher, limits.set)),
            Kind::SortedSet => Rows::SortedSet(GatheredSortedSet::new(hasher, limits.sorted_set)),
            Kind::Hash => Rows::Hash(GatheredHash::new(hasher, limits.hash)),
            Kind::Stream => Rows::Stream(StreamContents::default()),
            Kind::String | Kind::Module => unreachable!("these have no rows"),
        };
        let reader = ValueReader::new(facts.value_type);
        LargeValue { facts, database, at, is_complete: false, is_begun: false, reader, rows }
    }

    /// Reads the rows that are there.
    pub fn read(&mut self, input: &mut Input<'_>) -> Result<(), LoadError> {
        let (piece_at, key_at) = (input.at(), self.at);
        let LargeValue { reader, rows, .. } = self;
        self.is_complete = reader.read(input, |part| rows.add(part, (piece_at, key_at)))?;
        Ok(())
    }

    /// True if the key is left out.
    pub fn is_dropped(&self) -> bool {
        matches!(self.rows, Rows::Dropped)
    }

    /// True if all rows were read, and there are none.
    pub fn is_empty(&self) -> bool {
        match &self.rows {
            Rows::List(_) => !self.is_begun,
            Rows::Set(set) => set.is_empty(),
            Rows::SortedSet(set) => set.is_empty(),
            Rows::Hash(hash) => hash.is_empty(),
            Rows::Stream(_) | Rows::Dropped => false,
        }
    }

    /// True if there are rows that can be stored before the others.
    pub fn has_piece(&self) -> bool {
        match &self.rows {
            Rows::List(texts) => !texts.is_empty(),
            Rows::Stream(stream) => !stream.entries.is_empty(),
            _ => false,
        }
    }

    /// Bytes that must be free before what was read is stored.
    pub fn byte_len(&self) -> usize {
        let (bytes, rows) = match &self.rows {
            Rows::List(texts) => (texts.byte_len(), texts.len()),
            Rows::Set(set) => (set.byte_len(), set.len()),
            Rows::SortedSet(set) => (set.byte_len(), set.len()),
            Rows::Hash(hash) => (hash.byte_len(), hash.len()),
            Rows::Stream(stream) => (stream.texts.byte_len(), stream.texts.len()),
            Rows::Dropped => (0, 0),
        };
        bytes + rows * TEXT_COST
    }

    /// Appends what was read to the value of the key; the first piece takes the place of any other
    /// value.
    pub fn append(
        &mut self,
        access: &mut Access<'_>,
        key: &Key<'_>,
        limits: &Limits,
    ) -> Result<(), NotStored> {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        match &mut self.rows {
            Rows::List(texts) => {
                let piece = std::mem::take(texts);
                if is_first {
                    access.remove(key);
                }
                let pushed = list::push(access, key, End::Back, piece.iter(), limits.list, false);
                pushed.map_err(|_| NoSpace)?;
            }
            Rows::Stream(stream) => {
                let mut whole = stream_of(access, key, is_first)?;
                let appended = append_entries(&mut whole, stream);
                whole.finish();
                stream.forget_entries();
                appended?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Stores what is left of a value that is complete.
    pub fn end(&mut self, access: &mut Access<'_>, key: &Key<'_>) -> Result<(), NotStored> {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        match std::mem::replace(&mut self.rows, Rows::Dropped) {
            Rows::Set(set) => set.store(access, key)?,
            Rows::SortedSet(set) => set.store(access, key)?,
            Rows::Hash(hash) => hash.store(access, key)?,
            Rows::Stream(stream) => {
                let mut whole = stream_of(access, key, is_first)?;
                let ended = end_stream(&mut whole, &stream);
                whole.finish();
                ended?;
            }
            Rows::List(_) | Rows::Dropped => {}
        }
        access.set_deadline(key, self.facts.deadline.map(Millis))?;
        Ok(())
    }

    /// Checks what only shows once all was read.
    pub fn check(&self) -> Result<(), Error> {
        let Rows::Stream(stream) = &self.rows else { return Ok(()) };
        let damaged = |what| Error { at: self.at, flaw: Flaw::Damaged(what) };
        stream.groups.check().map_err(damaged)
    }
}

/// The stream of a key that is written in pieces.
fn stream_of<'g, 'a>(
    access: &'g mut Access<'a>,
    key: &Key<'g>,
    is_first: bool,
) -> Result<Whole<'g, 'a>, NoSpace> {
    if is_first { Whole::begin(access, key) } else { Whole::resume(access, key).ok_or(NoSpace) }
}

impl Rows {
    /// Adds what was read, of a piece and a key that begin at these offsets.
    #[inline]
    fn add(&mut self, part: Part<'_>, (piece_at, key_at): (u64, u64)) -> Result<(), LoadError> {
        let added = match (self, part) {
            (Rows::Dropped, _) => Ok(()),
            (Rows::List(texts), Part::Element(element)) => {
                element.with_text(|text| texts.push(text));
                Ok(())
            }
            (Rows::Set(set), Part::Element(member)) => member.with_text(|text| set.push(text)),
            (Rows::SortedSet(set), Part::Member { member, score }) => {
                member.with_text(|text| set.push(text, score))
            }
            (Rows::Hash(hash), Part::Field { field, value, deadline }) => {
                field.with_text(|field| {
                    value.with_text(|value| hash.push(field, value, deadline.map(Millis)))
                })
            }
            (Rows::Stream(stream), Part::Stream(part)) => {
                let damaged = |what| Error { at: piece_at, flaw: Flaw::Damaged(what) };
                stream.add(part).map_err(damaged)?;
                Ok(())
            }
            _ => unreachable!("the reader of a type gives parts of its kind"),
        };
        added.map_err(|NoSpace| LoadError::NoSpace { at: key_at })
    }
}
