//! Records as one value each: the fields and their texts as JSON.
//!
//! ```text
//! insert   add usertable-key 0 2147483647 bytes
//! read     get usertable-key
//! update   replace usertable-key 0 2147483647 bytes     only the changed fields
//! scan     not supported
//! ```

use std::io::Write as _;

use anyhow::{Context, Result, bail, ensure};

use super::connector::{Connector, Status, Step};
use super::resp::{VALUES_MAX, end_of_value, length_of, line_of};
use super::workload::{Kind, Operation, Wanted, Workload};
use crate::generator::VALUE_BYTES_MAX;

/// The connector for Memcached, in its text protocol.
#[derive(Debug, Default)]
pub struct Memcached {
    operation: Option<Operation>,
    is_reading: bool,
    key: String,
    /// Value that is being written.
    json: Vec<u8>,
    last_error: Option<String>,
}

impl Connector for Memcached {
    fn begin(&mut self, operation: Operation, workload: &mut Workload, out: &mut Vec<u8>) -> bool {
        self.operation = Some(operation);
        self.key = format!("{TABLE}-{}", workload.naming.key(operation.record));
        match operation.kind {
            Kind::Scan => return false,
            Kind::Read | Kind::ReadModifyWrite => self.ask_to_read(out),
            Kind::Update => self.ask_to_write("replace", operation, workload, out),
            Kind::Insert => self.ask_to_write("add", operation, workload, out),
        }
        true
    }

    fn hear(
        &mut self,
        input: &[u8],
        workload: &mut Workload,
        out: &mut Vec<u8>,
    ) -> Result<Option<(usize, Step)>> {
        let Some((reply, len)) = Reply::first_of(input)? else { return Ok(None) };
        let is_modified = matches!(self.operation, Some(it) if it.kind == Kind::ReadModifyWrite);
        let step = match reply {
            Reply::Error(text) => {
                self.last_error = Some(text);
                Step::Done(Status::Error)
            }
            Reply::Values(found) if is_modified && self.is_reading && found > 0 => {
                match self.operation {
                    Some(operation) => self.ask_to_write("replace", operation, workload, out),
                    None => return Ok(Some((len, Step::Done(Status::Error)))),
                }
                Step::Part(Kind::Read, Status::Ok)
            }
            Reply::Values(0) | Reply::NotStored => Step::Done(Status::Error),
            Reply::Values(_) | Reply::Stored => Step::Done(Status::Ok),
        };
        Ok(Some((len, step)))
    }

    fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }
}

impl Memcached {
    fn ask_to_read(&mut self, out: &mut Vec<u8>) {
        self.is_reading = true;
        let _ = write!(out, "get {}\r\n", self.key);
    }

    fn ask_to_write(
        &mut self,
        verb: &str,
        operation: Operation,
        workload: &mut Workload,
        out: &mut Vec<u8>,
    ) {
        self.is_reading = false;
        let fields = match operation.written {
            Wanted::All => 0..workload.fields.names().len(),
            Wanted::One(field) => field..field + 1,
        };
        self.json.clear();
        self.json.push(b'{');
        for field in fields {
            if self.json.len() > 1 {
                self.json.push(b',');
            }
            let value = workload.fields.value(field, &mut workload.random);
            quote(&mut self.json, value.field.as_bytes());
            self.json.push(b':');
            quote(&mut self.json, value.text);
        }
        self.json.push(b'}');
        let _ = write!(out, "{verb} {} 0 {EXPIRY} {}\r\n", self.key, self.json.len());
        out.extend_from_slice(&self.json);
        out.extend_from_slice(b"\r\n");
    }
}

/// A reply of the text protocol.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    /// Number of values found.
    Values(u64),
    /// The value was stored.
    Stored,
    /// The value was not stored.
    NotStored,
    /// An error, with its line.
    Error(String),
}

impl Reply {
    /// Returns the reply at the front of `input`, and its length in bytes; `None` if it is
    /// incomplete.
    ///
    /// # Errors
    /// If the bytes are no reply, or an excessively large one.
    pub fn first_of(input: &[u8]) -> Result<Option<(Reply, usize)>> {
        let (mut at, mut values) = (0, 0);
        loop {
            ensure!(at <= VALUE_BYTES_MAX && values <= VALUES_MAX, "a reply without an end");
            let Some((line, behind)) = line_of(input, at)? else { return Ok(None) };
            let text = String::from_utf8_lossy(line);
            let mut words = text.split(' ');
            at = behind;
            let reply = match words.next() {
                Some("VALUE") => {
                    let length = words.nth(2).context("a value without a length")?;
                    let length = length_of(length.as_bytes())?.context("an absent value")?;
                    let Some(end) = end_of_value(input, at, length)? else { return Ok(None) };
                    at = end;
                    values += 1;
                    continue;
                }
                Some("END") => Reply::Values(values as u64),
                Some("STORED") => Reply::Stored,
                Some("NOT_STORED" | "NOT_FOUND" | "EXISTS") => Reply::NotStored,
                Some("ERROR" | "CLIENT_ERROR" | "SERVER_ERROR") => Reply::Error(text.into_owned()),
                _ => bail!("a reply is {text:?}"),
            };
            return Ok(Some((reply, at)));
        }
    }
}

