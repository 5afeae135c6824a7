//! Values as plain commands, in pieces of bounded size.

use super::hash::Hash;
use super::list::List;
use super::set::Set;
use super::sorted_set::SortedSet;
use super::stream::group::Group;
use super::stream::{Id, Stream};
use crate::access::Access;
use crate::key::{Key, Kind};
use crate::pieces::Pieces;
use crate::shard::{OwnedArgs, ValueRef};
use text::{format_f64, write_u64};

impl Drop for Access<'_> {
    /// Records what the keys of a command hold of which only a part was done.
    #[inline(always)]
    fn drop(&mut self) {
        if self.is_recording() && self.guard().is_partial() {
            self.record_partial_effects();
        }
    }
}

impl Access<'_> {
    #[cold]
    fn record_partial_effects(&mut self) {
        for (keyspace, bytes) in self.guard().take_partial() {
            let key = Key { bytes: &bytes, hash: self.guard().hasher().hash(&bytes), keyspace };
            let (mut commands, mut note) = (Vec::new(), None);
            if let Some(value) = self.shared_guard().value_of(&key) {
                note = value.attributes().note().unless_empty();
                in_words(&bytes, value, &mut |args| commands.push(args));
            }
            self.record_effect(keyspace, words(&[b"DEL", &bytes]));
            for args in commands {
                // What writes a string is the first.
                match note.take() {
                    Some(note) => self.record_noted_effect(keyspace, note, args),
                    None => self.record_effect(keyspace, args),
                }
            }
        }
    }

    /// Passes commands to `receive` that create the present value of a key under its name, where it
    /// does not exist, with all that has expired and is not removed yet.
    pub fn value_in_words(&self, key: &Key<'_>, mut receive: impl FnMut(OwnedArgs)) {
        if let Some(value) = self.shared_guard().value_of(key) {
            in_words(key.bytes, value, &mut receive);
        }
    }
}

impl ValueRef<'_> {
    /// Passes commands to `receive` that create this value with its deadline, as
    /// [`Access::value_in_words`] does.
    pub fn in_words(self, mut receive: impl FnMut(OwnedArgs)) {
        in_words(self.key(), self, &mut receive);
    }
}

/// Receiver of commands.
type Receiver<'s> = &'s mut dyn FnMut(OwnedArgs);

/// Passes commands to `receive` that create this value, with its deadline, under a key that does
/// not exist. Parts that have expired and are not removed yet belong to it.
///
/// Pending entries that were deleted from their stream are left out: no command makes them.
fn in_words(key: &[u8], value: ValueRef<'_>, receive: Receiver<'_>) {
    match value.kind() {
        Kind::String => {
            let text = value.string().map(|string| string.to_vec()).unwrap_or_default();
            receive(words(&[b"SET", key, &text]));
        }
        Kind::List => {
            let mut pushed = Pieces::new(true, &[b"RPUSH", key]);
            List::of(value).iter_from(0).for_each(|element| pushed.add_element(element));
            pushed.into_commands().for_each(&mut *receive);
        }
        Kind::Set => {
            let mut added = Pieces::new(true, &[b"SADD", key]);
            Set::of(value).members().for_each(|member| added.add_element(member));
            added.into_commands().for_each(&mut *receive);
        }
        Kind::SortedSet => {
            let mut added = Pieces::new(true, &[b"ZADD", key]);
            for (member, score) in SortedSet::of(value).iter_from(0) {
                let score = format_f64(score);
                member.with_text(|member| added.add(&[score.as_bytes(), member]));
            }
            added.into_commands().for_each(&mut *receive);
        }
        Kind::Hash => hash(key, Hash::of(value).with_expired(), receive),
        Kind::Stream => stream(key, Stream::of(value), receive),
    }
    if let Some(deadline) = value.deadline() {
        receive(words(&[b"PEXPIREAT", key, &number(deadline.0)]));
    }
}

fn hash(key: &[u8], hash: Hash<'_>, receive: Receiver<'_>) {
    let mut set = Pieces::new(true, &[b"HSET", key]);
    for pair in hash.iter() {
        pair.field.with_text(|field| pair.value.with_text(|value| set.add(&[field, value])));
    }
    set.into_commands().for_each(&mut *receive);
    for pair in hash.iter() {
        let Some(deadline) = pair.deadline else { continue };
        let at = number(deadline.0);
        pair.field.with_text(|field| {
            receive(words(&[b"HPEXPIREAT", key, &at, b"FIELDS", b"1", field]));
        });
    }
}

fn stream(key: &[u8], stream: Stream<'_>, receive: Receiver<'_>) {
    for entry in stream.range(Id::MIN, Id::MAX) {
        let mut args = words(&[b"XADD", key, &id(entry.id)]);
        for [name, value] in entry.pairs.map(<[_; 2]>::from) {
            args.extend([name, value].map(|element| element.with_text(<[u8]>::to_vec)));
        }
        receive(args);
    }
    if stream.is_empty() {
        // Made by an entry that is trimmed at once.
        let last = id(stream.last_id().max(Id { ms: 0, seq: 1 }));
        receive(words(&[b"XADD", key, b"MAXLEN", b"0", &last, b"x", b"y"]));
    }
    let (last, added) = (id(stream.last_id()), number(stream.added()));
    let deleted = id(stream.max_deleted_id());
    let head: [&[u8]; 3] = [b"XSETID", key, &last];
    receive(words(&[&head[..], &[b"ENTRIESADDED", &added, b"MAXDELETEDID", &deleted]].concat()));
    stream.groups().iter().for_each(|it| group(key, it, receive));
}

fn group(key: &[u8], group: Group<'_>, receive: Receiver<'_>) {
    let name = group.name.with_text(<[u8]>::to_vec);
    let (last, read) = (id(group.last_id()), group.entries_read().unwrap_or(-1).to_string());
    let head: [&[u8]; 5] = [b"XGROUP", b"CREATE", key, &name, &last];
    receive(words(&[&head[..], &[b"ENTRIESREAD", read.as_bytes()]].concat()));
    for consumer in group.consumers() {
        let consumer_name = consumer.name.with_text(<[u8]>::to_vec);
        receive(words(&[b"XGROUP", b"CREATECONSUMER", key, &name, &consumer_name]));
        for pending in consumer.pending(Id::MIN) {
            let (at, count) = (number(pending.delivered()), number(pending.deliveries()));
            let head: [&[u8]; 6] = [b"XCLAIM", key, &name, &consumer_name, b"0", &id(pending.id)];
            let tail: [&[u8]; 6] = [b"TIME", &at, b"RETRYCOUNT", &count, b"JUSTID", b"FORCE"];
            receive(words(&[&head[..], &tail].concat()));
        }
    }
}

fn words(words: &[&[u8]]) -> OwnedArgs {
    words.iter().map(|word| word.to_vec()).collect()
}

fn number(number: u64) -> Vec<u8> {
    let mut text = Vec::new();
    write_u64(&mut text, number);
    text
}

fn id(id: Id) -> Vec<u8> {
    format!("{}-{}", id.ms, id.seq).into_bytes()
}
