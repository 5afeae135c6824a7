//! Streams: each entry is delivered to one consumer of the group, once, and acknowledged once.

use super::Fault;
use super::chance::Chance;
use super::content::{check, value};
use super::line::{Burst, Part};
use super::phase::Place;
use super::words::{elements, fine, integer, text, words};
use crate::client::{Client, Reply};
use anyhow::{Context, Result, ensure};
use std::collections::HashSet;

/// Number of streams in a phase.
const STREAMS: usize = 2;

/// Entry: index of its stream, and its id.
pub(super) type Entry = (usize, Vec<u8>);

/// Connection that adds entries, and reads them as a consumer of the group.
pub(super) struct Consumer {
    number: u64,
    value_bytes: usize,
    pub(super) added: Vec<Entry>,
    pub(super) delivered: Vec<Entry>,
    unacknowledged: Vec<Entry>,
    acknowledged: Vec<Entry>,
    closing: bool,
    /// True if it forgets one delivery on purpose.
    forgetful: bool,
}

impl Consumer {
    pub(super) fn new(place: &Place, number: u64) -> Self {
        Self {
            number,
            value_bytes: place.shape.value_bytes.min(20_000),
            added: Vec::new(),
            delivered: Vec::new(),
            unacknowledged: Vec::new(),
            acknowledged: Vec::new(),
            closing: false,
            forgetful: place.fault == Some(Fault::ForgetEntry),
        }
    }

    fn add(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let stream = chance.below(STREAMS);
        let length = chance.length(self.value_bytes);
        let request = words!["XADD", key(stream), "*", "v", value(stream as u32, length, chance)];
        burst.ask(request, move |consumer, reply| {
            let id = text(reply)?.context("no identifier")?;
            consumer.added.push((stream, id));
            Ok(())
        });
    }

    fn read(&self, burst: &mut Burst<Self>, stream: usize, count: usize) {
        let name = format!("consumer{}", self.number);
        let request =
            words!["XREADGROUP", "GROUP", "g", name, "COUNT", count, "STREAMS", key(stream), ">"];
        burst.ask(request, move |consumer, reply| {
            for (id, bytes) in entries_read(reply)? {
                check(stream as u32, &bytes)?;
                consumer.delivered.push((stream, id.clone()));
                consumer.unacknowledged.push((stream, id));
            }
            if std::mem::take(&mut consumer.forgetful) && consumer.delivered.pop().is_none() {
                consumer.forgetful = true;
            }
            Ok(())
        });
    }

    fn acknowledge(&mut self, burst: &mut Burst<Self>) {
        let Some((stream, id)) = self.unacknowledged.pop() else { return };
        burst.ask(words!["XACK", key(stream), "g", id], move |consumer, reply| {
            ensure!(integer(&reply)? == 1, "{} was to be acknowledged", id.escape_ascii());
            consumer.acknowledged.push((stream, id));
            Ok(())
        });
    }

    /// Deletes entries that all consumers are done with.
    fn delete(&mut self, burst: &mut Burst<Self>) {
        let Some((stream, id)) = self.acknowledged.pop() else { return };
        burst.ask(words!["XDEL", key(stream), id], move |_, reply| {
            ensure!(integer(&reply)? == 1, "{} was to be deleted", id.escape_ascii());
            Ok(())
        });
    }

    fn look(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let stream = chance.below(STREAMS);
        let trimmed = format!("trimmed{stream}");
        let request = match chance.below(8) {
            0 => words!["XRANGE", key(stream), "-", "+", "COUNT", 20],
            1 => words!["XREVRANGE", key(stream), "+", "-", "COUNT", 20],
            2 => words!["XPENDING", key(stream), "g", "-", "+", 10],
            3 => words!["XINFO", "STREAM", key(stream)],
            4 => words!["XINFO", "CONSUMERS", key(stream), "g"],
            5 => words!["XTRIM", trimmed, "MAXLEN", "~", 100],
            6 => words!["XADD", trimmed, "MAXLEN", "=", chance.below(200), "*", "f", "v"],
            _ => words!["XLEN", key(stream)],
        };
        burst.ask(request, |_, reply| fine(&reply));
    }
}

impl Part for Consumer {
    const NAME: &'static str = "streams";

    fn plan(&mut self, burst: &mut Burst<Self>, chance: &mut Chance) {
        match chance.below(10) {
            0..=2 => self.add(burst, chance),
            3 => self.read(burst, chance.below(STREAMS), chance.length(100).max(1)),
            4 => self.look(burst, chance),
            5..=7 if !self.unacknowledged.is_empty() => self.acknowledge(burst),
            _ if !self.acknowledged.is_empty() => self.delete(burst),
            _ => self.add(burst, chance),
        }
    }

    /// Reads the remaining entries and acknowledges them.
    fn close(&mut self, burst: &mut Burst<Self>) {
        if !std::mem::replace(&mut self.closing, true) {
            (0..STREAMS).for_each(|stream| self.read(burst, stream, 100_000));
        }
        for _ in 0..self.unacknowledged.len().min(1000) {
            self.acknowledge(burst);
        }
    }
}

