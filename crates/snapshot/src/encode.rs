//! Values, written as RDB.
//!
//! Small values are written in the form in which Valkey keeps them, so that it takes them as they
//! are; large ones element by element, in slices, so that nobody waits long for the lock under
//! which they are read.

use crate::list::{ListSlices, listpack_of};
use crate::slice::LOOKED_AT;
use crate::stream::StreamSlices;
use rdb::{Dialect, Listpack, Output, ValueType, Version, intset};
use std::ops::ControlFlow;
use store::value::hash::{Hash, Pair};
use store::value::set::Set;
use store::value::sorted_set::SortedSet;
use store::{Element, Encoding, Kind, ValueRef};

/// A value that was looked at, and the type in which it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The type.
    pub value_type: ValueType,
    /// Lowest version whose servers know the type.
    pub version: Version,
}

impl Form {
    fn common(value_type: ValueType) -> Option<Form> {
        Some(Form { value_type, version: Version::COMMON })
    }
}

/// Longest string that is compressed if it is kept in chunks; a longer one is never held twice.
const COMPRESSED_MAX: usize = 16 << 20;

/// Writing of one value, in slices: [`Encoder::look`] until it is done, which tells the form, and
/// then [`Encoder::write`] until that is done. The value stays the same meanwhile.
#[derive(Debug, Default)]
pub struct Encoder {
    /// Number of the next element, or of the next byte.
    at: u64,
    fields: Fields,
    list: ListSlices,
    stream: StreamSlices,
    /// Bytes of a long string.
    text: Vec<u8>,
    /// True once the head was written.
    is_begun: bool,
}

/// Facts about the fields of a hash.
#[derive(Debug, Default)]
struct Fields {
    /// Number of those that have not expired.
    visible: u64,
    /// Earliest of their deadlines.
    earliest: Option<u64>,
}

impl Fields {
    fn add(&mut self, pair: &Pair<'_>) {
        self.visible += 1;
        if let Some(deadline) = pair.deadline {
            let earliest = self.earliest.unwrap_or(u64::MAX);
            self.earliest = Some(earliest.min(deadline.0));
        }
    }
}

/// Result of a look at a value.
pub type Looked = ControlFlow<Option<Form>>;

impl Encoder {
    /// Looks at a part of a value: `Break` has the form of all of it, of the common version if it
    /// fits that, otherwise of `timed`, which knows deadlines of fields; or nothing if there is
    /// nothing to be written.
    pub fn look(&mut self, value: ValueRef<'_>, timed: Version) -> Looked {
        let (encoding, is_small) = (value.to_value().encoding, !value.to_value().is_large());
        ControlFlow::Break(match value.kind() {
            Kind::String => Form::common(ValueType::String),
            Kind::List => {
                if !self.list.look(value) {
                    return ControlFlow::Continue(());
                }
                Form::common(ValueType::ListListpacks)
            }
            Kind::Set => Form::common(match encoding {
                Encoding::Intset if is_small => ValueType::SetIntset,
                Encoding::Listpack if is_small => ValueType::SetListpack,
                _ => ValueType::Set,
            }),
            Kind::SortedSet => Form::common(match encoding {
                Encoding::Listpack if is_small => ValueType::SortedSetListpack,
                _ => ValueType::SortedSet,
            }),
            Kind::Hash => {
                if !self.look_at_fields(&Hash::of(value)) {
                    return ControlFlow::Continue(());
                }
                self.hash_form(is_small && encoding == Encoding::Listpack, timed)
            }
            Kind::Stream => {
                if !self.stream.look(value) {
                    return ControlFlow::Continue(());
                }
                Form::common(ValueType::Stream3)
            }
        })
    }

    /// Counts fields; returns true if all were.
    fn look_at_fields(&mut self, hash: &Hash<'_>) -> bool {
        if !hash.has_deadlines() {
            self.fields.visible = hash.len();
            return true;
        }
        for pair in hash.rows_from(self.at).take(LOOKED_AT) {
            self.at += 1;
            if hash.sees(&pair) {
                self.fields.add(&pair);
            }
        }
        let is_complete = self.at >= hash.len();
        if is_complete {
            self.at = 0;
        }
        is_complete
    }

    fn hash_form(&self, is_listpack: bool, timed: Version) -> Option<Form> {
        match (self.fields.earliest, self.fields.visible) {
            // Fields that have all expired are no hash.
            (_, 0) => None,
            (None, _) if is_listpack => Form::common(ValueType::HashListpack),
            (None, _) => Form::common(ValueType::Hash),
            (Some(_), _) => {
                let value_type = match timed.dialect() {
                    Dialect::Valkey => ValueType::HashTimed,
                    Dialect::Redis => ValueType::HashSpans { has_earliest: true },
                };
                Some(Form { value_type, version: timed })
            }
        }
    }

