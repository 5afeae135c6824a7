//! What an RDB file holds.

use crate::content::{Content, Fingerprints, Worth};
use crate::flaws::{Flaws, KeyFlaw};
use crate::servers::Asked;
use crate::walk::{Entry, KeyEntry, Sum, Walk, WalkError};
use rdb::{Kind, Miscount, Part, StreamPart};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::io::Read;

/// Names and texts about a file that are told.
const NOTES_MAX: usize = 40;

/// Counts of keys of one type or database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of keys.
    pub keys: u64,
    /// Number of those with a deadline.
    pub with_deadline: u64,
    /// Elements of their values; a string is one.
    pub elements: u64,
    /// Bytes of names and values in the file.
    pub bytes: u64,
}

impl Counts {
    fn add(&mut self, key: &Sized, has_deadline: bool) {
        self.keys += 1;
        self.with_deadline += u64::from(has_deadline);
        self.elements += key.elements;
        self.bytes += key.bytes;
    }
}

/// A key and its size; larger ones are greater.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sized {
    /// Bytes of its name and its value in the file.
    pub bytes: u64,
    /// Its elements.
    pub elements: u64,
    /// Number of its database.
    pub database: u64,
    /// Its name.
    pub name: Vec<u8>,
    /// Name of its type.
    pub kind: &'static str,
}

/// What a file holds.
#[derive(Debug, Default)]
pub struct RdbFacts {
    /// Version of the file.
    pub version: u16,
    /// Names and texts about the file, the first ones.
    pub notes: Vec<(Vec<u8>, Vec<u8>)>,
    /// Number of further ones, which some servers write for each key.
    pub notes_more: u64,
    /// True if it was written to stand before commands.
    pub is_base: bool,
    /// Counts by type.
    pub types: BTreeMap<&'static str, Counts>,
    /// Counts by database.
    pub databases: BTreeMap<u64, Counts>,
    /// Fields of hashes with a deadline.
    pub timed_fields: u64,
    /// Strings with attributes.
    pub with_attributes: u64,
    /// The largest keys, in no order.
    pub largest: BinaryHeap<Reverse<Sized>>,
    /// Sources of function libraries, whose first lines name them.
    pub functions: Vec<Vec<u8>>,
    /// Collections without elements, which loads leave out.
    pub empty: u64,
    /// Keys for which a load refuses the file.
    pub refused: Flaws,
    /// Streams with a wrong number of entries.
    pub miscounted: Flaws,
    /// These numbers.
    pub miscounts: Vec<Miscount>,
    /// What a server must know.
    pub asked: Asked,
    /// What the checksum is worth; `None` if the file was not read to its end.
    pub sum: Option<Sum>,
    /// Offset behind the last byte that was read.
    pub end: u64,
}

/// Reads a file. Facts are told as far as it could be read; the error says why it ended there.
pub fn describe(file: impl Read, largest: usize) -> (RdbFacts, Option<WalkError>) {
    let mut facts = RdbFacts::default();
    let error = facts.read(file, largest).err();
    (facts, error)
}

/// Keys that were seen, with 20 to 40 bytes for each.
#[derive(Debug, Default)]
struct Seen {
    keys: HashSet<u128, BuildHasherDefault<HalfOfFingerprint>>,
    fingerprints: Fingerprints,
}

/// A fingerprint is a hash already, by keys of this process.
#[derive(Debug, Default)]
struct HalfOfFingerprint(u64);

