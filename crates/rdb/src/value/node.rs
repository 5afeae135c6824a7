//! Nodes of a stream that are written: listpacks of entries.

use super::part::StreamId;
use super::stream::FLAG_SAME_NAMES;
use crate::blob::Listpack;
use packed::Element;

/// A listpack of entries, written entry by entry. Entries with the names of the first one do not
/// repeat them.
#[derive(Debug)]
pub struct StreamNode {
    base: StreamId,
    names: Vec<Vec<u8>>,
    /// The entries, without the head that counts them.
    body: Listpack,
    entries: i64,
}

impl StreamNode {
    /// Node that begins with an entry of this id, and these names and values in turn.
    pub fn new<'t>(id: StreamId, texts: impl Iterator<Item = Element<'t>> + Clone) -> StreamNode {
        let names = texts.clone().step_by(2).map(Element::to_text).collect();
        let mut node = StreamNode { base: id, names, body: Listpack::default(), entries: 0 };
        node.push(id, texts);
        node
    }

    /// Id of the first entry.
    pub fn first_id(&self) -> StreamId {
        self.base
    }

    /// Adds an entry of this id, and these names and values in turn.
    pub fn push<'t>(&mut self, id: StreamId, texts: impl Iterator<Item = Element<'t>> + Clone) {
        let pairs = texts.clone().count() / 2;
        let mut names = self.names.iter().zip(texts.clone().step_by(2));
        let is_same = pairs == self.names.len()
            && names.all(|(name, other)| other.with_text(|text| text == name.as_slice()));
        self.number(if is_same { FLAG_SAME_NAMES } else { 0 });
        self.number(id.ms.wrapping_sub(self.base.ms).cast_signed());
        self.number(id.seq.wrapping_sub(self.base.seq).cast_signed());
        let pairs = pairs as i64;
        if is_same {
            texts.skip(1).step_by(2).for_each(|value| self.body.push(value));
            self.number(pairs + 3);
        } else {
            self.number(pairs);
            texts.for_each(|text| self.body.push(text));
            self.number(2 * pairs + 4);
        }
        self.entries += 1;
    }

    fn number(&mut self, value: i64) {
        self.body.push(Element::Integer(value));
    }

    /// Bytes of the listpack.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut listpack = Listpack::default();
        for count in [self.entries, 0, self.names.len() as i64] {
            listpack.push(Element::Integer(count));
        }
        self.names.iter().for_each(|name| listpack.push(Element::of(name)));
        listpack.push(Element::Integer(0));
        listpack.append(&self.body);
        listpack.into_bytes()
    }
}
