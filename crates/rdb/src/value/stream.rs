//! Streams: entries in listpacks, then facts, then groups.
//!
//! ```text
//! node      | first id 16 | listpack |
//! listpack  | entries | deleted | names | name ... | 0 | entry | entry | ...
//! entry     | flags | ms - first | seq - first | values ... | elements |         names as above
//! entry     | flags | ms - first | seq - first | pairs | name | value ... | elements |
//! group     | name | last id | entries read | pending ... | consumers ... |
//! pending   | id 16 | delivered 8 | deliveries |
//! consumer  | name | seen 8 | active 8 | ids of its pending entries |
//! ```

use super::part::{Part, StreamFacts, StreamId, StreamPart};
use crate::blob::{Elements, Format};
use crate::error::{Error, Flaw};
use crate::format::ValueType;
use crate::input::Input;
use packed::Element;
use smallvec::SmallVec;
use std::borrow::Cow;

/// Reader of a stream.
#[derive(Debug)]
pub(super) struct StreamReader {
    version: u8,
    phase: Phase,
    /// Counts that are left: of nodes or groups, of pending entries or consumers, of ids.
    groups: u64,
    consumers: u64,
    ids: u64,
    /// Entries so far, and the ids of the first and the last one.
    len: u64,
    first: StreamId,
    last: Option<StreamId>,
    facts: StreamFacts,
    /// True if a wrong number of entries is no damage.
    counts: bool,
    miscount: Option<Miscount>,
}

/// A number of entries that is not that of a stream's entries, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Miscount {
    /// Offset of the number.
    pub at: u64,
    /// Bytes that it takes.
    pub bytes: u64,
    /// The number that stands there.
    pub told: u64,
    /// The number of entries.
    pub found: u64,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Nodes(u64),
    Facts,
    Groups,
    Pending(u64),
    CountConsumers,
    Consumers,
}

