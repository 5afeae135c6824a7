//! Sources of request batches.

use super::answer::Expected;
use super::keys::Keys;
use super::requests::Requests;

/// Source of request batches.
pub trait Source {
    /// Returns the number of requests in a whole batch.
    fn pipeline(&self) -> usize;

    /// Returns the next batch of `count` requests, at most a whole one, and the replies that it
    /// must bring.
    fn fill(&mut self, count: usize) -> (&[u8], Expected);
}

/// Prepared requests, with the keys that are written into them.
pub struct Drawn<'run> {
    /// The requests.
    pub requests: &'run mut Requests,
    /// The keys.
    pub keys: &'run mut Keys,
}

impl Source for Drawn<'_> {
    #[inline]
    fn pipeline(&self) -> usize {
        self.requests.pipeline()
    }

    #[inline]
    fn fill(&mut self, count: usize) -> (&[u8], Expected) {
        self.requests.fill(count, self.keys)
    }
}
