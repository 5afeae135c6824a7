//! Consumer groups: deliveries of entries to consumers, and entries not yet acknowledged.
//!
//! ```text
//! groups     name            -> last id 16 | entries read 8 | next number 4 | four roots 64
//! consumers  name            -> number 4 | seen 8 | active 8
//! names      number 4        -> name
//! pending    id 16           -> number 4 | delivered 8 | deliveries 8
//! owned      number 4, id 16 -> nothing
//! ```
//! All are trees among the nodes of the stream. Pending entries refer to their consumer by number.
//! `owned` has the same entries in another order: a consumer has as many pending entries as there
//! are rows that begin with its number.

mod change;
mod claim;
mod deliver;
mod fixed;
mod rows;
mod whole;

pub use change::{GroupError, acknowledge, create, create_consumer, delete_consumer, destroy, set};
pub use claim::{AutoClaim, AutoClaimed, Claim, auto_claim, claim};
pub use deliver::{Given, GroupRead, Served, read_group};
pub use whole::{WholeConsumer, WholeGroup};

pub(super) use whole::put_group;

use super::Id;
use super::facts::NO_ROOT;
use super::id::ID_BYTES;
use super::read::Stream;
use crate::shard::ReadNodes;
use packed::Element;
use rows::{ByName, find, walk};
use tree::{ByKey, ROOT_BYTES, Root, RowLeaf, resolve};

/// Leaf type of the tree of groups.
pub(super) type GroupLeaf = RowLeaf<ByName>;

/// Value of `entries_read` if the number is not known.
const UNKNOWN: i64 = -1;

/// Facts about a group, as its row holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Facts {
    last_id: Id,
    entries_read: i64,
    next_number: u32,
    consumers: Root,
    names: Root,
    pending: Root,
    owned: Root,
}

const FACTS_BYTES: usize = ID_BYTES + 8 + 4 + 4 * ROOT_BYTES;

impl Facts {
    fn new(last_id: Id, entries_read: i64) -> Facts {
        let none = NO_ROOT;
        let trees = [none; 4];
        Facts::of(last_id, entries_read, 0, trees)
    }

    fn of(last_id: Id, entries_read: i64, next_number: u32, trees: [Root; 4]) -> Facts {
        let [consumers, names, pending, owned] = trees;
        Facts { last_id, entries_read, next_number, consumers, names, pending, owned }
    }

    fn read(from: Element<'_>) -> Facts {
        let Element::Bytes(bytes) = from else { return Facts::new(Id::MIN, UNKNOWN) };
        let root = |number: usize| {
            let at = ID_BYTES + 12 + ROOT_BYTES * number;
            bytes.get(at..).and_then(Root::read).unwrap_or(NO_ROOT)
        };
        let (entries_read, next_number) = (word(bytes, ID_BYTES), word(bytes, ID_BYTES + 8));
        let trees = [0, 1, 2, 3].map(root);
        Facts::of(Id::read(bytes), entries_read as i64, narrow::low_u32(next_number), trees)
    }

    fn to_bytes(self) -> [u8; FACTS_BYTES] {
        let mut bytes = [0; FACTS_BYTES];
        let (id, rest) = bytes.split_at_mut(ID_BYTES);
        id.copy_from_slice(&self.last_id.to_bytes());
        rest[..8].copy_from_slice(&self.entries_read.to_le_bytes());
        rest[8..12].copy_from_slice(&self.next_number.to_le_bytes());
        let roots = [self.consumers, self.names, self.pending, self.owned];
        for (to, root) in rest[12..].chunks_exact_mut(ROOT_BYTES).zip(roots) {
            to.copy_from_slice(&root.to_bytes());
        }
        bytes
    }
}

/// Reads up to eight bytes as a number.
#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    let (from, mut word) = (bytes.get(at..).unwrap_or(&[]), [0; 8]);
    let len = from.len().min(8);
    word[..len].copy_from_slice(&from[..len]);
    u64::from_le_bytes(word)
}

