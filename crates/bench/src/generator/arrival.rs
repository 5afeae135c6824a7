//! Sending times of requests, and the end of a run.

use std::time::Duration;

/// End of a run; batches in flight are always waited for.
#[derive(Clone, Copy, Debug)]
pub enum Stop {
    /// Ends after this time.
    After(Duration),
    /// Ends after this many operations.
    Operations(u64),
}

/// Distances between due times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Equal distances.
    Even,
    /// Distances as of many independent clients (a Poisson process).
    Random,
}

/// Due times of operations.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Operations per second.
    pub per_second: f64,
    /// Distances between them.
    pub spacing: Spacing,
    /// Seed of random distances.
    pub seed: u64,
}

/// Event upon which a batch is sent.
#[derive(Clone, Copy, Debug)]
pub enum Arrival {
    /// Last reply of the previous batch on the same connection: a closed loop.
    Closed,
    /// As in a closed loop, but not before the pace allows it; time lost to a slow server is not
    /// made up for.
    Limited(Pace),
    /// Pace alone: an open loop.
    Open(Pace),
}

impl Arrival {
    /// Returns the arrival for one of several threads that share the rate.
    #[must_use]
    pub fn for_thread(self, thread: usize, threads: usize) -> Self {
        let share = |pace: Pace| Pace {
            per_second: pace.per_second / threads as f64,
            seed: pace.seed.wrapping_add(thread as u64),
            ..pace
        };
        match self {
            Self::Closed => Self::Closed,
            Self::Limited(pace) => Self::Limited(share(pace)),
            Self::Open(pace) => Self::Open(share(pace)),
        }
    }

    /// Returns the point from which nothing is sent. With a pace, time ends the schedule instead,
    /// and batches that were due before are still sent.
    pub(super) fn stop_sending(self, stop: Stop) -> Stop {
        match (self, stop) {
            (Self::Limited(_) | Self::Open(_), Stop::After(_)) => Stop::After(Duration::MAX),
            _ => stop,
        }
    }
}
