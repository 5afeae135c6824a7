//! What a value holds, by the commands of its type: the same for equal values in any server.

use crate::error::Error;
use crate::resp::Reply;
use crate::server::{Link, Server};
use sha1::{Digest, Sha1};
use std::collections::BTreeMap;

/// Elements that are asked for at once.
const PAGE: usize = 1000;
/// Bytes of a checksum behind a payload, and of its version.
const SEAL_BYTES: usize = 10;

/// Fingerprints of the parts of a value. A part that an old server does not tell is missing.
pub type Content = BTreeMap<&'static str, [u8; 20]>;

/// Fingerprint in which the order of elements counts, or not.
#[derive(Default)]
struct Fingerprint(Sha1);

impl Fingerprint {
    fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn end(self) -> [u8; 20] {
        self.0.finalize().into()
    }
}

fn of_row(row: &[&[u8]]) -> [u8; 20] {
    let mut fingerprint = Fingerprint::default();
    row.iter().for_each(|bytes| fingerprint.add(bytes));
    fingerprint.end()
}

/// Mixes rows whose order does not matter.
fn mix(into: &mut [u8; 20], row: [u8; 20]) {
    into.iter_mut().zip(row).for_each(|(into, byte)| *into ^= byte);
}

/// Reads the value of a key of the selected database.
///
/// # Errors
/// When the connection breaks. A value that has another type meanwhile is another content.
pub fn read(link: &mut Link, server: &Server, key: &[u8], kind: &[u8]) -> Result<Content, Error> {
    let mut content = Content::new();
    content.insert("type", of_row(&[kind]));
    let value = match kind {
        b"string" => of_reply(&link.ask(&[b"GET", key])?),
        b"list" => paged(link, key, b"LRANGE", false)?,
        b"zset" => paged(link, key, b"ZRANGE", true)?,
        b"set" => unordered(&link.ask(&[b"SMEMBERS", key])?),
        b"hash" => hash(link, server, key)?,
        b"stream" => stream(link, key, &mut content)?,
        _ => {
            let dump = link.ask(&[b"DUMP", key])?;
            let bytes = dump.bytes().unwrap_or_default();
            of_row(&[&bytes[..bytes.len().saturating_sub(SEAL_BYTES)]])
        }
    };
    content.insert("value", value);
    Ok(content)
}

fn of_reply(reply: &Reply) -> [u8; 20] {
    of_row(&[reply.bytes().unwrap_or_default(), reply.error().unwrap_or_default().as_bytes()])
}

fn unordered(reply: &Reply) -> [u8; 20] {
    let mut all = [0; 20];
    let members = reply.array().unwrap_or_default().iter().filter_map(Reply::bytes);
    members.for_each(|member| mix(&mut all, of_row(&[member])));
    all
}

/// Elements in their order, page by page.
fn paged(link: &mut Link, key: &[u8], word: &[u8], scored: bool) -> Result<[u8; 20], Error> {
    let mut fingerprint = Fingerprint::default();
    let mut from = 0;
    loop {
        let (begin, end) = (from.to_string(), (from + PAGE - 1).to_string());
        let mut words = vec![word, key, begin.as_bytes(), end.as_bytes()];
        if scored {
            words.push(b"WITHSCORES");
        }
        let reply = link.ask(&words)?;
        let elements = reply.array().unwrap_or_default();
        for (at, element) in elements.iter().filter_map(Reply::bytes).enumerate() {
            match (scored && at % 2 == 1).then(|| text::parse_f64(element)).flatten() {
                // Servers write the same number in different ways.
                Some(score) => fingerprint.add(&(score + 0.0).to_le_bytes()),
                None => fingerprint.add(element),
            }
        }
        from += PAGE;
        if elements.len() < if scored { 2 * PAGE } else { PAGE } {
            return Ok(fingerprint.end());
        }
    }
}

fn hash(link: &mut Link, server: &Server, key: &[u8]) -> Result<[u8; 20], Error> {
    let reply = link.ask(&[b"HGETALL", key])?;
    let texts: Vec<&[u8]> =
        reply.array().unwrap_or_default().iter().filter_map(Reply::bytes).collect();
    let mut all = [0; 20];
    for rows in texts.chunks(2 * PAGE) {
        let deadlines = deadlines(link, server, key, rows)?;
        for (at, row) in rows.chunks_exact(2).enumerate() {
            let deadline = deadlines.get(at).copied().unwrap_or(-1);
            mix(&mut all, of_row(&[row[0], row[1], &deadline.to_le_bytes()]));
        }
    }
    Ok(all)
}

/// Deadlines of fields; none if the server knows of none.
fn deadlines(
    link: &mut Link,
    server: &Server,
    key: &[u8],
    rows: &[&[u8]],
) -> Result<Vec<i64>, Error> {
    if !server.has_timed_fields {
        return Ok(Vec::new());
    }
    let count = (rows.len() / 2).to_string();
    let mut words: Vec<&[u8]> = vec![b"HPEXPIRETIME", key, b"FIELDS", count.as_bytes()];
    words.extend(rows.iter().step_by(2));
    let reply = link.ask(&words)?;
    Ok(reply.array().unwrap_or_default().iter().filter_map(Reply::integer).collect())
}

