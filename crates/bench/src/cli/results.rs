//! Results of one load: as text, as JSON with everything, and the samples as CSV.

use std::time::Duration;

use anyhow::{Error, Result};
use askama::Template;
use hdrhistogram::Histogram;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::generator::{Lag, quantile_us};
use crate::measure::Measured;
use crate::sampler::Sample;
use crate::ycsb::ByKind;

/// Version of the JSON; higher when fields change their meaning or are removed.
pub const VERSION: u32 = 3;

/// Returns the result in words.
pub fn status(measured: &Measured) -> &'static str {
    if measured.outcome.lag.is_some_and(|lag| !lag.is_kept()) {
        return "behind schedule";
    }
    if complaint(measured).is_some() { "partial" } else { "complete" }
}

/// Returns the faults in words, if there are any.
pub fn complaint(measured: &Measured) -> Option<String> {
    let outcome = &measured.outcome;
    let failure = measured.failure.as_ref();
    let failure = failure.map(|it| format!("{it:#} (after {} operations)", outcome.operations));
    let late = outcome.lag.as_ref().and_then(Lag::complaint);
    let complaints: Vec<_> = [failure, late, outcome.refusal()].into_iter().flatten().collect();
    (!complaints.is_empty()).then(|| complaints.join("; "))
}

/// Turns the faults into an error.
pub fn verdict(measured: &Measured) -> Result<()> {
    complaint(measured).map_or(Ok(()), |complaint| Err(Error::msg(complaint)))
}

#[derive(Template)]
#[template(path = "load.txt")]
struct Text<'a> {
    what: &'a str,
    measured: &'a Measured,
    kinds: &'a ByKind,
}

/// Formats a result in a few lines, one more for each kind of operation.
pub fn text(what: &str, measured: &Measured, kinds: &ByKind) -> String {
    Text { what, measured, kinds }.to_string()
}

fn quantiles(times: &Histogram<u64>) -> String {
    QUANTILES.map(|(name, at)| format!("{name} {:.1}", quantile_us(times, at))).join(", ")
}

/// Returns all results with the settings of the measurement.
pub fn as_json(settings: &Value, measured: &Measured, kinds: &ByKind) -> Value {
    let (outcome, replies) = (&measured.outcome, &measured.outcome.replies);
    let kinds = kinds.iter().map(|(kind, outcome)| {
        let latency = percentiles(&outcome.latencies);
        let (done, all) = (outcome.latencies.len(), outcome.operations);
        let value = json!({ "done": done, "failed": all - done, "latency_us": latency });
        (kind.name(), value)
    });
    json!({
        "version": VERSION,
        "complete": complaint(measured).is_none(),
        "status": status(measured),
        "error": complaint(measured),
        "settings": settings,
        "totals": {
            "operations": outcome.operations,
            "seconds": outcome.elapsed.as_secs_f64(),
            "operations_per_second": outcome.per_second(),
            "values": replies.bulk,
            "misses": replies.nil,
            "statuses": replies.status,
            "integers": replies.integer,
            "errors": replies.error,
            "server_us_per_operation": measured.server_cpu.map(|_| measured.server_us()),
            "server_cpu_share": measured.server_share(),
            "client_us_per_operation": outcome.client_us(),
        },
        "latency_us": percentiles(&outcome.latencies),
        "first_reply_us": percentiles(&outcome.first_replies),
        "kinds": Map::from_iter(kinds),
        "schedule": outcome.lag.map(|lag| json!({
            "seconds": lag.schedule.as_secs_f64(),
            "late_seconds_most": lag.most.as_secs_f64(),
            "late_seconds_at_end": lag.at_end.as_secs_f64(),
            "unsent_at_end": lag.unsent,
        })),
        "samples": rows(&measured.samples),
    })
}

fn percentiles(times: &Histogram<u64>) -> Map<String, Value> {
    Map::from_iter(QUANTILES.map(|(name, at)| (name.to_owned(), json!(quantile_us(times, at)))))
}

/// Formats the samples, one line each, below a line of column names.
pub fn csv(samples: &[Sample]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows(samples).iter().try_for_each(|row| writer.serialize(row))?;
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// A sample, with the changes since the one before.
#[derive(Serialize)]
struct Row {
    seconds: f64,
    operations: u64,
    operations_per_second: f64,
    resident_bytes: Option<u64>,
    server_cpu_seconds: Option<f64>,
    server_cpu_share: Option<f64>,
}

fn rows(samples: &[Sample]) -> Vec<Row> {
    let start = Sample { at: Duration::ZERO, resident_bytes: None, cpu: None, operations: 0 };
    let before = [&start].into_iter().chain(samples);
    let row = |(sample, before): (&Sample, &Sample)| {
        let seconds = sample.at.saturating_sub(before.at).as_secs_f64().max(1e-9);
        let operations = sample.operations - before.operations;
        let used = sample.cpu.zip(before.cpu);
        let used = used.map(|(now, before)| now.saturating_sub(before).as_secs_f64());
        Row {
            seconds: sample.at.as_secs_f64(),
            operations: sample.operations,
            operations_per_second: operations as f64 / seconds,
            resident_bytes: sample.resident_bytes,
            server_cpu_seconds: sample.cpu.map(|cpu| cpu.as_secs_f64()),
            server_cpu_share: used.map(|used| used / seconds),
        }
    };
    samples.iter().zip(before).map(row).collect()
}

const QUANTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("max", 1.0)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_tell_what_happened_since_the_one_before() {
        let sample = |millis, cpu, operations| Sample {
            at: Duration::from_millis(millis),
            resident_bytes: Some(4096),
            cpu: Some(Duration::from_millis(cpu)),
            operations,
        };
        let gone = Sample { resident_bytes: None, cpu: None, ..sample(300, 0, 150) };
        let lines = csv(&[sample(0, 0, 0), sample(100, 50, 100), gone]).unwrap();
        let names = "seconds,operations,operations_per_second,resident_bytes,server_cpu_seconds,\
            server_cpu_share";
        let wanted = "0.0,0,0.0,4096,0.0,\n0.1,100,1000.0,4096,0.05,0.5\n0.3,150,250.0,,,\n";
        assert_eq!(lines, format!("{names}\n{wanted}"));
    }
}
