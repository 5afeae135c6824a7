//! The results of `run`: as text, as JSON with everything, and the samples as CSV.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Result, bail};
use hdrhistogram::Histogram;
use serde_json::{Value, json};

use crate::generator::Lag;
use crate::sampler::Sample;
use crate::trial::Tried;

/// Version of the JSON; higher when fields change their meaning or are removed.
pub const VERSION: u32 = 1;

/// Returns the outcome of a trial in words.
pub fn status(tried: &Tried) -> &'static str {
    let is_behind = tried.lag.is_some_and(|lag| !lag.is_held());
    if is_behind {
        "behind schedule"
    } else if complaint(tried).is_some() {
        "partial"
    } else {
        "complete"
    }
}

/// Returns the faults of a trial in words, if it has any.
pub fn complaint(tried: &Tried) -> Option<String> {
    let mut complaints = Vec::new();
    let operations = tried.outcome.operations;
    if let Some(failure) = &tried.failure {
        complaints.push(format!("{failure:#} (after {operations} operations)"));
    }
    complaints.extend(tried.lag.as_ref().and_then(Lag::complaint));
    if tried.outcome.replies.error > 0 {
        let errors = tried.outcome.replies.error;
        let first = tried.outcome.first_error.as_deref().unwrap_or_default();
        complaints.push(format!("the server answered with {errors} errors, the first: {first}"));
    }
    (!complaints.is_empty()).then(|| complaints.join("; "))
}

/// Turns the faults of a trial into an error.
///
/// # Errors
/// If the trial has a fault.
pub fn verdict(tried: &Tried) -> Result<()> {
    match complaint(tried) {
        Some(complaint) => bail!("{complaint}"),
        None => Ok(()),
    }
}

/// Formats a trial in a few lines.
pub fn text(what: &str, tried: &Tried) -> String {
    let outcome = &tried.outcome;
    let mut text = format!(
        "{what}: {} operations, {:.0} op/s",
        outcome.operations,
        rate(outcome.operations, outcome.elapsed),
    );
    let server = tried.server_us_per_operation().zip(tried.server_share());
    if let Some((us, share)) = server {
        let _ = write!(text, ", server CPU {us:.3} us/op ({:.0} %)", 100.0 * share);
    }
    let _ = writeln!(
        text,
        ", client {:.3} us/op, {} misses, {}",
        outcome.generator_us_per_operation(),
        outcome.replies.nil,
        status(tried),
    );
    for (name, times) in latencies(tried) {
        let us = QUANTILES.map(|(name, quantile)| format!("{name} {:.1}", us(times, quantile)));
        let _ = writeln!(text, "{what}: {name} in us: {}", us.join(", "));
    }
    if let Some(lag) = tried.lag {
        let _ = writeln!(
            text,
            "{what}: sent at most {:.3} ms late, {} operations unsent at the end of the schedule",
            lag.most.as_secs_f64() * 1e3,
            lag.unsent,
        );
    }
    text
}

/// Returns all results with the settings of the measurement.
pub fn as_json(settings: &Value, tried: &Tried) -> Value {
    let outcome = &tried.outcome;
    let replies = &outcome.replies;
    let [latency, first_reply] = latencies(tried).map(|(_, times)| {
        let pairs = QUANTILES.map(|(name, quantile)| (name.to_owned(), json!(us(times, quantile))));
        serde_json::Map::from_iter(pairs)
    });
    json!({
        "version": VERSION,
        "complete": complaint(tried).is_none(),
        "status": status(tried),
        "error": complaint(tried),
        "settings": settings,
        "totals": {
            "operations": outcome.operations,
            "seconds": outcome.elapsed.as_secs_f64(),
            "operations_per_second": rate(outcome.operations, outcome.elapsed),
            "values": replies.bulk,
            "misses": replies.nil,
            "statuses": replies.status,
            "integers": replies.integer,
            "errors": replies.error,
            "server_us_per_operation": tried.server_us_per_operation(),
            "server_cpu_share": tried.server_share(),
            "client_us_per_operation": outcome.generator_us_per_operation(),
        },
        "latency_us": latency,
        "first_reply_us": first_reply,
        "schedule": tried.lag.map(|lag| lag.as_json()),
        "samples": samples_json(&tried.samples),
    })
}

/// Returns the samples as objects.
pub fn samples_json(samples: &[Sample]) -> Value {
    rows(samples).iter().map(Row::json).collect()
}

/// Formats the samples, one line each, below a line of column names.
pub fn csv(samples: &[Sample]) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for row in rows(samples) {
        let cells = row.cells().map(|cell| cell.map_or(String::new(), |cell| cell.to_string()));
        text += &(cells.join(",") + "\n");
    }
    text
}

/// A sample, with the changes since the previous one.
struct Row {
    sample: Sample,
    per_second: f64,
    cpu_share: Option<f64>,
}

