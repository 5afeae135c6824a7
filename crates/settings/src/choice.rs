//! The settings that choose among names, as Rust types.

macro_rules! choices {
    ($(
        $(#[$doc:meta])*
        $kind:ident { $($(#[$note:meta])* $variant:ident = $name:literal,)+ }
    )+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $kind { $($(#[$note])* $variant,)+ }

        impl $kind {
            /// The names in files and commands, in the order in which errors list them.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            const ALL: &'static [$kind] = &[$($kind::$variant),+];

            /// The name in files and commands.
            pub fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }

            /// The variant at a position of [`Self::NAMES`].
            pub(crate) fn at(position: u64) -> Self {
                let last = Self::ALL.len() - 1;
                Self::ALL[usize::try_from(position).unwrap_or(last).min(last)]
            }
        }
    )+};
}

choices! {
    /// What gives way when `maxmemory` is reached.
    MaxmemoryPolicy {
        /// Keys with a deadline, longest unused first.
        VolatileLru = "volatile-lru",
        /// Keys with a deadline, least often used first.
        VolatileLfu = "volatile-lfu",
        /// Keys with a deadline, at random.
        VolatileRandom = "volatile-random",
        /// Keys with a deadline, nearest deadline first.
        VolatileTtl = "volatile-ttl",
        /// Any key, longest unused first.
        AllkeysLru = "allkeys-lru",
        /// Any key, least often used first.
        AllkeysLfu = "allkeys-lfu",
        /// Any key, at random.
        AllkeysRandom = "allkeys-random",
        /// Nothing: writes that need memory are refused.
        NoEviction = "noeviction",
    }

    /// How much is logged.
    LogLevel {
        /// Everything, for developers.
        Debug = "debug",
        /// Rarely useful detail.
        Verbose = "verbose",
        /// What an operator wants to see.
        Notice = "notice",
        /// Only what needs attention.
        Warning = "warning",
        /// No messages.
        Nothing = "nothing",
    }

    /// Who may use something that is risky to leave open.
    DebugAccess {
        /// Nobody.
        No = "no",
        /// Every client.
        Yes = "yes",
        /// Clients on the same machine.
        Local = "local",
    }

    /// Which segment the cleaner empties first.
    ReclaimPolicy {
        /// Free share over live share, times how long the segment has been quiet.
        Original = "original",
        /// The segment with the least live data.
        Greedy = "greedy",
        /// As `original`, with the quiet time damped by its square root.
        Modified = "modified",
    }
}

/// How a signal ends the server: a set of options of SHUTDOWN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShutdownFlags(pub(crate) u32);

impl ShutdownFlags {
    /// The names in files and commands; the first stands for none of the others.
    pub const NAMES: &'static [&'static str] = &["default", "nosave", "now", "force", "safe"];

    /// Leave without a snapshot.
    pub const NOSAVE: ShutdownFlags = ShutdownFlags(1);
    /// Do not wait for anybody.
    pub const NOW: ShutdownFlags = ShutdownFlags(2);
    /// Leave even if something that should happen before fails.
    pub const FORCE: ShutdownFlags = ShutdownFlags(4);
    /// Leave only when nothing is lost by it.
    pub const SAFE: ShutdownFlags = ShutdownFlags(8);

    /// Whether all options of `other` are set.
    pub fn contains(self, other: ShutdownFlags) -> bool {
        self.0 & other.0 == other.0
    }
}
