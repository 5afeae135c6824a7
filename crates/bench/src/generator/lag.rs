//! Delay of an open loop behind its schedule.

use std::time::Duration;

use serde_json::{Value, json};

/// Delay of an open loop behind its schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    /// Length of the schedule.
    pub schedule: Duration,
    /// Longest time between the due time of a request and its sending.
    pub most: Duration,
    /// Waiting time of the oldest unsent request at the end of the schedule.
    pub at_end: Duration,
    /// Operations that were unsent at the end of the schedule.
    pub unsent: u64,
}

impl Lag {
    /// Returns true if the server kept up: at the end it is behind by at most a fiftieth of the
    /// schedule, or by a short time that is always allowed.
    pub fn is_held(&self) -> bool {
        self.at_end <= (self.schedule / 50).max(LAG_ALLOWED)
    }

    /// Returns the delay in words, if the server was too slow.
    pub fn complaint(&self) -> Option<String> {
        let (schedule, late) = (self.schedule.as_secs_f64(), self.at_end.as_secs_f64());
        let what = match self.unsent {
            0 => format!("the last request was sent {late:.3} s late"),
            unsent => format!("{unsent} operations had not been sent, the oldest for {late:.3} s"),
        };
        (!self.is_held()).then(|| {
            format!(
                "behind schedule: the server was too slow for the rate; when the schedule of \
                 {schedule:.3} s was over, {what}"
            )
        })
    }

    /// Returns all fields as JSON, times in seconds.
    pub fn as_json(&self) -> Value {
        json!({
            "seconds": self.schedule.as_secs_f64(),
            "late_seconds_most": self.most.as_secs_f64(),
            "late_seconds_at_end": self.at_end.as_secs_f64(),
            "unsent_at_end": self.unsent,
        })
    }

    /// Adds the delay that another thread saw on the same schedule.
    pub fn merge(&mut self, other: &Self) {
        self.schedule = self.schedule.max(other.schedule);
        self.most = self.most.max(other.most);
        self.at_end = self.at_end.max(other.at_end);
        self.unsent += other.unsent;
    }
}

const LAG_ALLOWED: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Lag;

    #[test]
    fn a_fiftieth_of_the_schedule_is_no_lag() {
        let lag = |seconds, at_end| {
            let schedule = Duration::from_secs(seconds);
            Lag { schedule, at_end: Duration::from_millis(at_end), ..Lag::default() }.is_held()
        };
        assert!(lag(10, 200) && !lag(10, 201));
        assert!(lag(0, 20) && !lag(0, 21));
    }
}
