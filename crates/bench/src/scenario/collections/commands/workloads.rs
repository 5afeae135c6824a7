//! Stored data, and the commands that are run over it.
//!
//! Sizes follow practice: many collections of tens to hundreds of elements, as in carts, profiles,
//! tags, queues and boards; and one of a million where a command is asked for it.

use crate::generator::shuffled;
use crate::null::bulk;
use crate::scenario::Scale;
use crate::scenario::collections::elements::{FIELDS, whole_hash};
use crate::scenario::collections::store::Stored;

/// Collections, and the commands that are measured over them, in this order.
pub struct Data {
    /// Family under which its commands are shown.
    pub family: &'static str,
    pub name: &'static str,
    /// Number and size of the collections, in words.
    pub what: String,
    pub stored: Vec<Stored>,
    /// Commands that count the stored elements, and the expected answers.
    pub counts: Vec<(String, u64)>,
    pub workloads: Vec<Workload>,
}

/// Command that is measured.
pub struct Workload {
    pub name: &'static str,
    pub request: String,
    /// Expected replies.
    pub replies: Replies,
    /// Upper bound of the drawn numbers, exclusive.
    pub below: u64,
    /// True if each number comes equally often, as in a cycle; otherwise each is drawn at random.
    pub each_in_turn: bool,
    /// Request sent beforehand for the same numbers, so that the command finds the elements that it
    /// removes.
    pub before: Option<String>,
    /// Request sent afterwards for the same numbers, to restore the data.
    pub after: Option<String>,
}

/// Expected replies to a workload.
pub enum Replies {
    /// A value for each request.
    Values,
    /// An integer for each request, hardly any of them zero.
    Ones,
    /// Zero for each request.
    Zeros,
    /// An integer for each request.
    Integers,
    /// An array of so many elements for each request.
    Elements(u64),
}

impl Replies {
    /// Returns a reply in wire format, with strings of 16 bytes.
    pub fn example(&self) -> String {
        let value = bulk(&"v".repeat(16));
        match self {
            Self::Values => value,
            Self::Ones | Self::Integers => ":1\r\n".to_owned(),
            Self::Zeros => ":0\r\n".to_owned(),
            Self::Elements(each) => format!("*{each}\r\n{}", value.repeat(*each as usize)),
        }
    }
}

impl Workload {
    /// Creates a workload whose command leaves the data unchanged.
    pub fn new(
        name: &'static str,
        request: impl Into<String>,
        replies: Replies,
        below: u64,
    ) -> Self {
        let request = request.into();
        let (before, after) = (None, None);
        Self { name, request, replies, below, each_in_turn: false, before, after }
    }

    fn after(self, request: impl Into<String>) -> Self {
        Self { after: Some(request.into()), ..self }
    }

    fn before(self, request: impl Into<String>) -> Self {
        Self { before: Some(request.into()), ..self }
    }

    fn each_in_turn(self) -> Self {
        Self { each_in_turn: true, ..self }
    }
}

/// Returns all data; the numbers of keys, or of elements in a single key, are at the scale `size`.
pub fn all(size: Scale) -> Vec<Data> {
    let (million, many) = (size.of(1_000_000), size.of(100_000));
    vec![
        lists(size.of(10_000)),
        hashes(many),
        one_hash(million),
        sets(many),
        one_set(million),
        pairs(size.of(500)),
        boards(many),
        one_sorted_set(million),
        streams(size.of(1000)),
    ]
}

fn lists(keys: u64) -> Data {
    let key = format!("list:{{n%{keys}:5}}");
    let (push, pop) = (format!("LPUSH {key} {{?16}}"), format!("LPOP {key}"));
    let rotate = format!("RPOPLPUSH {key} list:{{n+1%{keys}:5}}");
    Data {
        family: LISTS_AND_HASHES,
        name: "many lists",
        what: format!("{keys} lists of 100 elements of 16 bytes"),
        stored: vec![Stored::new(format!("RPUSH {key} {{?16}}"), keys * 100)],
        counts: vec![("LLEN list:00007".to_owned(), 100)],
        workloads: vec![
            Workload::new("LRANGE 100", format!("LRANGE {key} 0 99"), Replies::Elements(100), keys),
            Workload::new("LPUSH", &push, Replies::Ones, keys).after(&pop),
            Workload::new("LPOP", &pop, Replies::Values, keys).before(&push),
            Workload::new("RPOPLPUSH", rotate, Replies::Values, keys).each_in_turn(),
        ],
    }
}

fn hashes(keys: u64) -> Data {
    let fields = keys * FIELDS;
    let place = "user:{n/10:7} field_{n%10:2}";
    Data {
        family: LISTS_AND_HASHES,
        name: "many hashes",
        what: format!(
            "{keys} hashes of 10 fields of 8 bytes with values of 16, which HSET replaces"
        ),
        stored: vec![Stored::new(whole_hash("{?16}"), keys)],
        counts: vec![("HLEN user:0000007".to_owned(), FIELDS), ("DBSIZE".to_owned(), keys)],
        workloads: vec![
            Workload::new("HGET", format!("HGET {place}"), Replies::Values, fields),
            Workload::new("HGETALL", "HGETALL user:{n:7}", Replies::Elements(2 * FIELDS), keys),
            Workload::new("HSET", format!("HSET {place} {{?16}}"), Replies::Zeros, fields),
        ],
    }
}

fn one_hash(fields: u64) -> Data {
    let set = "HSET hash {n~8} {?16}";
    Data {
        family: LISTS_AND_HASHES,
        name: "one hash",
        what: format!("{fields} fields of 8 bytes with values of 16, which HSET replaces"),
        stored: vec![shuffled_of(set, fields)],
        counts: vec![("HLEN hash".to_owned(), fields)],
        workloads: vec![
            Workload::new("HGET", "HGET hash {n~8}", Replies::Values, fields),
            Workload::new("HSET", set, Replies::Zeros, fields),
        ],
    }
}

