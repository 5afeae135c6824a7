//! Counters of every type: all acknowledged additions must be present at the end.

use super::Fault;
use super::chance::Chance;
use super::content;
use super::line::{Burst, Part};
use super::phase::{Place, Shape};
use super::words::{Words, fine, text, texts, words};
use crate::client::Client;
use anyhow::{Context, Result, ensure};
use std::collections::HashMap;

const MOVE_DECLARED: &str = "redis.call('DECRBY', KEYS[1], ARGV[2]) \
    return redis.call('HINCRBY', KEYS[2], ARGV[1], ARGV[2])";
const MOVE_UNDECLARED: &str = "redis.call('DECRBY', ARGV[1], ARGV[4]) \
    return redis.call('HINCRBY', ARGV[2], ARGV[3], ARGV[4])";
/// It may take longer than others wait for it.
const MOVE_SLOWLY: &str = "redis.call('DECRBY', KEYS[1], ARGV[3]) \
    local n = 0 for i = 1, ARGV[3] % 100000 do n = n + i % 7 end \
    return redis.call('HINCRBY', ARGV[1], ARGV[2], ARGV[3])";

/// Counter: a key, with a field or member if the counter is one.
pub(super) type Name = (String, Option<String>);

/// Sum of the additions to each counter, in quarters.
pub(super) type Sums = HashMap<Name, i64>;

/// Connection that adds to counters that others add to as well.
pub(super) struct Counting {
    shape: Shape,
    pub(super) added: Sums,
    forgetful: bool,
}

impl Counting {
    pub(super) fn new(place: &Place) -> Self {
        let forgetful = place.fault == Some(Fault::ForgetSum);
        Self { shape: place.shape.clone(), added: Sums::new(), forgetful }
    }

    /// Adds a request that increments a counter; the sum counts when it is acknowledged.
    fn add(&mut self, burst: &mut Burst<Self>, words: Words, name: Name, quarters: i64) {
        burst.ask(words, move |counting, reply| {
            fine(&reply)?;
            if std::mem::take(&mut counting.forgetful) {
                return Ok(());
            }
            *counting.added.entry(name).or_default() += quarters;
            Ok(())
        });
    }

    fn key(&self, letter: char, chance: &mut Chance) -> String {
        format!("sum:{letter}{}", chance.below(self.shape.counters))
    }

    fn count(&mut self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let delta = chance.below(2_000_001) as i64 - 1_000_000;
        let quarter = chance.below(2_001) as i64 - 1_000;
        let decimal = quarter as f64 / 4.0;
        let part = chance.below(self.shape.fields);
        let (field, fraction, member) =
            (format!("c{part}"), format!("d{part}"), format!("m{part}"));
        let [plain, float, hash, sorted] = ['i', 'f', 'h', 'z'].map(|it| self.key(it, chance));
        match chance.below(9) {
            0 => self.add(burst, words!["INCRBY", plain, delta], (plain, None), delta * 4),
            1 => self.add(burst, words!["DECRBY", plain, delta], (plain, None), delta * -4),
            2 => self.add(burst, words!["INCRBYFLOAT", float, decimal], (float, None), quarter),
            3 => {
                let words = words!["HINCRBY", hash, field, delta];
                self.add(burst, words, (hash, Some(field)), delta * 4);
            }
            4 => {
                let words = words!["HINCRBYFLOAT", hash, fraction, decimal];
                self.add(burst, words, (hash, Some(fraction)), quarter);
            }
            5 | 6 => self.move_by_script(burst, chance, (plain, hash, field), delta),
            7 => {
                let words = words!["ZINCRBY", sorted, decimal, member];
                self.add(burst, words, (sorted, Some(member)), quarter);
            }
            _ => {
                let (key, place) = (self.key('b', chance), format!("#{part}"));
                let words = words!["BITFIELD", key, "INCRBY", "i64", place, delta];
                self.add(burst, words, (key, Some(place)), delta * 4);
            }
        }
    }

    /// Adds a script that moves a part of one counter to another one, whether it declares its keys
    /// or not: both have changed when it is acknowledged.
    fn move_by_script(
        &mut self,
        burst: &mut Burst<Self>,
        chance: &mut Chance,
        (plain, hash, field): (String, String, String),
        delta: i64,
    ) {
        let words = match chance.below(3) {
            0 => words!["EVAL", MOVE_DECLARED, 2, plain, hash, field, delta],
            1 => words!["EVAL", MOVE_UNDECLARED, 0, plain, hash, field, delta],
            _ => words!["EVAL", MOVE_SLOWLY, 1, plain, hash, field, delta],
        };
        burst.ask(words, move |counting, reply| {
            fine(&reply)?;
            *counting.added.entry((plain, None)).or_default() -= delta * 4;
            *counting.added.entry((hash, Some(field))).or_default() += delta * 4;
            Ok(())
        });
    }