/// What one step has read.
pub(super) enum StreamFound<'a> {
    Nothing,
    Node(StreamId, Cow<'a, [u8]>),
    Facts(StreamFacts),
    Group(Cow<'a, [u8]>, StreamId, Option<u64>),
    Pending(StreamId, u64, u64),
    Consumer(Cow<'a, [u8]>, u64, Option<u64>),
    Owned(StreamId),
}

fn read_id(input: &mut Input<'_>) -> Result<StreamId, Error> {
    Ok(StreamId { ms: u64::from_be_bytes(input.array()?), seq: u64::from_be_bytes(input.array()?) })
}

fn read_id_of_lengths(input: &mut Input<'_>) -> Result<StreamId, Error> {
    Ok(StreamId { ms: input.length()?, seq: input.length()? })
}

impl StreamReader {
    pub fn begin(
        value_type: ValueType,
        counts: bool,
        input: &mut Input<'_>,
    ) -> Result<StreamReader, Error> {
        let version = match value_type {
            ValueType::Stream1 => 1,
            ValueType::Stream2 => 2,
            _ => 3,
        };
        Ok(StreamReader {
            version,
            phase: Phase::Nodes(input.length()?),
            groups: 1,
            consumers: 0,
            ids: 0,
            len: 0,
            first: StreamId::default(),
            last: None,
            facts: StreamFacts::default(),
            counts,
            miscount: None,
        })
    }

    pub fn miscount(&self) -> Option<Miscount> {
        self.miscount
    }

    pub fn is_complete(&self) -> bool {
        matches!(self.phase, Phase::Groups) && self.groups == 0
    }

    pub fn step<'a>(&mut self, input: &mut Input<'a>) -> Result<StreamFound<'a>, Error> {
        match self.phase {
            Phase::Nodes(0) => self.phase = Phase::Facts,
            Phase::Nodes(left) => {
                let begin = input.clone();
                let key = input.bytes()?;
                let id = read_id(&mut Input::new(&key, 0)).ok().filter(|_| key.len() == 16);
                let id = id.ok_or_else(|| begin.damaged("the id of a node"))?;
                let node = input.bytes()?;
                self.phase = Phase::Nodes(left - 1);
                return Ok(StreamFound::Node(id, node));
            }
            Phase::Facts => {
                let (facts, miscount) = self.read_facts(input)?;
                self.groups = input.length()?;
                (self.facts, self.miscount) = (facts, miscount);
                self.phase = Phase::Groups;
                return Ok(StreamFound::Facts(facts));
            }
            Phase::Groups => return self.group(input),
            Phase::Pending(0) => self.phase = Phase::CountConsumers,
            Phase::Pending(left) => {
                let id = read_id(input)?;
                let (delivered, deliveries) = (input.u64()?, input.length()?);
                self.phase = Phase::Pending(left - 1);
                return Ok(StreamFound::Pending(id, delivered, deliveries));
            }
            Phase::CountConsumers => {
                self.consumers = input.length()?;
                self.phase = Phase::Consumers;
            }
            Phase::Consumers if self.ids > 0 => {
                let id = read_id(input)?;
                self.ids -= 1;
                return Ok(StreamFound::Owned(id));
            }
            Phase::Consumers if self.consumers > 0 => return self.consumer(input),
            Phase::Consumers => {
                self.groups -= 1;
                self.phase = Phase::Groups;
            }
        }
        Ok(StreamFound::Nothing)
    }

    /// Passes over a node, if one is next.
    pub fn skip_node(&mut self, input: &mut Input<'_>) -> Result<bool, Error> {
        let Phase::Nodes(left @ 1..) = self.phase else { return Ok(false) };
        input.skip_text()?;
        input.skip_text()?;
        self.phase = Phase::Nodes(left - 1);
        Ok(true)
    }

    /// Passes over the facts, if they are next: they cannot be held against entries.
    pub fn skip_facts(&mut self, input: &mut Input<'_>) -> Result<bool, Error> {
        let Phase::Facts = self.phase else { return Ok(false) };
        self.facts_in_file(input)?;
        self.groups = input.length()?;
        self.phase = Phase::Groups;
        Ok(true)
    }

    /// The facts as the file tells them.
    fn facts_in_file(&self, input: &mut Input<'_>) -> Result<StreamFacts, Error> {
        let (len, last_id) = (input.length()?, read_id_of_lengths(input)?);
        let mut facts = StreamFacts { len, last_id, added: len, ..StreamFacts::default() };
        if self.version >= 2 {
            facts.first_id = read_id_of_lengths(input)?;
            facts.max_deleted = read_id_of_lengths(input)?;
            facts.added = input.length()?;
        }
        Ok(facts)
    }

    /// The facts of the entries that were read. A last id below that of an entry would let others
    /// go before that, so that of the entry takes its place.
    fn read_facts(&self, input: &mut Input<'_>) -> Result<(StreamFacts, Option<Miscount>), Error> {
        let begin = input.clone();
        let mut facts = self.facts_in_file(input)?;
        let (told, found) = (facts.len, self.len);
        if told != found && !self.counts {
            return Err(begin.error(Flaw::Miscounted { told, found }));
        }
        let mut behind = begin.clone();
        behind.length()?;
        let (at, bytes) = (begin.at(), behind.at() - begin.at());
        let miscount = (told != found).then_some(Miscount { at, bytes, told, found });
        facts.len = found;
        facts.first_id = self.first;
        facts.last_id = facts.last_id.max(self.last.unwrap_or_default());
        Ok((facts, miscount))
    }

    fn group<'a>(&mut self, input: &mut Input<'a>) -> Result<StreamFound<'a>, Error> {
        let (name, last_id) = (input.bytes()?, read_id_of_lengths(input)?);
        let read = match self.version {
            1 => self.read_up_to(last_id),
            _ => Some(input.length()?).filter(|read| *read != u64::MAX),
        };
        self.phase = Phase::Pending(input.length()?);
        Ok(StreamFound::Group(name, last_id, read))
    }

    /// Number of entries up to an id, for a version that tells of no deleted ones; `None` if that
    /// cannot be told.
    fn read_up_to(&self, id: StreamId) -> Option<u64> {
        let StreamFacts { len, last_id, first_id, .. } = self.facts;
        match id {
            _ if len == 0 || id < first_id => Some(0),
            _ if id == last_id => Some(len),
            _ if id == first_id => Some(1),
            _ => None,
        }
    }

    fn consumer<'a>(&mut self, input: &mut Input<'a>) -> Result<StreamFound<'a>, Error> {
        let (name, seen) = (input.bytes()?, input.u64()?);
        let active = if self.version >= 3 { input.u64()? } else { seen };
        self.ids = input.length()?;
        self.consumers -= 1;
        Ok(StreamFound::Consumer(name, seen, Some(active).filter(|it| *it != u64::MAX)))
    }

    pub fn emit<E: From<Error>>(
        &mut self,
        found: StreamFound<'_>,
        begin: &Input<'_>,
        each: &mut impl FnMut(Part<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let part = match &found {
            StreamFound::Nothing => return Ok(()),
            StreamFound::Node(base, bytes) => return self.emit_node(*base, bytes, begin, each),
            StreamFound::Facts(facts) => StreamPart::Facts(*facts),
            StreamFound::Group(name, last_id, entries_read) => {
                StreamPart::Group { name, last_id: *last_id, entries_read: *entries_read }
            }
            StreamFound::Pending(id, delivered, deliveries) => {
                StreamPart::Pending { id: *id, delivered: *delivered, deliveries: *deliveries }
            }
            StreamFound::Consumer(name, seen, active) => {
                StreamPart::Consumer { name, seen: *seen, active: *active }
            }
            StreamFound::Owned(id) => StreamPart::Owned(*id),
        };
        each(Part::Stream(part))
    }

    fn emit_node<E: From<Error>>(
        &mut self,
        base: StreamId,
        bytes: &[u8],
        begin: &Input<'_>,
        each: &mut impl FnMut(Part<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let damaged = || E::from(begin.damaged("a node of a stream"));
        let elements = Format::Listpack.elements(bytes).map_err(|_| damaged())?;
        let mut node = Node::open(base, elements).ok_or_else(damaged)?;
        let mut starts_node = true;
        while node.left > 0 {
            let entry = node.next().ok_or_else(damaged)?;
            let Some((id, texts)) = entry else { continue };
            if self.last.replace(id).is_some_and(|last| last >= id) {
                return Err(begin.damaged("ids of a stream that do not rise").into());
            }
            if self.len == 0 {
                self.first = id;
            }
            self.len += 1;
            each(Part::Stream(StreamPart::Entry { id, starts_node, texts: &texts }))?;
            starts_node = false;
        }
        if node.is_whole() { Ok(()) } else { Err(damaged()) }
    }
}

const FLAG_DELETED: i64 = 1;
pub(super) const FLAG_SAME_NAMES: i64 = 2;

/// A listpack of entries.
struct Node<'b> {
    base: StreamId,
    elements: Elements<'b>,
    names: SmallVec<[Element<'b>; 16]>,
    /// Entries that are left, deleted ones among them.
    left: u64,
    deleted: u64,
}

/// An entry: its id, and names and values in turn.
type Entry<'b> = (StreamId, SmallVec<[Element<'b>; 16]>);

