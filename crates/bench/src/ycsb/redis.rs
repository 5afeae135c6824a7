//! Records as hashes, and a sorted set of all keys for scans.
//!
//! ```text
//! insert   HMSET key field value ...      ZADD _indices hash-of-key key
//! read     HGETALL key, or HMGET key field ...
//! update   HMSET key field value ...
//! scan     ZRANGEBYSCORE _indices hash-of-key inf LIMIT 0 count, and a read of each
//! ```
//! The hash is that of Java's strings, as in the connector for Redis.

use std::collections::VecDeque;
use std::io::Write as _;

use anyhow::Result;

use super::connector::{Connector, Status, Step};
use super::resp::Frame;
use super::workload::{Kind, Operation, Wanted, Workload};

/// The connector for Redis.
#[derive(Debug, Default)]
pub struct Redis {
    operation: Option<Operation>,
    /// Request that waits for its reply.
    asked: Asked,
    key: String,
    /// Keys of a scan that have not been read yet.
    to_read: VecDeque<String>,
    last_error: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Asked {
    #[default]
    Nothing,
    Read,
    Write,
    Index,
    Range,
}

impl Connector for Redis {
    fn begin(&mut self, operation: Operation, workload: &mut Workload, out: &mut Vec<u8>) -> bool {
        self.operation = Some(operation);
        self.key = workload.naming.key(operation.record);
        match operation.kind {
            Kind::Read | Kind::ReadModifyWrite => self.ask_to_read(operation, workload, out),
            Kind::Update | Kind::Insert => self.ask_to_write(operation, workload, out),
            Kind::Scan => {
                self.asked = Asked::Range;
                let score = java_hash(&self.key).to_string();
                let count = operation.count.to_string();
                request(
                    out,
                    &[
                        b"ZRANGEBYSCORE",
                        INDEX,
                        score.as_bytes(),
                        b"+inf",
                        b"LIMIT",
                        b"0",
                        count.as_bytes(),
                    ],
                );
            }
        }
        true
    }

    fn hear(
        &mut self,
        input: &[u8],
        workload: &mut Workload,
        out: &mut Vec<u8>,
    ) -> Result<Option<(usize, Step)>> {
        let Some(frame) = Frame::first_of(input)? else { return Ok(None) };
        let step = self.follow(frame, workload, out);
        Ok(Some((frame.len(), step)))
    }

    fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }
}

impl Redis {
    fn follow(&mut self, frame: Frame<'_>, workload: &mut Workload, out: &mut Vec<u8>) -> Step {
        if let Some(error) = frame.error() {
            self.last_error = Some(error);
            return Step::Done(Status::Error);
        }
        let Some(operation) = self.operation else { return Step::Done(Status::Error) };
        match (self.asked, operation.kind) {
            (Asked::Read, Kind::ReadModifyWrite) => {
                let status = was_found(frame);
                if status != Status::Ok {
                    return Step::Done(status);
                }
                self.ask_to_write(operation, workload, out);
                Step::Part(Kind::Read, status)
            }
            (Asked::Read, Kind::Scan) => self.read_next(operation, workload, out),
            (Asked::Read, _) => Step::Done(was_found(frame)),
            (Asked::Write, Kind::Insert) if frame.is_status("OK") => {
                self.asked = Asked::Index;
                let score = java_hash(&self.key).to_string();
                request(out, &[b"ZADD", INDEX, score.as_bytes(), self.key.as_bytes()]);
                Step::Goes
            }
            (Asked::Write, _) if !frame.is_status("OK") => Step::Done(Status::Error),
            (Asked::Write | Asked::Index | Asked::Nothing, _) => Step::Done(Status::Ok),
            (Asked::Range, _) => {
                let keys = frame.texts().map(|key| String::from_utf8_lossy(key).into_owned());
                self.to_read = keys.collect();
                self.read_next(operation, workload, out)
            }
        }
    }

    fn read_next(&mut self, operation: Operation, workload: &Workload, out: &mut Vec<u8>) -> Step {
        let Some(key) = self.to_read.pop_front() else { return Step::Done(Status::Ok) };
        self.key = key;
        self.ask_to_read(operation, workload, out);
        Step::Goes
    }

    fn ask_to_read(&mut self, operation: Operation, workload: &Workload, out: &mut Vec<u8>) {
        self.asked = Asked::Read;
        match operation.read {
            Wanted::All => request(out, &[b"HGETALL", self.key.as_bytes()]),
            Wanted::One(field) => {
                let field = workload.fields.names()[field].as_bytes();
                request(out, &[b"HMGET", self.key.as_bytes(), field]);
            }
        }
    }

    fn ask_to_write(&mut self, operation: Operation, workload: &mut Workload, out: &mut Vec<u8>) {
        self.asked = Asked::Write;
        let fields = match operation.written {
            Wanted::All => 0..workload.fields.names().len(),
            Wanted::One(field) => field..field + 1,
        };
        let _ = write!(out, "*{}\r\n", 2 + 2 * fields.len());
        part(out, b"HMSET");
        part(out, self.key.as_bytes());
        for field in fields {
            let value = workload.fields.value(field, &mut workload.random);
            part(out, value.field.as_bytes());
            part(out, value.text);
        }
    }
}

