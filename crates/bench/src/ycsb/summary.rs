//! Report at the end of a phase: as YCSB prints it, and as JSON.

use std::fmt::Write as _;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::measured::{Measured, us};

/// Formats the lines of YCSB's text exporter, latencies in microseconds. Failed operations have
/// latencies of their own, named like `READ-FAILED`.
pub fn text(measured: &Measured) -> String {
    let mut text = String::new();
    let mut line = |what: &str, name: &str, value: String| {
        let _ = writeln!(text, "[{what}], {name}, {value}");
    };
    line("OVERALL", "RunTime(ms)", measured.elapsed.as_millis().to_string());
    line("OVERALL", "Throughput(ops/sec)", measured.throughput().to_string());
    for (kind, tally) in &measured.tallies {
        for (name, value) in latencies(&tally.latencies) {
            line(kind.name(), name, value);
        }
        for (status, count) in &tally.statuses {
            line(kind.name(), &format!("Return={}", status.name()), count.to_string());
        }
        if !tally.failed.is_empty() {
            let what = format!("{}-FAILED", kind.name());
            latencies(&tally.failed).into_iter().for_each(|(name, value)| line(&what, name, value));
        }
    }
    text
}

/// Returns all results, latencies in microseconds.
pub fn as_json(measured: &Measured) -> Value {
    let kinds = measured.tallies.iter().map(|(kind, tally)| {
        let statuses = tally.statuses.iter();
        let statuses: serde_json::Map<_, _> =
            statuses.map(|(status, count)| (status.name().to_owned(), json!(count))).collect();
        let latencies = [("latency_us", &tally.latencies), ("failed_latency_us", &tally.failed)];
        let mut value = json!({ "operations": statuses });
        for (name, times) in latencies {
            value[name] = percentiles(times);
        }
        (kind.name().to_owned(), value)
    });
    json!({
        "complete": measured.complaint().is_none(),
        "error": measured.complaint(),
        "operations": measured.operations,
        "seconds": measured.elapsed.as_secs_f64(),
        "operations_per_second": measured.throughput(),
        "client_us_per_operation": measured.client_us(),
        "latency_us": percentiles(&measured.latencies),
        "kinds": serde_json::Map::from_iter(kinds),
        "schedule": measured.lag.map(|lag| lag.as_json()),
    })
}

fn percentiles(times: &Histogram<u64>) -> Value {
    if times.is_empty() {
        return Value::Null;
    }
    let pairs = PERCENTILES.map(|(name, quantile)| (name.to_owned(), json!(us(times, quantile))));
    serde_json::Map::from_iter(pairs).into()
}

fn latencies(all: &Histogram<u64>) -> [(&'static str, String); 9] {
    let micros = |nanos: u64| (nanos / 1000).to_string();
    let at = |quantile| micros(all.value_at_quantile(quantile));
    [
        ("Operations", all.len().to_string()),
        ("AverageLatency(us)", (all.mean() / 1000.0).to_string()),
        ("MinLatency(us)", micros(all.min())),
        ("MaxLatency(us)", micros(all.max())),
        ("50thPercentileLatency(us)", at(0.5)),
        ("95thPercentileLatency(us)", at(0.95)),
        ("99thPercentileLatency(us)", at(0.99)),
        ("99.9PercentileLatency(us)", at(0.999)),
        ("99.99PercentileLatency(us)", at(0.9999)),
    ]
}

const PERCENTILES: [(&str, f64); 7] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
    ("max", 1.0),
];
