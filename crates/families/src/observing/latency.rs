//! LATENCY: what took longer than `latency-monitor-threshold`, and how long commands take.

use command::{Call, Outcome, Row};
use session::{Distribution, Refusal, Sample, Series};
use settings::observing::LATENCY_MONITOR_THRESHOLD;
use std::fmt::Write as _;

pub(super) fn latest(call: &mut Call<'_>) -> Outcome {
    let all = call.instance.latency.series();
    let reply = &mut call.reply;
    reply.array(all.len());
    for (event, Series { samples, most, sum, count }) in &all {
        let last = samples.back().copied().unwrap_or(Sample { seconds: 0, millis: 0 });
        reply.array(6);
        reply.bulk(event.as_bytes());
        for number in [last.seconds, last.millis, *most, *sum, *count] {
            reply.integer(i64::try_from(number).unwrap_or(i64::MAX));
        }
    }
    Ok(())
}

pub(super) fn history(call: &mut Call<'_>) -> Outcome {
    let found = call.instance.latency.find(call.args.get(2));
    let samples = found.map(|(_, series)| series.samples).unwrap_or_default();
    call.reply.array(samples.len());
    for Sample { seconds, millis } in samples {
        call.reply.array(2);
        call.reply.integer(i64::try_from(seconds).unwrap_or(i64::MAX));
        call.reply.integer(i64::try_from(millis).unwrap_or(i64::MAX));
    }
    Ok(())
}

pub(super) fn reset(call: &mut Call<'_>) -> Outcome {
    let latency = &call.instance.latency;
    let count = match call.args.len() {
        2 => latency.reset(None),
        _ => call.args.from(2).map(|event| latency.reset(Some(event))).sum(),
    };
    call.reply.integer(i64::try_from(count).unwrap_or(i64::MAX));
    Ok(())
}

pub(super) fn histogram(call: &mut Call<'_>) -> Outcome {
    let times = call.instance.statistics.times();
    let of = |row: &'static Row| times.get(&row.id).map(|times| (row, times));
    let mut shown = Vec::new();
    if call.args.len() == 2 {
        shown.extend(call.row.table().all_rows().iter().filter_map(of));
    }
    for name in call.args.from(2) {
        if let Some(row) = row_of(call, name) {
            shown.extend(of(row));
            shown.extend(row.children().iter().filter_map(of));
        } else {
            shown.extend(unlisted(call, name).filter_map(of));
        }
    }
    call.reply.map(shown.len());
    for (row, times) in shown {
        call.reply.bulk(row.full_name.as_bytes());
        write_times(call, times);
    }
    Ok(())
}

