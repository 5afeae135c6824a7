//! Threads, cores and options of one start, and the command line for each kind of server.

use std::time::Duration;

/// Kind of command line of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Options of Valkey, and `--threads`.
    Varve,
    /// Valkey or Redis.
    Peer,
    /// Memcached.
    Memcached,
    /// `--port` only.
    Null,
}

/// Settings of a server for one measurement.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Worker threads, for servers that have the option.
    pub threads: usize,
    /// Number of cores that it may use: the first ones of this process, at least one and at most
    /// all.
    pub cores: usize,
    /// Further options, as name and value; ignored by the null server.
    pub options: Vec<(String, String)>,
    /// Longest time until it answers; loading counts.
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
}

impl Default for Launch {
    fn default() -> Self {
        Self { threads: 1, cores: 1, options: Vec::new(), ready_within: READY_MAX }
    }
}

impl Launch {
    /// Adds an option.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.options.push((name.to_owned(), value.to_string()));
        self
    }

    /// Sets the number of worker threads.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Binds the server to the first `cores` cores, at least one and at most all.
    #[must_use]
    pub fn on_cores(mut self, cores: usize) -> Self {
        self.cores = cores;
        self
    }

    /// Sets the longest time until the server answers.
    #[must_use]
    pub fn ready_within(mut self, time: Duration) -> Self {
        self.ready_within = time;
        self
    }

    /// Returns the arguments behind the program's own words.
    pub(super) fn arguments(&self, kind: Kind, port: u16) -> Vec<String> {
        if kind == Kind::Memcached {
            return memcached_arguments(port, self);
        }
        let mut arguments = vec!["--port".to_owned(), port.to_string()];
        if kind != Kind::Peer {
            arguments.extend(["--threads".to_owned(), self.threads.to_string()]);
        }
        let fixed: &[&str] = match kind {
            Kind::Null => return arguments,
            Kind::Peer => {
                &["--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--dir", "/tmp"]
            }
            Kind::Varve => &["--save", ""],
            Kind::Memcached => &[],
        };
        arguments.extend(fixed.iter().map(|part| (*part).to_owned()));
        for (name, value) in &self.options {
            arguments.extend([format!("--{name}"), value.clone()]);
        }
        arguments
    }
}

/// Returns Memcached's arguments. Without `maxmemory` its limit is set far above its own default of
/// 64 MiB.
fn memcached_arguments(port: u16, launch: &Launch) -> Vec<String> {
    let maxmemory = launch.options.iter().find(|(name, _)| name == "maxmemory");
    let megabytes = maxmemory.map_or(MEGABYTES_MAX.to_owned(), |(_, value)| megabytes(value));
    let (port, threads) = (port.to_string(), launch.threads.to_string());
    // A process that changes its user would outlive a bench that is killed.
    let fixed = ["-l", "127.0.0.1", "-U", "0", "-u", "root", "-c", "4096"];
    let given = ["-p", &port, "-t", &threads, "-m", &megabytes];
    fixed.iter().chain(&given).map(|part| (*part).to_owned()).collect()
}

/// Converts a size to megabytes: Memcached takes only these, the other servers also bytes.
fn megabytes(value: &str) -> String {
    match value.parse::<u64>() {
        Ok(bytes) => (bytes >> 20).to_string(),
        Err(_) => value.trim_end_matches("mb").to_owned(),
    }
}

/// Time in which a server without data answers.
const READY_MAX: Duration = Duration::from_secs(30);
/// Limit of Memcached where `maxmemory` is not set.
const MEGABYTES_MAX: &str = "65536";

#[cfg(test)]
mod tests {
    use super::{Kind, Launch, megabytes};

    #[test]
    fn peers_are_not_told_the_threads() {
        let launch = Launch::default().with_threads(2).with("maxmemory", "64mb");
        let arguments = |text: &str| launch.arguments(Kind::of(text), 7).join(" ");
        let varve = arguments("varve-server");
        assert_eq!(varve, "--port 7 --threads 2 --save  --maxmemory 64mb");
        assert!(!arguments("valkey-server").contains("threads"));
        assert_eq!(arguments("varve-null"), "--port 7 --threads 2");
        assert!(arguments("memcached").ends_with("-p 7 -t 2 -m 64"));
        assert_eq!(megabytes("67108864"), "64");
    }
}
