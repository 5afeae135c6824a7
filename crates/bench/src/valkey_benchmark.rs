//! valkey-benchmark, to compare the generator with: the same keys, the same number of connections
//! and requests, one thread on one core.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

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
    pub fn new(command: Vec<OsString>) -> Self {
        Self { command }
    }

    /// Runs the program on one core, named as in [`process::core`]. Returns its results, and its
    /// CPU time, start included.
    pub fn run(&self, gets: Gets, core: usize) -> Result<(Said, Duration)> {
        let Gets { port, connections, pipeline, operations, keys } = gets;
        // The program replaces the word in underscores by twelve digits.
        let arguments = format!(
            "-p {port} -c {connections} -P {pipeline} -n {operations} -r {keys} \
             --csv GET k000__rand_int__"
        );
        let before = process::ended_children_time()?;
        let output = process::bound_command(&process::core(core).to_string())
            .args(&self.command)
            .args(arguments.split(' '))
            .output()
            .context("setpriv (package util-linux) cannot be started")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "valkey-benchmark: {}", said.trim_end());
        let used = process::ended_children_time()?.saturating_sub(before);
        Ok((Said::parse(&String::from_utf8_lossy(&output.stdout))?, used))
    }
}

impl Said {
    /// Reads the table of `--csv`: a line of names, then one of numbers.
    fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines().skip_while(|line| !line.starts_with("\"test\""));
        let (names, numbers) =
            lines.next().zip(lines.next()).context("valkey-benchmark printed no result")?;
        let of = |name: &str| -> Result<f64> {
            let mut cells = names.split(',').zip(numbers.split(','));
            let number = cells.find(|(it, _)| it.trim_matches('"') == name).map(|(_, it)| it);
            let number = number.with_context(|| format!("valkey-benchmark has no {name}"))?;
            number.trim_matches('"').parse().with_context(|| format!("{name} is {number:?}"))
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
        for refused in ["", &text[..30], "\"test\",\"rps\"\n\"GET\",\"1\"\n"] {
            assert!(Said::parse(refused).is_err(), "{refused}");
        }
    }
}