/// Returns the status of a read: a record that does not exist has no fields.
fn was_found(frame: Frame<'_>) -> Status {
    if frame.count().is_some_and(|count| count > 0) { Status::Ok } else { Status::Error }
}

/// Java's hash of a string of ASCII letters.
fn java_hash(text: &str) -> i32 {
    text.bytes().fold(0_i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(byte)))
}

fn request(out: &mut Vec<u8>, parts: &[&[u8]]) {
    // Writing to a vector does not fail.
    let _ = write!(out, "*{}\r\n", parts.len());
    parts.iter().for_each(|text| part(out, text));
}

fn part(out: &mut Vec<u8>, text: &[u8]) {
    let _ = write!(out, "${}\r\n", text.len());
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

const INDEX: &[u8] = b"_indices";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ycsb::properties::Properties;

    fn workload(settings: &[(&str, &str)]) -> Workload {
        let mut properties = Properties::default();
        let common = [
            ("recordcount", "10"),
            ("fieldcount", "2"),
            ("fieldlength", "3"),
            ("insertorder", "ordered"),
        ];
        for (name, value) in common.iter().chain(settings) {
            properties.set(name, value).unwrap();
        }
        Workload::new(&properties).unwrap()
    }

    fn operation(kind: Kind) -> Operation {
        Operation { kind, record: 7, read: Wanted::All, written: Wanted::One(1), count: 2 }
    }

    /// Runs an operation against given replies; returns requests and steps.
    fn talk(operation: Operation, replies: &[&[u8]]) -> (Vec<String>, Vec<Step>) {
        let (mut redis, mut workload) = (Redis::default(), workload(&[]));
        let (mut requests, mut steps) = (Vec::new(), Vec::new());
        let mut out = Vec::new();
        assert!(redis.begin(operation, &mut workload, &mut out));
        for reply in replies {
            let words = Frame::first_of(&out).unwrap().unwrap();
            let words: Vec<_> = words.texts().map(String::from_utf8_lossy).collect();
            requests.push(words.join(" "));
            out.clear();
            let (len, step) = redis.hear(reply, &mut workload, &mut out).unwrap().unwrap();
            assert_eq!(len, reply.len());
            steps.push(step);
        }
        assert!(out.is_empty(), "nothing is asked behind the last reply");
        (requests, steps)
    }

    #[test]
    fn a_record_is_a_hash_and_a_member_of_the_index() {
        let insert = Operation { written: Wanted::All, ..operation(Kind::Insert) };
        let (requests, steps) = talk(insert, &[b"+OK\r\n", b":1\r\n"]);
        assert!(requests[0].starts_with("HMSET user7 field0 "), "{requests:?}");
        assert!(requests[0].contains(" field1 "), "{requests:?}");
        // "user7".hashCode()
        assert_eq!(requests[1], "ZADD _indices 111578572 user7");
        assert_eq!(steps, [Step::Goes, Step::Done(Status::Ok)]);
    }

    #[test]
    fn a_scan_reads_what_the_index_names() {
        let keys = b"*2\r\n$5\r\nuser7\r\n$5\r\nuser8\r\n";
        let hash = b"*2\r\n$6\r\nfield0\r\n$1\r\nx\r\n";
        let (requests, steps) = talk(operation(Kind::Scan), &[keys, hash, hash]);
        assert_eq!(
            requests,
            ["ZRANGEBYSCORE _indices 111578572 +inf LIMIT 0 2", "HGETALL user7", "HGETALL user8",]
        );
        assert_eq!(steps, [Step::Goes, Step::Goes, Step::Done(Status::Ok)]);
        assert_eq!(talk(operation(Kind::Scan), &[b"*0\r\n"]).1, [Step::Done(Status::Ok)]);
    }

    #[test]
    fn a_read_finds_a_record_or_fails() {
        let one = Operation { read: Wanted::One(1), ..operation(Kind::Read) };
        let (requests, steps) = talk(one, &[b"*1\r\n$1\r\nx\r\n"]);
        assert_eq!(
            (requests[0].as_str(), steps[0]),
            ("HMGET user7 field1", Step::Done(Status::Ok))
        );
        assert_eq!(talk(operation(Kind::Read), &[b"*0\r\n"]).1, [Step::Done(Status::Error)]);
        let error = b"-WRONGTYPE no\r\n";
        assert_eq!(talk(operation(Kind::Update), &[error]).1, [Step::Done(Status::Error)]);
    }

    #[test]
    fn what_is_modified_was_read_before() {
        let hash = b"*2\r\n$6\r\nfield0\r\n$1\r\nx\r\n";
        let (requests, steps) = talk(operation(Kind::ReadModifyWrite), &[hash, b"+OK\r\n"]);
        assert_eq!(requests[0], "HGETALL user7");
        assert!(requests[1].starts_with("HMSET user7 field1 "), "{requests:?}");
        assert_eq!(steps, [Step::Part(Kind::Read, Status::Ok), Step::Done(Status::Ok)]);
    }
}
