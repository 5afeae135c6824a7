//! Requests of one operation, and what their replies say.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::Result;

use super::workload::{Kind, Workload, key};
use crate::control::encode;
use crate::generator::{Batch, Received};
use crate::protocol::Protocol;
use crate::replies::{Answer, Value};

/// Requests of an operation, as the connectors of YCSB make them. VALUES are all fields of a new
/// record, otherwise one. In Redis a record is a hash, and the sorted set `_indices` has all keys,
/// with Java's hash of the key as SCORE. In Memcached a record is a value: JSON of the fields that
/// were written last.
fn requests(protocol: Protocol, kind: Kind) -> &'static [&'static str] {
    match (protocol, kind) {
        (Protocol::Resp, Kind::Read) => &["HGETALL KEY"],
        (Protocol::Resp, Kind::Update) => &["HMSET KEY VALUES"],
        (Protocol::Resp, Kind::Insert) => &["HMSET KEY VALUES", "ZADD _indices SCORE KEY"],
        // A read of each key that is found follows.
        (Protocol::Resp, Kind::Scan) => &["ZRANGEBYSCORE _indices SCORE +inf LIMIT 0 COUNT"],
        (Protocol::Resp, Kind::ReadModifyWrite) => &["HGETALL KEY", "HMSET KEY VALUES"],
        (Protocol::Resp, Kind::Delete) => &["DEL KEY", "ZREM _indices KEY"],
        (Protocol::Memcached, Kind::Read) => &["get KEY"],
        (Protocol::Memcached, Kind::Update) => &["replace KEY VALUES"],
        (Protocol::Memcached, Kind::Insert) => &["add KEY VALUES"],
        (Protocol::Memcached, Kind::Scan) => &[],
        (Protocol::Memcached, Kind::ReadModifyWrite) => &["get KEY", "replace KEY VALUES"],
        (Protocol::Memcached, Kind::Delete) => &["delete KEY"],
    }
}

/// One operation on its way.
pub struct Talk {
    pub kind: Kind,
    /// Its record, or the first one.
    pub record: u64,
    /// Time from which it counts.
    pub since: Instant,
    /// Requests that are not answered, with their keys, the next one last.
    requests: Vec<(&'static str, String)>,
}

impl Talk {
    pub fn new(to: Protocol, workload: &Workload, of: (Kind, u64), since: Instant) -> Self {
        let (kind, record) = of;
        let is_sent = |text: &&&str| workload.has_index || !text.contains("_indices");
        let requests = requests(to, kind).iter().filter(is_sent).rev();
        Self { kind, record, since, requests: requests.map(|text| (*text, key(record))).collect() }
    }

    pub fn is_over(&self) -> bool {
        self.requests.is_empty()
    }

    pub fn write(&self, to: Protocol, workload: &mut Workload, batch: &mut Batch) -> Result<()> {
        let Some((request, key)) = self.requests.last() else { return Ok(()) };
        batch.expected.count(Answer::to(request));
        let (score, count) = (java_hash(key).to_string(), workload.scan_length().to_string());
        let word = |word| match word {
            "KEY" => key,
            "SCORE" => &score,
            "COUNT" => &count,
            word => word,
        };
        let mut words: Vec<_> = request.split(' ').map(word).collect();
        let writes = words.pop_if(|word| *word == "VALUES").is_some();
        let values = if writes { workload.values(self.kind == Kind::Insert) } else { Vec::new() };
        // For Memcached there are two words, the second one the key.
        let text = match to {
            Protocol::Resp => {
                words.extend(values.into_iter().flat_map(|(name, value)| [name, value]));
                encode(words)
            }
            Protocol::Memcached if writes => {
                let json = serde_json::to_string(&BTreeMap::from_iter(values))?;
                format!("{} 0 {EXPIRY} {}\r\n{json}\r\n", words.join(" usertable-"), json.len())
            }
            Protocol::Memcached => words.join(" usertable-") + "\r\n",
        };
        batch.bytes.extend_from_slice(text.as_bytes());
        Ok(())
    }

    /// Takes the replies to the last request; returns false if the record was not there, or the
    /// server answered with an error.
    pub fn on_replies(&mut self, received: &Received<'_>) -> bool {
        let verb = self.requests.pop().and_then(|(request, _)| request.split(' ').next());
        let replies = &received.replies;
        let is_found = match verb {
            // What a scan has found may be deleted before it is read.
            Some("HGETALL") => replies.elements > 0 || self.kind == Kind::Scan,
            Some("DEL" | "delete") => replies.zero == 0,
            _ => replies.nil == 0,
        };
        if verb == Some("ZRANGEBYSCORE") {
            let found = received.values.iter().rev().filter_map(Value::text);
            let read = requests(Protocol::Resp, Kind::Read)[0];
            self.requests.extend(found.map(|key| (read, key)));
        }
        is_found && replies.error == 0
    }
}

/// Java's hash of a string of ASCII letters.
fn java_hash(text: &str) -> i32 {
    text.bytes().fold(0_i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(byte)))
}

