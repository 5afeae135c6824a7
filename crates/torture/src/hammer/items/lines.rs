//! Lines of Memcached's protocol on items of a thread's own.

use super::super::chance::Chance;
use super::item::{Cas, Expected, GIVEN, Item};
use super::own::{Burst, KEYS, Own};

/// An item of a line: its place, and how it is named there.
struct Named {
    at: usize,
    key: String,
}

impl Burst<Expected> {
    fn ask(&mut self, line: String, block: Option<&[u8]>, expected: Expected) {
        self.bytes.extend(line.as_bytes());
        self.bytes.extend(b"\r\n");
        if let Some(block) = block {
            self.bytes.extend(block);
            self.bytes.extend(b"\r\n");
        }
        self.due.push((line, expected));
    }

    fn expect(&mut self, line: String, block: Option<&[u8]>, answer: &str) {
        self.ask(line, block, Expected::exactly(answer));
    }
}

impl Own {
    /// Adds a line, and does to the item what it does.
    pub(super) fn plan_line(&mut self, burst: &mut Burst<Expected>, chance: &mut Chance) {
        self.lines += 1;
        let at = chance.below(KEYS);
        let named = Named { at, key: self.key(at) };
        match chance.below(20) {
            0..=2 => self.store(burst, chance, &named),
            3 => self.compare_and_swap(burst, chance, &named),
            4 | 5 => self.extend(burst, chance, &named),
            6 => self.touch(burst, chance, &named),
            7 => self.delete(burst, &named),
            8 | 9 => self.reckon(burst, chance, &named),
            10..=12 => self.get(burst, chance, &named),
            13..=15 => self.meta_get(burst, chance, &named),
            16 | 17 => self.meta_set(burst, chance, &named),
            _ => self.meta_delete(burst, chance, &named),
        }
    }

    /// Returns the number of an item where this was told, now and then another one; and true if
    /// they are equal.
    fn number(&self, at: usize, chance: &mut Chance) -> (u64, bool) {
        let own = self.items.get(&at).and_then(|it| self.told.number(it.cas));
        match own.filter(|_| !chance.one_in(4)) {
            Some(number) => (number, true),
            None => (1, false),
        }
    }

    /// Returns the number by which an item is told of, which is drawn if it has none.
    fn drawn(&mut self, at: usize) -> Option<Cas> {
        let lines = self.lines;
        let item = self.items.get_mut(&at)?;
        if item.cas == Cas::None {
            item.cas = Cas::Drawn(lines);
        }
        Some(item.cas)
    }

    fn store(&mut self, burst: &mut Burst<Expected>, chance: &mut Chance, named: &Named) {
        let (at, key) = (named.at, &named.key);
        let (value, flags) = (self.value(at, chance), flags(chance));
        let has_deadline = chance.one_in(2);
        let is_there = self.items.contains_key(&at);
        let (command, is_stored) = match chance.below(4) {
            0 => ("add", !is_there),
            1 => ("replace", is_there),
            _ => ("set", true),
        };
        let line = format!("{command} {key} {flags} {} {}", expiry(has_deadline), value.len());
        burst.expect(line, Some(&value), answer(is_stored, "NOT_STORED\r\n"));
        if is_stored {
            self.items.insert(at, Item { value, flags, has_deadline, ..Item::default() });
        }
    }

    fn compare_and_swap(
        &mut self,
        burst: &mut Burst<Expected>,
        chance: &mut Chance,
        named: &Named,
    ) {
        let (at, key) = (named.at, &named.key);
        let (value, flags, has_deadline) =
            (self.value(at, chance), flags(chance), chance.one_in(2));
        let (number, is_equal) = self.number(at, chance);
        let (expiry, len) = (expiry(has_deadline), value.len());
        let line = format!("cas {key} {flags} {expiry} {len} {number}");
        let refusal = if self.items.contains_key(&at) { "EXISTS\r\n" } else { "NOT_FOUND\r\n" };
        burst.expect(line, Some(&value), answer(is_equal, refusal));
        if is_equal {
            self.items.insert(at, Item { value, flags, has_deadline, ..Item::default() });
        }
    }

