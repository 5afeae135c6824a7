//! Commands of RESP on items of a thread's own.

use super::super::chance::Chance;
use super::super::words::{Words, shown_request, words};
use super::item::{Cas, Item};
use super::lines::EXTENDED_MAX;
use super::own::{Burst, KEYS, Own};
use crate::client::{Reply, encoded};

impl Burst<Reply> {
    fn ask(&mut self, words: Words, expected: Reply) {
        self.bytes.extend(encoded(&words));
        self.due.push((shown_request(&words), expected));
    }
}

impl Own {
    /// Adds a command, and does to the item what it does.
    pub(super) fn plan_command(&mut self, burst: &mut Burst<Reply>, chance: &mut Chance) {
        let at = chance.below(KEYS);
        let (key, value) = (self.key(at), self.value(at, chance));
        let before = self.items.get(&at).cloned();
        let is_there = Reply::Integer(before.is_some().into());
        match chance.below(12) {
            0 => {
                self.items.insert(at, Item { value: value.clone(), ..Item::default() });
                burst.ask(words!["SET", key, value], Reply::Simple(b"OK".to_vec()));
            }
            1 => {
                let has_deadline = before.is_some_and(|it| it.has_deadline);
                let item = Item { value: value.clone(), has_deadline, ..Item::default() };
                self.items.insert(at, item);
                let words = words!["SET", key, value, "KEEPTTL"];
                burst.ask(words, Reply::Simple(b"OK".to_vec()));
            }
            2 if before.as_ref().is_none_or(|it| it.value.len() <= EXTENDED_MAX) => {
                let item = self.items.entry(at).or_default();
                item.value.extend_from_slice(&value);
                item.cas = Cas::None;
                let len = item.value.len() as i64;
                burst.ask(words!["APPEND", key, value], Reply::Integer(len));
            }
            3 => self.increment(burst, at, chance),
            4 => {
                self.items.remove(&at);
                burst.ask(words!["UNLINK", key], is_there);
            }
            5 => {
                let item = self.items.get_mut(&at);
                item.into_iter().for_each(|it| it.has_deadline = true);
                burst.ask(words!["EXPIRE", key, chance.within(1000, 100_000)], is_there);
            }
            6 => {
                let had = before.is_some_and(|it| it.has_deadline);
                let item = self.items.get_mut(&at);
                item.into_iter().for_each(|it| it.has_deadline = false);
                burst.ask(words!["PERSIST", key], Reply::Integer(had.into()));
            }
            7 | 8 => self.take_along(burst, at, chance),
            _ => burst.ask(words!["GET", key], before.map_or(Reply::NilBulk, bulk)),
        }
    }

    fn increment(&mut self, burst: &mut Burst<Reply>, at: usize, chance: &mut Chance) {
        let (key, delta) = (self.key(at), chance.below(1000) as i64);
        let mut item = self.items.get(&at).cloned().unwrap_or_else(|| {
            let value = b"0".to_vec();
            Item { value, ..Item::default() }
        });
        let text = String::from_utf8_lossy(&item.value).into_owned();
        let number = text.parse::<i64>().ok().filter(|it| it.to_string() == text);
        let Some(number) = number.and_then(|it| it.checked_add(delta)) else {
            return burst.ask(words!["INCRBY", key, delta], Reply::Error(Vec::new()));
        };
        (item.value, item.cas) = (number.to_string().into_bytes(), Cas::None);
        self.items.insert(at, item);
        burst.ask(words!["INCRBY", key, delta], Reply::Integer(number));
    }

    fn take_along(&mut self, burst: &mut Burst<Reply>, at: usize, chance: &mut Chance) {
        let to = (at + 1 + chance.below(KEYS - 1)) % KEYS;
        let (key, other) = (self.key(at), self.key(to));
        let item = self.items.get(&at).cloned();
        let moved = item.clone().map(|item| Item { cas: Cas::None, ..item });
        if chance.one_in(2) {
            let is_there = Reply::Integer(item.is_some().into());
            moved.into_iter().for_each(|item| drop(self.items.insert(to, item)));
            return burst.ask(words!["COPY", key, other, "REPLACE"], is_there);
        }
        let Some(moved) = moved else {
            return burst.ask(words!["RENAME", key, other], Reply::Error(Vec::new()));
        };
        self.items.remove(&at);
        self.items.insert(to, moved);
        burst.ask(words!["RENAME", key, other], Reply::Simple(b"OK".to_vec()));
    }
}

fn bulk(item: Item) -> Reply {
    Reply::Bulk(item.value)
}
