//! Known faults of the server that the hammer avoids, since they would end each run.

/// Known fault; `--try NAME` provokes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Known {
    /// Writes that never end where only keys with a deadline may be evicted, and none is left
    VolatileEviction,
}

/// Faults that are avoided.
#[derive(Clone, Debug)]
pub(super) struct Avoided(Vec<Known>);

/// All known faults. A fault that is fixed is removed.
const KNOWN: &[Known] = &[];

impl Avoided {
    /// Returns all known faults but those to be tried.
    pub(super) fn all_but(tried: &[Known]) -> Self {
        Self(KNOWN.iter().copied().filter(|known| !tried.contains(known)).collect())
    }

    /// Returns the eviction policies that may be used.
    pub(super) fn policies(&self) -> &'static [&'static str] {
        let volatile = !self.0.contains(&Known::VolatileEviction);
        if volatile { &POLICIES } else { &POLICIES[..VOLATILE] }
    }
}

/// Index of the first policy that evicts only keys with a deadline.
const VOLATILE: usize = 3;

const POLICIES: [&str; 6] =
    ["allkeys-lru", "allkeys-random", "allkeys-lfu", "volatile-ttl", "volatile-lru", "noeviction"];
