//! When something that has failed is tried again.

use std::time::{Duration, Instant};

/// Time after a failure before the next try.
const RETRY: Duration = Duration::from_secs(1);

/// The last failure, until a try succeeds.
#[derive(Debug, Default)]
pub struct Retry {
    failed: Option<Instant>,
}

impl Retry {
    /// Notes a try that has failed.
    pub fn fail(&mut self, now: Instant) {
        self.failed = Some(now);
    }

    /// Notes that all is well, or that nothing is to be tried.
    pub fn end(&mut self) {
        self.failed = None;
    }

    /// True if the last try has failed.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// True if it is too early for the next try.
    pub fn is_too_early(&self, now: Instant) -> bool {
        self.failed.is_some_and(|failed| now.saturating_duration_since(failed) < RETRY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_tried_once_a_second() {
        let (mut retry, begin) = (Retry::default(), Instant::now());
        let mut tries = 0;
        for millis in 0..10_000 {
            let now = begin + Duration::from_millis(millis);
            if !retry.is_too_early(now) {
                tries += 1;
                retry.fail(now);
            }
        }
        assert_eq!(tries, 10);
    }

    #[test]
    fn what_succeeds_may_be_tried_at_once() {
        let (mut retry, now) = (Retry::default(), Instant::now());
        retry.fail(now);
        assert!(retry.has_failed() && retry.is_too_early(now));
        retry.end();
        assert!(!retry.has_failed() && !retry.is_too_early(now));
    }
}
