//! Where batches of requests come from.

use super::answer::Expected;
use super::keys::Keys;
use super::requests::Requests;

/// Batches of requests.
pub trait Source {
    /// Requests in a whole batch.
    fn pipeline(&self) -> usize;

    /// The next batch of `count` requests, at most a whole one, and the replies it must bring.
    fn fill(&mut self, count: usize) -> (&[u8], Expected);
}

/// Prepared requests with the keys that are written into them.
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