/// Finds a command by its name, or a subcommand as `config|get`.
fn row_of(call: &Call<'_>, name: &[u8]) -> Option<&'static Row> {
    let (parent, child) = match name.iter().position(|byte| *byte == b'|') {
        Some(at) => (&name[..at], Some(&name[at + 1..])),
        None => (name, None),
    };
    let row = call.row.table().find(parent)?;
    child.map_or(Some(row), |child| row.find_child(child))
}

/// Finds the rows that a name means, as `mc|get` or `mc`, which are no commands of RESP.
fn unlisted(call: &Call<'_>, name: &[u8]) -> impl Iterator<Item = &'static Row> {
    call.row.table().unlisted().iter().filter(move |row| {
        let full = row.full_name.as_bytes();
        let parent = full.split(|byte| *byte == b'|').next().unwrap_or_default();
        full.eq_ignore_ascii_case(name) || parent.eq_ignore_ascii_case(name)
    })
}

fn write_times(call: &mut Call<'_>, times: &Distribution) {
    let reply = &mut call.reply;
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let powers = times.by_powers();
    reply.map(2);
    reply.bulk(b"calls");
    reply.integer(number(times.total()));
    reply.bulk(b"histogram_usec");
    reply.map(powers.len());
    for (nanos, count) in powers {
        reply.integer(number(nanos / 1000));
        reply.integer(number(count));
    }
}

pub(super) fn graph(call: &mut Call<'_>) -> Outcome {
    let event = call.args.get(2);
    let found = call.instance.latency.find(event);
    let (name, series) = found
        .ok_or_else(|| Refusal::naming("ERR No samples available for event '{}'", &[event]))?;
    let graph = drawn(name, &series, call.now.0 / 1000);
    call.reply.verbatim(b"txt", graph.as_bytes());
    Ok(())
}

/// Signs of a column, from low to high.
const STEPS: &[u8] = b"_o#";
/// Rows of a graph.
const ROWS: u64 = 4;

/// Samples that are drawn beside each other.
const COLUMNS: usize = 80;

/// Draws the samples of an event as columns, with the age of each below.
fn drawn(event: &str, series: &Series, now: u64) -> String {
    let all = || series.samples.iter().map(|sample| sample.millis);
    let (low, high) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
    let mut graph =
        format!("{event} - high {high} ms, low {low} ms (all time high {} ms)\n", series.most);
    graph += &"-".repeat(COLUMNS);
    graph.push('\n');
    let steps = ROWS * STEPS.len() as u64;
    let height = |millis: u64| ((millis - low) * steps / (high - low).max(1)).min(steps - 1);
    let columns: Vec<(u64, String)> = series
        .samples
        .iter()
        .map(|it| (height(it.millis), age(now.saturating_sub(it.seconds))))
        .collect();
    let blocks: Vec<String> = columns.chunks(COLUMNS).map(block).collect();
    graph + &blocks.join("\n")
}

/// Draws columns of these heights, with what stands below each.
fn block(columns: &[(u64, String)]) -> String {
    let mut drawn = String::new();
    for row in (0..ROWS).rev() {
        for (height, _) in columns {
            let above = height.checked_sub(row * STEPS.len() as u64);
            let step = above.map(|above| STEPS[narrow::to_usize(above).min(STEPS.len() - 1)]);
            let full = above.is_some_and(|above| above >= STEPS.len() as u64);
            drawn.push(if full { '|' } else { step.map_or(' ', char::from) });
        }
        drawn.push('\n');
    }
    drawn += &" ".repeat(columns.len());
    drawn.push('\n');
    for row in 0..columns.iter().map(|(_, below)| below.len()).max().unwrap_or(0) {
        let letter = |below: &String| below.as_bytes().get(row).map_or(' ', |it| char::from(*it));
        drawn.extend(columns.iter().map(|(_, below)| letter(below)));
        drawn.push('\n');
    }
    drawn
}

/// Returns an age in its largest unit.
fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

pub(super) fn doctor(call: &mut Call<'_>) -> Outcome {
    let all = call.instance.latency.series();
    let threshold = LATENCY_MONITOR_THRESHOLD.get(&call.instance.settings);
    let report = report(&all, threshold, call.now.0 / 1000);
    call.reply.verbatim(b"txt", report.as_bytes());
    Ok(())
}

/// Tells what the samples say, and what can be done about it.
fn report(all: &[(&'static str, Series)], threshold: u64, now: u64) -> String {
    if all.is_empty() {
        return match threshold {
            0 => "Latency events are off: CONFIG SET latency-monitor-threshold MILLISECONDS turns \
                  them on.\n"
                .to_owned(),
            _ => format!("Nothing took {threshold} ms or longer so far.\n"),
        };
    }
    let mut report = format!("What took {threshold} ms or longer:\n\n");
    for (number, (event, series)) in all.iter().enumerate() {
        let samples = series.samples.len() as u64;
        let mean = series.samples.iter().map(|it| it.millis).sum::<u64>() / samples.max(1);
        let deviation =
            series.samples.iter().map(|it| it.millis.abs_diff(mean)).sum::<u64>() / samples.max(1);
        let first = series.samples.front().map_or(now, |it| it.seconds);
        let period = now.saturating_sub(first).max(1) as f64 / samples.max(1) as f64;
        // Writing to a string cannot fail.
        let _ = writeln!(
            report,
            "{}. {event}: in {samples} seconds, once in {period:.2} seconds; {mean} ms on average, \
             with a mean deviation of {deviation} ms; {} ms at most.",
            number + 1,
            series.most
        );
    }
    let has = |begin: &str| all.iter().any(|(event, _)| event.starts_with(begin));
    let advice: Vec<&str> = ADVICE.iter().filter(|it| has(it.0)).map(|it| it.1).collect();
    if !advice.is_empty() {
        report.push_str("\nWhat can be done:\n\n");
        report.extend(advice);
    }
    report
}

/// Advice for events, each with how their names begin.
const ADVICE: [(&str, &str); 7] = [
    (
        "command",
        "- Slow commands: COMMANDLOG GET 10 slow tells which they are, once \
         commandlog-execution-slower-than is no higher than the threshold in microseconds.\n",
    ),
    (
        "fast-command",
        "- Fast commands that take long: the threads of the server do not get their cores. Give it \
         fewer threads than the machine has cores, or the machine less else to do.\n",
    ),
    (
        "aof-write",
        "- Writes of the append-only file: a thread of its own makes them, and clients wait only \
         under appendfsync always, or when the disk is far behind: aof_buffer_length of INFO \
         persistence tells how far. Give the file a faster disk, or one that it shares with \
         nobody.\n",
    ),
    (
        "aof-fsync-always",
        "- Syncs of appendfsync always: replies to changes wait for them. A disk whose cache \
         outlasts a loss of power takes less time; under appendfsync everysec no reply waits, and \
         the changes of about a second may be lost.\n",
    ),
    (
        "expire-cycle",
        "- Expiry: many keys or fields have reached their deadlines at once. They are removed in \
         the background, in small pieces, which takes a part of a core from the others: deadlines \
         that are spread over some minutes spread the work too.\n",
    ),
    (
        "eviction-cycle",
        "- Eviction: at maxmemory, who writes makes room before. Raise maxmemory, give keys that \
         are not needed for long a deadline, or split large collections, which go whole.\n",
    ),
    (
        "fork",
        "- Snapshots: no process is forked, but all clients are kept out at the moment of the cut, \
         until the commands at work have ended. It takes long where these do, or where more \
         threads want to run than the machine has cores.\n",
    ),
];

#[cfg(test)]
mod tests {
    use super::{drawn, report};
    use session::{Sample, Series};

    fn series(millis: &[u64]) -> Series {
        let samples =
            millis.iter().zip(100..).map(|(millis, seconds)| Sample { seconds, millis: *millis });
        Series { samples: samples.collect(), most: 9, sum: 0, count: 0 }
    }

    #[test]
    fn a_graph_has_a_column_for_each_sample_and_its_age_below() {
        let graph = drawn("command", &series(&[1, 5, 9]), 162);
        let lines: Vec<&str> = graph.lines().collect();
        assert_eq!(lines[0], "command - high 9 ms, low 1 ms (all time high 9 ms)");
        assert_eq!(lines[2..7], ["  #", " _|", " ||", "_||", "   "]);
        assert_eq!(lines[7..9], ["111", "mmm"]);
    }

    #[test]
    fn samples_beyond_eighty_stand_below_the_others() {
        let graph = drawn("command", &series(&[7; 82]), 181);
        let lines: Vec<&str> = graph.lines().collect();
        let widths = [80; 8].into_iter().chain([0]).chain([2; 7]);
        let of_graph = lines[2..].iter().map(|line| line.len());
        assert_eq!(of_graph.collect::<Vec<_>>(), widths.collect::<Vec<_>>());
        assert_eq!(lines[5], "_".repeat(80));
    }

    #[test]
    fn advice_is_given_once_for_all_its_events_and_has_no_heading_without_any() {
        let of = |events: &[&'static str]| {
            let all: Vec<_> = events.iter().map(|event| (*event, series(&[7]))).collect();
            report(&all, 5, 104)
        };
        let advised = of(&["aof-write", "aof-write-alone", "eviction-cycle", "fork"]);
        let (_, advice) = advised.split_once("What can be done:\n\n").expect("there is advice");
        let subjects: Vec<&str> =
            advice.lines().filter_map(|line| line.split(':').next()).collect();
        let expected = ["- Writes of the append-only file", "- Eviction", "- Snapshots"];
        assert_eq!(subjects, expected);
        assert!(!of(&["aof-rename"]).contains("What can be done"));
    }

    #[test]
    fn a_report_tells_each_event() {
        assert!(report(&[], 0, 0).starts_with("Latency events are off"));
        assert!(report(&[], 5, 0).starts_with("Nothing took 5 ms"));
        let report = report(&[("command", series(&[1, 9]))], 5, 104);
        assert!(report.contains("1. command: in 2 seconds, once in 2.00 seconds; 5 ms on average"));
    }
}
