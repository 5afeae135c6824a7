//! valkey-benchmark, to compare the generator with: the same keys, the same number of connections
//! and requests, one thread on one core.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::process;

/// The program, given by its command line.
#[derive(Clone, Debug)]
pub struct ValkeyBenchmark {
    command: Vec<OsString>,
}

/// Load of GETs of random keys.
#[derive(Clone, Copy, Debug)]
pub struct Gets {
    /// TCP port on 127.0.0.1.
    pub port: u16,
    /// Connections.
    pub connections: usize,
    /// Requests that a connection sends at once.
    pub pipeline: usize,
    /// Requests of all connections together.
    pub operations: u64,
    /// Number of keys.
    pub keys: u64,
}

/// Results of a run as the program reports them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Said {
    /// Requests answered per second.
    pub operations_per_second: f64,
    /// Median time from the sending of a batch to its first reply, in microseconds.
    pub p50_us: f64,
    /// 99th percentile of that time, in microseconds.
    pub p99_us: f64,
}

impl ValkeyBenchmark {
    /// Creates the program from the words of its command line.
    #[must_use]
    pub fn new(command: Vec<OsString>) -> Self {
        Self { command }
    }

    /// Runs the program on one core, named as in [`process::core`]. Returns its results, and its
    /// CPU time, start included.
    ///
    /// # Errors
    /// If it cannot be started, fails, or prints something unexpected.
    pub fn run(&self, gets: Gets, core: usize) -> Result<(Said, Duration)> {
        let before = process::ended_children_time()?;
        let output = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "taskset", "-c", &process::core(core).to_string()])
            .args(&self.command)
            .args(gets.arguments())
            .stdin(Stdio::null())
            .output()
            .context("setpriv (package util-linux) cannot be started")?;
        if !output.status.success() {
            bail!("valkey-benchmark: {}", String::from_utf8_lossy(&output.stderr).trim_end());
        }
        let used = process::ended_children_time()?.saturating_sub(before);
        Ok((Said::parse(&String::from_utf8_lossy(&output.stdout))?, used))
    }
}

impl Gets {
    fn arguments(&self) -> Vec<String> {
        let pairs = [
            ("-p", u64::from(self.port)),
            ("-c", self.connections as u64),
            ("-P", self.pipeline as u64),
            ("-n", self.operations),
            ("-r", self.keys),
        ];
        let options =
            pairs.iter().flat_map(|(name, value)| [(*name).to_owned(), value.to_string()]);
        // The program replaces the word in underscores by twelve digits.
        let request = ["--csv", "GET", "k000__rand_int__"].map(str::to_owned);
        options.chain(request).collect()
    }
}

impl Said {
    /// Reads the table of `--csv`: a line of names, then one of numbers.
    fn parse(text: &str) -> Result<Self> {
        let cells = |line: &str| -> Vec<String> {
            line.split(',').map(|cell| cell.trim_matches('"').to_owned()).collect()
        };
        let mut lines = text.lines().skip_while(|line| !line.starts_with("\"test\""));
        let names = cells(lines.next().context("valkey-benchmark printed no table")?);
        let numbers = cells(lines.next().context("valkey-benchmark printed no result")?);
        ensure!(names.len() == numbers.len(), "valkey-benchmark printed a broken table");
        let of = |name: &str| -> Result<f64> {
            let at = names.iter().position(|it| it == name);
            let number = &numbers[at.with_context(|| format!("valkey-benchmark has no {name}"))?];
            number.parse().with_context(|| format!("{name} is {number:?}"))
        };
        Ok(Self {
            operations_per_second: of("rps")?,
            p50_us: of("p50_latency_ms")? * 1e3,
            p99_us: of("p99_latency_ms")? * 1e3,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Said;

    #[test]
    fn its_table_is_read_by_the_names_of_the_columns() {
        let text = "\"test\",\"rps\",\"p50_latency_ms\",\"p99_latency_ms\"\n\
                    \"GET k000__rand_int__\",\"1000.50\",\"0.250\",\"1.500\"\n";
        let said = Said { operations_per_second: 1000.5, p50_us: 250.0, p99_us: 1500.0 };
        assert_eq!(Said::parse(text).unwrap(), said);
        assert!(Said::parse("").is_err());
        assert!(Said::parse("\"test\",\"rps\"\n\"GET\",\"1\"\n").is_err());
    }
}
