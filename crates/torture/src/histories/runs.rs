//! What stood in one key without a gap: a value, those that replaced it one after the other, and
//! all who read them.
//!
//! A value that replaced another says which, unless the key held nothing, or its writer did not
//! look. There a run begins. Nobody else changed the key during a run, so two runs of a key do not
//! overlap, and who found nothing is behind or before all of a run: a run by itself.

use super::history::{Held, History, Key};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, HashMap};

/// Values of one key, by the transactions that wrote them.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// One writer behind the other; the last may have removed the key.
    pub(super) writers: Vec<usize>,
    /// Of each writer, who read what it wrote and did not replace it.
    pub(super) readers: Vec<Vec<usize>>,
}

impl Run {
    /// Returns all whose moment lies in the run.
    pub(super) fn members(&self) -> impl Iterator<Item = usize> {
        self.writers.iter().chain(self.readers.iter().flatten()).copied()
    }

    /// Returns who saw its end: the last writer, and who read that.
    pub(super) fn last(&self) -> impl Iterator<Item = usize> {
        self.writers
            .iter()
            .rev()
            .take(1)
            .chain(self.readers.iter().rev().take(1).flatten())
            .copied()
    }
}

/// Transactions that wrote and replaced the values of one key.
#[derive(Default)]
struct Values {
    writers: HashMap<u64, usize>,
    replacers: HashMap<u64, usize>,
    readers: HashMap<u64, Vec<usize>>,
    /// Writers of which is not known what they replaced, or that found nothing.
    first: Vec<usize>,
}

/// Returns the runs of each key.
///
/// # Errors
/// If a value was read that nobody wrote, or two replaced the same.
pub(super) fn of(history: &History) -> Result<BTreeMap<Key, Vec<Run>>> {
    let mut keys: BTreeMap<Key, Values> = BTreeMap::new();
    for (at, transaction) in history.all().iter().enumerate() {
        for key in transaction.keys() {
            let values = keys.entry(key).or_default();
            values
                .note(at, transaction.read(key), transaction.written(key))
                .with_context(|| format!("key {key}, {transaction:?}"))?;
        }
    }
    keys.into_iter().map(|(key, values)| Ok((key, values.runs(history, key)?))).collect()
}

impl Values {
    fn note(&mut self, at: usize, read: Option<Held>, written: Option<Held>) -> Result<()> {
        if let Some(Some(value)) = written {
            ensure!(self.writers.insert(value, at).is_none(), "{value} is written twice");
        }
        match (read, written) {
            (Some(Some(value)), Some(_)) => {
                let other = self.replacers.insert(value, at);
                ensure!(other.is_none(), "{value} was replaced twice, also by number {other:?}");
            }
            (Some(Some(value)), None) => self.readers.entry(value).or_default().push(at),
            (Some(None) | None, _) => self.first.push(at),
        }
        Ok(())
    }

    fn runs(mut self, history: &History, key: Key) -> Result<Vec<Run>> {
        for (value, at) in self.replacers.iter().chain(self.read_values()) {
            let transaction = &history.all()[at.to_owned()];
            ensure!(
                self.writers.contains_key(value),
                "key {key} held {value}, which nobody wrote: {transaction:?}"
            );
        }
        let first = std::mem::take(&mut self.first);
        Ok(first.into_iter().map(|at| self.run_from(history, key, at)).collect())
    }

    fn read_values(&self) -> impl Iterator<Item = (&u64, &usize)> {
        self.readers.iter().flat_map(|(value, readers)| readers.iter().map(move |at| (value, at)))
    }

    fn run_from(&mut self, history: &History, key: Key, first: usize) -> Run {
        let (mut run, mut next) = (Run::default(), Some(first));
        while let Some(at) = next {
            run.writers.push(at);
            let value = history.all()[at].written(key).flatten();
            run.readers.push(value.and_then(|it| self.readers.remove(&it)).unwrap_or_default());
            next = value.and_then(|it| self.replacers.remove(&it));
        }
        run
    }
}
