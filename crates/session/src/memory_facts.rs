//! What the background jobs measure of the memory of the process.

use std::sync::atomic::AtomicU64;

/// Bytes that count for what a server has for itself, whatever it has: as many as an empty Valkey
/// tells.
pub const BASE_BYTES: u64 = 1 << 20;

/// What was measured last, in bytes.
#[derive(Debug, Default)]
pub struct MemoryFacts {
    /// Resident bytes of the process.
    pub resident_bytes: AtomicU64,
    /// Highest resident bytes that were measured.
    pub resident_peak: AtomicU64,
    /// Highest `used_memory` that was measured.
    pub used_peak: AtomicU64,
    /// Bytes of what is neither records nor index, and counts.
    pub other_bytes: AtomicU64,
    /// Bytes that the server has for itself, as stacks, tables and arenas, whatever data it holds:
    /// they do not count.
    pub fixed_bytes: AtomicU64,
}