    fn extend(&mut self, burst: &mut Burst<Expected>, chance: &mut Chance, named: &Named) {
        let (more, is_append) = (self.value(named.at, chance), chance.one_in(2));
        let key = &named.key;
        let item = self.items.get_mut(&named.at);
        if item.as_ref().is_some_and(|it| it.value.len() > EXTENDED_MAX) {
            return;
        }
        let (line, is_meta) = match (chance.one_in(2), is_append) {
            (false, true) => (format!("append {key} 0 0 {}", more.len()), false),
            (false, false) => (format!("prepend {key} 0 0 {}", more.len()), false),
            (true, true) => (format!("ms {key} {} MA", more.len()), true),
            (true, false) => (format!("ms {key} {} MP", more.len()), true),
        };
        let expected = match (is_meta, item.is_some()) {
            (false, is_there) => answer(is_there, "NOT_STORED\r\n"),
            (true, true) => "HD\r\n",
            (true, false) => "NS\r\n",
        };
        burst.expect(line, Some(&more), expected);
        let Some(item) = item else { return };
        let old = std::mem::take(&mut item.value);
        let value = if is_append { [old, more].concat() } else { [more, old].concat() };
        let (flags, has_deadline) = (item.flags, item.has_deadline);
        *item = Item { value, flags, has_deadline, ..Item::default() };
    }

    fn touch(&mut self, burst: &mut Burst<Expected>, chance: &mut Chance, named: &Named) {
        let has_deadline = chance.one_in(2);
        let line = format!("touch {} {}", named.key, expiry(has_deadline));
        let item = self.items.get_mut(&named.at);
        burst.expect(line, None, if item.is_some() { "TOUCHED\r\n" } else { "NOT_FOUND\r\n" });
        if let Some(item) = item {
            (item.is_fetched, item.has_deadline) = (true, has_deadline);
        }
    }

    fn delete(&mut self, burst: &mut Burst<Expected>, named: &Named) {
        let was_there = self.items.remove(&named.at).is_some();
        let answer = if was_there { "DELETED\r\n" } else { "NOT_FOUND\r\n" };
        burst.expect(format!("delete {}", named.key), None, answer);
    }

    fn reckon(&mut self, burst: &mut Burst<Expected>, chance: &mut Chance, named: &Named) {
        let (key, delta, adds) = (&named.key, chance.bits() >> 40, chance.one_in(2));
        let line = format!("{} {key} {delta}", if adds { "incr" } else { "decr" });
        let Some(item) = self.items.get_mut(&named.at) else {
            return burst.expect(line, None, "NOT_FOUND\r\n");
        };
        let Some(number) = numeric(&item.value) else {
            return burst.expect(line, None, NON_NUMERIC);
        };
        let number = match adds {
            true => number.wrapping_add(delta),
            false => number.saturating_sub(delta),
        };
        burst.expect(line, None, &format!("{number}\r\n"));
        (item.value, item.cas) = (number.to_string().into_bytes(), Cas::None);
    }

    fn get(&mut self, burst: &mut Burst<Expected>, chance: &mut Chance, named: &Named) {
        let (at, key) = (named.at, &named.key);
        let (touches, with_cas, has_deadline) =
            (chance.one_in(3), chance.one_in(2), chance.one_in(2));
        let line = match (touches, with_cas) {
            (false, false) => format!("get {key}"),
            (false, true) => format!("gets {key}"),
            (true, false) => format!("gat {} {key}", expiry(has_deadline)),
            (true, true) => format!("gats {} {key}", expiry(has_deadline)),
        };
        let cas = if with_cas { self.drawn(at) } else { None };
        let Some(item) = self.items.get_mut(&at) else {
            return burst.expect(line, None, "END\r\n");
        };
        item.is_fetched = true;
        if touches {
            item.has_deadline = has_deadline;
        }
        let blank = if with_cas { " " } else { "" };
        let before = format!("VALUE {key} {} {}{blank}", item.flags, item.value.len());
        let after = [b"\r\n", &item.value[..], b"\r\nEND\r\n"].concat();
        let expected = match cas {
            None => Expected::exactly([before.into_bytes(), after].concat()),
            cas => Expected { before: before.into_bytes(), cas, after },
        };
        burst.ask(line, None, expected);
    }

