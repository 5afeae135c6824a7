//! Meta commands.

use crate::model::{Expiry, Item, compare};
use crate::world::{
    Mode, NON_NUMERIC, Op, PIECE_MAX, World, extend, flag, given, key_of, left, name,
    number_behind, numeric, reckoned, same,
};

impl World {
    pub fn meta_get(&mut self, op: &Op) {
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

    pub fn meta_set(&mut self, op: &Op) {
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
        let head = format!(
            "ms {} {} M{}{}{given_word}{} F{flags} T{}{}\r\n",
            name(key),
            value.len(),
            letter(mode),
            wanted.map_or(String::new(), |it| format!(" C{it}")),
            if invalidates { " I" } else { "" },
            expiry.word(),
            flag("N", vivify),
        );
        let answer = self.server.send(&[head.as_bytes(), &value, b"\r\n"].concat());
        let extends = matches!(mode, Mode::Append | Mode::Prepend);
        let before = self.model.get(key, now).cloned();
        let compared = match extends {
            true => compare(before.as_ref(), wanted.filter(|it| *it != 0), false),
            false => compare(before.as_ref(), wanted, invalidates),
        };
        let fresh = Item { value, flags, cas: new_cas, ..Item::default() };
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
                extend(item, matches!(mode, Mode::Append), &fresh.value, new_cas);
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
        same(&answer, format!("{word}\r\n"));
    }

    /// Has the model hold an item, and returns the word of the answer.
    fn stored(&mut self, key: usize, item: Item, expiry: Expiry) -> &'static str {
        self.model.put(key, item, expiry);
        "HD"
    }

    pub fn meta_delete(&mut self, op: &Op) {
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
        if let Err(word) = compare(Some(item), wanted, false) {
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

    pub fn meta_reckon(&mut self, op: &Op) {
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
        if let Err(word) = compare(Some(item), wanted.filter(|it| *it != 0), false) {
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

fn letter(mode: Mode) -> &'static str {
    match mode {
        Mode::Set => "S",
        Mode::Add => "E",
        Mode::Replace => "R",
        Mode::Append => "A",
        Mode::Prepend => "P",
    }
}
