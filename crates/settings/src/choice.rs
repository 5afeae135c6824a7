//! Settings that choose among names, as Rust types.

macro_rules! choices {
    ($(
        $(#[$doc:meta])*
        $kind:ident { $($(#[$note:meta])* $variant:ident = $name:literal,)+ }
    )+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $kind { $($(#[$note])* $variant,)+ }

        impl $kind {
            /// Names in files and commands, in the order in which errors list them.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            const ALL: &'static [$kind] = &[$($kind::$variant),+];

            /// Returns the name in files and commands.
            pub fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }

            /// Returns the variant at a position of [`Self::NAMES`].
            pub(crate) fn at(position: u64) -> Self {
                let last = Self::ALL.len() - 1;
                Self::ALL[usize::try_from(position).unwrap_or(last).min(last)]
            }
        }
    )+};
}

choices! {
    /// Whether clients must show a certificate.
    AuthClients {
        /// They are not asked.
        No = "no",
        /// They must.
        Yes = "yes",
        /// They may.
        Optional = "optional",
    }

    /// Field of a certificate that names a user.
    CertificateUser {
        /// The common name.
        CommonName = "CN",
        /// A URI among the alternative names.
        Uri = "URI",
        /// None.
        Off = "off",
    }

    /// Keys to evict when `maxmemory` is reached.
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

    /// Least important messages that are logged.
    LogLevel {
        /// Everything, for developers.
        Debug = "debug",
        /// Rarely useful detail.
        Verbose = "verbose",
        /// Messages that an operator wants to see.
        Notice = "notice",
        /// Only messages that need attention.
        Warning = "warning",
        /// No messages.
        Nothing = "nothing",
    }

    /// Form of the lines of the log.
    LogFormat {
        /// Valkey's, which its users' tools read.
        Legacy = "legacy",
        /// Pairs of names and values.
        Logfmt = "logfmt",
        /// An object for each line.
        Json = "json",
        /// Time, level and text, with the time in UTC.
        Plain = "plain",
    }

    /// Form of the time in the log.
    LogTimestampFormat {
        /// `27 Nov 2026 04:00:00.000`.
        Legacy = "legacy",
        /// `2026-11-27T04:00:00.000+01:00`.
        Iso8601 = "iso8601",
        /// Milliseconds since 1970.
        Milliseconds = "milliseconds",
    }

    /// Service manager that is told when the server is ready.
    Supervised {
        /// Upstart, which waits until the process stops itself.
        Upstart = "upstart",
        /// Systemd, by its socket for notices.
        Systemd = "systemd",
        /// The one that has started the server, if any.
        Auto = "auto",
        /// None.
        No = "no",
    }

    /// When the append-only file is made safe.
    AppendFsync {
        /// Once a second.
        EverySecond = "everysec",
        /// Before the reply to a change leaves.
        Always = "always",
        /// When the system does it.
        No = "no",
    }

    /// Clients that get BUSY while a script is slow.
    BusyScope {
        /// All whose command is not one of the few for that.
        All = "all",
        /// None: those wait that want keys which the script has.
        Keys = "keys",
    }

    /// How a replica loads the snapshot of its primary.
    DisklessLoad {
        /// From a file, which has it first.
        Disabled = "disabled",
        /// As it comes, where there are no keys.
        OnEmptyDatabase = "on-empty-db",
        /// As it comes, beside the old data.
        SwapDatabases = "swapdb",
        /// As it comes, when the old data is gone.
        FlushBeforeLoad = "flush-before-load",
    }

    /// Commands of append-only files that cannot be executed.
    PropagationErrorBehavior {
        /// They are left out, logged and counted.
        Ignore = "ignore",
        /// They stop the start.
        Panic = "panic",
        /// They are left out; only those in the stream of a primary would stop the server.
        PanicOnReplicas = "panic-on-replicas",
    }

    /// RDB files and payloads of unknown versions.
    VersionCheck {
        /// They are refused.
        Strict = "strict",
        /// They are read as far as their types are known.
        Relaxed = "relaxed",
    }

    /// Servers that are to read deadlines of fields.
    RdbReader {
        /// Valkey from version 9 on.
        Valkey = "valkey",
        /// Redis from version 7.4 on.
        Redis = "redis",
    }

    /// Clients that may use a feature that is risky to leave open.
    DebugAccess {
        /// No client.
        No = "no",
        /// Every client.
        Yes = "yes",
        /// Clients on the same machine.
        Local = "local",
    }

    /// Channels that new users may use.
    PubSubDefault {
        /// All.
        AllChannels = "allchannels",
        /// None.
        ResetChannels = "resetchannels",
    }

    /// How the server sets its score at the out-of-memory killer of Linux.
    OomScore {
        /// The score stays as it is.
        No = "no",
        /// As `relative`.
        Yes = "yes",
        /// A number is added to the score that the process had before.
        Relative = "relative",
        /// The score is a number.
        Absolute = "absolute",
    }

    /// Choice of the segment that the cleaner empties first.
    ReclaimPolicy {
        /// Free share over live share, times the time for which the segment has been quiet.
        Original = "original",
        /// The segment with the least live data.
        Greedy = "greedy",
        /// Like `original`, but with the square root of the quiet time.
        Modified = "modified",
    }
}

/// Options of SHUTDOWN with which a signal stops the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShutdownFlags(pub(crate) u32);

impl ShutdownFlags {
    /// Names in files and commands; the first stands for none of the others.
    pub const NAMES: &'static [&'static str] =
        &["default", "save", "nosave", "now", "force", "safe"];

    /// Make a snapshot before, even if no save point asks for it.
    pub const SAVE: ShutdownFlags = ShutdownFlags(1);
    /// Stop without a snapshot.
    pub const NOSAVE: ShutdownFlags = ShutdownFlags(2);
    /// Stop without waiting for replicas.
    pub const NOW: ShutdownFlags = ShutdownFlags(4);
    /// Stop even if a step that should come before fails.
    pub const FORCE: ShutdownFlags = ShutdownFlags(8);
    /// Stop only when no data is lost by it.
    pub const SAFE: ShutdownFlags = ShutdownFlags(16);

    /// Returns true if all options of `other` are set.
    pub fn contains(self, other: ShutdownFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Checks that options that were chosen together fit together.
pub(crate) fn check(names: &[&str], bits: u32) -> Result<(), String> {
    let both = ShutdownFlags::SAVE.0 | ShutdownFlags::NOSAVE.0;
    if names == ShutdownFlags::NAMES && bits & both == both {
        return Err("shutdown options SAVE and NOSAVE can't be used simultaneously".to_owned());
    }
    Ok(())
}
