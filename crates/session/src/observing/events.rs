//! Latency events: what took longer than `latency-monitor-threshold`, second by second.

use base::Millis;
use base::mutex::{Mutex, MutexGuard};
use std::collections::{BTreeMap, VecDeque};

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
        // Threads note what has ended, and may come late: seconds stay in order all the same.
        let at = self.samples.partition_point(|it| it.seconds < sample.seconds);
        match self.samples.get_mut(at) {
            Some(same) if same.seconds == sample.seconds => {
                same.millis = same.millis.max(sample.millis);
            }
            _ => self.samples.insert(at, sample),
        }
        if self.samples.len() > SAMPLES {
            self.samples.pop_front();
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

    /// Returns the samples of an event, whose name is given letter by letter.
    pub fn find(&self, event: &[u8]) -> Option<(&'static str, Series)> {
        let all = self.all();
        let found = all.iter().find(|(name, _)| name.as_bytes() == event)?;
        Some((*found.0, found.1.clone()))
    }

    /// Forgets an event, whose name is given in any case, or all; returns how many there were.
    pub fn reset(&self, event: Option<&[u8]>) -> usize {
        let mut all = self.all();
        let before = all.len();
        let is_kept =
            |name: &str| event.is_some_and(|it| !name.as_bytes().eq_ignore_ascii_case(it));
        all.retain(|name, _| is_kept(name));
        before - all.len()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<&'static str, Series>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(series: &Series) -> Vec<(u64, u64)> {
        series.samples.iter().map(|it| (it.seconds, it.millis)).collect()
    }

    #[test]
    fn samples_stay_in_order_of_their_seconds_whoever_comes_late() {
        let mut series = Series::default();
        for (seconds, millis) in [(10, 5), (12, 7), (10, 9), (11, 3), (12, 6), (9, 1)] {
            series.add(Sample { seconds, millis });
        }
        assert_eq!(samples(&series), [(9, 1), (10, 9), (11, 3), (12, 7)]);
        assert_eq!((series.most, series.sum, series.count), (9, 31, 6));
    }

    #[test]
    fn the_latest_seconds_are_kept() {
        let mut series = Series::default();
        let last = SAMPLES as u64 + 9;
        (10..=last).for_each(|seconds| series.add(Sample { seconds, millis: 1 }));
        series.add(Sample { seconds: 5, millis: 1 });
        series.add(Sample { seconds: last + 1, millis: 2 });
        assert_eq!(series.samples.len(), SAMPLES);
        assert_eq!(samples(&series).first(), Some(&(11, 1)));
        assert_eq!(samples(&series).last(), Some(&(last + 1, 2)));
    }
}
