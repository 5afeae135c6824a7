//! All keys of a store, as clients see them.

use base::Millis;
use std::collections::BTreeMap;
use store::value::hash::Hash;
use store::value::list::List;
use store::value::set::Set;
use store::value::sorted_set::SortedSet;
use store::value::stream::{Id, Stream};
use store::{Kind, ScanFilter, Scanned, Store, ThreadContext, ValueRef};

/// A value, as rows of bytes that are the same whatever form it has.
#[derive(Debug, PartialEq, Eq)]
pub struct ModelValue {
    pub kind: Kind,
    pub deadline: Option<Millis>,
    pub rows: Vec<Vec<u8>>,
}

/// Number of the database and name of each key, with its value.
pub type Model = BTreeMap<(usize, Vec<u8>), ModelValue>;

/// Reads all keys, those past their deadline too, with the fields that are there at `now`. Nobody
/// else uses the store.
pub fn read_model(store: &Store, thread: &mut ThreadContext, now: Millis) -> Model {
    let mut model = Model::new();
    store.apply_journal(true);
    for database in 0..store.databases() {
        let keyspace = store.keyspace(database).expect("a database");
        let scanned = Scanned { keyspace, now, filter: ScanFilter::default() };
        let (mut names, mut cursor) = (Vec::new(), 0);
        loop {
            let keep = |name: &[u8], _| names.push(name.to_vec());
            cursor = store.scan_with_expired(thread, scanned, cursor, 1_000, keep);
            if cursor == 0 {
                break;
            }
        }
        for name in names {
            let key = store.key(keyspace, &name);
            let mut access = store.lock(thread, &key, now).muted();
            access.show_expired();
            let value = access.value(&key).expect("it was found");
            let rows = rows_of(value, now);
            let kept = ModelValue { kind: value.kind(), deadline: value.deadline(), rows };
            // Fields that have all expired are no hash.
            if kept.kind != Kind::Hash || !kept.rows.is_empty() {
                model.insert((database, name), kept);
            }
        }
    }
    store.apply_journal(false);
    model
}

fn rows_of(value: ValueRef<'_>, now: Millis) -> Vec<Vec<u8>> {
    match value.kind() {
        Kind::String => vec![value.string().expect("a string").to_vec()],
        Kind::List => List::of(value).iter_from(0).map(store::Element::to_text).collect(),
        Kind::Set => sorted(Set::of(value).members().map(store::Element::to_text).collect()),
        Kind::SortedSet => {
            let row = |(member, score): (store::Element<'_>, f64)| {
                [&score.to_le_bytes()[..], &member.to_text()].concat()
            };
            SortedSet::of(value).iter_from(0).map(row).collect()
        }
        Kind::Hash => {
            let is_there =
                |pair: &store::value::hash::Pair<'_>| pair.deadline.is_none_or(|at| at > now);
            let row = |pair: store::value::hash::Pair<'_>| {
                let text = [pair.field.to_text(), b"=".to_vec(), pair.value.to_text()].concat();
                [text, format!("@{:?}", pair.deadline).into()].concat()
            };
            sorted(Hash::of(value).iter().filter(is_there).map(row).collect())
        }
        Kind::Stream => rows_of_stream(&Stream::of(value)),
    }
}

fn sorted(mut rows: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    rows.sort_unstable();
    rows
}

fn rows_of_stream(stream: &Stream<'_>) -> Vec<Vec<u8>> {
    let (last, deleted) = (stream.last_id(), stream.max_deleted_id());
    let mut rows = vec![format!("{last:?} {deleted:?} {}", stream.added()).into_bytes()];
    for entry in stream.range(Id::MIN, Id::MAX) {
        let texts = entry.pairs.flat_map(<[store::Element<'_>; 2]>::from);
        let texts: Vec<Vec<u8>> = texts.map(store::Element::to_text).collect();
        rows.push(format!("{:?} {texts:?}", entry.id).into_bytes());
    }
    for group in stream.groups().iter() {
        let (name, last, read) = (group.name.to_text(), group.last_id(), group.entries_read());
        rows.push(format!("group {name:?} {last:?} {read:?}").into_bytes());
        for pending in group.pending(Id::MIN) {
            let owner = group.owner(&pending).to_text();
            let (at, times) = (pending.delivered(), pending.deliveries());
            rows.push(format!("{:?} {owner:?} {at} {times}", pending.id).into_bytes());
        }
        for consumer in group.consumers() {
            let name = consumer.name.to_text();
            let (seen, active) = (consumer.seen(), consumer.active());
            rows.push(format!("consumer {name:?} {seen} {active:?}").into_bytes());
        }
    }
    rows
}
