//! Steps of a script about replicas.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::run::Running;
use super::steps::{Step, Steps};
use crate::feed::feed;
use crate::measure::cpu_time_at_rest;
use crate::moving::{Importer, Writers, move_and_back, oldest_arrival};
use crate::process;
use crate::servers::{Launch, Server};
use crate::sink::Sinks;

impl Running<'_> {
    /// Takes a step about replicas.
    pub(super) fn replicate(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Sinks { name, count, rate, steps } => {
                self.beside_sinks(&name, count, rate, &steps)?;
            }
            Step::Feed { name, by, request, keys, count } => {
                let applied = feed(&self.server, by, &request, keys, count)?;
                let all = [("per_second", applied.per_second), ("us", applied.us)];
                self.values.set_all(&name, all);
            }
            Step::CaughtUp(name) => {
                let took = self.catch_up()?.as_secs_f64();
                self.values.set(&name, took);
            }
            Step::Replicating(name) => {
                let (mut control, began) = (self.server.control()?, Instant::now());
                while control.info("master_link_status")?.is_none_or(|it| it != "up") {
                    ensure!(began.elapsed() < CAUGHT_UP_MAX, "the link does not come up");
                    thread::sleep(Duration::from_millis(1));
                }
                self.values.set(&name, began.elapsed().as_secs_f64());
            }
            Step::CpuOfAll(name) => {
                let own = cpu_time_at_rest(&self.server)?;
                let all = own + process::time_of_ended_children(self.server.pid)?;
                self.values.set(&name, all.as_secs_f64());
            }
            Step::Follow { name, to, marks } => self.follow(&name, &to, marks)?,
            Step::Move { name, to, way, connections, rate, keys } => {
                let Some(to) = self.start_another(&to)? else { return Ok(()) };
                let writers = Writers { connections, rate, keys };
                let noticed = move_and_back(way, &self.server, &to, writers)?;
                let all = [
                    ("there_ms", noticed.there_ms),
                    ("back_ms", noticed.back_ms),
                    ("per_second", noticed.per_second),
                    ("lost", noticed.lost),
                    ("errors", noticed.errors),
                ];
                self.values.set_all(&name, all);
            }
            step => bail!("{step:?} is no step for a server"),
        }
        Ok(())
    }

    /// Starts a server of another program, on the last core; `None` if it is not installed.
    fn start_another(&self, program: &str) -> Result<Option<Server>> {
        let last = process::cores().saturating_sub(1);
        let launch = Launch::on(1, 1).on_core(Some(last)).with("repl-diskless-sync-delay", 0);
        self.bench.program(program)?.map(|it| it.start(&launch)).transpose()
    }

    fn follow(&mut self, name: &str, to: &str, marks: u64) -> Result<()> {
        let Some(to) = self.start_another(to)? else { return Ok(()) };
        let mut importer = Importer::follow(self.server.port, to.port, &[])?;
        importer.hears("the stream follows")?;
        // The first of them waits for all that came while the snapshot was on its way.
        oldest_arrival(&self.server, &to, 1)?;
        let (mut control, field) = (self.server.control()?, "total_commands_processed");
        let mut count = || -> Result<f64> { control.info_number(field)?.context("INFO") };
        let before = (process::cpu_time(importer.pid())?, count()?);
        let oldest = oldest_arrival(&self.server, &to, marks)?;
        let used = process::cpu_time(importer.pid())?.saturating_sub(before.0).as_secs_f64();
        let all = [("oldest_ms", oldest), ("cpu_us", used * 1e6 / (count()? - before.1))];
        self.values.set_all(name, all);
        Ok(())
    }

    /// Takes steps beside sinks that have their snapshots.
    fn beside_sinks(
        &mut self,
        name: &str,
        count: usize,
        rate: Option<u64>,
        steps: &Steps,
    ) -> Result<()> {
        let mut sinks = Sinks::join(&self.server.address(false)?, count, rate);
        let snapshot = sinks.wait_until_whole()?;
        let all = [
            ("megabytes", snapshot.bytes as f64 / 1e6),
            ("sync_seconds", snapshot.since_asked.as_secs_f64()),
            ("transfer_seconds", snapshot.transfer.as_secs_f64()),
        ];
        self.values.set_all(name, all);
        self.take_all(steps)?;
        sinks.leave()
    }

    /// Waits until the other server has the offset that this one has now.
    fn catch_up(&self) -> Result<Duration> {
        let other = self.other.as_ref().context("a replica: the step `other` starts it")?;
        let (mut own, mut others) = (self.server.control()?, other.server.control()?);
        let wanted = own.info_number("master_repl_offset")?.context("INFO")?;
        let began = Instant::now();
        let mut has_caught_up = || -> Result<bool> {
            let is_up = others.info("master_link_status")?.is_some_and(|it| it == "up");
            // Without replicas a primary may have no stream, so 0 says nothing.
            let has = others.info_number("slave_repl_offset")?;
            Ok(is_up && has.is_some_and(|it| it >= wanted))
        };
        while !has_caught_up()? {
            ensure!(began.elapsed() < CAUGHT_UP_MAX, "the replica does not catch up");
            thread::sleep(Duration::from_millis(1));
        }
        Ok(began.elapsed())
    }
}

const CAUGHT_UP_MAX: Duration = Duration::from_secs(300);
