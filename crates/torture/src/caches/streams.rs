//! Clients that wait for entries of streams and cache the last one: their replies come from the
//! threads that add entries, and must not be overtaken by what is told of the next ones.

use super::rest::{PATIENCE, first_wrong_at_rest};
use crate::client::{Client, Reply, encoded};
use anyhow::{Context, Result, ensure};
use base::Random;
use bench::Address;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const STREAMS: u64 = 3;

/// Adds entries, whose ids rise.
pub(super) struct Adder {
    client: Client,
    entry: u64,
    dice: Random,
}

impl Adder {
    pub fn open(address: Address, seed: u64) -> Result<Adder> {
        let client = Client::open(address, PATIENCE)?;
        Ok(Adder { client, entry: 0, dice: Random::from_seed(seed) })
    }

    pub fn work(&mut self, is_over: &AtomicBool) -> Result<()> {
        while !is_over.load(Relaxed) {
            let mut bytes = Vec::new();
            let count = 1 + self.dice.below(3);
            for _ in 0..count {
                self.entry += 1;
                let (key, id) = (format!("s{}", self.dice.below(STREAMS)), self.entry.to_string());
                bytes.extend(encoded(&["XADD", &key, "MAXLEN", "5", &format!("{id}-1"), "f", "v"]));
            }
            self.client.send(&bytes)?;
            for _ in 0..count {
                let reply = self.client.receive()?;
                ensure!(matches!(reply, Reply::Bulk(_)), "XADD answers {reply:?}");
            }
        }
        Ok(())
    }
}

/// Waits for entries.
pub(super) struct Follower {
    client: Client,
    /// Id of the last entry of each stream, as long as it is valid; of one in which nothing new was
    /// found, which may be gone, true besides.
    cached: HashMap<String, (String, bool)>,
    /// The same, valid or not: where the next read begins.
    seen: HashMap<String, String>,
    dice: Random,
    pub reads: u64,
}

impl Follower {
    pub fn open(address: Address, seed: u64) -> Result<Follower> {
        let mut client = Client::open(address, PATIENCE)?;
        client.ask(&["HELLO", "3"])?;
        client.ask(&["CLIENT", "TRACKING", "ON"])?;
        let dice = Random::from_seed(seed);
        Ok(Follower { client, cached: HashMap::new(), seen: HashMap::new(), dice, reads: 0 })
    }

    pub fn work(&mut self, is_over: &AtomicBool) -> Result<()> {
        while !is_over.load(Relaxed) {
            let key = format!("s{}", self.dice.below(STREAMS));
            if self.cached.contains_key(&key) {
                self.receive_behind(&["PING"])?;
                continue;
            }
            let seen = self.seen.get(&key).cloned().unwrap_or_else(|| "0".to_owned());
            let request = ["XREAD", "BLOCK", "20", "STREAMS", &key, &seen];
            let (last, may_be_gone) = match self.receive_behind(&request)? {
                Reply::Null => (seen, true),
                Reply::Map(streams) => {
                    (last_id(&streams).context("XREAD answers otherwise")?, false)
                }
                other => anyhow::bail!("XREAD answers {other:?}"),
            };
            self.reads += 1;
            self.seen.insert(key.clone(), last.clone());
            self.cached.insert(key, (last, may_be_gone));
        }
        Ok(())
    }

    /// Sends a request, and waits for its reply; drops what messages before it name.
    fn receive_behind(&mut self, request: &[&str]) -> Result<Reply> {
        self.client.send(&encoded(request))?;
        loop {
            let words = match self.client.receive()? {
                Reply::Push(words) => words,
                reply => return Ok(reply),
            };
            match &words[..] {
                [_, Reply::Array(keys)] => {
                    for key in keys {
                        let Reply::Bulk(key) = key else { anyhow::bail!("a key is {key:?}") };
                        self.cached.remove(std::str::from_utf8(key)?);
                    }
                }
                _ => self.cached.clear(),
            }
        }
    }

    /// Compares the cache with the server, once all that was put off is done.
    pub fn compare(&mut self, plain: &mut Client) -> Result<()> {
        first_wrong_at_rest(|| {
            self.receive_behind(&["PING"])?;
            for (key, (cached, may_be_gone)) in &self.cached {
                let newest = plain.ask(&["XREVRANGE", key, "+", "-", "COUNT", "1"])?;
                let is_right = match &newest {
                    Reply::Array(entries) if entries.is_empty() => *may_be_gone,
                    Reply::Array(entries) => first_id(entries).as_ref() == Some(cached),
                    _ => false,
                };
                if !is_right {
                    return Ok(Some(format!(
                        "{key} ends at {cached}, but in the server {newest:?}"
                    )));
                }
            }
            Ok(None)
        })
    }
}

/// Returns the id of the last entry of the only stream of a reply.
fn last_id(streams: &[Reply]) -> Option<String> {
    let [_, Reply::Array(entries)] = streams else { return None };
    first_id(&entries[entries.len().checked_sub(1)?..])
}

fn first_id(entries: &[Reply]) -> Option<String> {
    let Some(Reply::Array(entry)) = entries.first() else { return None };
    let Some(Reply::Bulk(id)) = entry.first() else { return None };
    String::from_utf8(id.clone()).ok()
}
