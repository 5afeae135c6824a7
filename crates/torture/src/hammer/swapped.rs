//! Two databases that are swapped: their joint content must stay the same.

use super::chance::Chance;
use super::content::{check, value};
use super::line::{Burst, Part};
use super::phase::Place;
use super::sums::Sums;
use super::words::{error, fine, integer, text, texts, words};
use crate::client::Client;
use anyhow::{Result, ensure};

/// Databases that are swapped.
const PAIR: [usize; 2] = [1, 2];

/// Number of keys that exist in exactly one of both.
const WANDERERS: usize = 30;

/// List that exists in each of both.
const QUEUE: &str = "queue";

/// Connection that works in one of the two databases, and swaps them.
pub(super) struct Swapped {
    added: Sums,
    /// Elements added to the queues less those that were removed.
    queued: i64,
    database: usize,
}

impl Swapped {
    /// Returns the sums added to each counter, and to the queues.
    pub(super) fn sums(mut self) -> Sums {
        *self.added.entry((QUEUE.to_owned(), None)).or_default() += self.queued;
        self.added
    }

    pub(super) fn new(_place: &Place) -> Self {
        Self { added: Sums::new(), queued: 0, database: 0 }
    }
}

impl Swapped {
    /// Adds elements to the queue of its database.
    fn push(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let count = chance.length(50).max(1);
        let mut request = words!["RPUSH", QUEUE];
        request.extend((0..count).flat_map(|_| words![chance.below(1_000_000)]));
        burst.ask(request, move |swapped, reply| {
            integer(&reply)?;
            swapped.queued += count as i64;
            Ok(())
        });
    }

    /// Removes one or many elements, and may wait while the databases are swapped.
    fn pop(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let request = match chance.below(3) {
            0 => words!["BLPOP", QUEUE, "0.03"],
            1 => words!["BRPOP", "other", QUEUE, "0.03"],
            _ => words!["BLMPOP", "0.03", 1, QUEUE, "LEFT", "COUNT", chance.length(100).max(1)],
        };
        burst.ask(request, |swapped, reply| {
            // The first element is the key.
            swapped.queued -= texts(reply)?.len().saturating_sub(1) as i64;
            Ok(())
        });
    }
}

impl Part for Swapped {
    const NAME: &'static str = "swapped databases";

    fn plan(&mut self, burst: &mut Burst<Self>, chance: &mut Chance) {
        if self.database == 0 || chance.one_in(8) {
            self.database = *chance.pick(&PAIR);
            burst.ask(words!["SELECT", self.database], |_, reply| fine(&reply));
        }
        let wanderer = chance.below(WANDERERS);
        match chance.below(10) {
            8 => self.push(burst, chance),
            9 => self.pop(burst, chance),
            0 => burst.ask(words!["SWAPDB", PAIR[0], PAIR[1]], |_, reply| fine(&reply)),
            1..=3 => {
                let (key, delta) = (format!("sum{}", chance.below(4)), chance.below(1000) as i64);
                burst.ask(words!["INCRBY", key, delta], move |swapped, reply| {
                    integer(&reply)?;
                    *swapped.added.entry((key, None)).or_default() += delta;
                    Ok(())
                });
            }
            4 | 5 => {
                let other = PAIR[0] + PAIR[1] - self.database;
                let request = words!["MOVE", wanderer_key(wanderer), other];
                burst.ask(request, |_, reply| integer(&reply).map(|_| ()));
            }
            6 => {
                let length = chance.length(100_000);
                let new = value(wanderer as u32, length, chance);
                // Only in the database that holds it.
                burst
                    .ask(words!["SET", wanderer_key(wanderer), new, "XX"], |_, reply| fine(&reply));
            }
            _ => burst.ask(words!["GET", wanderer_key(wanderer)], move |_, reply| {
                text(reply)?.map_or(Ok(()), |bytes| check(wanderer as u32, &bytes))
            }),
        }
    }
}

/// Stores each wanderer in one of the two databases.
pub(super) fn lay_out(client: &mut Client) -> Result<()> {
    for wanderer in 0..WANDERERS {
        fine(&client.ask(&words!["SELECT", PAIR[wanderer % 2]])?)?;
        fine(&client.ask(&words!["SET", wanderer_key(wanderer), ""])?)?;
    }
    fine(&client.ask(&words!["SELECT", 0])?)
}

/// Compares the content of both with the sums.
pub(super) fn verify(client: &mut Client, sums: &Sums) -> Result<()> {
    let mut seen = [0; WANDERERS];
    let mut found = Sums::new();
    for database in PAIR {
        fine(&client.ask(&words!["SELECT", database])?)?;
        for (wanderer, seen) in seen.iter_mut().enumerate() {
            if let Some(bytes) = text(client.ask(&words!["GET", wanderer_key(wanderer)])?)? {
                *seen += 1;
                check(wanderer as u32, &bytes)?;
            }
        }
        for (key, part) in sums.keys() {
            if key == QUEUE {
                let length = integer(&client.ask(&words!["LLEN", key])?)?;
                *found.entry((key.clone(), None)).or_default() += length;
                continue;
            }
            let reply = client.ask(&words!["INCRBY", key, 0])?;
            ensure!(error(&reply).is_none(), "{reply:?}");
            *found.entry((key.clone(), part.clone())).or_default() += integer(&reply)?;
        }
    }
    fine(&client.ask(&words!["SELECT", 0])?)?;
    ensure!(seen.iter().all(|seen| *seen == 1), "keys that are moved are there {seen:?} times");
    ensure!(found == *sums, "two databases count {found:?} together instead of {sums:?}");
    Ok(())
}

fn wanderer_key(number: usize) -> String {
    format!("wanderer{number}")
}
