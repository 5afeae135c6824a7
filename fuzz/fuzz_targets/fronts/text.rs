//! Lines of the text protocol.

use crate::model::Item;
use crate::ops::{NAMES, PIECE_MAX, Storing, Text, Ttl, VALUE_MAX, is_word};
use crate::world::{World, number_behind, same};
use memcached::number;

impl World {
    pub fn text(&mut self, key: usize, is_quiet: bool, line: Text) {
        if !is_word(key) {
            return;
        }
        let noreply = if is_quiet { " noreply" } else { "" };
        let (answer, expected) = match line {
            Text::Get { with_cas, expiry } => return self.get(key, with_cas, expiry),
            Text::Store { how, flags, expiry, content } => {
                self.store(key, (how, flags, expiry), content.bytes(), noreply)
            }
            Text::Extend { is_append, content } => {
                let more = content.bytes();
                if self.len(key) + more.len() > VALUE_MAX {
                    return;
                }
                self.extend(key, is_append, &more, noreply)
            }
            Text::Touch { expiry } => self.touch(key, expiry, noreply),
            Text::Delete => self.delete(key, noreply),
            Text::Reckon { delta, is_decrement } => self.reckon(key, delta, is_decrement, noreply),
        };
        same(&answer, if is_quiet { "" } else { expected.as_str() });
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
        let line = format!("{command} {words}{}\r\n", NAMES[key]);
        let mut answer = self.server.send(line.as_bytes());
        let Some(item) = self.model.get(key, now) else { return same(&answer, "END\r\n") };
        item.is_fetched = true;
        let head = format!("VALUE {} {} {}", NAMES[key], item.flags, item.value.len());
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

    fn store(
        &mut self,
        key: usize,
        (how, flags, expiry): (Storing, u32, Ttl),
        value: Vec<u8>,
        noreply: &str,
    ) -> (Vec<u8>, String) {
        let now = self.now();
        let (command, number) = match how {
            Storing::Set => ("set", None),
            Storing::Add => ("add", None),
            Storing::Replace => ("replace", None),
            Storing::Cas(number) => ("cas", Some(self.number(key, number))),
        };
        let cas = number.map_or(String::new(), |it| format!(" {it}"));
        let (name, word, len) = (NAMES[key], expiry.word(), value.len());
        let head = format!("{command} {name} {flags} {word} {len}{cas}{noreply}\r\n");
        let answer = self.server.send(&[head.as_bytes(), &value, b"\r\n"].concat());
        let before = self.model.get(key, now);
        let refused = match (how, &before) {
            (Storing::Add, Some(_)) | (Storing::Replace, None) => Some("NOT_STORED\r\n"),
            (Storing::Cas(_), None) => Some("NOT_FOUND\r\n"),
            (Storing::Cas(_), Some(item)) if item.cas != number => Some("EXISTS\r\n"),
            _ => None,
        };
        if refused.is_none() {
            let item = Item { value, flags, ..Item::default() };
            self.model.put(key, item, expiry.expiry(now));
        }
        (answer, refused.unwrap_or("STORED\r\n").to_owned())
    }

    fn extend(
        &mut self,
        key: usize,
        is_append: bool,
        more: &[u8],
        noreply: &str,
    ) -> (Vec<u8>, String) {
        let now = self.now();
        let command = if is_append { "append" } else { "prepend" };
        let head = format!("{command} {} 7 100 {}{noreply}\r\n", NAMES[key], more.len());
        let answer = self.server.send(&[head.as_bytes(), more, b"\r\n"].concat());
        let Some(item) = self.model.get(key, now) else {
            return (answer, "NOT_STORED\r\n".to_owned());
        };
        extend(item, is_append, more, Item::default());
        (answer, "STORED\r\n".to_owned())
    }

    fn touch(&mut self, key: usize, expiry: Ttl, noreply: &str) -> (Vec<u8>, String) {
        let now = self.now();
        let line = format!("touch {} {}{noreply}\r\n", NAMES[key], expiry.word());
        let answer = self.server.send(line.as_bytes());
        let Some(item) = self.model.get(key, now) else {
            return (answer, "NOT_FOUND\r\n".to_owned());
        };
        item.is_fetched = true;
        self.model.set_expiry(key, expiry.expiry(now));
        (answer, "TOUCHED\r\n".to_owned())
    }

    fn delete(&mut self, key: usize, noreply: &str) -> (Vec<u8>, String) {
        let now = self.now();
        let answer = self.server.send(format!("delete {}{noreply}\r\n", NAMES[key]).as_bytes());
        let is_there = self.model.get(key, now).is_some();
        self.model.remove(key);
        (answer, (if is_there { "DELETED\r\n" } else { "NOT_FOUND\r\n" }).to_owned())
    }

    fn reckon(
        &mut self,
        key: usize,
        delta: u64,
        is_decrement: bool,
        noreply: &str,
    ) -> (Vec<u8>, String) {
        let now = self.now();
        let command = if is_decrement { "decr" } else { "incr" };
        let line = format!("{command} {} {delta}{noreply}\r\n", NAMES[key]);
        let answer = self.server.send(line.as_bytes());
        let Some(item) = self.model.get(key, now) else {
            return (answer, "NOT_FOUND\r\n".to_owned());
        };
        let Some(stored) = numeric(&item.value) else { return (answer, NON_NUMERIC.to_owned()) };
        let result = reckoned(stored, delta, is_decrement).to_string();
        item.value = result.clone().into_bytes();
        item.cas = None;
        (answer, format!("{result}\r\n"))
    }
}

pub fn numeric(value: &[u8]) -> Option<u64> {
    if value.len() > PIECE_MAX { None } else { number::stored(value) }
}

pub fn reckoned(stored: u64, delta: u64, is_decrement: bool) -> u64 {
    if is_decrement { stored.saturating_sub(delta) } else { stored.wrapping_add(delta) }
}

/// Makes an item another one, of a longer value: flags and deadline are those that it had.
pub fn extend(item: &mut Item, is_append: bool, more: &[u8], next: Item) {
    let (flags, deadline) = (item.flags, item.deadline);
    let parts = if is_append { [&item.value, more] } else { [more, &item.value] };
    *item = Item { value: parts.concat(), flags, deadline, ..next };
}

pub const NON_NUMERIC: &str = "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
