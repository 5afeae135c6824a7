//! Commands of RESP.

use crate::model::Item;
use crate::world::{Resp, World, name, same};
use base::Millis;

impl World {
    pub fn resp(&mut self, key: usize, other: usize, what: Resp, value: Vec<u8>) {
        let (now, name) = (self.now(), name(key));
        let name = name.as_bytes();
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
                item.cas = None;
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
            Resp::Rename | Resp::Copy => self.take_along(key, other, what, before),
        }
    }

    fn take_along(&mut self, key: usize, other: usize, what: Resp, before: Option<Item>) {
        let (name, other_name) = (name(key), name(other));
        let (name, other_name) = (name.as_bytes(), other_name.as_bytes());
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
}

fn bulk(value: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat()
}
