//! Requests for one operation, as the connectors of YCSB make them, and what its replies say.
//!
//! | | Redis: a hash, and a sorted set of all keys | Memcached: a value of JSON |
//! |---|---|---|
//! | insert | `HMSET key field value ...`, `ZADD _indices hash-of-key key` | `add usertable-key` |
//! | read | `HGETALL key`, or `HMGET key field` | `get usertable-key` |
//! | update | `HMSET key field value` | `replace usertable-key`, the changed fields only |
//! | scan | `ZRANGEBYSCORE _indices hash-of-key inf LIMIT 0 n`, and a read of each | - |
//! | delete | `DEL key`, `ZREM _indices key` | `delete usertable-key` |
//!
//! The hash is that of Java's strings, as in the connector for Redis.

use std::io::Write as _;
use std::time::Instant;

use anyhow::Result;
use serde::Serializer as _;

use super::workload::{Kind, Operation, Workload};
use crate::generator::{Answer, Batch, Heard, Protocol, Value};

/// One operation on its way.
pub struct Talk {
    /// The operation.
    pub operation: Operation,
    /// Time from which it counts.
    pub since: Instant,
    /// Time from which its present part counts.
    pub part_since: Instant,
    step: Step,
    key: String,
    /// Keys of a scan that have not been read yet, the next one last.
    to_read: Vec<String>,
}

/// Request that is sent, or was sent, to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Read,
    Write,
    Index,
    Range,
    Delete,
    Unindex,
}

/// What replies to a step mean for the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// It has another step.
    Continues,
    /// Its read is done, which counts on its own; it has another step.
    WasRead,
    /// It is done.
    Done,
    /// The record was not there, or the server answered with an error.
    Failed,
}

impl Talk {
    /// Begins an operation.
    pub fn new(operation: Operation, workload: &Workload, since: Instant) -> Self {
        let step = match operation.kind {
            Kind::Read | Kind::ReadModifyWrite => Step::Read,
            Kind::Update | Kind::Insert => Step::Write,
            Kind::Scan => Step::Range,
            Kind::Delete => Step::Delete,
        };
        let (key, to_read) = (workload.key(operation.record), Vec::new());
        Self { operation, since, part_since: since, step, key, to_read }
    }

    /// Writes the request of the present step.
    pub fn write(&self, to: Protocol, workload: &mut Workload, batch: &mut Batch) -> Result<()> {
        match to {
            Protocol::Resp => self.write_resp(workload, batch),
            Protocol::Memcached => self.write_memcached(workload, batch),
        }
    }

    fn write_resp(&self, workload: &mut Workload, batch: &mut Batch) -> Result<()> {
        let Self { operation, key, .. } = self;
        let (key, score) = (key.as_bytes(), java_hash(key).to_string());
        let score = score.as_bytes();
        let count = operation.count.to_string();
        let name = operation.read.map(|field| workload.name(field).as_bytes());
        let (answer, words) = match (self.step, name) {
            (Step::Read, None) => (Answer::Array, vec![b"HGETALL", key]),
            (Step::Read, Some(name)) => (Answer::Array, vec![&b"HMGET"[..], key, name]),
            (Step::Write, _) => {
                let mut words = vec![&b"HMSET"[..], key];
                let values = workload.values(operation.written);
                let both = |(name, text)| [str::as_bytes(name), str::as_bytes(text)];
                words.extend(values.into_iter().flat_map(both));
                (Answer::Status, words)
            }
            (Step::Index, _) => (Answer::Integer, vec![b"ZADD", INDEX, score, key]),
            (Step::Range, _) => {
                let limit = [&b"+inf"[..], b"LIMIT", b"0", count.as_bytes()];
                (Answer::Array, [&[b"ZRANGEBYSCORE", INDEX, score][..], &limit].concat())
            }
            // The null server answers both with OK.
            (Step::Delete, _) => (Answer::Any, vec![b"DEL", key]),
            (Step::Unindex, _) => (Answer::Any, vec![b"ZREM", INDEX, key]),
        };
        batch.expect(answer);
        write!(batch.bytes, "*{}\r\n", words.len())?;
        for word in words {
            write!(batch.bytes, "${}\r\n", word.len())?;
            batch.bytes.extend_from_slice(word);
            batch.bytes.extend_from_slice(b"\r\n");
        }
        Ok(())
    }

