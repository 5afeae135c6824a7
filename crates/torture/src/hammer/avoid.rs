//! What the hammer does not do, since a known fault of the server would end each run there.

/// Each names a fault; `--try NAME` runs into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Known {
    /// Writes that never end where only keys with a deadline may be evicted, and all are
    VolatileEviction,
}

/// The faults that are kept away from.
#[derive(Clone, Debug)]
pub(super) struct Avoided(Vec<Known>);

/// All known ones. A fault that is mended is taken out.
const KNOWN: &[Known] = &[];

impl Avoided {
    /// All known faults but those that are to be tried.
    pub(super) fn all_but(tried: &[Known]) -> Self {
        Self(KNOWN.iter().copied().filter(|known| !tried.contains(known)).collect())
    }

    /// Policies of eviction that are tried.
    pub(super) fn policies(&self) -> &'static [&'static str] {
        let volatile = !self.0.contains(&Known::VolatileEviction);
        if volatile { &POLICIES } else { &POLICIES[..VOLATILE] }
    }
}

/// Where those begin that evict only keys with a deadline.
const VOLATILE: usize = 3;

const POLICIES: [&str; 6] =
    ["allkeys-lru", "allkeys-random", "allkeys-lfu", "volatile-ttl", "volatile-lru", "noeviction"];