impl Row {
    fn cells(&self) -> [Option<Value>; 6] {
        let sample = &self.sample;
        [
            Some(json!(sample.at.as_secs_f64())),
            Some(json!(sample.operations)),
            Some(json!(self.per_second)),
            sample.resident_bytes.map(|bytes| json!(bytes)),
            sample.cpu.map(|cpu| json!(cpu.as_secs_f64())),
            self.cpu_share.map(|share| json!(share)),
        ]
    }

    fn json(&self) -> Value {
        let cells = self.cells().map(|cell| cell.unwrap_or(Value::Null));
        COLUMNS.iter().map(|name| (*name).to_owned()).zip(cells).collect()
    }
}

fn rows(samples: &[Sample]) -> Vec<Row> {
    let before = std::iter::once(None).chain(samples.iter().map(Some));
    let row = |(sample, before): (&Sample, Option<&Sample>)| {
        let time = sample.at.saturating_sub(before.map_or(Duration::ZERO, |before| before.at));
        let operations = sample.operations - before.map_or(0, |before| before.operations);
        let cpu = sample.cpu.zip(before.and_then(|before| before.cpu));
        let cpu_share = cpu.map(|(now, before)| {
            let used = now.saturating_sub(before).as_secs_f64();
            used / time.as_secs_f64().max(f64::MIN_POSITIVE)
        });
        Row { sample: *sample, per_second: rate(operations, time), cpu_share }
    };
    samples.iter().zip(before).map(row).collect()
}

fn rate(operations: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { operations as f64 / time.as_secs_f64() }
}

/// Returns the times up to the last reply of a batch, and up to the first.
fn latencies(tried: &Tried) -> [(&'static str, &Histogram<u64>); 2] {
    let outcome = &tried.outcome;
    [("latency", &outcome.round_trips), ("first reply of a batch", &outcome.first_replies)]
}

fn us(times: &Histogram<u64>, quantile: f64) -> f64 {
    // The value of a histogram is the upper end of a small range.
    times.value_at_quantile(quantile).min(times.max()) as f64 / 1000.0
}

const QUANTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("max", 1.0)];
const COLUMNS: [&str; 6] = [
    "seconds",
    "operations",
    "operations_per_second",
    "resident_bytes",
    "server_cpu_seconds",
    "server_cpu_share",
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anyhow::anyhow;
    use serde_json::json;

    use super::{Lag, Sample, Tried, as_json, complaint, csv, status, text};

    fn sample(millis: u64, cpu: u64, operations: u64) -> Sample {
        Sample {
            at: Duration::from_millis(millis),
            resident_bytes: Some(4096),
            cpu: Some(Duration::from_millis(cpu)),
            operations,
        }
    }

    fn tried() -> Tried {
        let mut tried = Tried::failed(anyhow!("gone")).unwrap();
        tried.failure = None;
        tried
    }

    #[test]
    fn samples_tell_what_happened_since_the_one_before() {
        let gone = Sample { resident_bytes: None, cpu: None, ..sample(300, 0, 150) };
        let lines = csv(&[sample(0, 0, 0), sample(100, 50, 100), gone]);
        assert_eq!(
            lines,
            "seconds,operations,operations_per_second,resident_bytes,server_cpu_seconds,\
             server_cpu_share\n0.0,0,0.0,4096,0.0,\n0.1,100,1000.0,4096,0.05,0.5\n\
             0.3,150,250.0,,,\n"
        );
    }

    #[test]
    fn a_trial_without_complaint_is_complete() {
        let result = as_json(&json!({"pipeline": 16}), &tried());
        assert_eq!((&result["complete"], &result["status"]), (&json!(true), &json!("complete")));
        assert_eq!((&result["version"], &result["error"]), (&json!(1), &json!(null)));
        assert_eq!(result["settings"]["pipeline"], 16);
    }

    #[test]
    fn a_failure_makes_it_partial() {
        let tried = Tried::failed(anyhow!("gone")).unwrap();
        assert_eq!(status(&tried), "partial");
        assert_eq!(complaint(&tried).unwrap(), "gone (after 0 operations)");
        assert_eq!(as_json(&json!(null), &tried)["complete"], false);
        assert!(text("run", &tried).contains("0 operations, 0 op/s"));
    }

    #[test]
    fn errors_of_the_server_make_it_partial() {
        let mut tried = tried();
        tried.outcome.replies.error = 3;
        tried.outcome.first_error = Some("-OOM".to_owned());
        assert_eq!(status(&tried), "partial");
        assert!(complaint(&tried).unwrap().contains("3 errors, the first: -OOM"));
    }

    #[test]
    fn a_schedule_that_was_not_held_says_by_how_much() {
        let mut tried = tried();
        let schedule = Duration::from_secs(1);
        let late = Duration::from_millis(700);
        tried.lag = Some(Lag { schedule, most: late, at_end: late, unsent: 5000 });
        assert_eq!(status(&tried), "behind schedule");
        let complaint = complaint(&tried).unwrap();
        assert!(complaint.contains("5000 operations had not been sent"), "{complaint}");
        let result = as_json(&json!(null), &tried);
        assert_eq!(result["schedule"]["late_seconds_at_end"], 0.7);
    }
}
