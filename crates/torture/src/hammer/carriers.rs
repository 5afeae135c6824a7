//! Connections that carry tokens: they remove, hold and add them, or let the server move them.

use super::chance::Chance;
use super::line::{Burst, Part};
use super::phase::Place;
use super::tokens::Tokens;
use super::words::{Words, fine, fine_or_absent, integer, text, texts, words};
use super::{Fault, private};
use crate::client::Reply;
use anyhow::{Result, bail, ensure};

/// Connection that carries tokens. It holds a removed token until it has added it again.
pub(super) struct Carrier {
    tokens: Tokens,
    collections: usize,
    number: u64,
    held: Vec<u32>,
    /// True if it loses one token on purpose.
    careless: bool,
    /// True if it never holds a token, so that it may be disconnected at any time.
    moves_only: bool,
}

impl Carrier {
    pub(super) fn new(place: &Place, tokens: &Tokens, number: u64) -> Self {
        let careless = place.fault == Some(Fault::DropToken);
        Self {
            tokens: tokens.clone(),
            collections: place.shape.collections,
            number,
            held: Vec::new(),
            careless,
            moves_only: false,
        }
    }

    pub(super) fn that_moves_only(self) -> Self {
        Self { moves_only: true, ..self }
    }

    fn key(&self, letter: char, chance: &mut Chance) -> String {
        format!("tok:{letter}{}", chance.below(self.collections))
    }

    fn any_token(&self, chance: &mut Chance) -> Vec<u8> {
        self.tokens.element(chance.below(self.tokens.count) as u32)
    }

    /// Adds a command that pops elements.
    fn take(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let [list, set, sorted] = ['l', 's', 'z'].map(|letter| self.key(letter, chance));
        let count = chance.length(1000).max(1);
        let end = chance.word(&["LEFT", "RIGHT"]);
        let least = chance.word(&["MIN", "MAX"]);
        match chance.below(9) {
            0 => burst.ask(words![if end == "LEFT" { "LPOP" } else { "RPOP" }, list, count], taken),
            1 => burst.ask(words!["LMPOP", 1, list, end, "COUNT", count], taken_behind_key),
            2 => burst.ask(words!["BLPOP", list, "0.02"], taken_behind_key),
            3 => {
                burst.ask(words!["BLMPOP", "0.02", 1, list, end, "COUNT", count], taken_behind_key)
            }
            4 => burst.ask(words!["SPOP", set, count], taken),
            5 => burst.ask(words![format!("ZPOP{least}"), sorted, count], taken_with_scores),
            6 => burst.ask(words![format!("BZPOP{least}"), sorted, "0.02"], |carrier, reply| {
                carrier.took_scored(texts(reply)?.into_iter().skip(1).collect())
            }),
            7 => burst.ask(words!["ZMPOP", 1, sorted, least, "COUNT", count], |carrier, reply| {
                carrier.took_scored(texts(reply)?.into_iter().skip(1).collect())
            }),
            _ => self.take_one(burst, chance),
        }
    }

    /// Adds a command that removes a given element and replies whether it existed.
    fn take_one(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let number = chance.below(self.tokens.count) as u32;
        let element = self.tokens.element(number);
        let request = match chance.below(3) {
            0 => words!["LREM", self.key('l', chance), chance.below(3) as i64 - 1, element],
            1 => words!["SREM", self.key('s', chance), element],
            _ => words!["ZREM", self.key('z', chance), element],
        };
        burst.ask(request, move |carrier, reply| match integer(&reply)? {
            0 => Ok(()),
            1 => carrier.hold(vec![number]),
            more => bail!("{more} removed of what is there once"),
        });
    }

    fn took(&mut self, elements: &[Vec<u8>]) -> Result<()> {
        let numbers = self.tokens.numbers(elements)?;
        self.hold(numbers)
    }

    fn took_scored(&mut self, elements_and_scores: Vec<Vec<u8>>) -> Result<()> {
        let elements: Vec<_> = elements_and_scores.into_iter().step_by(2).collect();
        self.took(&elements)
    }

