//! Waiting time of all clients when an action on all shards meets a long command: databases are
//! flushed beside a SORT of 200 ms.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Bench, Scenario};
use crate::control::Control;
use crate::measure::send_each;
use crate::report::Section;
use crate::servers::{Launch, Program};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Elements of the list that is sorted.
    elements: u64,
    /// Number of times that it is sorted.
    times: u64,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        section.columns("server | long command ms .1 | FLUSHDB ms .1 | others ms .1");
        for program in bench.varve_and_valkey() {
            let waits = self.measure(program)?.map(|wait| wait.as_secs_f64() * 1e3);
            section.values("", &program.label, &waits);
        }
        Ok(())
    }
}

impl Plan {
    /// Returns the longest waits of the client that sorts, of the one that flushes, and of the
    /// others.
    fn measure(&self, program: &Program) -> Result<[Duration; 3]> {
        let server = program.start(&Launch::on(2, 3))?;
        // Any unsorted order will do.
        send_each(&server, "RPUSH list {n*7919%1000003}", self.elements)?;
        let mut sorter = server.control()?;
        let mut flusher = server.control()?;
        flusher.tell(&["SELECT", "9"])?;
        let mut clients = vec![(flusher, &["SET key value", "FLUSHDB"][..])];
        for _ in 0..OTHERS {
            clients.push((server.control()?, &["PING"]));
        }
        let (sorted, waits) = waits_during(clients, || {
            let mut longest = Duration::ZERO;
            for _ in 0..self.times {
                let asked = Instant::now();
                sorter.tell(&["SORT", "list", "LIMIT", "0", "1"])?;
                longest = longest.max(asked.elapsed());
                thread::sleep(PAUSE);
            }
            Ok(longest)
        })?;
        Ok([sorted, waits[0], waits[1..].iter().min().copied().unwrap_or_default()])
    }
}

/// Runs `act` while other clients send their commands again and again, each on a thread of its own;
/// returns its result, and the longest time in which each client had its commands answered.
pub(super) fn waits_during<T>(
    clients: Vec<(Control, &[&str])>,
    act: impl FnOnce() -> Result<T>,
) -> Result<(T, Vec<Duration>)> {
    let is_over = &AtomicBool::new(false);
    let ask = |(mut control, commands): (Control, &[&str])| -> Result<Duration> {
        let mut longest = Duration::ZERO;
        while !is_over.load(Ordering::Relaxed) {
            let asked = Instant::now();
            for command in commands {
                control.tell(&command.split(' ').collect::<Vec<_>>())?;
            }
            longest = longest.max(asked.elapsed());
            thread::sleep(EVERY);
        }
        Ok(longest)
    };
    thread::scope(|scope| {
        let asking: Vec<_> =
            clients.into_iter().map(|client| scope.spawn(move || ask(client))).collect();
        let acted = act();
        is_over.store(true, Ordering::Relaxed);
        let waits = asking.into_iter().map(|it| it.join().ok().context("a client ended early")?);
        let waits = waits.collect::<Result<_>>();
        Ok((acted?, waits?))
    })
}

/// Clients that only observe.
const OTHERS: usize = 6;
/// Pause between two long commands.
const PAUSE: Duration = Duration::from_millis(20);
const EVERY: Duration = Duration::from_micros(500);
