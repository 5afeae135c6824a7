//! DEBUG DIGEST: fingerprints of data, made as Valkey makes them, so that equal data in both
//! servers have equal ones.

use command::{Call, Outcome, Unanswered};
use session::Refusal;
use sha1::{Digest, Sha1};
use std::fmt::Write;
use store::value::stream::Id;
use store::value::{hash, list, set, sorted_set, stream};
use store::{Access, Element, Key, Kind, ScanFilter, Scanned};

/// Bytes that stand for the deadline of a key, whatever its time.
const HAS_DEADLINE: &[u8] = b"!!expire!!";

/// Number of keys that are collected before their values are read.
const BATCH: usize = 128;

/// Fingerprint in the making.
#[derive(Clone, Copy, Default)]
struct Fingerprint([u8; 20]);

impl Fingerprint {
    /// Adds bytes whose order among others does not matter.
    fn add(&mut self, bytes: &[u8]) {
        self.add_hash(Sha1::digest(bytes).into());
    }

    /// Adds bytes whose order matters.
    fn mix(&mut self, bytes: &[u8]) {
        self.mix_pieces(std::iter::once(bytes));
    }

    /// Adds bytes whose order matters and that lie in pieces.
    fn mix_pieces<'p>(&mut self, pieces: impl Iterator<Item = &'p [u8]>) {
        let mut all = Sha1::new();
        pieces.for_each(|piece| all.update(piece));
        self.add_hash(all.finalize().into());
        self.0 = Sha1::digest(self.0).into();
    }

    fn add_hash(&mut self, hash: [u8; 20]) {
        self.0.iter_mut().zip(hash).for_each(|(byte, with)| *byte ^= with);
    }

    /// Adds the value of a key, if there is one; returns false if there is none.
    fn mix_value(&mut self, access: &Access<'_>, key: &Key<'_>) -> Result<bool, Refusal> {
        let Some(value) = access.lookup_without_touch(key) else { return Ok(false) };
        self.mix(&type_number(value.kind).to_be_bytes());
        match value.kind {
            Kind::List => {
                let elements = list::lookup_without_touch(access, key)?.into_iter();
                elements.flat_map(|list| list.iter_from(0)).for_each(|it| self.mix_element(it));
            }
            Kind::Set => {
                let members = set::lookup_without_touch(access, key)?
                    .into_iter()
                    .flat_map(|set| set.members());
                members.for_each(|member| member.with_text(|text| self.add(text)));
            }
            Kind::SortedSet => {
                let pairs = sorted_set::lookup_without_touch(access, key)?.into_iter();
                for (member, score) in pairs.flat_map(|set| set.iter_from(0)) {
                    let mut one = Fingerprint::default();
                    one.mix_element(member);
                    one.mix(text::format_f64_digits(score).as_bytes());
                    self.add(&one.0);
                }
            }
            Kind::Stream => {
                let stream = stream::lookup_without_touch(access, key)?.into_iter();
                for entry in stream.flat_map(|stream| stream.range(Id::MIN, Id::MAX)) {
                    self.mix(format!("{}.{}", entry.id.ms, entry.id.seq).as_bytes());
                    entry
                        .pairs
                        .flat_map(<[Element<'_>; 2]>::from)
                        .for_each(|it| self.mix_element(it));
                }
            }
            Kind::Hash => {
                let pairs = hash::lookup_without_touch(access, key)?
                    .into_iter()
                    .flat_map(|hash| hash.iter());
                for pair in pairs {
                    let mut one = Fingerprint::default();
                    one.mix_element(pair.field);
                    one.mix_element(pair.value);
                    self.add(&one.0);
                }
            }
            Kind::String => {
                let pieces = access.lookup_string_without_touch(key)?.into_iter();
                self.mix_pieces(pieces.flat_map(|string| string.pieces(0..string.len())));
            }
        }
        if value.deadline.is_some() {
            self.add(HAS_DEADLINE);
        }
        Ok(true)
    }

    fn mix_element(&mut self, element: Element<'_>) {
        element.with_text(|text| self.mix(text));
    }

    fn text(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// The number of a kind in fingerprints.
fn type_number(kind: Kind) -> u32 {
    match kind {
        Kind::String => 0,
        Kind::List => 1,
        Kind::Set => 2,
        Kind::SortedSet => 3,
        Kind::Hash => 4,
        Kind::Stream => 6,
    }
}

pub(super) fn digest(call: &mut Call<'_>) -> Outcome {
    let store = &call.instance.store;
    let keyspaces = || (0..store.databases()).map(|it| store.keyspace(it)).collect::<Vec<_>>();
    let all = loop {
        let (mut all, before) = (Fingerprint::default(), keyspaces());
        let mut is_whole = true;
        for database in 0..store.databases() {
            is_whole = is_whole && add_database(&mut all, call, database)?;
        }
        if is_whole && before == keyspaces() {
            break all;
        }
    };
    call.reply.simple(&all.text());
    Ok(())
}

/// Adds what a database holds. Returns false if other keys took their place meanwhile.
fn add_database(
    all: &mut Fingerprint,
    call: &mut Call<'_>,
    database: usize,
) -> Result<bool, Unanswered> {
    let store = &call.instance.store;
    if store.len(database) == 0 {
        return Ok(true);
    }
    all.mix(&narrow::to_u32(database).to_be_bytes());
    let keyspace = call.keyspace_of(database)?;
    let scanned = Scanned { keyspace, now: call.visited_at(), filter: ScanFilter::default() };
    let (mut keys, mut cursor) = (Vec::new(), 0);
    loop {
        let add = |key: &[u8]| keys.push(key.to_vec());
        cursor = store.scan(call.thread, scanned, cursor, BATCH, add);
        for bytes in keys.drain(..) {
            let key = store.key(keyspace, &bytes);
            let mut access = store.lock(call.thread, &key, call.now);
            call.session.mark(&mut access);
            let mut one = Fingerprint::default();
            one.mix(&bytes);
            if one.mix_value(&access, &key)? {
                all.add(&one.0);
            }
        }
        if cursor == 0 {
            return Ok(true);
        }
        // It takes long, and who acts on everything does not wait for it.
        store.step_aside(call.thread);
        if store.keyspace(database) != Some(keyspace) {
            return Ok(false);
        }
    }
}

pub(super) fn digest_value(call: &mut Call<'_>) -> Outcome {
    let positions = 2..call.args.len();
    call.reply.array(positions.len());
    for at in positions {
        let mut one = Fingerprint::default();
        let (access, key, reply) = call.on_key(at);
        one.mix_value(&access, &key)?;
        reply.simple(&one.text());
    }
    Ok(())
}