/// Facts about a consumer, as its row holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ConsumerFacts {
    number: u32,
    seen: u64,
    /// Time of the last claim, or delivery of new entries that became pending, in milliseconds
    /// since the Unix epoch; `NEVER` if there was none.
    active: u64,
}

const NEVER: u64 = u64::MAX;

impl ConsumerFacts {
    fn read(from: Element<'_>) -> ConsumerFacts {
        let Element::Bytes(bytes) = from else {
            return ConsumerFacts { number: 0, seen: 0, active: NEVER };
        };
        let number = narrow::low_u32(word(bytes, 0));
        ConsumerFacts { number, seen: word(bytes, 4), active: word(bytes, 12) }
    }

    fn to_bytes(self) -> [u8; 20] {
        let mut bytes = [0; 20];
        bytes[..4].copy_from_slice(&self.number.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.seen.to_le_bytes());
        bytes[12..].copy_from_slice(&self.active.to_le_bytes());
        bytes
    }
}

/// Length in bytes of the facts about a pending entry.
const PENDING_BYTES: usize = 20;
/// Length in bytes of a key of `owned`.
const OWNED_BYTES: usize = 4 + ID_BYTES;

/// Facts about a pending entry, as its row holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PendingFacts {
    number: u32,
    delivered: u64,
    deliveries: u64,
}

impl PendingFacts {
    fn read(bytes: [u8; PENDING_BYTES]) -> PendingFacts {
        let number = narrow::low_u32(word(&bytes, 0));
        PendingFacts { number, delivered: word(&bytes, 4), deliveries: word(&bytes, 12) }
    }

    fn to_bytes(self) -> [u8; PENDING_BYTES] {
        let mut bytes = [0; PENDING_BYTES];
        bytes[..4].copy_from_slice(&self.number.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.delivered.to_le_bytes());
        bytes[12..].copy_from_slice(&self.deliveries.to_le_bytes());
        bytes
    }
}

/// Returns the key in `owned` of a pending entry of a consumer.
#[inline]
fn owned_key(number: u32, id: Id) -> [u8; OWNED_BYTES] {
    let mut key = [0; OWNED_BYTES];
    key[..4].copy_from_slice(&number.to_be_bytes());
    key[4..].copy_from_slice(&id.to_bytes());
    key
}

impl<'x> Stream<'x> {
    /// Returns the groups of the stream.
    pub fn groups(&self) -> Groups<'x> {
        Groups { stream: *self, root: self.groups }
    }
}

/// Groups of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Groups<'x> {
    stream: Stream<'x>,
    root: Root,
}

impl<'x> Groups<'x> {
    fn nodes(&self) -> ReadNodes<'x> {
        self.stream.entries.nodes
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        narrow::to_usize(self.root.count)
    }

    /// Returns true if there are no groups.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over the groups, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = Group<'x>> + use<'x> {
        self.iter_from(b"")
    }

    /// Iterates over the groups from a name on.
    pub fn iter_from(&self, name: &[u8]) -> impl Iterator<Item = Group<'x>> + use<'x> {
        let (nodes, stream) = (self.nodes(), self.stream);
        walk::<_, ByName>(nodes, self.root, name).map(move |[name, facts]| Group {
            name: resolve(nodes, name),
            facts: Facts::read(facts),
            stream,
        })
    }

    /// Returns the group with a name.
    #[inline]
    pub fn get(&self, name: &'x [u8]) -> Option<Group<'x>> {
        let facts = find::<_, ByName>(self.nodes(), self.root, name)?;
        let name = Element::Bytes(name);
        Some(Group { name, facts: Facts::read(facts), stream: self.stream })
    }
}

/// A consumer group.
#[derive(Clone, Copy, Debug)]
pub struct Group<'x> {
    /// Name of the group.
    pub name: Element<'x>,
    facts: Facts,
    stream: Stream<'x>,
}

