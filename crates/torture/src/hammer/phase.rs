//! One phase: its shape, which is drawn from the seed, and the state shared by its connections.

use super::chance::Chance;
use crate::addresses::Addresses;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Kind of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// All invariants hold, and no key is removed unless a client asks for it.
    Everything,
    /// Memory limit and flushes: any key may be removed, and only values that are read are checked.
    Eviction {
        /// `maxmemory` in megabytes.
        megabytes: u64,
        policy: &'static str,
    },
}

/// Parameters of one phase.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) kind: Kind,
    /// Most requests that a connection sends at once.
    pub(super) depth_max: usize,
    /// Number of tokens.
    pub(super) tokens: usize,
    /// Largest size of most tokens, in bytes.
    pub(super) token_bytes: usize,
    /// Collections of each type that tokens move among.
    pub(super) collections: usize,
    /// Number of families of values.
    pub(super) families: usize,
    /// Largest size of values, in bytes.
    pub(super) value_bytes: usize,
    /// Counters of each type, as keys.
    pub(super) counters: usize,
    /// Counters in each collection, as fields and members.
    pub(super) fields: usize,
    /// True if a process spins on the one core that the server may use.
    pub(super) busy: bool,
}

impl Shape {
    pub(super) fn new(chance: &mut Chance, kind: Kind, busy: bool) -> Self {
        let tokens = *chance.pick(&[20, 200, 1000, 3000, 10_000]);
        let token_bytes = *chance.pick(&[8, 64, 300, 4000, 70_000]);
        Self {
            kind,
            depth_max: *chance.pick(&[1, 4, 16, 64, 200]),
            tokens: tokens.min(TOKEN_BYTES / token_bytes),
            token_bytes,
            collections: *chance.pick(&[2, 5, 12]),
            // Reaching the memory limit takes many values.
            families: *chance.pick(match kind {
                Kind::Everything => &[2, 8, 40],
                Kind::Eviction { .. } => &[40, 400, 4000],
            }),
            value_bytes: *chance.pick(&[15, 200, 5000, 70_000, 1 << 20]),
            counters: *chance.pick(&[1, 4]),
            fields: *chance.pick(&[1, 20, 400, 3000]),
            busy,
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Everything => write!(to, "everything")?,
            Kind::Eviction { megabytes, policy } => write!(to, "{policy} within {megabytes} MB")?,
        }
        write!(
            to,
            "; {} tokens up to {} bytes in 3 x {} collections; {} families up to {} bytes; \
             counters {} x {}; depth {}{}",
            self.tokens,
            self.token_bytes,
            self.collections,
            self.families,
            self.value_bytes,
            self.counters,
            self.fields,
            self.depth_max,
            if self.busy { "; busy core" } else { "" }
        )
    }
}

/// State shared by the connections of a phase.
pub(super) struct Place {
    pub(super) seed: u64,
    pub(super) addresses: Addresses,
    /// Port of Memcached's protocol.
    pub(super) memcached_port: u16,
    /// Longest wait for a reply.
    pub(super) patience: Duration,
    pub(super) shape: Shape,
    pub(super) commands: AtomicU64,
    /// Rule that one connection breaks on purpose, if any.
    pub(super) fault: Option<super::Fault>,
    until: Instant,
    failures: Mutex<Vec<String>>,
}

impl Place {
    pub(super) fn new(seed: u64, addresses: Addresses, patience: Duration, shape: Shape) -> Self {
        Self {
            seed,
            addresses,
            memcached_port: 0,
            patience,
            shape,
            commands: AtomicU64::new(0),
            fault: None,
            until: Instant::now(),
            failures: Mutex::new(Vec::new()),
        }
    }

    /// Sets the port of Memcached's protocol.
    pub(super) fn with_memcached(self, memcached_port: u16) -> Self {
        Self { memcached_port, ..self }
    }

    /// Sets the duration from now, and the fault.
    pub(super) fn lasting(self, time: Duration, fault: Option<super::Fault>) -> Self {
        Self { until: Instant::now() + time, fault, ..self }
    }

    /// Returns true when connections must end.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.until || self.has_failed()
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failures.lock().is_ok_and(|failures| !failures.is_empty())
    }

    /// Records a failure, which ends the phase.
    pub(super) fn fail(&self, words: String) {
        if let Ok(mut failures) = self.failures.lock() {
            failures.push(words);
        }
    }

    /// Returns the failures so far.
    pub(super) fn failures(&self) -> Vec<String> {
        self.failures.lock().map(|failures| failures.clone()).unwrap_or_default()
    }

    /// Returns true if keys may be removed by the server in this phase.
    pub(super) fn evicts(&self) -> bool {
        self.shape.kind != Kind::Everything
    }

    pub(super) fn count(&self, commands: u64) {
        self.commands.fetch_add(commands, Relaxed);
    }
}

/// Bytes of all tokens together.
const TOKEN_BYTES: usize = 60 << 20;
