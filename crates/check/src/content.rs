//! What only shows once a value was read whole: that it holds something, and nothing twice.

use rdb::{Kind, Part, StreamId, StreamPart};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

/// Fingerprints of names, by keys of this process. They are so long that two names never share one.
#[derive(Debug, Default)]
pub struct Fingerprints([RandomState; 2]);

impl Fingerprints {
    /// The fingerprint of a name.
    pub fn of(&self, name: &[u8]) -> u128 {
        self.of_key(0, name)
    }

    /// The fingerprint of a key.
    pub fn of_key(&self, database: u64, name: &[u8]) -> u128 {
        let hashes = self.0.each_ref().map(|keys| u128::from(keys.hash_one((database, name))));
        hashes[0] << 64 | hashes[1]
    }
}

/// What was seen of one value.
#[derive(Debug, Default)]
pub struct Content {
    parts: u64,
    /// Members of a set or a sorted set, fields of a hash, groups of a stream.
    names: Vec<u128>,
    group: Group,
    flaw: Option<&'static str>,
}

/// The group of a stream that is being read.
#[derive(Debug, Default)]
struct Group {
    /// Pending entries, and whether a consumer owns each.
    pending: BTreeMap<StreamId, bool>,
    consumers: Vec<u128>,
}

/// What a value is worth to a server that loads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worth {
    /// It is kept.
    Sound,
    /// It is a collection without elements, which is left out.
    Empty,
    /// It is refused, and the file with it.
    Refused(&'static str),
}

impl Content {
    /// Takes a part of the value.
    pub fn add(&mut self, part: &Part<'_>, kind: Kind, fingerprints: &Fingerprints) {
        self.parts += 1;
        let name = match part {
            Part::Element(member) if kind == Kind::Set => member,
            Part::Member { member, .. } => member,
            Part::Field { field, .. } => field,
            Part::Stream(part) => return self.add_to_stream(part, fingerprints),
            Part::String(_) | Part::Element(_) => return,
        };
        self.names.push(name.with_text(|text| fingerprints.of(text)));
    }

    fn add_to_stream(&mut self, part: &StreamPart<'_>, fingerprints: &Fingerprints) {
        match part {
            StreamPart::Entry { .. } | StreamPart::Facts(_) => {}
            StreamPart::Group { name, .. } => {
                self.end_group();
                self.names.push(fingerprints.of(name));
            }
            StreamPart::Pending { id, .. } => {
                let last = self.group.pending.last_key_value();
                if last.is_some_and(|(last, _)| last >= id) {
                    self.note("pending entries whose ids do not rise");
                }
                self.group.pending.insert(*id, false);
            }
            StreamPart::Consumer { name, .. } => {
                self.group.consumers.push(fingerprints.of(name));
            }
            StreamPart::Owned(id) => match self.group.pending.insert(*id, true) {
                None => self.note("an entry that is not pending"),
                Some(true) => self.note("a pending entry with two consumers"),
                Some(false) => {}
            },
        }
    }

    fn end_group(&mut self) {
        let mut group = std::mem::take(&mut self.group);
        if !group.pending.values().all(|is_owned| *is_owned) {
            self.note("a pending entry without a consumer");
        }
        if is_one_twice(&mut group.consumers) {
            self.note("a consumer twice");
        }
    }

    fn note(&mut self, flaw: &'static str) {
        self.flaw.get_or_insert(flaw);
    }

    /// Ends the value.
    pub fn end(mut self, kind: Kind) -> Worth {
        self.end_group();
        if is_one_twice(&mut self.names) {
            self.note(if kind == Kind::Stream { "a group twice" } else { "the same member twice" });
        }
        match (self.flaw, kind) {
            (Some(flaw), _) => Worth::Refused(flaw),
            (None, kind) if self.parts == 0 && kind.is_never_empty() => Worth::Empty,
            (None, _) => Worth::Sound,
        }
    }
}

fn is_one_twice(names: &mut [u128]) -> bool {
    names.sort_unstable();
    names.windows(2).any(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdb::Text;

    fn worth(kind: Kind, parts: &[Part<'_>]) -> Worth {
        let (fingerprints, mut content) = (Fingerprints::default(), Content::default());
        parts.iter().for_each(|part| content.add(part, kind, &fingerprints));
        content.end(kind)
    }

    #[test]
    fn members_and_fields_are_there_once_and_elements_as_often_as_they_like() {
        let text = |bytes: &'static [u8]| Text::Bytes(bytes.into());
        let [a, v, digit, seven] = [text(b"a"), text(b"v"), text(b"7"), Text::Integer(7)];
        let twice = Worth::Refused("the same member twice");
        let worth_of = |kind, one: &Text<'_>, other: &Text<'_>| {
            let parts = [one, other].map(|name| match kind {
                Kind::Hash => {
                    Part::Field { field: name.element(), value: v.element(), deadline: None }
                }
                Kind::SortedSet => Part::Member { member: name.element(), score: 1.0 },
                _ => Part::Element(name.element()),
            });
            worth(kind, &parts)
        };
        for kind in [Kind::Set, Kind::SortedSet, Kind::Hash] {
            assert_eq!(worth_of(kind, &a, &v), Worth::Sound);
            assert_eq!(worth_of(kind, &a, &a), twice);
            // A number and its text are the same member.
            assert_eq!(worth_of(kind, &digit, &seven), twice);
        }
        assert_eq!(worth_of(Kind::List, &a, &a), Worth::Sound);
    }

    #[test]
    fn only_strings_and_streams_may_be_empty() {
        for kind in [Kind::List, Kind::Set, Kind::SortedSet, Kind::Hash] {
            assert_eq!(worth(kind, &[]), Worth::Empty);
        }
        assert_eq!(worth(Kind::String, &[]), Worth::Sound);
        assert_eq!(worth(Kind::Stream, &[]), Worth::Sound);
    }

    #[test]
    fn each_pending_entry_has_one_consumer() {
        let id = |ms| StreamId { ms, seq: 0 };
        let group =
            |name| Part::Stream(StreamPart::Group { name, last_id: id(1), entries_read: None });
        let pending =
            |ms| Part::Stream(StreamPart::Pending { id: id(ms), delivered: 0, deliveries: 1 });
        let consumer = |name| Part::Stream(StreamPart::Consumer { name, seen: 0, active: None });
        let owned = |ms| Part::Stream(StreamPart::Owned(id(ms)));
        let (a, b): (&[u8], &[u8]) = (b"a", b"b");
        let sound =
            [group(a), pending(1), pending(2), consumer(a), owned(2), consumer(b), owned(1)];
        let refused = [
            (&[group(a), group(b), group(a)][..], "a group twice"),
            (&[group(a), consumer(a), consumer(a)], "a consumer twice"),
            (&[group(a), pending(2), pending(1)], "pending entries whose ids do not rise"),
            (&[group(a), pending(1), group(b)], "a pending entry without a consumer"),
            (&[group(a), consumer(a), owned(1)], "an entry that is not pending"),
            (
                &[group(a), pending(1), consumer(a), owned(1), consumer(b), owned(1)],
                "a pending entry with two consumers",
            ),
        ];
        assert_eq!(worth(Kind::Stream, &sound), Worth::Sound);
        for (parts, flaw) in refused {
            assert_eq!(worth(Kind::Stream, parts), Worth::Refused(flaw));
        }
    }
}