/// Expiry that the connector for Memcached sets: the highest number, a time in the year 2038.
const EXPIRY: i32 = i32::MAX;

#[cfg(test)]
mod tests {
    use Kind::{Delete, Insert, Read, ReadModifyWrite, Scan, Update};
    use Protocol::{Memcached, Resp};

    use super::*;
    use crate::replies::ReplyReader;
    use crate::ycsb::workload::tests::workload;

    /// Runs an operation against given replies; returns the words of its requests, and at
    /// the end whether it was done.
    fn talk(of: Protocol, kind: Kind, replies: &[&str]) -> String {
        let settings = "fieldcount=1 fieldlength=0 minscanlength=2 maxscanlength=2";
        let (mut workload, now) = (workload(settings), Instant::now());
        let mut talk = Talk::new(of, &workload, (kind, 0), now);
        let (mut requests, mut is_done) = (Vec::new(), true);
        for reply in replies {
            let mut batch = Batch::default();
            talk.write(of, &mut workload, &mut batch).unwrap();
            let text = String::from_utf8(batch.bytes).unwrap().replace(&key(0), "KEY");
            let is_word = |line: &&str| !line.starts_with(['*', '$']);
            requests.push(text.lines().filter(is_word).collect::<Vec<_>>().join(" "));
            let mut reader = ReplyReader::keeping(of);
            reader.feed(format!("{reply}\r\n").as_bytes()).unwrap();
            let (replies, values) = (reader.take(), reader.take_values());
            assert!(batch.expected.is_met_by(&replies), "{requests:?}");
            let received =
                Received { replies, values, first_error: None, since: now, first: now, now };
            is_done = talk.on_replies(&received);
        }
        requests.push(if is_done && talk.is_over() { "done" } else { "failed" }.to_owned());
        requests.join("; ")
    }

    #[test]
    fn operations_have_the_requests_of_their_connectors_and_end_with_misses_and_errors() {
        let hash = "*2\r\n$6\r\nfield0\r\n$1\r\nx";
        let keys = "*2\r\n$5\r\nuser7\r\n$5\r\nuser8";
        let value = "VALUE usertable-KEY 0 2\r\n{}\r\nEND";
        // The hash of the key is -594971599 in Java.
        let range = "ZRANGEBYSCORE _indices -594971599 +inf LIMIT 0 2";
        let ranges = format!("{range}; HGETALL user7; HGETALL user8; done");
        let json = r#"usertable-KEY 0 2147483647 13 {"field0":""}"#;
        let both = format!("get usertable-KEY; replace {json}; done");
        for (protocol, kind, replies, wanted) in [
            (Resp, Read, &[hash][..], "HGETALL KEY; done"),
            (Resp, Read, &["*0"], "HGETALL KEY; failed"),
            (Resp, Update, &["+OK"], "HMSET KEY field0 ; done"),
            (Resp, Update, &["-WRONGTYPE no"], "HMSET KEY field0 ; failed"),
            (Resp, Insert, &["+OK", ":1"], "HMSET KEY field0 ; ZADD _indices -594971599 KEY; done"),
            (Resp, Scan, &[keys, hash, hash], &ranges),
            (Resp, Scan, &["*0"], &format!("{range}; done")),
            (Resp, Scan, &["-ERR no"], &format!("{range}; failed")),
            (Resp, ReadModifyWrite, &[hash, "+OK"], "HGETALL KEY; HMSET KEY field0 ; done"),
            (Resp, Delete, &[":1", ":1"], "DEL KEY; ZREM _indices KEY; done"),
            (Resp, Delete, &[":0"], "DEL KEY; failed"),
            (Memcached, Read, &[value], "get usertable-KEY; done"),
            (Memcached, Read, &["END"], "get usertable-KEY; failed"),
            (Memcached, Update, &["STORED"], &format!("replace {json}; done")),
            (Memcached, Update, &["SERVER_ERROR no"], &format!("replace {json}; failed")),
            (Memcached, Insert, &["STORED"], &format!("add {json}; done")),
            (Memcached, Insert, &["NOT_STORED"], &format!("add {json}; failed")),
            (Memcached, ReadModifyWrite, &[value, "STORED"], &both),
            (Memcached, Delete, &["DELETED"], "delete usertable-KEY; done"),
            (Memcached, Delete, &["NOT_FOUND"], "delete usertable-KEY; failed"),
        ] {
            assert_eq!(talk(protocol, kind, replies), wanted, "{kind:?}");
        }
    }
}
