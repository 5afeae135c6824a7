//! Meta commands.

use crate::model::{Expiry, Item, compare};
use crate::ops::{
    Common, MetaDelete, MetaGet, MetaReckon, MetaSet, Mode, PIECE_MAX, Ttl, VALUE_MAX, is_word,
    meta_name,
};
use crate::text::{NON_NUMERIC, extend, numeric, reckoned};
use crate::world::{World, number_behind, same};
use base::Millis;

impl World {
    pub fn meta_get(&mut self, line: MetaGet) {
        let MetaGet { common, vivify, recache, expiry, keeps_history } = line;
        let (key, now) = (common.key(), self.now());
        let line = format!(
            "mg {}{}{}{}{}{} f h s t v\r\n",
            common.name(),
            common.words(),
            if keeps_history { " u" } else { "" },
            flag("N", vivify),
            recache.map_or(String::new(), |it| format!(" R{it}")),
            flag("T", expiry),
        );
        let answer = self.server.send(line.as_bytes());
        let is_made = self.model.get(key, now).is_none();
        if is_made {
            let Some(vivify) = vivify else {
                let line = told("EN", common, "");
                return same(&answer, if common.is_quiet { "" } else { line.as_str() });
            };
            let (cas, is_key_in_base64) = (common.new_cas(), common.is_base64());
            let item = Item { cas, is_key_in_base64, ..Item::default() };
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
        let (head, answer) = self.without_cas(answer, common, &seen);
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
        same(&answer, [head.as_bytes(), facts.as_bytes(), &seen.value, b"\r\n"].concat());
        self.model.set_expiry(key, last);
    }

    /// Takes the CAS out of what is told of an item by mg. Returns how the rest begins, too.
    fn without_cas(&mut self, answer: Vec<u8>, common: Common, item: &Item) -> (String, Vec<u8>) {
        let key = common.key();
        // A key that no line can name would end the line.
        let is_base64 = item.is_key_in_base64 || !is_word(key);
        let name = meta_name(key, is_base64);
        let base64 = if is_base64 { " b" } else { "" };
        let head = format!("VA {} k{name}{base64}", item.value.len());
        if !common.with_cas {
            return (head, answer);
        }
        let head = format!("{head} c");
        let (number, rest) = number_behind(&answer, &head);
        self.model.tell(key, number);
        (head, rest)
    }

    pub fn meta_set(&mut self, line: MetaSet) {
        let MetaSet { common, mode, invalidates, flags, expiry, vivify, content, .. } = line;
        let (key, now, value) = (common.key(), self.now(), content.bytes());
        let extends = matches!(mode, Mode::Append | Mode::Prepend);
        if extends && self.len(key) + value.len() > VALUE_MAX {
            return;
        }
        let wanted = line.compare.map(|it| self.number(key, it));
        let head = format!(
            "ms {} {}{} M{}{}{} F{flags} T{}{}\r\n",
            common.name(),
            value.len(),
            common.words(),
            letter(mode),
            number("C", wanted),
            if invalidates { " I" } else { "" },
            expiry.word(),
            flag("N", vivify),
        );
        let answer = self.server.send(&[head.as_bytes(), &value, b"\r\n"].concat());
        let before = self.model.get(key, now).cloned();
        let compared = match extends {
            true => compare(before.as_ref(), wanted.filter(|it| *it != 0), false),
            false => compare(before.as_ref(), wanted, invalidates),
        };
        let (cas, is_key_in_base64) = (common.new_cas(), common.is_base64());
        let fresh = Item { value, flags, cas, is_key_in_base64, ..Item::default() };
        let word = match (mode, before, compared) {
            (Mode::Add, Some(_), _) => "NS",
            (Mode::Append | Mode::Prepend, None, _) => match vivify {
                None => "NS",
                Some(vivify) => self.stored(key, fresh, vivify.expiry(now)),
            },
            (Mode::Add, None, _) => self.stored(key, fresh, expiry.expiry(now)),
            (_, _, Err(word)) => word,
            (Mode::Append | Mode::Prepend, Some(_), Ok(_)) => {
                let item = self.model.get(key, now).expect("an item");
                extend(item, matches!(mode, Mode::Append), &fresh.value.clone(), fresh);
                "HD"
            }
            (Mode::Replace, None, Ok(_)) => "NS",
            (_, Some(item), Ok(true)) => {
                let item =
                    Item { is_stale: true, is_won: item.is_won, deadline: item.deadline, ..fresh };
                self.stored(key, item.clone(), Some(item.deadline))
            }
            (_, _, Ok(_)) => self.stored(key, fresh, expiry.expiry(now)),
        };
        self.stores(answer, word, common, "");
    }

    /// Holds the answer to a line that has stored, or not, against what is expected.
    fn stores(&mut self, answer: Vec<u8>, word: &str, common: Common, more: &str) {
        let is_done = word != "EX" && word != "NF" && word != "NS";
        if is_done && common.is_quiet {
            return same(&answer, "");
        }
        let (mut answer, mut cas) = (answer, "");
        if common.with_cas {
            cas = " c";
            let (number, rest) = number_behind(&answer, told(word, common, cas).trim_end());
            answer = rest;
            match is_done {
                true => self.model.tell(common.key(), number),
                false => assert_eq!(number, 0),
            }
        }
        same(&answer, told(word, common, &format!("{cas}{more}")));
    }

    /// Has the model hold an item, and returns the word of the answer.
    fn stored(&mut self, key: usize, item: Item, expiry: Expiry) -> &'static str {
        self.model.put(key, item, expiry);
        "HD"
    }