impl Hasher for HalfOfFingerprint {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u128(&mut self, fingerprint: u128) {
        self.0 = (fingerprint >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl RdbFacts {
    fn read(&mut self, file: impl Read, largest: usize) -> Result<(), WalkError> {
        let mut walk = Walk::begin(file)?;
        self.version = walk.version().0;
        self.asked.version = self.version;
        let (mut database, mut seen) = (0, Seen::default());
        loop {
            self.end = walk.at();
            match walk.next_entry()? {
                Entry::Note(name, text) => self.note(name, text),
                Entry::Database(number) => {
                    database = number;
                    self.asked.ask_database(number);
                }
                Entry::Sizes => {}
                Entry::Slot => self.asked.slots = true,
                Entry::Function(source) => {
                    self.functions.push(source);
                    self.asked.functions = true;
                }
                Entry::ModuleData(name) => drop(self.asked.modules.insert(name)),
                Entry::Key(key) => {
                    let sized = self.read_key(&mut walk, key, database, &mut seen)?;
                    self.keep_if_large(sized, largest);
                }
                Entry::End => break,
            }
        }
        self.sum = Some(walk.end()?);
        self.end = walk.at();
        Ok(())
    }

    fn read_key(
        &mut self,
        walk: &mut Walk<impl Read>,
        key: KeyEntry,
        database: u64,
        seen: &mut Seen,
    ) -> Result<Sized, WalkError> {
        let (mut bytes, mut elements, mut timed) = (key.name.len() as u64, 0, 0);
        let (kind, mut content) = (key.value_type.kind(), Content::default());
        let notes = walk.value(
            key.value_type,
            |raw| bytes += raw.len() as u64,
            |part| {
                content.add(&part, kind, &seen.fingerprints);
                match part {
                    Part::Field { deadline, .. } => {
                        elements += 1;
                        timed += u64::from(deadline.is_some());
                    }
                    Part::Stream(StreamPart::Entry { .. }) => elements += 1,
                    Part::Stream(_) => {}
                    Part::String(_) | Part::Element(_) | Part::Member { .. } => elements += 1,
                }
            },
        )?;
        self.asked.modules.extend(notes.module);
        self.judge(&key, database, content.end(kind), notes.miscount, seen);
        self.with_attributes += u64::from(key.attributes.is_some());
        self.timed_fields += timed;
        self.asked.timed_fields |= timed > 0;
        let sized = Sized { bytes, elements, database, name: key.name, kind: kind_name(kind) };
        let has_deadline = key.deadline.is_some();
        self.types.entry(sized.kind).or_default().add(&sized, has_deadline);
        self.databases.entry(database).or_default().add(&sized, has_deadline);
        Ok(sized)
    }

    /// Notes what a load would say of a key that was read; it began where all before had ended.
    fn judge(
        &mut self,
        key: &KeyEntry,
        database: u64,
        worth: Worth,
        miscount: Option<Miscount>,
        seen: &mut Seen,
    ) {
        let flaw = |what| KeyFlaw { at: self.end, database, name: key.name.clone(), what };
        match worth {
            Worth::Refused(what) => self.refused.note(flaw(what.to_owned())),
            Worth::Empty => self.empty += 1,
            Worth::Sound => {
                if !seen.keys.insert(seen.fingerprints.of_key(database, &key.name)) {
                    self.refused.note(flaw("the key is there twice".to_owned()));
                }
            }
        }
        if let Some(Miscount { told, found, .. }) = miscount {
            let what = format!("it says that it has {told} entries, and has {found}");
            self.miscounted.note(flaw(what));
            self.miscounts.extend(miscount);
            self.asked.miscounted = true;
        }
    }

    fn note(&mut self, name: Vec<u8>, text: Vec<u8>) {
        self.is_base |= is_of_base(&name, &text);
        if self.notes.len() < NOTES_MAX {
            self.notes.push((name, text));
        } else {
            self.notes_more += 1;
        }
    }

    fn keep_if_large(&mut self, key: Sized, most: usize) {
        let is_large = self.largest.len() < most
            || self.largest.peek().is_some_and(|Reverse(least)| *least < key);
        if is_large && most > 0 {
            if self.largest.len() == most {
                self.largest.pop();
            }
            self.largest.push(Reverse(key));
        }
    }

    /// Counts of all keys.
    pub fn all(&self) -> Counts {
        let mut all = Counts::default();
        for counts in self.databases.values() {
            all.keys += counts.keys;
            all.with_deadline += counts.with_deadline;
            all.elements += counts.elements;
            all.bytes += counts.bytes;
        }
        all
    }

    /// The largest keys, the largest first.
    pub fn largest_first(&self) -> Vec<&Sized> {
        let mut keys: Vec<&Sized> = self.largest.iter().map(|Reverse(key)| key).collect();
        keys.sort_unstable_by(|one, other| other.cmp(one));
        keys
    }

    /// Names of types of modules in the file.
    pub fn modules(&self) -> &BTreeSet<String> {
        &self.asked.modules
    }
}

/// True if a name and a text about a file say that it was written to stand before commands.
pub fn is_of_base(name: &[u8], text: &[u8]) -> bool {
    (name == b"aof-base" || name == b"aof-preamble") && text != b"0"
}

/// Name of a kind, as TYPE gives it.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::String => "string",
        Kind::List => "list",
        Kind::Set => "set",
        Kind::SortedSet => "zset",
        Kind::Hash => "hash",
        Kind::Stream => "stream",
        Kind::Module => "module",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdb::{Checksum, Opening, Output, Version};

    fn file(version: Version, write: impl FnOnce(&mut Output)) -> Vec<u8> {
        let mut output = Output::default();
        output.header(version);
        write(&mut output);
        output.end();
        let mut bytes = output.take();
        let sum = Checksum::of(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn string(output: &mut Output, name: &[u8], value: &[u8]) {
        output.byte(0);
        output.text(name);
        output.text(value);
    }

    fn three_keys() -> Vec<u8> {
        file(Version::COMMON, |output| {
            output.aux("valkey-ver", b"8.1.8");
            output.database(0, 2, 1);
            output.opening(Opening { deadline: Some(77), ..Opening::default() });
            string(output, b"a", b"short");
            string(output, b"b", &[b'x'; 100]);
            output.database(3, 1, 0);
            output.byte(2);
            output.text(b"set");
            output.length(2);
            output.text(b"one");
            output.text(b"two");
        })
    }

    #[test]
    fn keys_are_counted_by_type_and_by_database_and_the_largest_are_named() {
        let (facts, error) = describe(&three_keys()[..], 2);
        assert!(error.is_none(), "{error:?}");
        assert_eq!((facts.version, facts.sum), (11, Some(Sum::Right)));
        assert_eq!(facts.end, three_keys().len() as u64);
        let all = facts.all();
        assert_eq!((all.keys, all.with_deadline, all.elements), (3, 1, 4));
        assert_eq!(facts.types["string"].keys, 2);
        assert_eq!(facts.databases[&3].keys, 1);
        let names: Vec<&[u8]> = facts.largest_first().iter().map(|it| &it.name[..]).collect();
        assert_eq!(names, [&b"b"[..], b"set"]);
    }

    #[test]
    fn what_stands_before_the_damage_is_told() {
        let whole = three_keys();
        for len in 0..whole.len() {
            let (facts, error) = describe(&whole[..len], 10);
            assert!(error.is_some() && facts.end <= len as u64, "{len} bytes");
        }
        let (facts, error) = describe(&whole[..whole.len() - 9], 10);
        assert!(error.is_some());
        assert_eq!(facts.all().keys, 3);
        let mut changed = whole;
        let at = changed.len() - 20;
        changed[at] ^= 4;
        let error = describe(&changed[..], 10).1.expect("the checksum does not fit");
        assert!(error.to_string().contains("checksum"), "{error}");
    }

    #[test]
    fn lengths_that_are_announced_take_no_memory() {
        let bytes = file(Version::COMMON, |output| {
            output.byte(0);
            output.text(b"k");
            output.length(1 << 60);
        });
        assert!(describe(&bytes[..], 10).1.is_some());
        let bytes = file(Version::COMMON, |output| {
            output.byte(2);
            output.text(b"k");
            output.length(u64::MAX);
        });
        assert!(describe(&bytes[..], 10).1.is_some());
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused_unless_it_is_in_another_database_or_empty() {
        let twice = |second: u64, empty: bool| {
            let bytes = file(Version::COMMON, |output| {
                output.select(0);
                string(output, b"k", b"v");
                output.select(second);
                if empty {
                    output.raw(b"\x02\x01k\0");
                } else {
                    string(output, b"k", b"w");
                }
            });
            let (facts, error) = describe(&bytes[..], 10);
            assert!(error.is_none(), "{error:?}");
            (facts.refused.count, facts.empty)
        };
        assert_eq!((twice(0, false), twice(1, false), twice(0, true)), ((1, 0), (0, 0), (0, 1)));
        let bytes = file(Version::COMMON, |output| {
            string(output, b"k", b"v");
            string(output, b"k", b"v");
        });
        let told = describe(&bytes[..], 10).0.refused.told[0].to_string();
        assert_eq!(told, "\"k\" of database 0 at byte 14: the key is there twice");
    }

    #[test]
    fn a_member_that_is_there_twice_is_refused_and_the_rest_is_read() {
        let bytes = file(Version::COMMON, |output| {
            output.raw(b"\x02\x01s\x02\x01a\x01a");
            string(output, b"k", b"v");
        });
        let (facts, error) = describe(&bytes[..], 10);
        assert!(error.is_none() && facts.sum == Some(Sum::Right));
        assert_eq!((facts.refused.count, facts.all().keys), (1, 2));
    }

    #[test]
    fn facts_of_a_key_hold_over_what_stands_between() {
        let bytes = file(Version::COMMON, |output| {
            output.opening(Opening { deadline: Some(77), ..Opening::default() });
            output.aux("mvcc-tstamp", b"1");
            // Data of a module: type, when it is read, nothing.
            output.raw(&[247, 0, 2, 1, 0]);
            string(output, b"k", b"v");
            output.opening(Opening { idle: Some(1), ..Opening::default() });
        });
        let (facts, error) = describe(&bytes[..], 10);
        assert!(error.is_none(), "{error:?}");
        assert_eq!((facts.all().keys, facts.all().with_deadline), (1, 1));
        let bytes = file(Version::COMMON, |output| {
            (0..100).for_each(|_| output.aux("mvcc-tstamp", b"1"));
            output.aux("aof-base", b"1");
        });
        let facts = describe(&bytes[..], 10).0;
        assert_eq!((facts.notes.len(), facts.notes_more), (NOTES_MAX, 61));
        assert!(facts.is_base);
    }

    #[test]
    fn sources_of_functions_are_told() {
        let bytes = file(Version(11), |output| output.function(b"#!lua name=lib\nlocal x"));
        let (facts, error) = describe(&bytes[..], 10);
        assert!(error.is_none() && facts.asked.functions);
        assert_eq!(facts.functions, [b"#!lua name=lib\nlocal x".to_vec()]);
    }
}