fn sets(keys: u64) -> Data {
    let key = format!("tags:{{n%{keys}:6}}");
    let ask = format!("SISMEMBER {key} {{n~16}}");
    let (add, remove) = (format!("SADD {key} {NEW}"), format!("SREM {key} {NEW}"));
    Data {
        family: SETS_AND_STREAMS,
        name: "many sets",
        what: format!("{keys} sets of 20 members of 16 bytes; SADD adds others"),
        stored: vec![Stored::new(format!("SADD {key} {{n~16}}"), keys * 20)],
        counts: vec![("SCARD tags:000007".to_owned(), 20), ("DBSIZE".to_owned(), keys)],
        workloads: vec![
            Workload::new("SISMEMBER", ask, Replies::Ones, keys * 20),
            Workload::new("SADD", add, Replies::Ones, NEW_BELOW).after(remove),
        ],
    }
}

fn one_set(members: u64) -> Data {
    let (add, remove) = (format!("SADD set {NEW}"), format!("SREM set {NEW}"));
    Data {
        family: SETS_AND_STREAMS,
        name: "one set",
        what: format!("{members} members of 16 bytes; SADD adds others"),
        stored: vec![shuffled_of("SADD set {n~16}", members)],
        counts: vec![("SCARD set".to_owned(), members)],
        workloads: vec![
            Workload::new("SISMEMBER", "SISMEMBER set {n~16}", Replies::Ones, members),
            Workload::new("SADD", add, Replies::Ones, NEW_BELOW).after(remove),
        ],
    }
}

fn pairs(pairs: u64) -> Data {
    let other = format!("SADD b:{{n%{pairs}:4}} {{n+{}~16}}", 500 * pairs);
    Data {
        family: SETS_AND_STREAMS,
        name: "pairs of sets",
        what: format!("{pairs} pairs of sets of 1,000 members of 16 bytes, half in common"),
        stored: vec![
            Stored::new(format!("SADD a:{{n%{pairs}:4}} {{n~16}}"), pairs * 1000),
            Stored::new(other, pairs * 1000),
        ],
        counts: vec![("SCARD a:0000".to_owned(), 1000), ("SCARD b:0000".to_owned(), 1000)],
        workloads: vec![Workload::new(
            "SINTER",
            "SINTER a:{n:4} b:{n:4}",
            Replies::Elements(500),
            pairs,
        )],
    }
}

fn boards(keys: u64) -> Data {
    let add = format!("ZADD board:{{n%{keys}:6}} {{#1000000}} {{n~8}}");
    Data {
        family: SETS_AND_STREAMS,
        name: "many sorted sets",
        what: format!(
            "{keys} sorted sets of 20 members of 8 bytes, to which ZADD gives new scores"
        ),
        stored: vec![Stored::new(&add, keys * 20)],
        counts: vec![("ZCARD board:000007".to_owned(), 20), ("DBSIZE".to_owned(), keys)],
        workloads: vec![Workload::new("ZADD", &add, Replies::Zeros, keys * 20)],
    }
}

/// Returns the data for one sorted set. ZADD comes last: it moves members to scores of others.
fn one_sorted_set(members: u64) -> Data {
    let range = "ZRANGEBYSCORE zset {n} +inf LIMIT 0 10";
    let add = format!("ZADD zset {{#{members}}} m:{{n}}");
    Data {
        family: SETS_AND_STREAMS,
        name: "one sorted set",
        what: format!("{members} members m:N with score N, to which ZADD gives new scores"),
        stored: vec![shuffled_of("ZADD zset {n} m:{n}", members)],
        counts: vec![("ZCARD zset".to_owned(), members)],
        workloads: vec![
            Workload::new("ZRANGEBYSCORE 10", range, Replies::Elements(10), members - 10),
            Workload::new("ZRANK", "ZRANK zset m:{n}", Replies::Integers, members),
            Workload::new("ZADD", add, Replies::Zeros, members),
        ],
    }
}

/// Returns the data for streams. An entry is its id, a field and a value; the reply also names the
/// stream.
fn streams(keys: u64) -> Data {
    let key = format!("events:{{n%{keys}:4}}");
    let id = format!("1700000{{n/{keys}:6}}-0");
    let read = format!("XREAD COUNT 10 STREAMS {key} {id}");
    let (add, trim) = (format!("XADD {key} * f {{?16}}"), format!("XTRIM {key} MAXLEN 1000"));
    Data {
        family: SETS_AND_STREAMS,
        name: "many streams",
        what: format!("{keys} streams of 1,000 entries with one field and a value of 16 bytes"),
        stored: vec![Stored::new(format!("XADD {key} {id} f {{?16}}"), keys * 1000)],
        counts: vec![("XLEN events:0007".to_owned(), 1000), ("DBSIZE".to_owned(), keys)],
        workloads: vec![
            Workload::new("XREAD 10", read, Replies::Elements(1 + 3 * 10), keys * 990),
            Workload::new("XADD", add, Replies::Values, keys * 1000).after(trim),
        ],
    }
}

fn shuffled_of(request: &str, count: u64) -> Stored {
    Stored::new(request, count).listed(shuffled(u32::try_from(count).unwrap_or(u32::MAX), 1))
}

/// Family names, as they appear in titles.
pub const LISTS_AND_HASHES: &str = "lists and hashes";
pub const SETS_AND_STREAMS: &str = "sets, sorted sets and streams";
/// Member that no set has at first.
const NEW: &str = "{n+1000000000~16}";
/// Bound so large that hardly any number is drawn twice.
const NEW_BELOW: u64 = 100_000_000;
