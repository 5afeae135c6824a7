//! A client that changes keys of all types in all ways.

use super::DATABASES;
use crate::Limits;
use base::{Millis, Random};
use store::value::hash::{self, HashLimit, HashMut};
use store::value::list::{self, End, ListLimit};
use store::value::set::{self, SetLimit};
use store::value::sorted_set::{self, SortedSetLimit, Terms};
use store::value::stream::group::{self, GroupRead};
use store::value::stream::{self, Add, Bound, Id, NewId, NodeLimit, Trim};
use store::value::{bitmap, string};
use store::{Access, Encoding, Expiry, Flush, Key, Kind, ShardSet, Store, ThreadContext};

/// Keys per database.
const KEYS: u64 = 150;
/// Bytes that are reserved for a change.
const ROOM: usize = 1 << 20;
const LONG: usize = 600_000;

pub fn limits() -> Limits {
    Limits {
        list: ListLimit::of_setting(-2),
        set: SetLimit { integers: 16, members: 16, member_bytes: 64 },
        sorted_set: SortedSetLimit { members_max: 16, member_bytes_max: 64 },
        hash: HashLimit { fields: 16, text_bytes: 64 },
    }
}

pub struct Client<'s> {
    store: &'s Store,
    thread: ThreadContext,
    random: Random,
    pub now: Millis,
}