impl<'x> Group<'x> {
    fn nodes(&self) -> ReadNodes<'x> {
        self.stream.entries.nodes
    }

    /// Id of the last entry that was delivered as a new one.
    pub fn last_id(&self) -> Id {
        self.facts.last_id
    }

    /// Number of entries up to that one that were ever added, removed ones included; `None` if not
    /// known.
    pub fn entries_read(&self) -> Option<i64> {
        (self.facts.entries_read != UNKNOWN).then_some(self.facts.entries_read)
    }

    /// Number of entries not yet delivered; `None` if not known.
    pub fn lag(&self) -> Option<i64> {
        let extent = Extent::of(&self.stream);
        let read = match self.entries_read() {
            _ if extent.added == 0 => Some(0),
            Some(read) if !extent.has_gaps_from(self.facts.last_id) => Some(read),
            _ => extent.added_up_to(self.facts.last_id),
        };
        read.map(|read| extent.added.wrapping_sub(read))
    }

    /// Number of consumers.
    pub fn consumers_len(&self) -> usize {
        narrow::to_usize(self.facts.consumers.count)
    }

    /// Number of pending entries: delivered and not acknowledged.
    pub fn pending_len(&self) -> u64 {
        self.facts.pending.count
    }

    /// Iterates over the consumers, in the order of their names.
    pub fn consumers(&self) -> impl Iterator<Item = Consumer<'x>> + use<'x> {
        self.consumers_from(b"")
    }

    /// Iterates over the consumers from a name on.
    pub fn consumers_from(&self, name: &[u8]) -> impl Iterator<Item = Consumer<'x>> + use<'x> {
        let (nodes, group) = (self.nodes(), *self);
        walk::<_, ByName>(nodes, self.facts.consumers, name).map(move |[name, facts]| Consumer {
            name: resolve(nodes, name),
            facts: ConsumerFacts::read(facts),
            group,
        })
    }

    /// Returns the consumer with a name.
    pub fn consumer(&self, name: &'x [u8]) -> Option<Consumer<'x>> {
        let facts = find::<_, ByName>(self.nodes(), self.facts.consumers, name)?;
        let (name, facts) = (Element::Bytes(name), ConsumerFacts::read(facts));
        Some(Consumer { name, facts, group: *self })
    }

    /// Iterates over the pending entries from an id on.
    pub fn pending(&self, from: Id) -> impl Iterator<Item = Pending> + use<'x> {
        fixed::walk(self.nodes(), self.facts.pending, &from.to_bytes())
            .map(|(id, facts)| Pending::new(Id::read(&id), PendingFacts::read(facts)))
    }

    /// Id of the last pending entry.
    pub fn last_pending(&self) -> Option<Id> {
        let last: Option<fixed::Row<ID_BYTES, PENDING_BYTES>> =
            fixed::last(self.nodes(), self.facts.pending);
        last.map(|(id, _)| Id::read(&id))
    }

    /// Name of the consumer of a pending entry.
    pub fn owner(&self, pending: &Pending) -> Element<'x> {
        let number = pending.facts.number.to_be_bytes();
        let name = find::<_, ByKey>(self.nodes(), self.facts.names, &number);
        name.map_or(Element::Bytes(b""), |name| resolve(self.nodes(), name))
    }
}

/// A consumer of a group.
#[derive(Clone, Copy, Debug)]
pub struct Consumer<'x> {
    /// Name of the consumer.
    pub name: Element<'x>,
    facts: ConsumerFacts,
    group: Group<'x>,
}

impl<'x> Consumer<'x> {
    /// Time of the last command for the consumer, in milliseconds since the Unix epoch.
    pub fn seen(&self) -> u64 {
        self.facts.seen
    }

    /// Time of the last claim, or delivery of new entries that became pending, in milliseconds
    /// since the Unix epoch; `None` if there was none.
    pub fn active(&self) -> Option<u64> {
        (self.facts.active != NEVER).then_some(self.facts.active)
    }

    /// Number of entries delivered to the consumer and not acknowledged.
    pub fn pending_len(&self) -> u64 {
        owned_len(self.group.nodes(), self.group.facts.owned, self.facts.number)
    }