    fn hold(&mut self, mut numbers: Vec<u32>) -> Result<()> {
        if self.careless && !numbers.is_empty() {
            self.careless = false;
            numbers.pop();
        }
        for number in &numbers {
            ensure!(!self.held.contains(number), "token {number} is held and was taken again");
        }
        self.held.extend(numbers);
        Ok(())
    }

    /// Adds commands that put back some of the held tokens.
    fn put(&mut self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let count = chance.within(1, self.held.len());
        let first = self.held.len() - count;
        let mut bytes = 0;
        // No more at once than fit a burst.
        let some: Vec<_> = self.held.drain(first..).collect();
        let (now, later): (Vec<_>, Vec<_>) = some.into_iter().partition(|number| {
            let fits = bytes < PUT_BYTES;
            bytes += self.tokens.element(*number).len();
            fits
        });
        self.held.extend(later);
        if now.is_empty() {
            return;
        }
        match chance.below(5) {
            0 => self.put_with_luck(burst, now, chance),
            1 | 2 => {
                let key = self.key('l', chance);
                put_all(burst, words![chance.word(&["LPUSH", "RPUSH"]), key], &self.tokens, &now);
            }
            3 => put_all(burst, words!["SADD", self.key('s', chance)], &self.tokens, &now),
            _ => self.put_scored(burst, &now, chance),
        }
    }

    fn put_scored(&self, burst: &mut Burst<Self>, numbers: &[u32], chance: &mut Chance) {
        let mut request = words!["ZADD", self.key('z', chance)];
        for number in numbers {
            request.extend(words![score(chance), self.tokens.element(*number)]);
        }
        let count = numbers.len() as i64;
        burst.ask(request, move |_, reply| {
            let added = integer(&reply)?;
            ensure!(added == count, "{added} new of {count} that nobody else has");
            Ok(())
        });
    }

    /// Adds commands that put an element only if the key or a pivot exists.
    fn put_with_luck(
        &mut self,
        burst: &mut Burst<Self>,
        mut numbers: Vec<u32>,
        chance: &mut Chance,
    ) {
        let Some(number) = numbers.pop() else { return };
        self.held.extend(numbers);
        let (key, element) = (self.key('l', chance), self.tokens.element(number));
        let request = match chance.below(3) {
            0 => words!["LPUSHX", key, element],
            1 => words!["RPUSHX", key, element],
            _ => words![
                "LINSERT",
                key,
                chance.word(&["BEFORE", "AFTER"]),
                self.any_token(chance),
                element
            ],
        };
        burst.ask(request, move |carrier, reply| {
            if integer(&reply)? <= 0 {
                // The token was never away, so the deliberate loss does not apply.
                carrier.held.push(number);
            }
            Ok(())
        });
    }

    /// Adds commands by which the server itself moves an element or a whole collection.
    fn move_within_server(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let letter = *chance.pick(&['l', 's', 'z']);
        let [from, to] = [0, 1].map(|_| self.key('l', chance));
        let [here, there] = ["LEFT", "RIGHT"].map(|_| chance.word(&["LEFT", "RIGHT"]));
        let request = match chance.below(8) {
            0 => words!["RPOPLPUSH", from, to],
            1 => words!["LMOVE", from, to, here, there],
            2 => words!["BLMOVE", from, to, here, there, "0.02"],
            3 => words!["BRPOPLPUSH", from, to, "0.02"],
            4 | 5 => {
                let [from, to] = [0, 1].map(|_| self.key('s', chance));
                let request = words!["SMOVE", from, to, self.any_token(chance)];
                return burst.ask(request, |_, reply| integer(&reply).map(|_| ()));
            }
            6 => {
                let (key, element) = (self.key('z', chance), self.any_token(chance));
                let request = words!["ZADD", key, "XX", "CH", score(chance), element];
                return burst.ask(request, |_, reply| integer(&reply).map(|_| ()));
            }
            _ => {
                let [from, to] = [0, 1].map(|_| self.key(letter, chance));
                return burst.ask(words!["RENAMENX", from, to], |_, reply| fine_or_absent(&reply));
            }
        };
        burst.ask(request, |carrier, reply| match text(reply)? {
            Some(element) => carrier.tokens.number(&element).map(|_| ()),
            None => Ok(()),
        });
    }

