//! Entries of a stream are added, deleted, trimmed and read as those of a map by id.
#![no_main]

use arbitrary::Arbitrary;
use base::{KeyHasher, KeyspaceId, Millis};
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;
use std::collections::BTreeMap;
use store::value::stream::{self, Add, AddError, Bound, Entry, Id, NewId, NodeLimit, Trim};
use store::{Access, Key, Store, StoreConfig, ThreadContext};

const NOW: Millis = Millis(1 << 40);
/// Nodes are so small that trimming by whole ones meets many.
const LIMIT: NodeLimit = NodeLimit { entries: 7, bytes: 900 };

#[derive(Arbitrary, Debug)]
enum Op<'a> {
    /// Later by so much; the texts are names and values in turn.
    Add {
        ms: u64,
        seq: u64,
        texts: Vec<&'a [u8]>,
    },
    /// With one long value.
    AddLong {
        name: &'a [u8],
        len: u16,
    },
    /// So many with the same names.
    AddMany {
        count: u8,
        value: &'a [u8],
    },
    Delete {
        number: u16,
    },
    Trim {
        to: u16,
        by_id: bool,
        whole_nodes: Option<u8>,
    },
    Read {
        from: u16,
        to: u16,
    },
    Clean,
}

type Texts = Vec<Vec<u8>>;

struct World {
    model: BTreeMap<Id, Texts>,
    last: Id,
}

impl World {
    /// The id of an entry that may be there.
    fn id(&self, number: u16) -> Id {
        let at = usize::from(number) % (self.model.len() + 1);
        self.model.keys().nth(at).copied().unwrap_or(self.last)
    }

    fn add(&mut self, access: &mut Access<'_>, key: &Key<'_>, id: Option<Id>, texts: Texts) {
        let Some(id) = id.filter(|id| *id > self.last) else { return };
        let how = Add { id: NewId::Given(id), only_existing: false, trim: None, limit: LIMIT };
        let slices = texts.iter().map(Vec::as_slice);
        let added = stream::add(access, key, how, slices.clone()).expect("there is room");
        assert_eq!(added.map(|added| added.id), Some(id));
        let again = stream::add(access, key, how, slices);
        let refused = if id == Id::MAX { AddError::Exhausted } else { AddError::NotAbove };
        assert_eq!(again, Err(refused));
        self.model.insert(id, texts);
        self.last = id;
    }

    fn apply(&mut self, access: &mut Access<'_>, key: &Key<'_>, op: &Op<'_>) {
        match op {
            Op::Add { ms, seq, texts } => {
                let id = match self.last.ms.checked_add(*ms) {
                    Some(ms) if ms > self.last.ms => Some(Id { ms, seq: *seq }),
                    _ => self.last.seq.checked_add(*seq).map(|seq| Id { seq, ..self.last }),
                };
                let mut texts: Texts = texts.iter().map(|text| text.to_vec()).collect();
                texts.resize(texts.len().next_multiple_of(2).max(2), Vec::new());
                self.add(access, key, id, texts);
            }
            Op::AddLong { name, len } => {
                let texts = vec![name.to_vec(), vec![b'x'; usize::from(*len)]];
                self.add(access, key, self.last.next(), texts);
            }
            Op::AddMany { count, value } => (0..*count).for_each(|_| {
                let texts = vec![b"f".to_vec(), value.to_vec()];
                self.add(access, key, self.last.next(), texts);
            }),
            Op::Delete { number } => {
                let id = self.id(*number);
                let count = u64::from(self.model.remove(&id).is_some());
                assert_eq!(stream::delete(access, key, [id, id].into_iter()), Ok(count));
            }
            Op::Trim { to, by_id, whole_nodes } => {
                self.trim(access, key, *to, *by_id, whole_nodes.map(u64::from));
            }
            Op::Read { from, to } => self.read(access, key, self.id(*from), self.id(*to)),
            Op::Clean => (),
        }
    }

    fn trim(
        &mut self,
        access: &mut Access<'_>,
        key: &Key<'_>,
        to: u16,
        by_id: bool,
        whole_nodes: Option<u64>,
    ) {
        let (bound, most) = if by_id {
            let id = self.id(to);
            (Bound::Id(id), self.model.range(..id).count())
        } else {
            let len = usize::from(to) % (self.model.len() + 1);
            (Bound::Length(len as u64), self.model.len() - len)
        };
        let how = Trim { to: bound, whole_nodes };
        let count = stream::trim(access, key, how).expect("a stream") as usize;
        match whole_nodes {
            None => assert_eq!(count, most),
            Some(limit) => assert!(count <= most && (limit == 0 || count as u64 <= limit)),
        }
        (0..count).for_each(|_| drop(self.model.pop_first()));
    }

    fn read(&self, access: &Access<'_>, key: &Key<'_>, from: Id, to: Id) {
        let Some(stream) = stream::lookup_without_touch(access, key).expect("a stream") else {
            return;
        };
        assert_eq!(stream.len(), self.model.len() as u64);
        assert_eq!(stream.last().map(|last| last.id), self.model.keys().next_back().copied());
        if from > to {
            return;
        }
        let expected: Vec<_> = self.model.range(from..=to).collect();
        let there: Vec<_> = stream.range(from, to).map(texts_of).collect();
        assert!(there.iter().map(|(id, texts)| (id, texts)).eq(expected));
        let back: Vec<_> = stream.range_back(from, to).map(texts_of).collect();
        assert!(back.iter().rev().eq(&there));
    }
}

fn texts_of(entry: Entry<'_>) -> (Id, Texts) {
    let texts = entry.pairs.flat_map(|(name, value)| [name.to_text(), value.to_text()]);
    (entry.id, texts.collect())
}

thread_local! {
    /// A store takes long to make; each input leaves it without keys.
    static KEPT: RefCell<(Store, ThreadContext)> = RefCell::new(make());
}

fn make() -> (Store, ThreadContext) {
    let hasher = KeyHasher::from_seed(1);
    let config = StoreConfig { databases: 1, hasher, address_space: Some(64 << 20) };
    let store = Store::new(config).expect("address space");
    let thread = store.thread_context().expect("the first thread");
    (store, thread)
}

fn play(store: &Store, thread: &mut ThreadContext, ops: &[Op<'_>]) {
    let mut world = World { model: BTreeMap::new(), last: Id::MIN };
    let key = store.key(KeyspaceId(0), b"s");
    for op in ops {
        if matches!(op, Op::Clean) {
            store.clean_at_rest(thread, 1 << 16, NOW);
        }
        let mut access = store.lock(thread, &key, NOW).muted();
        world.apply(&mut access, &key, op);
        world.read(&access, &key, Id::MIN, Id::MAX);
    }
    // The table of a collection lives until its nodes are gone.
    store.lock(thread, &key, NOW).muted().remove(&key);
    while store.free_some(thread, 1 << 20) {}
}

fuzz_target!(|ops: Vec<Op<'_>>| {
    KEPT.with_borrow_mut(|(store, thread)| play(store, thread, &ops));
});