    /// Iterates over these entries from an id on.
    pub fn pending(&self, from: Id) -> impl Iterator<Item = Pending> + use<'x> {
        let (nodes, group) = (self.group.nodes(), self.group.facts);
        owned(nodes, group.owned, self.facts.number, from).filter_map(move |id| {
            let facts = fixed::find(nodes, group.pending, &id.to_bytes())?;
            Some(Pending::new(id, PendingFacts::read(facts)))
        })
    }
}

/// Counts the pending entries of a consumer.
fn owned_len<'n>(nodes: impl tree::Nodes<'n>, root: Root, number: u32) -> u64 {
    let behind = match number.checked_add(1) {
        Some(next) => fixed::rank::<_, OWNED_BYTES, 0>(nodes, root, &owned_key(next, Id::MIN)),
        None => root.count,
    };
    behind - fixed::rank::<_, OWNED_BYTES, 0>(nodes, root, &owned_key(number, Id::MIN))
}

/// Iterates over the ids of the pending entries of a consumer from one on.
fn owned<'n, N: tree::Nodes<'n>>(
    nodes: N,
    root: Root,
    number: u32,
    from: Id,
) -> impl Iterator<Item = Id> + use<'n, N> {
    fixed::walk::<_, OWNED_BYTES, 0>(nodes, root, &owned_key(number, from))
        .take_while(move |(key, _)| key.starts_with(&number.to_be_bytes()))
        .map(|(key, _)| Id::read(&key[4..]))
}

/// An entry that was delivered to a consumer and not acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// Id of the entry, which may have been deleted since.
    pub id: Id,
    facts: PendingFacts,
}

impl Pending {
    fn new(id: Id, facts: PendingFacts) -> Pending {
        Pending { id, facts }
    }

    /// Time of the last delivery, in milliseconds since the Unix epoch.
    pub fn delivered(&self) -> u64 {
        self.facts.delivered
    }

    /// Number of deliveries.
    pub fn deliveries(&self) -> u64 {
        self.facts.deliveries
    }
}

/// Numbers and ids of a stream from which the progress of a group is computed.
#[derive(Clone, Copy, Debug)]
struct Extent {
    len: u64,
    added: i64,
    first: Id,
    last_id: Id,
    max_deleted: Id,
}

impl Extent {
    fn of(stream: &Stream<'_>) -> Extent {
        Extent {
            len: stream.len(),
            added: stream.facts.added as i64,
            first: stream.first().map_or(Id::MIN, |entry| entry.id),
            last_id: stream.facts.last_id,
            max_deleted: stream.facts.max_deleted,
        }
    }

    /// Returns true if an entry with this id or a higher one was deleted.
    fn has_gaps_from(&self, id: Id) -> bool {
        self.len > 0 && self.max_deleted != Id::MIN && id <= self.max_deleted
    }

    /// Number of entries ever added up to an id; `None` if that cannot be told.
    fn added_up_to(&self, id: Id) -> Option<i64> {
        if self.added == 0 {
            return Some(0);
        }
        if self.len == 0 && id <= self.last_id {
            return Some(self.added);
        }
        if id != Id::MIN && id < self.max_deleted || id > self.last_id {
            return None;
        }
        if id == self.last_id {
            return Some(self.added);
        }
        let has_no_gaps = self.max_deleted == Id::MIN || self.max_deleted < self.first;
        let before = self.added.wrapping_sub(self.len as i64);
        match id.cmp(&self.first) {
            std::cmp::Ordering::Less if has_no_gaps => Some(before),
            std::cmp::Ordering::Equal if has_no_gaps => Some(before.wrapping_add(1)),
            _ => None,
        }
    }

    /// New value of `entries_read` after the delivery of the entry with an id above the group's
    /// last one.
    fn read_at(&self, last_id: Id, entries_read: i64, id: Id) -> i64 {
        let is_known = entries_read != UNKNOWN;
        if is_known && last_id >= self.first && !self.has_gaps_from(last_id) {
            entries_read.wrapping_add(1)
        } else if self.added > 0 {
            self.added_up_to(id).unwrap_or(UNKNOWN)
        } else {
            entries_read
        }
    }
}
