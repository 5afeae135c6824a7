//! Threads, cores and options of one start, and the command line for each kind of server.

use std::time::Duration;

use tempfile::TempDir;

use crate::protocol::Protocol;

/// Kind of command line of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Options of Valkey, and `--threads`.
    Varve,
    /// Valkey or Redis.
    Peer,
    /// Memcached.
    Memcached,
    /// `--port` and `--threads` only.
    Null,
}

/// Settings of a server for one measurement.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Worker threads, for servers that have the option.
    threads: usize,
    pub(super) cores: usize,
    /// Index of the one core that it has instead.
    pub(super) core: Option<usize>,
    /// Further options, as name and value, for servers that have them.
    options: Vec<(String, String)>,
    /// Kind of the key of its certificate, if it is to speak TLS.
    pub(super) tls: Option<String>,
    /// True if it opens a port for Memcached's clients, which then get the loads.
    pub(super) has_memcached: bool,
    /// True if it keeps users in a file of its own, empty at first.
    pub(super) has_users_file: bool,
    /// Longest time until the server answers; loading counts.
    pub ready_within: Duration,
}

impl Kind {
    /// Returns the kind by the name of the program's file; folders and arguments do not count.
    pub(super) fn of(file: &str) -> Self {
        match file {
            name if name.contains("varve-null") => Self::Null,
            name if name.contains("memcached") => Self::Memcached,
            name if name.contains("valkey-server") || name.contains("redis-server") => Self::Peer,
            _ => Self::Varve,
        }
    }

    /// Returns the protocol that such servers speak.
    pub fn protocol(self) -> Protocol {
        if self == Self::Memcached { Protocol::Memcached } else { Protocol::Resp }
    }
}

impl Launch {
    /// Binds the server to the first `cores` cores, at least one and at most all.
    pub fn on(cores: usize, threads: usize) -> Self {
        Self {
            threads,
            cores,
            core: None,
            options: Vec::new(),
            tls: None,
            has_memcached: false,
            has_users_file: false,
            ready_within: READY_MAX,
        }
    }

    /// Adds an option; `tls` has a certificate made with a key of that kind, `memcached` opens a
    /// port of its own for Memcached's protocol, `users-file` gives it an empty file of users.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        if name == "tls" {
            self.tls = Some(value.to_string());
            return self;
        }
        if name == "memcached" {
            self.has_memcached = true;
            return self;
        }
        if name == "users-file" {
            self.has_users_file = true;
            return self;
        }
        self.options.push((name.to_owned(), value.to_string()));
        self
    }

    /// Binds the server to the core of this index instead.
    #[must_use]
    pub fn on_core(self, core: Option<usize>) -> Self {
        Self { core, ..self }
    }

    /// Has the server keep its files in a folder.
    #[must_use]
    pub fn in_folder(self, folder: &TempDir) -> Self {
        self.with("dir", folder.path().display()).with("dbfilename", "dump.rdb")
    }

    /// Returns the arguments behind the program's own words.
    pub(super) fn arguments(&self, kind: Kind, port: u16) -> Vec<String> {
        let threads = self.threads;
        // Behind a space at the end is an empty word.
        let fixed = match kind {
            Kind::Varve => format!("--port {port} --threads {threads} {NO_FILES} --save "),
            Kind::Peer => format!("--port {port} --bind 127.0.0.1 {NO_FILES} --save "),
            Kind::Memcached => {
                let option = |name| self.options.iter().find(|(it, _)| it == name);
                let megabytes =
                    option("maxmemory").map_or(MEGABYTES_MAX, |(_, bytes)| megabytes(bytes));
                let clients = option("maxclients").map_or("4096", |(_, count)| count);
                // A process that changes its user would outlive a bench that is killed.
                format!(
                    "-l 127.0.0.1 -U 0 -u root -c {clients} -p {port} -t {threads} -m {megabytes}"
                )
            }
            Kind::Null => format!("--port {port} --threads {threads}"),
        };
        let has_options = matches!(kind, Kind::Varve | Kind::Peer);
        let options = self.options.iter().filter(|_| has_options);
        let options = options.flat_map(|(name, value)| [format!("--{name}"), value.clone()]);
        fixed.split(' ').map(str::to_owned).chain(options).collect()
    }
}

/// Memcached takes only megabytes, the other servers also bytes.
fn megabytes(bytes: &str) -> u64 {
    let megabytes = bytes.strip_suffix("mb").and_then(|count| count.parse().ok());
    megabytes.or(bytes.parse().ok().map(|bytes: u64| bytes >> 20)).unwrap_or(MEGABYTES_MAX)
}

/// Options of servers that keep nothing, and find nothing that another one has left.
const NO_FILES: &str = "--appendonly no --dir /tmp --dbfilename none";
/// Time in which a server without data answers.
const READY_MAX: Duration = Duration::from_secs(30);
/// Limit of Memcached where `maxmemory` is not set, far above its own default of 64 MiB.
const MEGABYTES_MAX: u64 = 65_536;

#[cfg(test)]
mod tests {
    use super::{Kind, Launch, NO_FILES};

    #[test]
    fn each_kind_has_its_own_words_for_the_same_settings() {
        let launch = |size: &str| Launch::on(1, 2).with("maxmemory", size);
        let varve = format!("--port 7 --threads 2 {NO_FILES} --save  --maxmemory 64mb");
        let peer = format!("--port 7 --bind 127.0.0.1 {NO_FILES} --save  --maxmemory 64mb");
        let memcached = "-l 127.0.0.1 -U 0 -u root -c 4096 -p 7 -t 2 -m 64";
        for (kind, size, expected) in [
            (Kind::Varve, "64mb", &*varve),
            (Kind::Peer, "64mb", &*peer),
            (Kind::Memcached, "64mb", memcached),
            (Kind::Memcached, "67108864", memcached),
            (Kind::Null, "64mb", "--port 7 --threads 2"),
        ] {
            assert_eq!(launch(size).arguments(kind, 7).join(" "), expected);
        }
    }
}
