//! Counts of calls of each command, and of replies with each error.

use super::text::Text;
use command::Call;
use settings::observing::{LATENCY_TRACKING, LATENCY_TRACKING_INFO_PERCENTILES};

pub(super) fn commands(text: &mut Text, call: &mut Call<'_>) {
    let sums = call.instance.statistics.sums();
    for (row, sum) in call.row.table().all_rows().iter().zip(&sums.commands) {
        if sum.calls == 0 && sum.rejected == 0 && sum.failed == 0 {
            continue;
        }
        let micros = sum.nanos / 1000;
        let mean = if sum.calls == 0 { 0.0 } else { sum.nanos as f64 / 1e3 / sum.calls as f64 };
        text.line(format_args!(
            "cmdstat_{}:calls={},usec={micros},usec_per_call={mean:.2},rejected_calls={},\
             failed_calls={}",
            row.full_name, sum.calls, sum.rejected, sum.failed
        ));
    }
}

pub(super) fn latency(text: &mut Text, call: &mut Call<'_>) {
    if !LATENCY_TRACKING.get(&call.instance.settings) {
        return;
    }
    let percentiles = LATENCY_TRACKING_INFO_PERCENTILES.get(&call.instance.settings);
    let rows = call.row.table().all_rows();
    for (id, times) in call.instance.statistics.times() {
        let Some(row) = rows.get(id) else { continue };
        let shown = percentiles.iter().map(|percentile| {
            let nanos = percentile.parse().map_or(0, |share| times.at_percentile(share));
            format!("p{percentile}={:.3}", nanos as f64 / 1e3)
        });
        let shown = shown.collect::<Vec<_>>().join(",");
        text.line(format_args!("latency_percentiles_usec_{}:{shown}", row.full_name));
    }
}

pub(super) fn errors(text: &mut Text, call: &mut Call<'_>) {
    for (code, count) in call.instance.statistics.errors() {
        let is_plain = |letter: char| letter.is_ascii_graphic() && !":#".contains(letter);
        let code: String = code.chars().map(|it| if is_plain(it) { it } else { '_' }).collect();
        text.line(format_args!("errorstat_{code}:count={count}"));
    }
}