impl<'b> Node<'b> {
    fn open(base: StreamId, mut elements: Elements<'b>) -> Option<Node<'b>> {
        let [entries, deleted, names] = [(); 3].map(|()| count(&mut elements));
        let left = entries?.checked_add(deleted?)?;
        let names = (0..names?).map(|_| elements.next()?.ok()).collect::<Option<_>>()?;
        (number(&mut elements)? == 0).then_some(())?;
        Some(Node { base, elements, names, left, deleted: deleted? })
    }

    /// Reads the next entry: `None` if it is damaged, `Some(None)` if it is deleted.
    fn next(&mut self) -> Option<Option<Entry<'b>>> {
        self.left -= 1;
        let from = &mut self.elements;
        let (flags, ms, seq) = (number(from)?, number(from)?, number(from)?);
        let id = StreamId {
            ms: self.base.ms.wrapping_add(ms.cast_unsigned()),
            seq: self.base.seq.wrapping_add(seq.cast_unsigned()),
        };
        let is_same = flags & FLAG_SAME_NAMES != 0;
        let pairs = if is_same { self.names.len() as u64 } else { count(from)? };
        let mut texts = SmallVec::new();
        for at in 0..pairs {
            let name =
                if is_same { self.names[narrow::to_usize(at)] } else { from.next()?.ok()? };
            texts.extend([name, from.next()?.ok()?]);
        }
        let elements =
            if is_same { pairs.checked_add(3)? } else { pairs.checked_mul(2)?.checked_add(4)? };
        (count(from)? == elements).then_some(())?;
        if flags & FLAG_DELETED != 0 {
            self.deleted = self.deleted.checked_sub(1)?;
            return Some(None);
        }
        Some(Some((id, texts)))
    }

    /// Returns true if nothing follows the last entry, and as many were deleted as it says.
    fn is_whole(&mut self) -> bool {
        self.deleted == 0 && self.elements.next().is_none()
    }
}

fn number(from: &mut Elements<'_>) -> Option<i64> {
    match from.next()? {
        Ok(Element::Integer(value)) => Some(value),
        _ => None,
    }
}

fn count(from: &mut Elements<'_>) -> Option<u64> {
    u64::try_from(number(from)?).ok()
}