    fn write_memcached(&self, workload: &mut Workload, batch: &mut Batch) -> Result<()> {
        let Self { operation, key, .. } = self;
        let key = format!("{TABLE}-{key}");
        let verb = match (self.step, operation.kind) {
            (Step::Delete, _) => {
                batch.expect(Answer::Integer);
                return Ok(write!(batch.bytes, "delete {key}\r\n")?);
            }
            (Step::Write, Kind::Insert) => "add",
            (Step::Write, _) => "replace",
            _ => {
                batch.expect(Answer::Value);
                return Ok(write!(batch.bytes, "get {key}\r\n")?);
            }
        };
        let mut json = Vec::new();
        let record = workload.values(operation.written);
        serde_json::Serializer::new(&mut json).collect_map(record)?;
        batch.expect(Answer::Status);
        write!(batch.bytes, "{verb} {key} 0 {EXPIRY} {}\r\n", json.len())?;
        batch.bytes.extend_from_slice(&json);
        batch.bytes.extend_from_slice(b"\r\n");
        Ok(())
    }

    /// Takes the replies to the present step, and goes on to the next.
    pub fn hear(&mut self, of: Protocol, workload: &Workload, heard: &Heard<'_>) -> After {
        let (kind, replies) = (self.operation.kind, &heard.replies);
        let is_right = match self.step {
            Step::Read if kind != Kind::Scan => replies.elements + replies.bulk > 0,
            Step::Write => replies.status == 1,
            Step::Delete => replies.zero == 0,
            _ => true,
        };
        if replies.error > 0 || !is_right {
            return After::Failed;
        }
        let is_indexed = workload.has_index && of == Protocol::Resp;
        match (self.step, kind) {
            (Step::Read, Kind::ReadModifyWrite) => {
                (self.step, self.part_since) = (Step::Write, heard.now);
                return After::WasRead;
            }
            (Step::Write, Kind::Insert) if is_indexed => self.step = Step::Index,
            (Step::Delete, _) if is_indexed => self.step = Step::Unindex,
            (Step::Range | Step::Read, Kind::Scan) => {
                if self.step == Step::Range {
                    self.to_read = heard.values.iter().rev().filter_map(key_of).collect();
                    self.step = Step::Read;
                }
                let Some(key) = self.to_read.pop() else { return After::Done };
                self.key = key;
            }
            _ => return After::Done,
        }
        After::Continues
    }
}

fn key_of(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}

/// Java's hash of a string of ASCII letters.
fn java_hash(text: &str) -> i32 {
    text.bytes().fold(0_i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(byte)))
}

