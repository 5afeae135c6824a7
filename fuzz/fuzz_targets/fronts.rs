//! Any commands of both fronts on one store: each answer is that of a model, which knows of each item
//! its value, flags, CAS and deadline, and whether it is stale, won and fetched.
#![no_main]

#[path = "fronts/model.rs"]
mod model;
#[path = "fronts/server.rs"]
mod server;

use arbitrary::{Arbitrary, Unstructured};
use base::Millis;
use libfuzzer_sys::fuzz_target;
use memcached::number;
use model::{Expiry, Item, Model, compare};
use server::Server;

const START: u64 = 1_700_000_000_000;
/// Numbers that clients give are above those that are drawn.
const GIVEN: u64 = 9_000_000_000_000_000_000;

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Ttl {
    Never,
    Seconds(u8),
    AtOnce,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Number {
    Told,
    Given(u8),
    Zero,
    One,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Content {
    Number(u64),
    Letters { byte: u8, len: u16 },
    Long(u8),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Storing {
    Set,
    Add,
    Replace,
    Cas(Number),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Mode {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
}

#[derive(Arbitrary, Debug)]
enum Op {
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
enum Resp {
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

struct World {
    server: Server,
    model: Model,
}

impl Content {
    fn bytes(self) -> Vec<u8> {
        match self {
            Content::Number(number) => (number >> (number % 64)).to_string().into_bytes(),
            Content::Letters { byte, len } => vec![byte; usize::from(len % 300)],
            Content::Long(byte) => vec![byte; 600_000],
        }
    }
}

impl Ttl {
    fn word(self) -> String {
        match self {
            Ttl::Never => "0".to_owned(),
            Ttl::Seconds(seconds) => (1 + u32::from(seconds)).to_string(),
            Ttl::AtOnce => "-1".to_owned(),
        }
    }

    fn expiry(self, now: Millis) -> Expiry {
        match self {
            Ttl::Never => Some(None),
            Ttl::Seconds(seconds) => Some(Some(Millis(now.0 + 1000 * (1 + u64::from(seconds))))),
            Ttl::AtOnce => None,
        }
    }
}

fn name(key: usize) -> String {
    format!("key:{key}")
}

fn key_of(key: u8) -> usize {
    usize::from(key % KEYS)
}

fn left(now: Millis, expiry: Expiry) -> String {
    match expiry {
        None => "0".to_owned(),
        Some(None) => "-1".to_owned(),
        Some(Some(deadline)) => (deadline.0.saturating_sub(now.0)).div_ceil(1000).to_string(),
    }
}

/// Takes the first number behind a text out of an answer.
fn number_behind(answer: &[u8], begin: &str) -> (u64, Vec<u8>) {
    let begin = begin.as_bytes();
    let at =
        answer.windows(begin.len()).position(|it| it == begin).expect("a number") + begin.len();
    let len = answer[at..].iter().take_while(|it| it.is_ascii_digit()).count();
    let number = String::from_utf8_lossy(&answer[at..at + len]).parse().expect("a number");
    (number, [&answer[..at], &answer[at + len..]].concat())
}

#[track_caller]
fn same(answer: &[u8], expected: impl AsRef<[u8]>) {
    let expected = expected.as_ref();
    assert!(
        answer == expected,
        "{} for {}",
        answer[..answer.len().min(200)].escape_ascii(),
        expected[..expected.len().min(200)].escape_ascii()
    );
}

impl World {
    fn number(&self, key: usize, number: Number) -> u64 {
        match number {
            Number::Told => self.model.told.get(&key).copied().unwrap_or(1),
            Number::Given(low) => GIVEN + u64::from(low),
            Number::Zero => 0,
            Number::One => 1,
        }
    }

    fn now(&self) -> Millis {
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

fn numeric(value: &[u8]) -> Option<u64> {
    if value.len() > PIECE_MAX { None } else { number::stored(value) }
}

fn reckoned(stored: u64, delta: u64, is_decrement: bool) -> u64 {
    if is_decrement { stored.saturating_sub(delta) } else { stored.wrapping_add(delta) }
}

fn extend(item: &mut Item, is_append: bool, more: &[u8], cas: Option<u64>) {
    let (flags, deadline) = (item.flags, item.deadline);
    let parts = if is_append { [&item.value, more] } else { [more, &item.value] };
    *item = Item { value: parts.concat(), flags, cas, deadline, ..Item::default() };
}

fn given(new_cas: Option<u8>) -> (String, Option<u64>) {
    let number = new_cas.map(|low| GIVEN + u64::from(low));
    (number.map_or(String::new(), |it| format!(" E{it}")), number)
}

fn flag(letter: &str, expiry: Option<Ttl>) -> String {
    expiry.map_or(String::new(), |it| format!(" {letter}{}", it.word()))
}

/// Meta commands.
impl World {
    fn meta_get(&mut self, op: &Op) {
        let Op::MetaGet { key, vivify, recache, expiry, new_cas, with_cas, keeps_history } = *op
        else {
            return;
        };
        let (key, now) = (key_of(key), self.now());
        let (given_word, new_cas) = given(new_cas);
        let line = format!(
            "mg {}{}{}{}{}{}{} f h s t v\r\n",
            name(key),
            if with_cas { " c" } else { "" },
            if keeps_history { " u" } else { "" },
            given_word,
            flag("N", vivify),
            recache.map_or(String::new(), |it| format!(" R{it}")),
            flag("T", expiry),
        );
        let mut answer = self.server.send(line.as_bytes());
        let is_made = self.model.get(key, now).is_none();
        if is_made {
            let Some(vivify) = vivify else { return same(&answer, "EN\r\n") };
            let item = Item { cas: new_cas, ..Item::default() };
            // It is told of before it is gone.
            self.model.put(key, item, vivify.expiry(now).or(Some(None)));
        }
        let item = self.model.get(key, now).expect("an item");
        let at_first = item.deadline;
        let is_short = recache.is_some_and(|recache| {
            let left = at_first.map(|it| it.since(now).div_ceil(1000));
            !is_made && left.is_some_and(|it| it < u64::from(recache))
        });
        let wins = is_made || !item.is_won && (is_short || item.is_stale);
        let seen = Item { is_won: item.is_won && !is_made, ..item.clone() };
        item.is_won |= wins;
        item.is_fetched |= !keeps_history;
        let vivified = vivify.filter(|_| is_made).map(|it| it.expiry(now));
        let last = expiry.map(|it| it.expiry(now)).or(vivified).unwrap_or(Some(at_first));
        let head = format!("VA {}{}", seen.value.len(), if with_cas { " c" } else { "" });
        if with_cas {
            let (number, rest) = number_behind(&answer, &head);
            self.model.tell(key, number);
            answer = rest;
        }
        let facts = format!(
            " f{} h{} s{} t{}{}{}{}\r\n",
            seen.flags,
            u8::from(seen.is_fetched),
            seen.value.len(),
            left(now, last),
            if seen.is_won { " Z" } else { "" },
            if seen.is_stale { " X" } else { "" },
            if wins { " W" } else { "" },
        );
        let expected = [head.as_bytes(), facts.as_bytes(), &seen.value, b"\r\n"].concat();
        same(&answer, expected);
        self.model.set_expiry(key, last);
    }

    fn meta_set(&mut self, op: &Op) {
        let Op::MetaSet {
            key,
            mode,
            compare: wanted,
            new_cas,
            invalidates,
            flags,
            expiry,
            vivify,
            content,
        } = *op
        else {
            return;
        };
        let (key, now, value) = (key_of(key), self.now(), content.bytes());
        let wanted = wanted.map(|it| self.number(key, it));
        let (given_word, new_cas) = given(new_cas);
        let letter = match mode {
            Mode::Set => "S",
            Mode::Add => "E",
            Mode::Replace => "R",
            Mode::Append => "A",
            Mode::Prepend => "P",
        };
        let head = format!(
            "ms {} {} M{letter}{}{given_word}{} F{flags} T{}{}\r\n",
            name(key),
            value.len(),
            wanted.map_or(String::new(), |it| format!(" C{it}")),
            if invalidates { " I" } else { "" },
            expiry.word(),
            flag("N", vivify),
        );
        let answer = self.server.send(&[head.as_bytes(), &value, b"\r\n"].concat());
        let extends = matches!(mode, Mode::Append | Mode::Prepend);
        let before = self.model.get(key, now).cloned();
        let compared = match extends {
            true => compare(before.as_ref(), wanted.filter(|it| *it != 0), false, now),
            false => compare(before.as_ref(), wanted, invalidates, now),
        };
        let fresh = Item { value, flags, cas: new_cas, ..Item::default() };
        let word = match (mode, before, compared) {
            (Mode::Add, Some(_), _) => "NS",
            (Mode::Append | Mode::Prepend, None, _) => match vivify {
                None => "NS",
                Some(vivify) => {
                    self.model.put(key, fresh, vivify.expiry(now));
                    "HD"
                }
            },
            (Mode::Add, None, _) => {
                self.model.put(key, fresh, expiry.expiry(now));
                "HD"
            }
            (_, _, Err(word)) => word,
            (Mode::Append | Mode::Prepend, Some(_), Ok(_)) => {
                let item = self.model.get(key, now).expect("an item");
                extend(item, matches!(mode, Mode::Append), &fresh.value, new_cas);
                "HD"
            }
            (Mode::Replace, None, Ok(_)) => "NS",
            (_, Some(item), Ok(true)) => {
                let item =
                    Item { is_stale: true, is_won: item.is_won, deadline: item.deadline, ..fresh };
                self.model.put(key, item.clone(), Some(item.deadline));
                "HD"
            }
            (_, _, Ok(_)) => {
                self.model.put(key, fresh, expiry.expiry(now));
                "HD"
            }
        };
        same(&answer, format!("{word}\r\n"));
    }

    fn meta_delete(&mut self, op: &Op) {
        let Op::MetaDelete { key, compare: wanted, new_cas, invalidates, drops, flags, expiry } =
            *op
        else {
            return;
        };
        let (key, now) = (key_of(key), self.now());
        let wanted = wanted.map(|it| self.number(key, it));
        let (given_word, new_cas) = given(new_cas);
        let line = format!(
            "md {}{}{given_word}{}{} F{flags}{}\r\n",
            name(key),
            wanted.map_or(String::new(), |it| format!(" C{it}")),
            if invalidates { " I" } else { "" },
            if drops { " x" } else { "" },
            flag("T", expiry),
        );
        let answer = self.server.send(line.as_bytes());
        let Some(item) = self.model.get(key, now) else { return same(&answer, "NF\r\n") };
        if let Err(word) = compare(Some(item), wanted, false, now) {
            return same(&answer, format!("{word}\r\n"));
        }
        same(&answer, "HD\r\n");
        if !invalidates && !drops {
            return self.model.remove(key);
        }
        let mut last = Some(item.deadline);
        if drops {
            *item = Item { flags, cas: new_cas.or(item.cas), ..Item::default() };
            last = expiry.map_or(Some(None), |it| it.expiry(now));
        } else if let Some(expiry) = expiry {
            last = expiry.expiry(now);
        }
        if invalidates {
            (item.is_stale, item.is_won, item.cas) = (true, false, new_cas);
        }
        self.model.set_expiry(key, last);
    }

    fn meta_reckon(&mut self, op: &Op) {
        let Op::MetaReckon {
            key,
            compare: wanted,
            new_cas,
            vivify,
            initial,
            delta,
            is_decrement,
            expiry,
        } = *op
        else {
            return;
        };
        let (key, now) = (key_of(key), self.now());
        let wanted = wanted.map(|it| self.number(key, it));
        let (given_word, new_cas) = given(new_cas);
        let line = format!(
            "ma {}{}{given_word}{} J{initial} D{delta} M{}{} v\r\n",
            name(key),
            wanted.map_or(String::new(), |it| format!(" C{it}")),
            flag("N", vivify),
            if is_decrement { "D" } else { "I" },
            flag("T", expiry),
        );
        let answer = self.server.send(line.as_bytes());
        let told = |number: u64| {
            let text = number.to_string();
            format!("VA {}\r\n{text}\r\n", text.len())
        };
        let expiry = expiry.map(|it| it.expiry(now));
        let Some(item) = self.model.get(key, now) else {
            let Some(vivify) = vivify else { return same(&answer, "NF\r\n") };
            same(&answer, told(initial));
            let value = initial.to_string().into_bytes();
            let item = Item { value, cas: new_cas, ..Item::default() };
            return self.model.put(key, item, expiry.unwrap_or(vivify.expiry(now)));
        };
        if item.value.is_empty() || item.value.len() > PIECE_MAX {
            return same(&answer, NON_NUMERIC);
        }
        if let Err(word) = compare(Some(item), wanted.filter(|it| *it != 0), false, now) {
            return same(&answer, format!("{word}\r\n"));
        }
        let Some(stored) = numeric(&item.value) else { return same(&answer, NON_NUMERIC) };
        let result = reckoned(stored, delta, is_decrement);
        same(&answer, told(result));
        item.value = result.to_string().into_bytes();
        item.cas = new_cas;
        if new_cas.is_some() {
            item.is_fetched = false;
        }
        if let Some(expiry) = expiry {
            self.model.set_expiry(key, expiry);
        }
    }
}

/// The other front.
impl World {
    fn resp(&mut self, key: usize, other: usize, what: Resp, value: Vec<u8>) {
        let (now, name, other_name) = (self.now(), name(key), name(other));
        let (name, other_name) = (name.as_bytes(), other_name.as_bytes());
        let before = self.model.get(key, now).cloned();
        match what {
            Resp::Get => {
                let answer = self.server.ask(&[b"GET", name]);
                let bulk = before.map(|it| bulk(&it.value));
                same(&answer, bulk.unwrap_or(b"$-1\r\n".to_vec()));
            }
            Resp::Set => {
                same(&self.server.ask(&[b"SET", name, &value]), "+OK\r\n");
                self.model.put(key, Item { value, ..Item::default() }, Some(None));
            }
            Resp::SetKeepTtl => {
                same(&self.server.ask(&[b"SET", name, &value, b"KEEPTTL"]), "+OK\r\n");
                let deadline = before.and_then(|it| it.deadline);
                self.model.put(key, Item { value, ..Item::default() }, Some(deadline));
            }
            Resp::Append => {
                let answer = self.server.ask(&[b"APPEND", name, &value]);
                let mut item = before.unwrap_or_default();
                item.value.extend_from_slice(&value);
                if !value.is_empty() {
                    item.cas = None;
                }
                same(&answer, format!(":{}\r\n", item.value.len()));
                let deadline = item.deadline;
                self.model.put(key, item, Some(deadline));
            }
            Resp::Incr => self.increment(key, name, before),
            Resp::Del => {
                let answer = self.server.ask(&[b"DEL", name]);
                same(&answer, format!(":{}\r\n", u8::from(before.is_some())));
                self.model.remove(key);
            }
            Resp::Persist => {
                let answer = self.server.ask(&[b"PERSIST", name]);
                let has = before.is_some_and(|it| it.deadline.is_some());
                same(&answer, format!(":{}\r\n", u8::from(has)));
                self.model.set_expiry(key, Some(None));
            }
            Resp::Expire(seconds) => {
                let seconds = u64::from(seconds);
                let answer = self.server.ask(&[b"EXPIRE", name, seconds.to_string().as_bytes()]);
                same(&answer, format!(":{}\r\n", u8::from(before.is_some())));
                let deadline = Millis(now.0 + 1000 * seconds);
                self.model.set_expiry(key, (seconds > 0).then_some(Some(deadline)));
            }
            Resp::Rename | Resp::Copy => {
                let renames = matches!(what, Resp::Rename);
                let answer = match renames {
                    true => self.server.ask(&[b"RENAME", name, other_name]),
                    false => self.server.ask(&[b"COPY", name, other_name, b"REPLACE"]),
                };
                let (Some(item), true) = (before, key != other) else { return };
                same(&answer, if renames { "+OK\r\n" } else { ":1\r\n" });
                if renames {
                    self.model.remove(key);
                }
                let deadline = item.deadline;
                self.model.put(other, Item { cas: None, ..item }, Some(deadline));
            }
        }
    }

    fn increment(&mut self, key: usize, name: &[u8], before: Option<Item>) {
        let answer = self.server.ask(&[b"INCR", name]);
        let mut item = before.unwrap_or_else(|| Item { value: b"0".to_vec(), ..Item::default() });
        let text = String::from_utf8_lossy(&item.value).into_owned();
        let number = text.parse::<i64>().ok().filter(|it| it.to_string() == text);
        let Some(number) = number.and_then(|it| it.checked_add(1)) else {
            return assert!(answer.starts_with(b"-ERR"));
        };
        same(&answer, format!(":{number}\r\n"));
        (item.value, item.cas) = (number.to_string().into_bytes(), None);
        let deadline = item.deadline;
        self.model.put(key, item, Some(deadline));
    }

    fn apply(&mut self, op: &Op) {
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

fn bulk(value: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat()
}

const KEYS: u8 = 5;
/// Most bytes of a string in one piece.
const PIECE_MAX: usize = 512 << 10;
const NON_NUMERIC: &str = "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";

// Operations are read one after the other, so that any bytes are a long sequence of them.
fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let mut world = World { server: Server::new(Millis(START)), model: Model::default() };
    while let (false, Ok(op)) = (input.is_empty(), Op::arbitrary(&mut input)) {
        world.apply(&op);
    }
    for key in 0..usize::from(KEYS) {
        let key = key as u8;
        let (vivify, recache, expiry, new_cas) = (None, None, None, None);
        let (with_cas, keeps_history) = (true, true);
        world.apply(&Op::MetaGet {
            key,
            vivify,
            recache,
            expiry,
            new_cas,
            with_cas,
            keeps_history,
        });
    }
});
