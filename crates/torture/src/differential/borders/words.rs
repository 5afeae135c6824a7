//! Words for the names in a form, at one state.
//!
//! ```text
//! LREM $k 0 $mid          $mid: one word
//! SADD $k $all ; SPOP $k  $all: several words; ` ; ` ends a command
//! XADD $k $$ '' -$n       a dollar, an empty word, a word with a prefix
//! @SSCAN $k 0             followed to the end of the cursor
//! !PEXPIRE $k 2           followed by a wait until the key is gone
//! ```

use super::texts::Text;
use crate::differential::step::{Action, Request};
use std::collections::BTreeMap;

/// Words for the names in a form, at one state.
#[derive(Clone, Debug, Default)]
pub struct Words(BTreeMap<&'static str, Request>);

impl Words {
    /// Creates the words that every state has. The threshold is in bytes of an element.
    pub fn new(keys: [&[u8]; 3], threshold: usize) -> Words {
        let mut words = Words::default();
        let [key, other, wrong] = keys;
        words.set("k", key).set("o", other).set("d", b"d1").set("w", wrong);
        words.set("edge", &vec![b'e'; threshold]).set("long", &vec![b'l'; threshold + 1]);
        words.set("huge", &vec![b'h'; HUGE]).set("absent", b"absent");
        for (name, text) in DEFAULTS {
            words.set(name, text.as_bytes());
        }
        words
    }

    /// Sets a name to one word.
    pub fn set(&mut self, name: &'static str, word: &[u8]) -> &mut Words {
        self.0.insert(name, vec![word.to_vec()]);
        self
    }

    /// Sets a name to a number.
    pub fn number(&mut self, name: &'static str, number: usize) -> &mut Words {
        self.set(name, number.to_string().as_bytes())
    }

    /// Sets a name to several words.
    pub fn several(&mut self, name: &'static str, words: Request) -> &mut Words {
        self.0.insert(name, words);
        self
    }

    /// Sets the names for existing elements, and for those of the same form that may be added.
    pub fn elements(&mut self, texts: &[Vec<u8>], like: Text) -> &mut Words {
        let count = texts.len();
        let at = |place: usize| texts.get(place).cloned().unwrap_or_default();
        let (first, middle, last) = (at(0), at(count / 2), at(count.saturating_sub(1)));
        self.set("first", &first).set("mid", &middle).set("last", &last);
        self.set("same", &like.number(9_000_001)).set("short", &middle[..middle.len() / 2]);
        self.set("new", &like.number(9_000_002)).set("new2", &like.number(9_000_003));
        let many = count / 2 + 3;
        self.several("many", (0..many).map(|it| like.number(9_000_010 + it)).collect());
        self.several("all", texts.to_vec());
        self.several("rest", texts.get(1..).filter(|it| !it.is_empty()).unwrap_or(texts).to_vec());
        self.number("n", count).number("half", count / 2).number("more", count + 5)
    }

    /// Returns the words for a name.
    pub fn get(&self, name: &str) -> &[Vec<u8>] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns the commands of a form.
    ///
    /// # Panics
    /// If it contains an unknown name.
    pub fn actions(&self, form: &str) -> Vec<Action> {
        form.split(" ; ").map(|command| self.action(command)).collect()
    }

    fn action(&self, command: &str) -> Action {
        if let Some(iterated) = command.strip_prefix('@') {
            return Action::Iterate(self.request(iterated));
        }
        if let Some(ended) = command.strip_prefix('!') {
            let request = self.request(ended);
            let key = request.get(1).cloned().unwrap_or_default();
            return Action::LetExpire(request, key);
        }
        Action::Send(self.request(command))
    }

    fn request(&self, command: &str) -> Request {
        command.split_whitespace().flat_map(|word| self.word(word)).collect()
    }

    fn word(&self, word: &str) -> Request {
        if word == "''" {
            return vec![Vec::new()];
        }
        let Some((before, name)) = word.split_once('$') else {
            return vec![word.as_bytes().to_vec()];
        };
        if name == "$" {
            return vec![b"$".to_vec()];
        }
        let words = self.get(name);
        assert!(!words.is_empty(), "${name} stands for nothing");
        if before.is_empty() {
            return words.to_vec();
        }
        vec![[before.as_bytes(), &words[0]].concat()]
    }
}

/// Bytes of an element that no small form takes.
const HUGE: usize = 20_000;

/// Words for names at states that do not set them.
const DEFAULTS: &[(&str, &str)] = &[
    ("first", "m1"),
    ("mid", "m2"),
    ("last", "m3"),
    ("all", "m1"),
    ("rest", "m2"),
    ("many", "m9"),
    ("new", "m4"),
    ("new2", "m5"),
    ("same", "m6"),
    ("short", "m"),
    ("n", "3"),
    ("half", "1"),
    ("more", "8"),
    ("score", "1"),
    ("allscored", "1 m1"),
    ("manyscored", "1 m1"),
    ("vsame", "v"),
    ("vshort", ""),
    ("vlong", "vvv"),
    ("vhuge", "vvvvvv"),
    ("allpairs", "m1"),
    ("manypairs", "m1"),
    ("value", "v"),
    ("shorter", ""),
    ("longer", "vv"),
    ("halved", ""),
    ("doubled", "vvvv"),
    ("bits", "24"),
    ("lastbit", "23"),
    ("next", "9000001-1"),
    ("next2", "9000002-1"),
    ("next3", "9000003-1"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differential::step::request;

    #[test]
    fn a_form_becomes_commands() {
        let mut words = Words::new([b"k", b"o", b"w"], 3);
        words.several("all", request(&["a", "b"]));
        let actions = words.actions("SADD $k $all '' ; ZCOUNT $k ($score $$ ; !PEXPIRE $k 2");
        let wanted = [
            Action::Send(request(&["SADD", "k", "a", "b", ""])),
            Action::Send(request(&["ZCOUNT", "k", "(1", "$"])),
            Action::LetExpire(request(&["PEXPIRE", "k", "2"]), b"k".to_vec()),
        ];
        assert_eq!(actions, wanted);
    }
}
