//! What the background jobs measure of the memory of the process.

use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

/// What was measured last, in bytes.
#[derive(Debug, Default)]
pub struct MemoryFacts {
    /// Resident bytes of the process.
    pub resident_bytes: AtomicU64,
    /// Highest resident bytes that were measured.
    pub resident_peak: AtomicU64,
    /// Highest `used_memory` that was measured.
    pub used_peak: AtomicU64,
    /// Bytes of the process that are neither records nor index.
    pub other_bytes: AtomicU64,
    /// The same when the server had started.
    pub startup_bytes: OnceLock<u64>,
}