/// Appends a text of ASCII letters as a JSON string.
fn quote(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for letter in text {
        if matches!(letter, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*letter);
    }
    out.push(b'"');
}

const TABLE: &str = "usertable";
/// Expiry that the connector sets: the highest number, a time in the year 2038.
const EXPIRY: i32 = i32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ycsb::properties::Properties;
    use crate::ycsb::resp::LINE_BYTES_MAX;

    fn workload() -> Workload {
        let mut properties = Properties::default();
        let settings = [
            ("recordcount", "10"),
            ("fieldcount", "2"),
            ("fieldlength", "40"),
            ("insertorder", "ordered"),
        ];
        for (name, value) in settings {
            properties.set(name, value).unwrap();
        }
        Workload::new(&properties).unwrap()
    }

    fn operation(kind: Kind) -> Operation {
        Operation { kind, record: 7, read: Wanted::All, written: Wanted::All, count: 2 }
    }

    #[test]
    fn a_record_is_one_value_of_json() {
        let (mut memcached, mut workload, mut out) = (Memcached::default(), workload(), Vec::new());
        assert!(memcached.begin(operation(Kind::Insert), &mut workload, &mut out));
        let text = String::from_utf8(out).unwrap();
        let (line, json) = text.split_once("\r\n").unwrap();
        let json = json.strip_suffix("\r\n").unwrap();
        assert_eq!(line, format!("add usertable-user7 0 2147483647 {}", json.len()));
        let fields: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(fields["field0"].as_str().map(str::len), Some(40));
        assert_eq!(fields["field1"].as_str().map(str::len), Some(40));
        let mut next = Vec::new();
        let heard = memcached.hear(b"STORED\r\nEND\r\n", &mut workload, &mut next).unwrap();
        assert_eq!((heard, next.len()), (Some((8, Step::Done(Status::Ok))), 0));
    }

    #[test]
    fn what_is_modified_was_read_before() {
        let (mut memcached, mut workload, mut out) = (Memcached::default(), workload(), Vec::new());
        assert!(memcached.begin(operation(Kind::ReadModifyWrite), &mut workload, &mut out));
        assert_eq!(out, b"get usertable-user7\r\n");
        out.clear();
        let reply = b"VALUE usertable-user7 0 4\r\n{}\r\n\r\nEND\r\n";
        for end in 0..reply.len() {
            assert_eq!(memcached.hear(&reply[..end], &mut workload, &mut out).unwrap(), None);
        }
        let (len, step) = memcached.hear(reply, &mut workload, &mut out).unwrap().unwrap();
        assert_eq!((len, step), (reply.len(), Step::Part(Kind::Read, Status::Ok)));
        assert!(out.starts_with(b"replace usertable-user7 0 "));
    }

    #[test]
    fn misses_and_errors_are_told_apart_from_what_is_no_reply() {
        let hear = |reply: &[u8]| {
            let mut memcached = Memcached::default();
            memcached.hear(reply, &mut workload(), &mut Vec::new())
        };
        for reply in [&b"END\r\n"[..], b"NOT_STORED\r\n", b"SERVER_ERROR out of memory\r\n"] {
            assert_eq!(hear(reply).unwrap(), Some((reply.len(), Step::Done(Status::Error))));
        }
        assert!(hear(b"+OK\r\n").is_err() && hear(b"VALUE a 0 x\r\n").is_err());
    }

    #[test]
    fn what_is_no_reply_is_refused_at_any_length() {
        for bytes in [
            &b"+OK\r\n"[..],
            b"STORED\n",
            b"VALUE a 0\r\n",
            b"VALUE a 0 -1\r\n",
            b"VALUE a 0 1\r\nabc",
            b"VALUE a 0 536870913\r\n",
            b"VALUE a 0 18446744073709551615\r\n",
            b"VALUE a 0 18446744073709551614\r\nx\r\n",
        ] {
            let text = String::from_utf8_lossy(bytes);
            assert!(Reply::first_of(bytes).is_err(), "{text:?}");
            let more = [bytes, b"\r\nEND\r\n"].concat();
            assert!(Reply::first_of(&more).is_err(), "{text:?} and more");
        }
    }

    #[test]
    fn a_line_ends_within_its_limit_or_is_refused() {
        let line = |bytes: usize| ["ERROR ", &"x".repeat(bytes - 8), "\r\n"].concat().into_bytes();
        let largest = line(LINE_BYTES_MAX);
        assert_eq!(Reply::first_of(&largest).unwrap().map(|it| it.1), Some(LINE_BYTES_MAX));
        assert_eq!(Reply::first_of(&largest[..LINE_BYTES_MAX - 1]).unwrap(), None);
        let larger = line(LINE_BYTES_MAX + 1);
        assert!(Reply::first_of(&larger).is_err());
        assert!(Reply::first_of(&larger[..LINE_BYTES_MAX]).is_err());
    }

    #[test]
    fn a_reply_without_an_end_is_refused() {
        let endless = b"VALUE a 0 1\r\nx\r\n".repeat(VALUES_MAX + 1);
        assert!(Reply::first_of(&endless).is_err());
    }

    #[test]
    fn scans_are_not_there() {
        let mut memcached = Memcached::default();
        let begun = memcached.begin(operation(Kind::Scan), &mut workload(), &mut Vec::new());
        assert!(!begun);
    }
}