impl<'s> Client<'s> {
    pub fn new(store: &'s Store, seed: u64, now: Millis) -> Client<'s> {
        let thread = store.thread_context().expect("a thread");
        Client { store, thread, random: Random::from_seed(seed + 1), now }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.below(limit)
    }

    fn database(&mut self) -> usize {
        self.below(DATABASES as u64) as usize
    }

    fn name(&mut self) -> Vec<u8> {
        let number = self.below(KEYS);
        let kind = [b's', b'l', b'h', b'z', b'x', b't'][number as usize % 6];
        let mut name = format!("{}:{number}", char::from(kind)).into_bytes();
        if number % 20 == 7 {
            name.resize(300, b'-');
        }
        name
    }

    fn text(&mut self) -> Vec<u8> {
        let len = match self.below(200) {
            0 => 3_000,
            1..=40 => 70,
            _ => 8,
        };
        let (len, byte) = (self.below(len) as usize, self.below(26) as u8 + b'a');
        let mut text = self.below(2_000).to_string().into_bytes();
        text.resize(text.len() + len, byte);
        text
    }

    fn texts(&mut self) -> Vec<Vec<u8>> {
        let count = if self.random.one_in(8) { 200 } else { 4 };
        (0..1 + self.below(count)).map(|_| self.text()).collect()
    }

    /// Changes something.
    pub fn change(&mut self) {
        match self.below(400) {
            0 => {
                self.now = Millis(self.now.0 + 1 + self.random.below(200));
                self.store.sweep_deadlines(&mut self.thread, self.now);
            }
            1 => self.inside(|client| {
                let (one, other) = (client.database(), client.database());
                client.store.swap_databases(&mut client.thread, one, other, Millis(0));
            }),
            2 => self.inside(|client| {
                let database = client.database();
                if client.random.one_in(4) {
                    client.store.flush(&mut client.thread, Flush::One(database));
                }
            }),
            3..20 => self.inside(|client| {
                client.store.free_some(&mut client.thread, 300);
            }),
            20..60 => self.inside(|client| {
                client.store.clean_at_rest(&mut client.thread, 2 << 20, client.now);
            }),
            60..70 => self.inside(Client::burst),
            _ => self.inside(Client::change_key),
        }
    }

    fn inside(&mut self, act: impl FnOnce(&mut Client<'s>)) {
        self.store.enter(&self.thread);
        act(self);
        self.store.upkeep(&mut self.thread, self.now);
        self.store.leave(&self.thread);
    }

    /// Many short keys, so that the index grows and shrinks.
    fn burst(&mut self) {
        let (database, from) = (self.database(), self.below(3_000));
        let (removes, keyspace) = (self.random.one_in(2), self.store.keyspace(database));
        for number in from..from + 150 {
            let name = format!("burst:{number}");
            let key = self.store.key(keyspace.expect("a database"), name.as_bytes());
            if self.store.reserve(&mut self.thread, 256, self.now).is_err() {
                return;
            }
            let mut access = self.store.lock(&mut self.thread, &key, self.now).muted();
            if removes {
                access.remove(&key);
            } else {
                let value = number.to_string();
                let expiry = if number % 5 == 0 {
                    Expiry::At(Millis(self.now.0 + 50 + number % 3_000))
                } else {
                    Expiry::Never
                };
                let _ = access.set_string(&key, value.as_bytes(), Encoding::Int, expiry);
            }
        }
    }

    fn change_key(&mut self) {
        let (database, name) = (self.database(), self.name());
        let keyspace = self.store.keyspace(database).expect("a database");
        let key = self.store.key(keyspace, &name);
        if self.store.reserve(&mut self.thread, ROOM, self.now).is_err() {
            return;
        }
        match self.below(40) {
            0..2 => self.on(&key, |access, key, _| done(access.remove(key))),
            2..4 => {
                let deadline = Millis(self.now.0 + self.below(2_000));
                let deadline = (!self.random.one_in(4)).then_some(deadline);
                self.on(&key, |access, key, _| done(access.set_deadline(key, deadline)));
            }
            4..7 => self.pass_on(&key),
            7..9 => {
                self.on(&key, |access, key, _| {
                    access.read(key);
                });
            }
            _ => self.change_value(&key),
        }
    }

    fn on(&mut self, key: &Key<'_>, act: impl FnOnce(&mut Access<'_>, &Key<'_>, &mut Random)) {
        let Client { store, thread, random, now } = self;
        act(&mut store.lock(thread, key, *now).muted(), key, random);
    }

    /// Renames or copies a key.
    fn pass_on(&mut self, key: &Key<'_>) {
        let (database, name) = (self.database(), self.name());
        let to = self.store.key(self.store.keyspace(database).expect("a database"), &name);
        if to.keyspace == key.keyspace && to.bytes == key.bytes {
            return;
        }
        let mut shards = ShardSet::new();
        [key, &to].iter().for_each(|key| shards.add(key.hash));
        let copies = self.random.one_in(2);
        let mut access = self.store.lock_all(&mut self.thread, shards, self.now).muted();
        let _ = if copies { access.copy(key, &to) } else { access.rename(key, &to) };
    }

    fn change_value(&mut self, key: &Key<'_>) {
        let texts = self.texts();
        let all = || texts.iter().map(Vec::as_slice);
        let kind = match key.bytes[0] {
            b's' => Kind::String,
            b'l' => Kind::List,
            b'h' => Kind::Hash,
            b'z' => Kind::SortedSet,
            b'x' => Kind::Stream,
            _ => Kind::Set,
        };
        let now = self.now;
        self.on(key, |access, key, random| match kind {
            Kind::String => change_string(access, key, random, &texts[0]),
            Kind::List => change_list(access, key, random, &texts),
            Kind::Set if random.one_in(3) => done(set::remove(access, key, all())),
            Kind::Set => done(set::add(access, key, all(), limits().set)),
            Kind::SortedSet => {
                let scored: Vec<(f64, &[u8])> =
                    all().map(|text| (random.below(50) as f64, text)).collect();
                if random.one_in(3) {
                    done(sorted_set::remove(access, key, all()));
                } else {
                    let limit = limits().sorted_set;
                    done(sorted_set::add(access, key, &scored, Terms::default(), limit));
                }
            }
            Kind::Hash => change_hash(access, key, random, &texts, now),
            Kind::Stream => change_stream(access, key, random, &texts),
        });
    }
}

fn change_string(access: &mut Access<'_>, key: &Key<'_>, random: &mut Random, text: &[u8]) {
    let at = random.below(LONG as u64) as usize;
    let is_string = access.value(key).is_none_or(|value| value.kind() == Kind::String);
    let len = access
        .value(key)
        .filter(|_| is_string)
        .map_or(0, |value| value.string().map_or(0, |string| string.len()));
    match random.below(60) {
        0 => done(access.set_string(key, &vec![text[0]; LONG], Encoding::Raw, Expiry::Keep)),
        1..15 if is_string => done(string::append(access, key, text, 1 << 29)),
        15..30 if is_string && len > 0 => {
            let at = at % len;
            done(string::set_range(access, key, at, text, 1 << 29));
        }
        30..40 if is_string && len > 0 => {
            done(bitmap::set(access, key, (at % len) as u64 * 8, random.one_in(2)));
        }
        40..45 if is_string => done(string::add(access, key, 7)),
        _ => done(access.set_string(key, text, Encoding::of_new(text), Expiry::Never)),
    }
}

fn change_list(access: &mut Access<'_>, key: &Key<'_>, random: &mut Random, texts: &[Vec<u8>]) {
    let (limit, all) = (limits().list, texts.iter().map(Vec::as_slice));
    let end = if random.one_in(2) { End::Front } else { End::Back };
    match random.below(10) {
        0..5 => done(list::push(access, key, end, all, limit, false)),
        5..7 => done(list::pop(access, key, end, random.below(60), limit, |_| ())),
        7 => done(list::set(access, key, random.below(9) as i64, &texts[0], limit)),
        8 => done(list::remove(access, key, 0, &texts[0], limit)),
        _ => done(list::trim(access, key, random.below(5) as i64, -2, limit)),
    }
}

fn change_hash(
    access: &mut Access<'_>,
    key: &Key<'_>,
    random: &mut Random,
    texts: &[Vec<u8>],
    now: Millis,
) {
    let Ok(mut hash) = HashMut::open(access, key, limits().hash) else { return };
    for text in texts {
        if random.one_in(3) {
            let _ = hash.remove(text);
            if !random.one_in(4) {
                break;
            }
            continue;
        }
        let deadline = match random.below(8) {
            0 => hash::Deadline::At(Millis(now.0 + 1 + random.below(3_000))),
            1 => hash::Deadline::Never,
            _ => hash::Deadline::Keep,
        };
        if hash.set(text, &random.below(1 << 40).to_string().into_bytes(), deadline).is_err() {
            return;
        }
    }
}

fn change_stream(access: &mut Access<'_>, key: &Key<'_>, random: &mut Random, texts: &[Vec<u8>]) {
    let limit = NodeLimit { entries: 20, bytes: 4_096 };
    let name = [b'g', b'0' + random.below(3) as u8];
    let consumer = [b'c', b'0' + random.below(4) as u8];
    match random.below(8) {
        0..4 => {
            for text in texts {
                let pair = [b"name".as_slice(), text];
                let add = Add { id: NewId::Now, only_existing: false, trim: None, limit };
                let _ = stream::add(access, key, add, pair.into_iter());
            }
        }
        4 => {
            let to = Bound::Length(random.below(100));
            done(stream::trim(access, key, Trim { to, whole_nodes: None }));
        }
        5 => done(group::create(access, key, &name, Some(Id::MIN), None, false)),
        6 => {
            let read = GroupRead {
                group: &name,
                consumer: &consumer,
                after: None,
                count: random.below(40),
                no_ack: false,
            };
            done(group::read_group(access, key, read, |_| ()));
        }
        _ => {
            let ids = access.value(key).filter(|value| value.kind() == Kind::Stream).map(|value| {
                let stream = stream::Stream::of(value);
                stream.range(Id::MIN, Id::MAX).take(30).map(|entry| entry.id).collect::<Vec<_>>()
            });
            let ids = ids.unwrap_or_default();
            if random.one_in(2) {
                done(group::acknowledge(access, key, &name, ids.into_iter()));
            } else {
                done(stream::delete(access, key, ids.into_iter().step_by(3)));
            }
        }
    }
}

/// What a change has said is of no interest: it may be refused.
fn done<T>(_: T) {}
