//! Operation on each key.

/// Operation on each key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// GET.
    Get,
    /// SET.
    Set,
    /// GETs and SETs; the number is the percentage of GETs.
    Mixed(u8),
    /// SET with an expiry of this many seconds.
    SetFor(u32),
    /// SET with a deadline that depends on the number of the key.
    SetUntil(Deadlines),
    /// DEL.
    Delete,
}

impl Operation {
    /// Returns the number of requests, out of so many, that write a value.
    pub(super) fn sets_among(self, requests: usize) -> usize {
        match self {
            Self::Get | Self::Delete => 0,
            Self::Mixed(reads) => requests - requests * usize::from(reads.min(100)) / 100,
            Self::Set | Self::SetFor(_) | Self::SetUntil(_) => requests,
        }
    }
}

/// Deadlines spread evenly: key `n` of `count` ends at `first_ms + span_ms * n / count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// Deadline of key 0, in milliseconds since the Unix epoch.
    pub first_ms: u64,
    /// Time over which the deadlines spread, in milliseconds.
    pub span_ms: u64,
    /// Number of keys.
    pub count: u64,
}

impl Deadlines {
    /// Returns the deadline of a key, in milliseconds since the Unix epoch.
    pub fn of(&self, key: u64) -> u64 {
        let span = u128::from(self.span_ms) * u128::from(key) / u128::from(self.count);
        self.first_ms + span as u64
    }
}