    /// Writes about `most` bytes of a value in its form; returns true if it is complete.
    pub fn write(&mut self, value: ValueRef<'_>, form: Form, to: &mut Output, most: usize) -> bool {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        match form.value_type.kind() {
            rdb::Kind::String => self.write_string(value, is_first, to, most),
            rdb::Kind::List => self.list.write(value, is_first, to, most),
            rdb::Kind::Set => self.write_set(&Set::of(value), form.value_type, to, most),
            rdb::Kind::SortedSet => {
                self.write_sorted_set(&SortedSet::of(value), form.value_type, to, most)
            }
            rdb::Kind::Hash => self.write_hash(&Hash::of(value), form.value_type, to, most),
            rdb::Kind::Stream => self.stream.write(value, is_first, to, most),
            rdb::Kind::Module => true,
        }
    }

    /// Writes a string: one in chunks is gathered first where it is to be compressed.
    fn write_string(
        &mut self,
        value: ValueRef<'_>,
        is_first: bool,
        to: &mut Output,
        most: usize,
    ) -> bool {
        let Ok(string) = value.string() else { return true };
        if let Some(text) = string.as_slice() {
            to.text(text);
            return true;
        }
        let (len, begin) = (string.len(), narrow::to_usize(self.at));
        let is_gathered = to.compresses() && len <= COMPRESSED_MAX;
        if is_first && !is_gathered {
            to.text_head(len);
        }
        let end = len.min(begin.saturating_add(most));
        for piece in string.pieces(begin..end) {
            if is_gathered { self.text.extend_from_slice(piece) } else { to.raw(piece) }
        }
        self.at = end as u64;
        if end == len && is_gathered {
            to.text(&std::mem::take(&mut self.text));
        }
        end == len
    }

    fn write_set(&mut self, set: &Set<'_>, form: ValueType, to: &mut Output, most: usize) -> bool {
        match form {
            ValueType::SetIntset => {
                let integer = |element| match element {
                    Element::Integer(value) => Some(value),
                    _ => None,
                };
                to.blob(&intset(&set.members().filter_map(integer).collect::<Vec<_>>()));
                return true;
            }
            ValueType::SetListpack => {
                to.blob(&listpack_of(set.members()));
                return true;
            }
            _ if self.at == 0 => to.length(set.len()),
            _ => {}
        }
        self.each_within(set.members_from(self.at), to, most, |member, to| to.element(member))
    }

    fn write_sorted_set(
        &mut self,
        set: &SortedSet<'_>,
        form: ValueType,
        to: &mut Output,
        most: usize,
    ) -> bool {
        if form == ValueType::SortedSetListpack {
            let mut listpack = Listpack::default();
            for (member, score) in set.iter_from(0) {
                listpack.push(member);
                listpack.push(Element::of(text::format_f64(score).as_bytes()));
            }
            to.blob(&listpack.into_bytes());
            return true;
        }
        if self.at == 0 {
            to.length(set.len());
        }
        // Highest first: a loader that inserts them one by one then inserts each in front.
        let Some(next) = set.len().checked_sub(self.at + 1) else { return true };
        let is_complete =
            self.each_within(set.iter_back_from(next), to, most, |(member, score), to| {
                to.element(member);
                to.raw(&score.to_le_bytes());
            });
        is_complete || self.at >= set.len()
    }

    fn write_hash(
        &mut self,
        hash: &Hash<'_>,
        form: ValueType,
        to: &mut Output,
        most: usize,
    ) -> bool {
        if form == ValueType::HashListpack {
            let texts = hash.iter().flat_map(|pair| [pair.field, pair.value]);
            to.blob(&listpack_of(texts));
            return true;
        }
        let earliest = self.fields.earliest.unwrap_or(0);
        if self.at == 0 {
            if let ValueType::HashSpans { has_earliest: true } = form {
                to.raw(&earliest.to_le_bytes());
            }
            // The length that the hash knows counts fields that have expired too.
            to.length(self.fields.visible);
        }
        self.each_within(hash.rows_from(self.at), to, most, |pair, to| {
            if hash.sees(&pair) {
                write_field(&pair, form, earliest, to);
            }
        })
    }

    /// Writes elements until there are `most` bytes; returns true if there are no more.
    fn each_within<T>(
        &mut self,
        elements: impl Iterator<Item = T>,
        to: &mut Output,
        most: usize,
        mut write: impl FnMut(T, &mut Output),
    ) -> bool {
        let end = to.bytes().len().saturating_add(most);
        for element in elements {
            write(element, to);
            self.at += 1;
            if to.bytes().len() >= end {
                return false;
            }
        }
        true
    }
}

fn write_field(pair: &Pair<'_>, form: ValueType, earliest: u64, to: &mut Output) {
    let deadline = pair.deadline.map(|deadline| deadline.0);
    if let ValueType::HashSpans { .. } = form {
        to.length(deadline.map_or(0, |deadline| deadline - earliest + 1));
    }
    to.element(pair.field);
    to.element(pair.value);
    if form == ValueType::HashTimed {
        to.raw(&deadline.unwrap_or(u64::MAX).to_le_bytes());
    }
}
