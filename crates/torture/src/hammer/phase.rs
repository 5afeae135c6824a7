//! One phase: its shape, which follows from the seed, and what its connections share.

use super::chance::Chance;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// What a phase is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// All invariants, and no key goes by itself that should stay.
    Everything,
    /// A limit of memory, and flushes: any key may go at any time, and only what is read counts.
    Eviction {
        /// `maxmemory` in megabytes.
        megabytes: u64,
        policy: &'static str,
    },
}

/// Numbers that make one phase unlike the next.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) kind: Kind,
    /// Most requests that a connection sends at once.
    pub(super) depth_max: usize,
    /// Tokens that travel.
    pub(super) tokens: usize,
    /// Largest token in bytes, but for a few.
    pub(super) token_bytes: usize,
    /// Collections of each type among which tokens travel.
    pub(super) collections: usize,
    /// Families of values.
    pub(super) families: usize,
    /// Largest value in bytes.
    pub(super) value_bytes: usize,
    /// Keys of each type that count.
    pub(super) counters: usize,
    /// Fields and members of each that count.
    pub(super) fields: usize,
    /// A process spins on the one core that the server may use.
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
            // What a limit of memory is to be reached with takes many.
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

/// What the connections of a phase share.
pub(super) struct Place {
    pub(super) seed: u64,
    pub(super) port: u16,
    /// How long a reply may take.
    pub(super) patience: Duration,
    pub(super) shape: Shape,
    pub(super) commands: AtomicU64,
    /// A connection that breaks a rule on purpose, and which.
    pub(super) fault: Option<super::Fault>,
    until: Instant,
    failures: Mutex<Vec<String>>,
}

impl Place {
    pub(super) fn new(seed: u64, port: u16, patience: Duration, shape: Shape) -> Self {
        Self {
            seed,
            port,
            patience,
            shape,
            commands: AtomicU64::new(0),
            fault: None,
            until: Instant::now(),
            failures: Mutex::new(Vec::new()),
        }
    }

    /// The same for some time from now.
    pub(super) fn lasting(self, time: Duration, fault: Option<super::Fault>) -> Self {
        Self { until: Instant::now() + time, fault, ..self }
    }

    /// Whether connections are to come to an end.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.until || self.has_failed()
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failures.lock().is_ok_and(|failures| !failures.is_empty())
    }

    /// Takes note of a failure, which ends the phase.
    pub(super) fn fail(&self, words: String) {
        if let Ok(mut failures) = self.failures.lock() {
            failures.push(words);
        }
    }

    /// The failures so far.
    pub(super) fn failures(&self) -> Vec<String> {
        self.failures.lock().map(|failures| failures.clone()).unwrap_or_default()
    }

    /// Whether keys go by themselves in this phase.
    pub(super) fn evicts(&self) -> bool {
        self.shape.kind != Kind::Everything
    }

    pub(super) fn count(&self, commands: u64) {
        self.commands.fetch_add(commands, Relaxed);
    }
}

/// All tokens together.
const TOKEN_BYTES: usize = 60 << 20;