    pub fn meta_delete(&mut self, line: MetaDelete) {
        let MetaDelete { common, invalidates, drops, flags, expiry, .. } = line;
        let (key, now) = (common.key(), self.now());
        let wanted = line.compare.map(|it| self.number(key, it));
        let line = format!(
            "md {}{}{}{}{} F{flags}{}\r\n",
            common.name(),
            common.words(),
            number("C", wanted),
            if invalidates { " I" } else { "" },
            if drops { " x" } else { "" },
            flag("T", expiry),
        );
        let answer = self.server.send(line.as_bytes());
        let Some(item) = self.model.get(key, now) else {
            return same(&answer, told("NF", common, ""));
        };
        if let Err(word) = compare(Some(item), wanted, false) {
            return same(&answer, told(word, common, ""));
        }
        same(&answer, if common.is_quiet { String::new() } else { told("HD", common, "") });
        if !invalidates && !drops {
            return self.model.remove(key);
        }
        let new_cas = common.new_cas();
        let mut last = Some(item.deadline);
        if drops {
            let (cas, is_key_in_base64) = (new_cas.or(item.cas), item.is_key_in_base64);
            *item = Item { flags, cas, is_key_in_base64, ..Item::default() };
            last = expiry.map_or(Some(None), |it| it.expiry(now));
        } else if let Some(expiry) = expiry {
            last = expiry.expiry(now);
        }
        if invalidates {
            (item.is_stale, item.is_won, item.cas) = (true, false, new_cas);
        }
        self.model.set_expiry(key, last);
    }

    pub fn meta_reckon(&mut self, line: MetaReckon) {
        let MetaReckon { common, vivify, initial, delta, is_decrement, expiry, .. } = line;
        let (key, now) = (common.key(), self.now());
        let wanted = line.compare.map(|it| self.number(key, it));
        let line = format!(
            "ma {}{}{}{} J{initial} D{delta} M{}{} t v\r\n",
            common.name(),
            common.words(),
            number("C", wanted),
            flag("N", vivify),
            if is_decrement { "D" } else { "I" },
            flag("T", expiry),
        );
        let answer = self.server.send(line.as_bytes());
        let expiry = expiry.map(|it| it.expiry(now));
        let Some(item) = self.model.get(key, now) else {
            let Some(vivify) = vivify else { return same(&answer, told("NF", common, "")) };
            let (cas, is_key_in_base64) = (common.new_cas(), common.is_base64());
            let value = initial.to_string().into_bytes();
            let item = Item { value, cas, is_key_in_base64, ..Item::default() };
            let last = expiry.unwrap_or(vivify.expiry(now));
            self.model.put(key, item, last);
            return self.reckoned(answer, common, initial, left(now, last));
        };
        if item.value.is_empty() || item.value.len() > PIECE_MAX {
            return same(&answer, NON_NUMERIC);
        }
        if let Err(word) = compare(Some(item), wanted.filter(|it| *it != 0), false) {
            return same(&answer, told(word, common, ""));
        }
        let Some(stored) = numeric(&item.value) else { return same(&answer, NON_NUMERIC) };
        let result = reckoned(stored, delta, is_decrement);
        item.value = result.to_string().into_bytes();
        item.cas = common.new_cas();
        let last = expiry.unwrap_or(Some(item.deadline));
        self.model.set_expiry(key, last);
        self.reckoned(answer, common, result, left(now, last));
    }

    fn reckoned(&mut self, answer: Vec<u8>, common: Common, result: u64, left: String) {
        let text = result.to_string();
        let more = format!(" t{left}\r\n{text}");
        self.stores(answer, &format!("VA {}", text.len()), common, &more);
    }
}

/// What is told by a word, the key, and what stands behind it.
fn told(word: &str, common: Common, more: &str) -> String {
    let base64 = if common.is_base64() { " b" } else { "" };
    format!("{word} k{}{base64}{more}\r\n", common.name())
}

fn flag(letter: &str, expiry: Option<Ttl>) -> String {
    expiry.map_or(String::new(), |it| format!(" {letter}{}", it.word()))
}

fn number(letter: &str, number: Option<u64>) -> String {
    number.map_or(String::new(), |it| format!(" {letter}{it}"))
}

fn left(now: Millis, expiry: Expiry) -> String {
    match expiry {
        None => "0".to_owned(),
        Some(None) => "-1".to_owned(),
        Some(Some(deadline)) => (deadline.0.saturating_sub(now.0)).div_ceil(1000).to_string(),
    }
}

fn letter(mode: Mode) -> &'static str {
    match mode {
        Mode::Set => "S",
        Mode::Add => "E",
        Mode::Replace => "R",
        Mode::Append => "A",
        Mode::Prepend => "P",
    }
}
