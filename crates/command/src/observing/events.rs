//! Latency events: what took longer than `latency-monitor-threshold`, second by second.

use base::Millis;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Seconds with samples that are kept of one event.
const SAMPLES: usize = 160;

/// The longest time that an event took within a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The second, since the Unix epoch.
    pub seconds: u64,
    /// Milliseconds that it took.
    pub millis: u64,
}

/// Samples of one event.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// The oldest first; never empty.
    pub samples: VecDeque<Sample>,
    /// Most milliseconds ever.
    pub most: u64,
    /// Sum of all milliseconds.
    pub sum: u64,
    /// Number of times.
    pub count: u64,
}

impl Series {
    fn add(&mut self, sample: Sample) {
        self.most = self.most.max(sample.millis);
        self.sum += sample.millis;
        self.count += 1;
        match self.samples.back_mut() {
            Some(last) if last.seconds == sample.seconds => {
                last.millis = last.millis.max(sample.millis);
            }
            _ => {
                if self.samples.len() == SAMPLES {
                    self.samples.pop_front();
                }
                self.samples.push_back(sample);
            }
        }
    }
}

/// All latency events, by name.
#[derive(Debug, Default)]
pub struct LatencyEvents(Mutex<BTreeMap<&'static str, Series>>);

impl LatencyEvents {
    /// Adds a sample of an event.
    pub fn add(&self, event: &'static str, millis: u64, now: Millis) {
        self.all().entry(event).or_default().add(Sample { seconds: now.0 / 1000, millis });
    }

    /// Returns the events with their samples.
    pub fn series(&self) -> Vec<(&'static str, Series)> {
        self.all().iter().map(|(event, series)| (*event, series.clone())).collect()
    }

    /// Returns the samples of an event.
    pub fn find(&self, event: &[u8]) -> Option<(&'static str, Series)> {
        let all = self.all();
        let found = all.iter().find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(event))?;
        Some((found.0, found.1.clone()))
    }

    /// Forgets an event, or all; returns how many there were.
    pub fn reset(&self, event: Option<&[u8]>) -> usize {
        let mut all = self.all();
        let before = all.len();
        let is_kept =
            |name: &str| event.is_some_and(|it| !name.as_bytes().eq_ignore_ascii_case(it));
        all.retain(|name, _| is_kept(name));
        before - all.len()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<&'static str, Series>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