    fn meta_get(&mut self, burst: &mut Burst<Expected>, chance: &mut Chance, named: &Named) {
        let (at, key, vivifies) = (named.at, &named.key, chance.one_in(4));
        let line = format!("mg {key} c f h k s v{}", if vivifies { " N0" } else { "" });
        let is_made = !self.items.contains_key(&at);
        if is_made && !vivifies {
            return burst.expect(line, None, &format!("EN k{key}\r\n"));
        }
        self.items.entry(at).or_default();
        let cas = self.drawn(at);
        let Some(item) = self.items.get_mut(&at) else { return };
        let wins = is_made || item.is_stale && !item.is_won;
        let letters = [(item.is_won, " Z"), (item.is_stale, " X"), (wins, " W")];
        let letters: String = letters.iter().filter(|it| it.0).map(|it| it.1).collect();
        let (flags, len, fetched) = (item.flags, item.value.len(), u8::from(item.is_fetched));
        let before = format!("VA {len} c").into_bytes();
        let facts = format!(" f{flags} h{fetched} k{key} s{len}{letters}\r\n");
        let after = [facts.as_bytes(), &item.value, b"\r\n"].concat();
        item.is_fetched = true;
        item.is_won |= wins;
        burst.ask(line, None, Expected { before, cas, after });
    }

    fn meta_set(&mut self, burst: &mut Burst<Expected>, chance: &mut Chance, named: &Named) {
        let (at, key) = (named.at, &named.key);
        let (value, flags, has_deadline) =
            (self.value(at, chance), flags(chance), chance.one_in(2));
        let given = chance.one_in(3).then(|| GIVEN + chance.below(1000) as u64);
        let given_word = given.map_or(String::new(), |it| format!(" E{it}"));
        let cas = given.map_or(Cas::None, Cas::Given);
        let line = format!("ms {key} {} T{} F{flags}", value.len(), expiry(has_deadline));
        let fresh = Item { value, flags, cas, has_deadline, ..Item::default() };
        let (words, word, item) = match chance.below(3) {
            0 => (String::new(), "HD", Some(fresh.clone())),
            1 => {
                let (number, is_equal) = self.number(at, chance);
                let refusal = if self.items.contains_key(&at) { "EX" } else { "NF" };
                let word = if is_equal { "HD" } else { refusal };
                (format!(" C{number}"), word, is_equal.then(|| fresh.clone()))
            }
            // Each number is above this one.
            _ => match self.items.get(&at) {
                None => (" C1 I".to_owned(), "NF", None),
                Some(before) => {
                    let (is_won, has_deadline) = (before.is_won, before.has_deadline);
                    let stale = Item { is_stale: true, is_won, has_deadline, ..fresh.clone() };
                    (" C1 I".to_owned(), "HD", Some(stale))
                }
            },
        };
        let answer = format!("{word}\r\n");
        burst.expect(format!("{line}{words}{given_word}"), Some(&fresh.value), &answer);
        item.into_iter().for_each(|item| drop(self.items.insert(at, item)));
    }

    fn meta_delete(&mut self, burst: &mut Burst<Expected>, chance: &mut Chance, named: &Named) {
        let (at, key, flags) = (named.at, &named.key, flags(chance));
        let (invalidates, drops) = *chance.pick(&[(true, false), (true, true), (false, true)]);
        let words = format!(
            "{}{}",
            if invalidates { " I" } else { "" },
            if drops { format!(" x F{flags}") } else { String::new() }
        );
        let line = format!("md {key}{words}");
        let Some(item) = self.items.get_mut(&at) else {
            return burst.expect(line, None, "NF\r\n");
        };
        burst.expect(line, None, "HD\r\n");
        if drops {
            *item = Item { flags, cas: item.cas, ..Item::default() };
        }
        if invalidates {
            (item.is_stale, item.is_won, item.cas) = (true, false, Cas::None);
        }
    }
}

/// Returns flags of each width.
fn flags(chance: &mut Chance) -> u32 {
    (chance.bits() as u32) >> *chance.pick(&[0, 8, 16, 24, 30, 31])
}

fn expiry(has_deadline: bool) -> &'static str {
    if has_deadline { "90000" } else { "0" }
}

fn answer(is_stored: bool, refusal: &'static str) -> &'static str {
    if is_stored { "STORED\r\n" } else { refusal }
}

/// Returns the number that a value is to Memcached.
fn numeric(value: &[u8]) -> Option<u64> {
    let is_short = value.len() <= NUMBER_BYTES_MAX;
    is_short.then(|| memcached::number::stored(value)).flatten()
}

const NON_NUMERIC: &str = "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
/// More bytes are no number of 64 bits, with blanks and zeros before it.
const NUMBER_BYTES_MAX: usize = 512 << 10;
/// Items of more bytes are not extended.
pub(super) const EXTENDED_MAX: usize = 1 << 20;
