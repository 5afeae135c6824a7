//! Whether two servers hold the same.
//!
//! Each key of the one is asked of both: fingerprints of DEBUG DIGEST-VALUE where both tell them
//! and they tell all, else the content by the commands of its type; and what two Varves have noted
//! of it, but for who won, which no server tells another by itself. What differs is asked once
//! more, since it may have changed between two questions. Then each key of the other is looked
//! for in the one.

use crate::content::{Content, agree, read};
use crate::error::Error;
use crate::keys::{absolute, deadline_word, page};
use crate::libraries::{Library, differences, of_server};
use crate::meter::Meter;
use crate::note::{ATTRIBUTES, note_of};
use crate::resp::Reply;
use crate::scope::Scope;
use crate::server::{Link, Server};
use base::mutex::{Mutex, MutexGuard};
use std::sync::mpsc::{Receiver, sync_channel};
use text::{AttributeNote, quote};

/// Keys of one pipeline.
const AT_ONCE: usize = 64;
/// Chunks that wait in line.
const CHUNKS_MAX: usize = 16;

/// What a comparison allows, and how it is done.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Milliseconds by which deadlines may differ.
    pub tolerance: u64,
    /// Connections to each side.
    pub connections: usize,
    /// Differences that are told one by one.
    pub shown: usize,
    /// True if function libraries are compared too.
    pub functions: bool,
}

/// What a comparison has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Keys that are the same.
    pub equal: u64,
    /// Keys with another value.
    pub values: u64,
    /// Keys with another deadline.
    pub deadlines: u64,
    /// Keys of which something else is noted: flags, a CAS that was given, marks.
    pub attributes: u64,
    /// Keys of the first that the second lacks.
    pub only_first: u64,
    /// Keys of the second that the first lacks.
    pub only_second: u64,
    /// Function libraries that the second lacks, or has with another code.
    pub libraries: u64,
    /// Function libraries that the first lacks.
    pub libraries_only_second: u64,
    /// The first differences.
    pub shown: Vec<String>,
}

impl Comparison {
    /// True if there is no difference.
    pub fn is_equal(&self) -> bool {
        !self.lacks_something() && self.only_second + self.libraries_only_second == 0
    }

    /// True if the second does not have all that the first has.
    pub fn lacks_something(&self) -> bool {
        self.values + self.deadlines + self.attributes + self.only_first + self.libraries > 0
    }

    fn add(&mut self, verdict: Verdict, database: u64, key: &[u8], rules: Rules) {
        let (count, what) = match verdict {
            Verdict::Equal => (&mut self.equal, ""),
            Verdict::Value => (&mut self.values, "another value"),
            Verdict::Deadline => (&mut self.deadlines, "another deadline"),
            Verdict::Attributes => (&mut self.attributes, "other attributes"),
            Verdict::OnlyFirst => (&mut self.only_first, "only in the first"),
            Verdict::OnlySecond => (&mut self.only_second, "only in the second"),
        };
        *count += 1;
        if verdict != Verdict::Equal && self.shown.len() < rules.shown {
            let key = quote(&key[..key.len().min(200)]);
            self.shown.push(format!("database {database}, {key}: {what}"));
        }
    }

    fn add_libraries(&mut self, first: &[Library], second: &[Library], rules: Rules) {
        for (name, what, is_in_first) in differences(first, second) {
            let count =
                if is_in_first { &mut self.libraries } else { &mut self.libraries_only_second };
            *count += 1;
            if self.shown.len() < rules.shown {
                self.shown.push(format!("function library {}: {what}", quote(name)));
            }
        }
    }

