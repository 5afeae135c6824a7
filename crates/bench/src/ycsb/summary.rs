//! What YCSB prints at the end of a phase.

use std::fmt::Write as _;

use super::client::{Measured, Tally};

/// The lines of YCSB's text exporter, latencies in microseconds.
pub fn text(measured: &Measured) -> String {
    let mut text = String::new();
    let mut line = |what: &str, name: &str, value: String| {
        let _ = writeln!(text, "[{what}], {name}, {value}");
    };
    line("OVERALL", "RunTime(ms)", measured.elapsed.as_millis().to_string());
    line("OVERALL", "Throughput(ops/sec)", measured.throughput().to_string());
    for (kind, tally) in &measured.tallies {
        for (name, value) in latencies(tally) {
            line(kind.name(), name, value);
        }
        for (status, count) in &tally.statuses {
            line(kind.name(), &format!("Return={}", status.name()), count.to_string());
        }
    }
    text
}

fn latencies(tally: &Tally) -> [(&'static str, String); 8] {
    let all = &tally.latencies;
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
    ]
}