    /// Adds and removes other elements, so that the keys of the counters become large and small.
    fn disturb(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let [hash, sorted] = ['h', 'z'].map(|letter| self.key(letter, chance));
        let noise = format!("noise{}", chance.below(300));
        let length = chance.length(4000);
        let request = match chance.below(10) {
            0 | 1 => words!["HSET", hash, noise, content::value(1, length, chance)],
            2 | 3 => words!["HDEL", hash, noise],
            4 => words!["ZADD", sorted, chance.below(100), noise],
            5 => words!["ZREM", sorted, noise],
            6 => words!["EXPIRE", self.key(*chance.pick(&['i', 'f', 'h', 'z']), chance), 1000],
            7 => words!["PERSIST", self.key(*chance.pick(&['i', 'f', 'h', 'z']), chance)],
            8 => words!["HPEXPIRE", hash, chance.within(1, 50), "FIELDS", 1, noise],
            _ => {
                let key = self.key(*chance.pick(&['i', 'f', 'h', 'z', 'b']), chance);
                words!["COPY", key, format!("shadow:{key}"), "REPLACE"]
            }
        };
        burst.ask(request, |_, reply| fine(&reply));
    }
}

impl Part for Counting {
    const NAME: &'static str = "sums";

    fn plan(&mut self, burst: &mut Burst<Self>, chance: &mut Chance) {
        if chance.one_in(4) { self.disturb(burst, chance) } else { self.count(burst, chance) }
    }
}

/// Compares the counters with the sums of all connections.
pub(super) fn verify(client: &mut Client, sums: &Sums) -> Result<()> {
    let mut wrong = Vec::new();
    for ((key, part), quarters) in sums {
        let found =
            read(client, key, part.as_deref()).with_context(|| format!("{key} {part:?}"))?;
        if found != *quarters {
            wrong.push(format!("{key} {part:?} is {found} quarters instead of {quarters}"));
        }
    }
    ensure!(
        wrong.is_empty(),
        "{} of {} sums are wrong: {}",
        wrong.len(),
        sums.len(),
        wrong.iter().take(10).cloned().collect::<Vec<_>>().join("; ")
    );
    Ok(())
}

fn read(client: &mut Client, key: &str, part: Option<&str>) -> Result<i64> {
    let found = match part {
        None => text(client.ask(&words!["GET", key])?)?,
        Some(place) if place.starts_with('#') => {
            texts(client.ask(&words!["BITFIELD", key, "GET", "i64", place])?)?.pop()
        }
        Some(member) if member.starts_with('m') => {
            text(client.ask(&words!["ZSCORE", key, member])?)?
        }
        Some(field) => text(client.ask(&words!["HGET", key, field])?)?,
    };
    quarters(&found.context("it is not there")?)
}

fn quarters(number: &[u8]) -> Result<i64> {
    let number = std::str::from_utf8(number)?;
    if let Ok(whole) = number.parse::<i64>() {
        return Ok(whole * 4);
    }
    Ok((number.parse::<f64>()? * 4.0).round() as i64)
}

/// Adds up the sums of several connections.
pub(super) fn together(all: impl IntoIterator<Item = Sums>) -> Sums {
    let mut sums = Sums::new();
    for (name, quarters) in all.into_iter().flatten() {
        *sums.entry(name).or_default() += quarters;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_have_added_is_one_sum_for_each_counter() {
        let name = |text: &str| (text.to_owned(), None);
        let one = Sums::from([(name("a"), 3), (name("b"), 1)]);
        let other = Sums::from([(name("a"), -1)]);
        let expected = Sums::from([(name("a"), 2), (name("b"), 1)]);
        assert_eq!(together([one, other]), expected);
    }

    #[test]
    fn decimals_are_read_in_quarters() {
        let read = |text: &str| quarters(text.as_bytes()).ok();
        assert_eq!(read("12.25"), Some(49));
        assert_eq!(read("-0.75"), Some(-3));
        assert_eq!(read("9007199254740993"), Some(4 * 9_007_199_254_740_993));
        assert_eq!(read("1e3"), Some(4000));
        assert_eq!(read("x"), None);
    }
}
