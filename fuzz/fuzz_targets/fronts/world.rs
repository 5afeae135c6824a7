//! A store with its model, and what is done to both.

use crate::model::{Expiry, GIVEN, Item, Model};
use crate::server::Server;
use arbitrary::Arbitrary;
use base::Millis;
use memcached::number;

pub const START: u64 = 1_800_000_000_000;

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Ttl {
    Never,
    Seconds(u8),
    AtOnce,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Number {
    Told,
    Given(u8),
    Zero,
    One,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Content {
    Number(u64),
    Letters { byte: u8, len: u16 },
    Long(u8),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Storing {
    Set,
    Add,
    Replace,
    Cas(Number),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Mode {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
}

#[derive(Arbitrary, Debug)]
pub enum Op {
    Get {
        key: u8,
        with_cas: bool,
        expiry: Option<Ttl>,
    },
    Store {
        key: u8,
        how: Storing,
        flags: u32,
        expiry: Ttl,
        content: Content,
    },
    Extend {
        key: u8,
        is_append: bool,
        content: Content,
    },
    Touch {
        key: u8,
        expiry: Ttl,
    },
    Delete {
        key: u8,
    },
    Reckon {
        key: u8,
        delta: u64,
        is_decrement: bool,
    },
    MetaGet {
        key: u8,
        vivify: Option<Ttl>,
        recache: Option<u8>,
        expiry: Option<Ttl>,
        new_cas: Option<u8>,
        with_cas: bool,
        keeps_history: bool,
    },
    MetaSet {
        key: u8,
        mode: Mode,
        compare: Option<Number>,
        new_cas: Option<u8>,
        invalidates: bool,
        flags: u32,
        expiry: Ttl,
        vivify: Option<Ttl>,
        content: Content,
    },
    MetaDelete {
        key: u8,
        compare: Option<Number>,
        new_cas: Option<u8>,
        invalidates: bool,
        drops: bool,
        flags: u32,
        expiry: Option<Ttl>,
    },
    MetaReckon {
        key: u8,
        compare: Option<Number>,
        new_cas: Option<u8>,
        vivify: Option<Ttl>,
        initial: u64,
        delta: u64,
        is_decrement: bool,
        expiry: Option<Ttl>,
    },
    FlushAll,
    Resp {
        key: u8,
        other: u8,
        what: Resp,
        content: Content,
    },
    Advance {
        millis: u16,
    },
    Clean,
    Sweep,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Resp {
    Get,
    Set,
    SetKeepTtl,
    Append,
    Incr,
    Del,
    Persist,
    Expire(u8),
    Rename,
    Copy,
}

pub struct World {
    pub server: Server,
    pub model: Model,
}

impl Content {
    pub fn bytes(self) -> Vec<u8> {
        match self {
            Content::Number(number) => (number >> (number % 64)).to_string().into_bytes(),
            Content::Letters { byte, len } => vec![byte; usize::from(len % 300)],
            Content::Long(byte) => vec![byte; 600_000],
        }
    }
}

impl Ttl {
    pub fn word(self) -> String {
        match self {
            Ttl::Never => "0".to_owned(),
            Ttl::Seconds(seconds) => (1 + u32::from(seconds)).to_string(),
            Ttl::AtOnce => "-1".to_owned(),
        }
    }

    pub fn expiry(self, now: Millis) -> Expiry {
        match self {
            Ttl::Never => Some(None),
            Ttl::Seconds(seconds) => Some(Some(Millis(now.0 + 1000 * (1 + u64::from(seconds))))),
            Ttl::AtOnce => None,
        }
    }
}

pub fn name(key: usize) -> String {
    format!("key:{key}")
}

pub fn key_of(key: u8) -> usize {
    usize::from(key % KEYS)
}

pub fn left(now: Millis, expiry: Expiry) -> String {
    match expiry {
        None => "0".to_owned(),
        Some(None) => "-1".to_owned(),
        Some(Some(deadline)) => (deadline.0.saturating_sub(now.0)).div_ceil(1000).to_string(),
    }
}

/// Takes the first number behind a text out of an answer.
pub fn number_behind(answer: &[u8], begin: &str) -> (u64, Vec<u8>) {
    let begin = begin.as_bytes();
    let at =
        answer.windows(begin.len()).position(|it| it == begin).expect("a number") + begin.len();
    let len = answer[at..].iter().take_while(|it| it.is_ascii_digit()).count();
    let number = String::from_utf8_lossy(&answer[at..at + len]).parse().expect("a number");
    (number, [&answer[..at], &answer[at + len..]].concat())
}

#[track_caller]
pub fn same(answer: &[u8], expected: impl AsRef<[u8]>) {
    let expected = expected.as_ref();
    assert!(
        answer == expected,
        "{} for {}",
        answer[..answer.len().min(200)].escape_ascii(),
        expected[..expected.len().min(200)].escape_ascii()
    );
}

impl World {
    pub fn new() -> World {
        World { server: Server::new(Millis(START)), model: Model::default() }
    }

    pub fn number(&self, key: usize, number: Number) -> u64 {
        match number {
            Number::Told => self.model.told.get(&key).copied().unwrap_or(1),
            Number::Given(low) => GIVEN + u64::from(low),
            Number::Zero => 0,
            Number::One => 1,
        }
    }

    pub fn now(&self) -> Millis {
        self.server.now
    }

    fn get(&mut self, key: usize, with_cas: bool, expiry: Option<Ttl>) {
        let now = self.now();
        let words = match expiry {
            None => String::new(),
            Some(expiry) => format!("{} ", expiry.word()),
        };
        let command = match (expiry.is_some(), with_cas) {
            (false, false) => "get",
            (false, true) => "gets",
            (true, false) => "gat",
            (true, true) => "gats",
        };
        let line = format!("{command} {words}{}\r\n", name(key));
        let mut answer = self.server.send(line.as_bytes());
        let Some(item) = self.model.get(key, now) else { return same(&answer, "END\r\n") };
        item.is_fetched = true;
        let head = format!("VALUE {} {} {}", name(key), item.flags, item.value.len());
        let (blank, value) = (if with_cas { " " } else { "" }, item.value.clone());
        if with_cas {
            let (number, rest) = number_behind(&answer, &format!("{head} "));
            self.model.tell(key, number);
            answer = rest;
        }
        let head = format!("{head}{blank}\r\n");
        same(&answer, [head.as_bytes(), &value, b"\r\nEND\r\n"].concat());
        if let Some(expiry) = expiry {
            self.model.set_expiry(key, expiry.expiry(now));
        }
    }

    fn store(&mut self, key: usize, how: Storing, flags: u32, expiry: Ttl, value: Vec<u8>) {
        let now = self.now();
        let (command, number) = match how {
            Storing::Set => ("set", None),
            Storing::Add => ("add", None),
            Storing::Replace => ("replace", None),
            Storing::Cas(number) => ("cas", Some(self.number(key, number))),
        };
        let cas = number.map_or(String::new(), |it| format!(" {it}"));
        let (name, len) = (name(key), value.len());
        let head = format!("{command} {name} {flags} {} {len}{cas}\r\n", expiry.word());
        let answer = self.server.send(&[head.as_bytes(), &value, b"\r\n"].concat());
        let before = self.model.get(key, now);
        let refused = match (how, &before) {
            (Storing::Add, Some(_)) | (Storing::Replace, None) => Some("NOT_STORED\r\n"),
            (Storing::Cas(_), None) => Some("NOT_FOUND\r\n"),
            (Storing::Cas(_), Some(item)) if item.cas != number => Some("EXISTS\r\n"),
            _ => None,
        };
        if let Some(refused) = refused {
            return same(&answer, refused);
        }
        same(&answer, "STORED\r\n");
        let item = Item { value, flags, ..Item::default() };
        self.model.put(key, item, expiry.expiry(now));
    }

    fn extend(&mut self, key: usize, is_append: bool, more: &[u8]) {
        let now = self.now();
        let command = if is_append { "append" } else { "prepend" };
        let head = format!("{command} {} 7 100 {}\r\n", name(key), more.len());
        let answer = self.server.send(&[head.as_bytes(), more, b"\r\n"].concat());
        let Some(item) = self.model.get(key, now) else { return same(&answer, "NOT_STORED\r\n") };
        same(&answer, "STORED\r\n");
        extend(item, is_append, more, None);
    }

    fn touch(&mut self, key: usize, expiry: Ttl) {
        let now = self.now();
        let line = format!("touch {} {}\r\n", name(key), expiry.word());
        let answer = self.server.send(line.as_bytes());
        let Some(item) = self.model.get(key, now) else { return same(&answer, "NOT_FOUND\r\n") };
        item.is_fetched = true;
        same(&answer, "TOUCHED\r\n");
        self.model.set_expiry(key, expiry.expiry(now));
    }

    fn delete(&mut self, key: usize) {
        let now = self.now();
        let answer = self.server.send(format!("delete {}\r\n", name(key)).as_bytes());
        let is_there = self.model.get(key, now).is_some();
        same(&answer, if is_there { "DELETED\r\n" } else { "NOT_FOUND\r\n" });
        self.model.remove(key);
    }

    fn reckon(&mut self, key: usize, delta: u64, is_decrement: bool) {
        let now = self.now();
        let command = if is_decrement { "decr" } else { "incr" };
        let answer = self.server.send(format!("{command} {} {delta}\r\n", name(key)).as_bytes());
        let Some(item) = self.model.get(key, now) else { return same(&answer, "NOT_FOUND\r\n") };
        let Some(stored) = numeric(&item.value) else { return same(&answer, NON_NUMERIC) };
        let result = reckoned(stored, delta, is_decrement).to_string();
        same(&answer, format!("{result}\r\n"));
        (item.value, item.cas) = (result.into_bytes(), None);
    }
}

pub fn numeric(value: &[u8]) -> Option<u64> {
    if value.len() > PIECE_MAX { None } else { number::stored(value) }
}

pub fn reckoned(stored: u64, delta: u64, is_decrement: bool) -> u64 {
    if is_decrement { stored.saturating_sub(delta) } else { stored.wrapping_add(delta) }
}

pub fn extend(item: &mut Item, is_append: bool, more: &[u8], cas: Option<u64>) {
    let (flags, deadline) = (item.flags, item.deadline);
    let parts = if is_append { [&item.value, more] } else { [more, &item.value] };
    *item = Item { value: parts.concat(), flags, cas, deadline, ..Item::default() };
}

pub fn given(new_cas: Option<u8>) -> (String, Option<u64>) {
    let number = new_cas.map(|low| GIVEN + u64::from(low));
    (number.map_or(String::new(), |it| format!(" E{it}")), number)
}

pub fn flag(letter: &str, expiry: Option<Ttl>) -> String {
    expiry.map_or(String::new(), |it| format!(" {letter}{}", it.word()))
}

impl World {
    pub fn apply(&mut self, op: &Op) {
        match *op {
            Op::Get { key, with_cas, expiry } => self.get(key_of(key), with_cas, expiry),
            Op::Store { key, how, flags, expiry, content } => {
                self.store(key_of(key), how, flags, expiry, content.bytes());
            }
            Op::Extend { key, is_append, content } => {
                self.extend(key_of(key), is_append, &content.bytes());
            }
            Op::Touch { key, expiry } => self.touch(key_of(key), expiry),
            Op::Delete { key } => self.delete(key_of(key)),
            Op::Reckon { key, delta, is_decrement } => {
                self.reckon(key_of(key), delta, is_decrement)
            }
            Op::MetaGet { .. } => self.meta_get(op),
            Op::MetaSet { .. } => self.meta_set(op),
            Op::MetaDelete { .. } => self.meta_delete(op),
            Op::MetaReckon { .. } => self.meta_reckon(op),
            Op::FlushAll => {
                same(&self.server.send(b"flush_all\r\n"), "OK\r\n");
                self.model.clear();
            }
            Op::Resp { key, other, what, content } => {
                self.resp(key_of(key), key_of(other), what, content.bytes());
            }
            Op::Advance { millis } => self.server.now.0 += u64::from(millis),
            Op::Clean => self.server.clean(),
            Op::Sweep => self.server.sweep(),
        }
    }
}

pub const KEYS: u8 = 5;
/// Most bytes of a string in one piece.
pub const PIECE_MAX: usize = 512 << 10;
pub const NON_NUMERIC: &str = "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