    /// Text for people.
    pub fn summary(&self) -> String {
        let Comparison { equal, values, deadlines, only_first, only_second, .. } = self;
        let libraries = match self.libraries + self.libraries_only_second {
            0 => String::new(),
            count => format!("; {count} function libraries differ"),
        };
        let attributes = match self.attributes {
            0 => String::new(),
            count => format!(", {count} other attributes"),
        };
        format!(
            "{equal} keys are equal; {values} have another value, {deadlines} another \
             deadline{attributes}, {only_first} are only in the first, {only_second} only in the \
             second{libraries}"
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Equal,
    Value,
    Deadline,
    Attributes,
    OnlyFirst,
    OnlySecond,
}

/// Compares what is taken of a server with another one.
///
/// # Errors
/// When a connection breaks.
pub fn compare(
    first: &Server,
    second: &Server,
    scope: &Scope,
    rules: Rules,
    meter: &Meter,
) -> Result<Comparison, Error> {
    let mut begin = Comparison::default();
    if rules.functions {
        let of = |server: &Server| of_server(&mut Link::open(&server.address)?);
        begin.add_libraries(&of(first)?, &of(second)?, rules);
    }
    let found = Mutex::new(begin);
    let taken = |database| scope.target_of(database).map(|other| [database, other]);
    each_chunk(first, (scope, &taken), rules, meter, || {
        let mut pair = Pair::open(first, second, rules)?;
        let found = &found;
        Ok(move |databases: [u64; 2], keys: &[Vec<u8>]| pair.compare(databases, keys, found))
    })?;
    let filled = |database| scope.source_of(database).map(|other| [other, database]);
    each_chunk(second, (scope, &filled), rules, meter, || {
        let mut pair = Pair::open(first, second, rules)?;
        let found = &found;
        Ok(move |databases: [u64; 2], keys: &[Vec<u8>]| pair.look_for(databases, keys, found))
    })?;
    Ok(found.into_inner())
}

/// The number of a database at the first and at the second.
type Numbers = [u64; 2];

/// Keys of a server that are taken: which, and the numbers of each of its databases.
type Taken<'t> = (&'t Scope, &'t dyn Fn(u64) -> Option<Numbers>);

/// Passes all keys of a server that are taken, in chunks, to several threads that `open` has made.
fn each_chunk<W>(
    server: &Server,
    taken: Taken<'_>,
    rules: Rules,
    meter: &Meter,
    open: impl Fn() -> Result<W, Error>,
) -> Result<(), Error>
where
    W: FnMut(Numbers, &[Vec<u8>]) -> Result<(), Error> + Send,
{
    let (sender, receiver) = sync_channel::<(Numbers, Vec<Vec<u8>>)>(CHUNKS_MAX);
    let receiver = Mutex::new(receiver);
    let workers: Vec<W> =
        (0..rules.connections.max(1)).map(|_| open()).collect::<Result<_, _>>()?;
    let failure = Mutex::new(None);
    let scanned = std::thread::scope(|scope| {
        for mut work in workers {
            let (receiver, failure) = (&receiver, &failure);
            scope.spawn(move || {
                while let Some((databases, keys)) = next(receiver) {
                    // After a failure the rest is taken and dropped, so that nobody waits.
                    if has_failed(failure) {
                        continue;
                    }
                    if let Err(error) = work(databases, &keys) {
                        lock(failure).get_or_insert(error);
                    }
                    meter.add(keys.len() as u64);
                }
            });
        }
        let send = |chunk| {
            // The receiver lives longer than this.
            let _ = sender.send(chunk);
            !has_failed(&failure)
        };
        let scanned = scan(server, taken, send);
        drop(sender);
        scanned
    });
    lock(&failure).take().map_or(scanned, Err)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

fn has_failed(failure: &Mutex<Option<Error>>) -> bool {
    lock(failure).is_some()
}

fn next<T>(receiver: &Mutex<Receiver<T>>) -> Option<T> {
    lock(receiver).recv().ok()
}

/// Passes the keys of a server that are taken in chunks to `send`, until that returns false.
fn scan(
    server: &Server,
    (scope, numbers): Taken<'_>,
    mut send: impl FnMut((Numbers, Vec<Vec<u8>>)) -> bool,
) -> Result<(), Error> {
    let mut link = Link::open(&server.address)?;
    let databases = server.databases.iter().map(|(number, _)| *number);
    for (database, numbers) in databases.filter_map(|it| Some((it, numbers(it)?))) {
        let mut cursor = b"0".to_vec();
        loop {
            let (next, mut keys) = page(&mut link, database, &cursor)?;
            keys.retain(|key| scope.has(key));
            if !keys.chunks(AT_ONCE).all(|keys| send((numbers, keys.to_vec()))) {
                return Ok(());
            }
            if next == b"0" {
                break;
            }
            cursor = next;
        }
    }
    Ok(())
}

/// What one side says of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Facts {
    kind: Vec<u8>,
    digest: Option<Vec<u8>>,
    deadline: Option<u64>,
    /// What is noted of it.
    attributes: Option<AttributeNote>,
}

/// What is noted, of that which servers tell each other.
fn compared(reply: &Reply) -> Option<AttributeNote> {
    AttributeNote { is_won: false, ..note_of(reply)? }.unless_empty()
}

/// Connections to both sides.
struct Pair<'p> {
    servers: [&'p Server; 2],
    links: [Link; 2],
    rules: Rules,
}

impl<'p> Pair<'p> {
    fn open(first: &'p Server, second: &'p Server, rules: Rules) -> Result<Pair<'p>, Error> {
        let links = [Link::open(&first.address)?, Link::open(&second.address)?];
        Ok(Pair { servers: [first, second], links, rules })
    }

    fn compare(
        &mut self,
        databases: Numbers,
        keys: &[Vec<u8>],
        found: &Mutex<Comparison>,
    ) -> Result<(), Error> {
        let verdicts = self.verdicts(databases, keys)?;
        for (key, verdict) in keys.iter().zip(verdicts) {
            // A key that is gone on both sides is neither equal nor different.
            let again = match verdict {
                Some(Verdict::Equal) | None => verdict,
                Some(_) => self.verdicts(databases, std::slice::from_ref(key))?[0],
            };
            if let Some(verdict) = again {
                lock(found).add(verdict, databases[0], key, self.rules);
            }
        }
        Ok(())
    }

    fn verdicts(
        &mut self,
        databases: Numbers,
        keys: &[Vec<u8>],
    ) -> Result<Vec<Option<Verdict>>, Error> {
        let one = self.facts(0, databases[0], keys)?;
        let other = self.facts(1, databases[1], keys)?;
        let mut verdicts = Vec::with_capacity(keys.len());
        for ((key, one), other) in keys.iter().zip(one).zip(other) {
            verdicts.push(match (one, other) {
                (None, None) => None,
                (Some(_), None) => Some(Verdict::OnlyFirst),
                (None, Some(_)) => Some(Verdict::OnlySecond),
                (Some(one), Some(other)) => Some(self.verdict(key, &one, &other)?),
            });
        }
        Ok(verdicts)
    }

    fn verdict(&mut self, key: &[u8], one: &Facts, other: &Facts) -> Result<Verdict, Error> {
        let is_same_digest =
            one.digest.is_some() && one.digest == other.digest && one.kind == other.kind;
        let is_same = is_same_digest && self.covers_all(&one.kind);
        if !is_same && !self.has_same_content(key, one, other)? {
            return Ok(Verdict::Value);
        }
        let is_near = match (one.deadline, other.deadline) {
            (Some(one), Some(other)) => one.abs_diff(other) <= self.rules.tolerance,
            (one, other) => one == other,
        };
        Ok(match () {
            () if !is_near => Verdict::Deadline,
            () if one.attributes != other.attributes => Verdict::Attributes,
            () => Verdict::Equal,
        })
    }

    /// True if a fingerprint covers everything of a value of this type: it covers neither groups of
    /// streams nor, in all servers, deadlines of fields.
    fn covers_all(&self, kind: &[u8]) -> bool {
        match kind {
            b"stream" => false,
            b"hash" => self.servers.iter().all(|server| !server.has_timed_fields),
            _ => true,
        }
    }

    fn has_same_content(&mut self, key: &[u8], one: &Facts, other: &Facts) -> Result<bool, Error> {
        let one: Content = read(&mut self.links[0], self.servers[0], key, &one.kind)?;
        let other: Content = read(&mut self.links[1], self.servers[1], key, &other.kind)?;
        Ok(agree(&one, &other))
    }

    /// What a side says of keys; `None` for a key that it lacks.
    fn facts(
        &mut self,
        side: usize,
        database: u64,
        keys: &[Vec<u8>],
    ) -> Result<Vec<Option<Facts>>, Error> {
        let has_digests = self.servers.iter().all(|server| server.has_digests);
        let have_attributes = self.servers.iter().all(|server| server.has_attributes);
        let (server, link) = (self.servers[side], &mut self.links[side]);
        link.select(database)?;
        for key in keys {
            link.request(&[b"TYPE", &key[..]])?;
            link.request(&[deadline_word(server), key])?;
            if has_digests {
                link.request(&[&b"DEBUG"[..], b"DIGEST-VALUE", key])?;
            }
            if have_attributes {
                link.request(&[ATTRIBUTES.as_bytes(), key])?;
            }
        }
        link.flush()?;
        let mut all = Vec::with_capacity(keys.len());
        for _ in keys {
            let (kind, deadline) = (link.reply()?, link.reply()?);
            let digest = has_digests.then(|| link.reply()).transpose()?;
            let noted = have_attributes.then(|| link.reply()).transpose()?;
            let kind = kind.bytes().ok_or_else(|| link.refused("TYPE", &kind))?.to_vec();
            let digest = digest.and_then(|it| Some(it.array()?.first()?.bytes()?.to_vec()));
            let deadline = deadline.integer().and_then(|time| absolute(server, time));
            let attributes = noted.as_ref().and_then(compared);
            let facts = Facts { kind, digest, deadline, attributes };
            all.push((facts.kind != b"none").then_some(facts));
        }
        Ok(all)
    }

    /// Looks in the first for keys of the second.
    fn look_for(
        &mut self,
        databases: Numbers,
        keys: &[Vec<u8>],
        found: &Mutex<Comparison>,
    ) -> Result<(), Error> {
        self.links[0].select(databases[0])?;
        let requests: Vec<Vec<&[u8]>> = keys.iter().map(|key| vec![&b"EXISTS"[..], key]).collect();
        let replies = self.links[0].ask_all(&requests)?;
        for (key, reply) in keys.iter().zip(replies) {
            let is_missing = reply.integer() == Some(0);
            // It may have gone from both since it was named.
            let verdict = if is_missing {
                self.verdicts(databases, std::slice::from_ref(key))?[0]
            } else {
                None
            };
            if verdict == Some(Verdict::OnlySecond) {
                lock(found).add(Verdict::OnlySecond, databases[1], key, self.rules);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_won_is_not_compared() {
        let of = |text: &[u8]| compared(&Reply::Bulk(text.to_vec()));
        assert_eq!((of(b"w"), of(b"")), (None, None));
        assert_eq!(of(b"s w"), of(b"s"));
        assert_ne!(of(b"s"), of(b"f5 s"));
    }

    #[test]
    fn differences_are_counted_and_the_first_are_listed() {
        let rules = Rules { tolerance: 0, connections: 1, shown: 1, functions: true };
        let mut found = Comparison::default();
        found.add(Verdict::Equal, 0, b"a", rules);
        assert!(found.is_equal());
        found.add(Verdict::Value, 3, b"b", rules);
        found.add(Verdict::OnlySecond, 0, b"c", rules);
        assert!(!found.is_equal());
        assert_eq!(found.shown, ["database 3, \"b\": another value"]);
        assert!(found.summary().ends_with("1 only in the second"));
        found.add(Verdict::Attributes, 0, b"d", rules);
        assert!(found.lacks_something());
        assert!(found.summary().contains("1 have another value, 0 another deadline, 1 other attr"));
        found.add_libraries(&[Library::of_source(b"#!lua name=l")], &[], rules);
        assert!(
            found.lacks_something() && found.summary().ends_with("1 function libraries differ")
        );
    }
}
