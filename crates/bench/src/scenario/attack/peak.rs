//! Peak memory of a server during an action.

use std::sync::Arc;
use std::time::Duration;

use crate::sampler::Sampler;
use crate::servers::Server;

/// Sampler of resident memory.
pub struct Peak(Sampler);

impl Peak {
    /// Starts to sample.
    pub fn watch(server: &Server) -> Self {
        Self(Sampler::start(Some(server.pid), EVERY, Arc::default(), |_| {}))
    }

    /// Returns the highest sample in bytes.
    pub fn most(self) -> u64 {
        let samples = self.0.stop();
        samples.into_iter().filter_map(|sample| sample.resident_bytes).max().unwrap_or(0)
    }
}

const EVERY: Duration = Duration::from_millis(5);
