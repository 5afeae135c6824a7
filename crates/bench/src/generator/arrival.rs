//! When requests are sent, and when no more.

use std::time::Duration;

/// When a run ends; batches in flight are always waited for.
#[derive(Clone, Copy, Debug)]
pub enum Stop {
    /// After this time.
    After(Duration),
    /// After this many operations.
    Operations(u64),
}

/// How far due times stand from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// All equally far.
    Even,
    /// As far as those of many clients who know nothing of each other (a Poisson process).
    Random,
}

/// When operations are due.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Operations per second.
    pub per_second: f64,
    /// How they are spread.
    pub spacing: Spacing,
    /// Seed of the distances.
    pub seed: u64,
}

/// What decides when a batch is sent.
#[derive(Clone, Copy, Debug)]
pub enum Arrival {
    /// The last reply of the batch before it on the same connection: a closed loop.
    Closed,
    /// As in a closed loop, but no earlier than the pace allows; what a slow server misses is not
    /// made up for.
    Limited(Pace),
    /// The pace alone: an open loop.
    Open(Pace),
}

impl Arrival {
    /// For one of several threads that share the rate.
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

    /// When nothing more may be sent. With a schedule, time is what the schedule ends by, and what
    /// was due before is still sent.
    pub(super) fn stop_sending(self, stop: Stop) -> Stop {
        match (self, stop) {
            (Self::Limited(_) | Self::Open(_), Stop::After(_)) => Stop::After(Duration::MAX),
            _ => stop,
        }
    }
}
