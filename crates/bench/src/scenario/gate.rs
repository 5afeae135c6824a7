//! Waiting time of all clients when an action on all shards meets a long command: databases are
//! flushed beside a SORT of 200 ms.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Bench, Scale, Scenario};
use crate::control::Control;
use crate::report::Section;
use crate::servers::{Launch, Program};

/// Length and number of the long commands.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Elements of the list that is sorted.
    pub elements: u64,
    /// Number of times that it is sorted.
    pub times: u64,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self { elements: self.elements, times: scale.of(self.times) }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        section.columns(&["server", "long command ms", "FLUSHDB ms", "others ms"]);
        section.note(
            "Longest waits. Varve has three workers on two cores: one sorts, one flushes another \
             database again and again, and the others' wait is that of the client which waited \
             least, for some share a worker with these two.",
        );
        for program in bench.varve_and_valkey() {
            let waits = self.measure(program)?;
            let milliseconds = waits.map(|wait| wait.as_secs_f64() * 1e3);
            let cells = milliseconds.map(|value| format!("{value:.1}"));
            let [long, flush, others] = cells;
            section.row([program.label.clone(), long, flush, others]);
            if program.label == bench.varve.label {
                section.finding("longest wait of others", Some(milliseconds[2]), "ms");
            }
        }
        Ok(())
    }
}

impl Plan {
    fn measure(&self, program: &Program) -> Result<[Duration; 3]> {
        let server = program.start(&Launch::default().with_threads(3).on_cores(2))?;
        let mut sorter = server.control()?;
        fill(&mut sorter, self.elements)?;
        let is_over = AtomicBool::new(false);
        let mut flusher = server.control()?;
        flusher.ask(&["SELECT", "9"])?;
        let others = (0..OTHERS).map(|_| server.control()).collect::<Result<Vec<_>>>()?;
        thread::scope(|scope| {
            let flush = scope.spawn(|| longest(&is_over, || flush(&mut flusher)));
            let look = |mut other: Control| {
                let is_over = &is_over;
                scope.spawn(move || longest(is_over, || other.ask(&["PING"]).map(drop)))
            };
            let looks: Vec<_> = others.into_iter().map(look).collect();
            let sorted = self.sort(&mut sorter);
            is_over.store(true, Ordering::Relaxed);
            let flush = flush.join().ok().context("the flusher ended early")??;
            let ended = looks.into_iter().map(|look| look.join().ok().context("a client ended")?);
            let least = ended.collect::<Result<Vec<_>>>()?.into_iter().min();
            Ok([sorted?, flush, least.unwrap_or_default()])
        })
    }

    fn sort(&self, control: &mut Control) -> Result<Duration> {
        let mut longest = Duration::ZERO;
        for _ in 0..self.times {
            let asked = Instant::now();
            control.ask(&["SORT", "list", "LIMIT", "0", "1"])?;
            longest = longest.max(asked.elapsed());
            thread::sleep(PAUSE);
        }
        Ok(longest)
    }
}

fn fill(control: &mut Control, elements: u64) -> Result<()> {
    for from in (0..elements).step_by(1000) {
        // Any unsorted order will do.
        let numbers = (from..elements.min(from + 1000)).map(|number| number * 7_919 % 1_000_003);
        let numbers: Vec<_> = numbers.map(|number| number.to_string()).collect();
        let mut push = vec!["RPUSH", "list"];
        push.extend(numbers.iter().map(String::as_str));
        control.ask(&push)?;
    }
    Ok(())
}

fn flush(control: &mut Control) -> Result<()> {
    control.ask(&["SET", "key", "value"])?;
    control.ask(&["FLUSHDB"]).map(drop)
}

fn longest(is_over: &AtomicBool, mut ask: impl FnMut() -> Result<()>) -> Result<Duration> {
    let mut longest = Duration::ZERO;
    while !is_over.load(Ordering::Relaxed) {
        let asked = Instant::now();
        ask()?;
        longest = longest.max(asked.elapsed());
        thread::sleep(Duration::from_micros(500));
    }
    Ok(longest)
}

/// Clients that only observe.
const OTHERS: usize = 6;
/// Pause between two long commands.
const PAUSE: Duration = Duration::from_millis(20);