/// Creates the streams and their groups.
pub(super) fn lay_out(client: &mut Client) -> Result<()> {
    for stream in 0..STREAMS {
        fine(&client.ask(&words!["XGROUP", "CREATE", key(stream), "g", 0, "MKSTREAM"])?)?;
    }
    Ok(())
}

/// Compares the entries delivered to all consumers with those that were added.
pub(super) fn verify(client: &mut Client, consumers: &[Consumer]) -> Result<()> {
    for stream in 0..STREAMS {
        let request = words![
            "XREADGROUP",
            "GROUP",
            "g",
            "late",
            "COUNT",
            1_000_000,
            "STREAMS",
            key(stream),
            ">"
        ];
        let late = entries_read(client.ask(&request)?)?.into_iter().map(|(id, _)| (stream, id));
        let late: Vec<_> = late.collect();
        for (_, id) in &late {
            client.ask(&words!["XACK", key(stream), "g", id])?;
        }
        let pending = elements(client.ask(&words!["XPENDING", key(stream), "g"])?)?;
        ensure!(pending.first() == Some(&Reply::Integer(0)), "entries are pending: {pending:?}");
        let of = |entries: &[Entry]| -> Vec<Entry> {
            entries.iter().filter(|entry| entry.0 == stream).cloned().collect()
        };
        let added: Vec<_> = consumers.iter().flat_map(|it| of(&it.added)).collect();
        let delivered = consumers.iter().flat_map(|it| of(&it.delivered)).chain(late);
        compare(&added, &delivered.collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Checks that each entry occurs once, on both sides.
fn compare(added: &[Entry], delivered: &[Entry]) -> Result<()> {
    let known: HashSet<_> = added.iter().collect();
    ensure!(known.len() == added.len(), "an identifier was given twice");
    let mut seen = HashSet::new();
    for entry in delivered {
        ensure!(known.contains(entry), "{} was delivered and never added", shown(entry));
        ensure!(seen.insert(entry), "{} was delivered twice", shown(entry));
    }
    let lost: Vec<_> = added.iter().filter(|entry| !seen.contains(entry)).collect();
    ensure!(
        lost.is_empty(),
        "{} of {} entries were never delivered, among them {}",
        lost.len(),
        added.len(),
        shown(lost[0])
    );
    Ok(())
}

/// Returns ids and values of a reply to XREADGROUP on one stream.
fn entries_read(reply: Reply) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let streams = elements(reply)?;
    // An array of pairs, or a map: in both, the entries are last.
    let Some(last) = streams.into_iter().next_back() else { return Ok(Vec::new()) };
    let mut entries = elements(last)?;
    if let [Reply::Bulk(_), Reply::Array(_)] = &entries[..] {
        entries = elements(entries.pop().context("a stream without entries")?)?;
    }
    entries.into_iter().map(entry).collect()
}

fn entry(reply: Reply) -> Result<(Vec<u8>, Vec<u8>)> {
    let mut parts = elements(reply)?.into_iter();
    let id = text(parts.next().context("an entry without identifier")?)?;
    let fields = elements(parts.next().context("an entry without fields")?)?;
    let value = text(fields.into_iter().nth(1).context("an entry without value")?)?;
    Ok((id.unwrap_or_default(), value.unwrap_or_default()))
}

fn key(stream: usize) -> String {
    format!("stream{stream}")
}

fn shown(entry: &Entry) -> String {
    format!("{} of stream {}", entry.1.escape_ascii(), entry.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_is_delivered_once() {
        let entries = |ids: &[&str]| -> Vec<Entry> {
            ids.iter().map(|id| (0, id.as_bytes().to_vec())).collect()
        };
        let compared = |added: &[&str], delivered: &[&str]| {
            compare(&entries(added), &entries(delivered)).map_err(|error| error.to_string())
        };
        assert_eq!(compared(&["1", "2"], &["2", "1"]), Ok(()));
        assert!(compared(&["1", "2"], &["2"]).unwrap_err().contains("never delivered"));
        assert!(compared(&["1"], &["1", "1"]).unwrap_err().contains("twice"));
        assert!(compared(&["1"], &["1", "2"]).unwrap_err().contains("never added"));
        assert!(compared(&["1", "1"], &["1"]).unwrap_err().contains("given twice"));
    }

    #[test]
    fn entries_are_found_in_both_protocols() {
        let text = |text: &str| Reply::Bulk(text.as_bytes().to_vec());
        let entry = Reply::Array(vec![text("1-0"), Reply::Array(vec![text("v"), text("x")])]);
        let entries = Reply::Array(vec![entry]);
        let pair = Reply::Array(vec![text("stream0"), entries.clone()]);
        let expected = vec![(b"1-0".to_vec(), b"x".to_vec())];
        assert_eq!(entries_read(Reply::Array(vec![pair])).unwrap(), expected);
        assert_eq!(entries_read(Reply::Map(vec![text("stream0"), entries])).unwrap(), expected);
        assert_eq!(entries_read(Reply::NilArray).unwrap(), Vec::new());
    }
}