const INDEX: &[u8] = b"_indices";
const TABLE: &str = "usertable";
/// Expiry that the connector sets: the highest number, a time in the year 2038.
const EXPIRY: i32 = i32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::{Expected, ReplyReader};
    use crate::ycsb::workload::tests::workload;

    /// Runs an operation against given replies; returns its requests and its end.
    fn talk(of: Protocol, kind: Kind, replies: &[&str]) -> (Vec<String>, After) {
        let mut workload = workload(&[
            ("fieldcount", "2"),
            ("fieldlength", "3"),
            ("insertorder", "ordered"),
            ("fieldlengthdistribution", "constant"),
        ]);
        let written = if kind == Kind::Insert { None } else { Some(1) };
        let operation = Operation { kind, record: 7, read: None, written, count: 2 };
        let now = Instant::now();
        let mut talk = Talk::new(operation, &workload, now);
        let (mut requests, mut after) = (Vec::new(), After::Continues);
        for reply in replies {
            assert!(matches!(after, After::Continues | After::WasRead), "asked too often");
            let (bytes, expected) = (Vec::new(), Expected::default());
            let mut batch = Batch { bytes, expected, since: now };
            talk.write(of, &mut workload, &mut batch).unwrap();
            let text = String::from_utf8(batch.bytes).unwrap();
            let is_word = |line: &&str| !line.starts_with(['*', '$']);
            let words: Vec<_> = text.lines().filter(is_word).collect();
            requests.push(words.join(" "));
            let mut reader = ReplyReader::keeping(of);
            reader.feed(reply.as_bytes()).unwrap();
            let (replies, values) = (reader.take(), reader.take_values());
            assert!(batch.expected.is_met_by(&replies), "{requests:?}");
            let heard = Heard { replies, values, first_error: None, since: now, first: now, now };
            after = talk.hear(of, &workload, &heard);
        }
        (requests, after)
    }

    const HASH: &str = "*2\r\n$6\r\nfield0\r\n$1\r\nx\r\n";
    const TWO_KEYS: &str = "*2\r\n$5\r\nuser7\r\n$5\r\nuser8\r\n";
    const VALUE: &str = "VALUE usertable-user7 0 2\r\n{}\r\nEND\r\n";

    #[test]
    fn operations_have_the_steps_of_their_connectors() {
        use Kind::{Delete, Insert, Read, ReadModifyWrite, Scan, Update};
        use Protocol::{Memcached, Resp};
        // "user7".hashCode() is 111578572.
        let range = "ZRANGEBYSCORE _indices 111578572 +inf LIMIT 0 2";
        let replace = "replace usertable-user7 0 2147483647 16";
        let cases: [(_, _, &[&str], &[&str]); 12] = [
            (
                Resp,
                Insert,
                &["+OK\r\n", ":1\r\n"],
                &["HMSET user7 field0 ", "ZADD _indices 111578572 user7"],
            ),
            (Resp, Read, &[HASH], &["HGETALL user7"]),
            (Resp, Update, &["+OK\r\n"], &["HMSET user7 field1 "]),
            (Resp, ReadModifyWrite, &[HASH, "+OK\r\n"], &["HGETALL user7", "HMSET user7 field1 "]),
            (Resp, Scan, &[TWO_KEYS, HASH, HASH], &[range, "HGETALL user7", "HGETALL user8"]),
            (Resp, Scan, &["*0\r\n"], &[range]),
            (Resp, Delete, &[":1\r\n", ":1\r\n"], &["DEL user7", "ZREM _indices user7"]),
            (Memcached, Insert, &["STORED\r\n"], &["add usertable-user7 0 2147483647 "]),
            (Memcached, Read, &[VALUE], &["get usertable-user7"]),
            (Memcached, Update, &["STORED\r\n"], &["replace usertable-user7 0 2147483647 "]),
            (Memcached, ReadModifyWrite, &[VALUE, "STORED\r\n"], &["get ", &replace[..20]]),
            (Memcached, Delete, &["DELETED\r\n"], &["delete usertable-user7"]),
        ];
        for (protocol, kind, replies, wanted) in cases {
            let (requests, after) = talk(protocol, kind, replies);
            let is_wanted = |(request, wanted): (&String, &&str)| request.starts_with(wanted);
            assert!(requests.iter().zip(wanted).all(is_wanted), "{requests:?} not {wanted:?}");
            assert_eq!((requests.len(), after), (wanted.len(), After::Done), "{kind:?}");
        }
    }

    #[test]
    fn misses_and_errors_end_an_operation() {
        use Protocol::{Memcached, Resp};
        for (protocol, kind, reply) in [
            (Resp, Kind::Read, "*0\r\n"),
            (Resp, Kind::ReadModifyWrite, "*0\r\n"),
            (Resp, Kind::Update, "-WRONGTYPE no\r\n"),
            (Resp, Kind::Delete, ":0\r\n"),
            (Memcached, Kind::Read, "END\r\n"),
            (Memcached, Kind::Insert, "NOT_STORED\r\n"),
            (Memcached, Kind::Update, "SERVER_ERROR out of memory\r\n"),
            (Memcached, Kind::Delete, "NOT_FOUND\r\n"),
        ] {
            assert_eq!(talk(protocol, kind, &[reply]).1, After::Failed, "{kind:?} {reply}");
        }
    }

    #[test]
    fn a_record_of_memcached_is_json() {
        let (requests, _) = talk(Protocol::Memcached, Kind::Insert, &["STORED\r\n"]);
        let json = &requests[0][requests[0].find('{').unwrap()..];
        let fields: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(fields["field0"].as_str().map(str::len), Some(3));
        assert_eq!(fields["field1"].as_str().map(str::len), Some(3));
    }
}