fn stream(link: &mut Link, key: &[u8], content: &mut Content) -> Result<[u8; 20], Error> {
    let mut entries = Fingerprint::default();
    let (mut from, page) = (b"-".to_vec(), PAGE.to_string());
    loop {
        let reply = link.ask(&[b"XRANGE", key, &from, b"+", b"COUNT", page.as_bytes()])?;
        let rows = reply.array().unwrap_or_default();
        rows.iter().for_each(|row| add_all(&mut entries, row));
        let last = rows.last().and_then(|row| row.array()?.first()?.bytes());
        match last.filter(|_| rows.len() == PAGE) {
            Some(last) => from = [b"(", last].concat(),
            None => break,
        }
    }
    let info = link.ask(&[&b"XINFO"[..], b"STREAM", key])?;
    for name in ["last-generated-id", "entries-added", "max-deleted-entry-id"] {
        if let Some(value) = field(&info, name) {
            content.insert(name, of_row(&[value.shown().as_bytes()]));
        }
    }
    let groups = link.ask(&[&b"XINFO"[..], b"GROUPS", key])?;
    let mut all = [0; 20];
    for group in groups.array().unwrap_or_default() {
        mix(&mut all, of_group(link, key, group)?);
    }
    content.insert("groups", all);
    Ok(entries.end())
}

/// A group with its consumers and pending entries, but for times and what is not always known.
fn of_group(link: &mut Link, key: &[u8], group: &Reply) -> Result<[u8; 20], Error> {
    let mut fingerprint = Fingerprint::default();
    let name = field(group, "name").and_then(Reply::bytes).unwrap_or_default();
    fingerprint.add(name);
    for part in ["last-delivered-id", "pending"] {
        let value = field(group, part).map_or(String::new(), Reply::shown);
        fingerprint.add(value.as_bytes());
    }
    let consumers = link.ask(&[&b"XINFO"[..], b"CONSUMERS", key, name])?;
    let mut all = [0; 20];
    for consumer in consumers.array().unwrap_or_default() {
        let [name, pending] = ["name", "pending"]
            .map(|part| field(consumer, part).map_or(String::new(), Reply::shown));
        mix(&mut all, of_row(&[name.as_bytes(), pending.as_bytes()]));
    }
    fingerprint.add(&all);
    let (mut from, page) = (b"-".to_vec(), PAGE.to_string());
    loop {
        let reply = link.ask(&[b"XPENDING", key, name, &from, b"+", page.as_bytes()])?;
        let rows = reply.array().unwrap_or_default();
        for row in rows {
            if let Some([id, consumer, _, count]) = row.array() {
                [id, consumer, count].iter().for_each(|part| add_all(&mut fingerprint, part));
            }
        }
        let last = rows.last().and_then(|row| row.array()?.first()?.bytes());
        match last.filter(|_| rows.len() == PAGE) {
            Some(last) => from = [b"(", last].concat(),
            None => return Ok(fingerprint.end()),
        }
    }
}

fn add_all(fingerprint: &mut Fingerprint, reply: &Reply) {
    match reply {
        Reply::Array(elements) => {
            fingerprint.add(&(elements.len() as u64).to_le_bytes());
            elements.iter().for_each(|element| add_all(fingerprint, element));
        }
        Reply::Integer(number) => fingerprint.add(&number.to_le_bytes()),
        other => fingerprint.add(other.bytes().unwrap_or_default()),
    }
}

/// A field of a reply of names and values.
fn field<'r>(reply: &'r Reply, name: &str) -> Option<&'r Reply> {
    let pairs = reply.array()?.chunks_exact(2);
    pairs.filter(|pair| pair[0].bytes() == Some(name.as_bytes())).map(|pair| &pair[1]).next()
}

/// True if all parts that both sides tell are the same.
pub fn agree(one: &Content, other: &Content) -> bool {
    one.iter().all(|(part, value)| other.get(part).is_none_or(|it| it == value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulks(texts: &[&str]) -> Reply {
        Reply::Array(texts.iter().map(|it| Reply::Bulk(it.as_bytes().to_vec())).collect())
    }

    #[test]
    fn the_order_of_members_does_not_matter_and_their_bounds_do() {
        assert_eq!(unordered(&bulks(&["a", "b"])), unordered(&bulks(&["b", "a"])));
        assert_ne!(unordered(&bulks(&["ab", "c"])), unordered(&bulks(&["a", "bc"])));
        assert_ne!(of_row(&[b"ab", b""]), of_row(&[b"a", b"b"]));
    }

    #[test]
    fn parts_that_one_side_does_not_tell_are_not_compared() {
        let old = Content::from([("value", [1; 20])]);
        let new = Content::from([("value", [1; 20]), ("entries-added", [2; 20])]);
        assert!(agree(&old, &new) && agree(&new, &old));
        assert!(!agree(&new, &Content::from([("value", [3; 20])])));
    }

    #[test]
    fn fields_are_found_by_their_names() {
        let info = bulks(&["name", "g", "pending", "7"]);
        assert_eq!(field(&info, "pending").map(Reply::shown), Some("\"7\"".to_owned()));
        assert!(field(&info, "g").is_none() && field(&Reply::Nil, "name").is_none());
    }
}