    /// Takes a whole collection under names of its own, copies it, and puts it back.
    fn take_collection(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let letter = *chance.pick(&['l', 's', 'z']);
        let [mine, copy] = ['p', 'q'].map(|name| private(letter, name, self.number));
        let [from, to] = [0, 1].map(|_| self.key(letter, chance));
        burst.ask(words!["RENAMENX", from, mine], |_, reply| fine_or_absent(&reply));
        for _ in 0..chance.below(4) {
            let copied = match (letter, chance.below(3)) {
                ('l', 0) => words!["SORT", mine, "BY", "nosort", "STORE", copy],
                ('s', 0) => words!["SUNIONSTORE", copy, mine],
                ('s', 1) => words!["SINTERSTORE", copy, mine, mine],
                ('z', 0) => words!["ZUNIONSTORE", copy, 1, mine, "WEIGHTS", 2],
                ('z', 1) => words!["ZRANGESTORE", copy, mine, 0, -1],
                _ => words!["COPY", mine, copy, "REPLACE"],
            };
            burst.ask(copied, |_, reply| fine(&reply));
            burst.ask(words![chance.word(&["DEL", "UNLINK"]), mine], |_, reply| fine(&reply));
            burst.ask(words!["RENAME", copy, mine], |_, reply| fine_or_absent(&reply));
        }
        burst.ask(words!["RENAMENX", mine, to], |_, reply| fine_or_absent(&reply));
    }

    fn touch(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let key = self.key(*chance.pick(&['l', 's', 'z']), chance);
        let request = match chance.below(4) {
            0 => words!["EXPIRE", key, 1000],
            1 => words!["PERSIST", key],
            2 => words!["OBJECT", "ENCODING", key],
            _ => words!["TOUCH", key],
        };
        burst.ask(request, |_, reply| fine_or_absent(&reply));
    }
}

impl Part for Carrier {
    const NAME: &'static str = "tokens";

    fn plan(&mut self, burst: &mut Burst<Self>, chance: &mut Chance) {
        match chance.below(20) {
            // A carrier that may be disconnected must not be between a copy and the removal of its
            // original.
            0 if !self.moves_only => self.take_collection(burst, chance),
            1 => self.touch(burst, chance),
            2..=9 => self.move_within_server(burst, chance),
            _ if self.moves_only => self.move_within_server(burst, chance),
            // Limited, since tokens that are held do not travel.
            10..=14 if self.held.len() < self.tokens.count / 20 + 1 => self.take(burst, chance),
            _ if !self.held.is_empty() => self.put(burst, chance),
            _ => self.take(burst, chance),
        }
    }

    fn close(&mut self, burst: &mut Burst<Self>) {
        let mut bytes = 0;
        while bytes < PUT_BYTES
            && let Some(number) = self.held.pop()
        {
            let element = self.tokens.element(number);
            bytes += element.len();
            burst.ask(words!["RPUSH", "tok:l0", element], |_, reply| integer(&reply).map(|_| ()));
        }
    }
}

fn put_all(burst: &mut Burst<Carrier>, mut request: Words, tokens: &Tokens, numbers: &[u32]) {
    let is_set = request[0] == b"SADD";
    request.extend(numbers.iter().map(|number| tokens.element(*number)));
    let count = numbers.len() as i64;
    burst.ask(request, move |_, reply| {
        let length = integer(&reply)?;
        ensure!(length >= count, "a length of {length} after {count} were added");
        ensure!(!is_set || length == count, "{length} new of {count} that nobody else has");
        Ok(())
    });
}

fn taken(carrier: &mut Carrier, reply: Reply) -> Result<()> {
    carrier.took(&texts(reply)?)
}

fn taken_behind_key(carrier: &mut Carrier, reply: Reply) -> Result<()> {
    carrier.took(&texts(reply)?.into_iter().skip(1).collect::<Vec<_>>())
}

fn taken_with_scores(carrier: &mut Carrier, reply: Reply) -> Result<()> {
    carrier.took_scored(texts(reply)?)
}

fn score(chance: &mut Chance) -> String {
    match chance.below(3) {
        0 => chance.below(5).to_string(),
        1 => format!("{}.25", chance.below(1 << 30)),
        _ => format!("-{}e9", chance.below(1000)),
    }
}

const PUT_BYTES: usize = 512 << 10;
