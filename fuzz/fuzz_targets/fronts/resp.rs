//! Commands of RESP.

use crate::model::{GIVEN, Item};
use crate::ops::{NAMES, Noted, Resp, VALUE_MAX};
use crate::world::{World, same};
use base::Millis;

impl World {
    pub fn resp(&mut self, key: usize, other: usize, what: Resp, value: Vec<u8>) {
        let (now, name) = (self.now(), NAMES[key].as_bytes());
        let before = self.model.get(key, now).cloned();
        match what {
            Resp::Get => {
                let answer = self.server.ask(&[b"GET", name]);
                same(&answer, bulk(before.as_ref().map(|it| &it.value)));
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
                let at = self.len(key);
                self.write(key, &[b"APPEND", name, &value], at, before);
            }
            Resp::SetRange(at) => {
                let at = at as usize % 600_000;
                let place = at.to_string();
                self.write(key, &[b"SETRANGE", name, place.as_bytes(), &value], at, before);
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
            Resp::GetEx(seconds) => {
                let seconds = 1 + u64::from(seconds);
                let text = seconds.to_string();
                let answer = self.server.ask(&[b"GETEX", name, b"EX", text.as_bytes()]);
                same(&answer, bulk(before.as_ref().map(|it| &it.value)));
                self.model.set_expiry(key, Some(Some(Millis(now.0 + 1000 * seconds))));
            }
            Resp::Rename | Resp::Copy => self.take_along(key, other, what, before),
            Resp::Attributes => self.attributes(key),
            Resp::Noted(noted) => self.noted(key, noted, value, before),
        }
    }

    /// Writes the last word of a request over a value from a place on.
    fn write(&mut self, key: usize, words: &[&[u8]], at: usize, before: Option<Item>) {
        let (Some(value), is_append) = (words.last(), words.len() == 3) else { return };
        let end = at + value.len();
        if end > VALUE_MAX {
            return;
        }
        let answer = self.server.ask(words);
        let has_item = before.is_some();
        let mut item = before.unwrap_or_default();
        if !value.is_empty() || is_append {
            item.value.resize(item.value.len().max(end), 0);
            item.value[at..end].copy_from_slice(value);
            item.cas = None;
        }
        same(&answer, format!(":{}\r\n", item.value.len()));
        if has_item || !value.is_empty() || is_append {
            let deadline = item.deadline;
            self.model.put(key, item, Some(deadline));
        }
    }

    fn take_along(&mut self, key: usize, other: usize, what: Resp, before: Option<Item>) {
        let (name, other_name) = (NAMES[key].as_bytes(), NAMES[other].as_bytes());
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
        let item = Item { cas: None, is_key_in_base64: false, ..item };
        self.model.put(other, item, Some(deadline));
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

    /// Asks for all that files and replicas are told of an item.
    pub fn attributes(&mut self, key: usize) {
        let now = self.now();
        let answer = self.server.ask(&[b"VARVE.ATTRIBUTES", NAMES[key].as_bytes()]);
        let note = self.model.get(key, now).map(|it| it.note().to_text());
        same(&answer, bulk(note.as_ref()));
    }

    /// Gives a key a string with attributes, or the string that is there other ones.
    fn noted(&mut self, key: usize, noted: Noted, value: Vec<u8>, before: Option<Item>) {
        let Noted { is_mark, flags, is_stale, is_won, is_key_in_base64, .. } = noted;
        let cas = noted.cas.map(|low| GIVEN + u64::from(low));
        let item = Item { flags, cas, is_stale, is_won, is_key_in_base64, ..Item::default() };
        let (note, name) = (item.note().to_text(), NAMES[key].as_bytes());
        let words: [&[u8]; 5] = [b"VARVE.NOTED", &note, b"SET", name, &value];
        let marks: [&[u8]; 4] = [b"VARVE.NOTED", &note, b"EXISTS", name];
        let answer = self.server.ask(if is_mark { &marks } else { &words });
        same(&answer, "+OK\r\n");
        match before {
            Some(Item { value, deadline, is_fetched, .. }) if is_mark => {
                self.model.put(key, Item { value, is_fetched, ..item }, Some(deadline));
            }
            None if is_mark => {}
            _ => self.model.put(key, Item { value, ..item }, Some(None)),
        }
    }
}

fn bulk(value: Option<&Vec<u8>>) -> Vec<u8> {
    let Some(value) = value else { return b"$-1\r\n".to_vec() };
    [format!("${}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat()
}
