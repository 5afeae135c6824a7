//! The most memory of a server while something happens.

use std::sync::Arc;
use std::time::Duration;

use crate::sampler::Sampler;
use crate::servers::Server;

/// A watch over resident memory.
pub struct Peak(Sampler);

impl Peak {
    /// Looks from now on.
    pub fn watch(server: &Server) -> Self {
        Self(Sampler::start(Some(server.pid), EVERY, Arc::default(), |_| {}))
    }

    /// The most bytes that were seen.
    pub fn most(self) -> u64 {
        let samples = self.0.stop();
        samples.into_iter().filter_map(|sample| sample.resident_bytes).max().unwrap_or(0)
    }
}

const EVERY: Duration = Duration::from_millis(5);
