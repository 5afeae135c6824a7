//! valkey-benchmark, to compare the generator with: the same keys, the same number of connections
//! and requests, one thread on one core.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::generator::{Load, Stop};
use crate::process;

/// Makes a load of GETs by the program that has this command line, on the core of the clients.
/// Returns operations per second; median and 99th percentile of the time from the sending of a
/// batch to its first reply, and CPU time per operation, start included, in microseconds.
pub fn run(command: &[String], port: u16, gets: &Load) -> Result<[f64; 4]> {
    let Load { connections, pipeline, key_count, stop: Stop::Operations(operations), .. } = gets
    else {
        anyhow::bail!("valkey-benchmark counts its operations");
    };
    // The program replaces the word in underscores by twelve digits.
    let arguments = format!(
        "-p {port} -c {connections} -P {pipeline} -n {operations} -r {key_count} \
         --csv GET k000__rand_int__"
    );
    let before = process::ended_children_time()?;
    let output = process::bound_command(&process::core(1).to_string())
        .args(command)
        .args(arguments.split(' '))
        .output()
        .context("setpriv (package util-linux) cannot be started")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valkey-benchmark: {}", said.trim_end());
    let used = process::ended_children_time()?.saturating_sub(before);
    let said = parse(&String::from_utf8_lossy(&output.stdout))?;
    let cpu_us = used.as_secs_f64() * 1e6 / *operations as f64;
    Ok([said.rps, said.p50_latency_ms * 1e3, said.p99_latency_ms * 1e3, cpu_us])
}

/// What is read of the table of `--csv`.
#[derive(Debug, Deserialize, PartialEq)]
struct Said {
    rps: f64,
    p50_latency_ms: f64,
    p99_latency_ms: f64,
}

fn parse(text: &str) -> Result<Said> {
    let table = &text[text.find("\"test\"").unwrap_or(text.len())..];
    let said = csv::Reader::from_reader(table.as_bytes()).into_deserialize().next();
    Ok(said.context("valkey-benchmark printed no result")??)
}

#[cfg(test)]
mod tests {
    use super::{Said, parse};

    #[test]
    fn its_table_is_read_by_the_names_of_the_columns() {
        let text = "WARNING: no\n\"test\",\"rps\",\"avg\",\"p50_latency_ms\",\"p99_latency_ms\"\n\
                    \"GET k000__rand_int__\",\"1000.50\",\"0.3\",\"0.250\",\"1.500\"\n";
        let said = Said { rps: 1000.5, p50_latency_ms: 0.25, p99_latency_ms: 1.5 };
        assert_eq!(parse(text).unwrap(), said);
        for refused in ["", &text[..40], "\"test\",\"rps\"\n\"GET\",\"1\"\n"] {
            assert!(parse(refused).is_err(), "{refused}");
        }
    }
}
