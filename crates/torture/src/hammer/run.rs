//! Phases one after the other, and their report.

use super::avoid::Avoided;
use super::cast::{Bounds, play};
use super::chance::Chance;
use super::memory::{MB, Peak, come_to_rest};
use super::phase::{Kind, Place, Shape};
use super::process::{Server, Spinner};
use super::words::{error, fine, integer, text, texts, words};
use super::{Arguments, Busy};
use crate::client::Client;
use anyhow::{Context, Result, bail, ensure};
use bench::process::{core, cores, first_cores};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Runs until the time is over, and checks the invariants.
///
/// # Errors
/// If the server cannot be started, ends by itself, or an invariant does not hold.
pub fn run(arguments: &Arguments) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let seed = arguments.seed.unwrap_or(u64::from(now.subsec_nanos()) ^ now.as_secs());
    println!("hammer: seed {seed}, {} threads", arguments.threads);
    let server =
        Server::start(&arguments.server, arguments.threads, &arguments.options, arguments.tls)?;
    let mut run = Run { arguments, server, seed, commands: 0, peak: Peak::default() };
    let outcome = run.phases().and_then(|()| run.rest());
    outcome.with_context(|| {
        let ended = run.server.ended().map(|status| format!("the server ended: {status}\n  "));
        let (ended, tail) = (ended.unwrap_or_default(), run.server.log_tail());
        format!("seed {seed}, {} threads\n  {ended}log {tail}\n  FAILED", arguments.threads)
    })
}

struct Run<'run> {
    arguments: &'run Arguments,
    server: Server,
    seed: u64,
    commands: u64,
    peak: Peak,
}

impl Run<'_> {
    fn phases(&mut self) -> Result<()> {
        let seconds = self.arguments.minutes.map_or(self.arguments.seconds, |it| it * 60);
        let began = Instant::now();
        let whole = Duration::from_secs(seconds);
        for number in 0.. {
            let left = whole.saturating_sub(began.elapsed());
            if left.is_zero() {
                break;
            }
            let time = left.min(Duration::from_secs(self.arguments.phase));
            self.phase(number, time).with_context(|| format!("phase {number}"))?;
        }
        Ok(())
    }

    fn phase(&mut self, number: u64, time: Duration) -> Result<()> {
        let (began, commands) = (Instant::now(), self.commands);
        let shape = self.shape(number);
        println!("phase {number}: {shape}");
        let _spinner = self.arrange(&shape)?;
        let patience = Duration::from_secs(self.arguments.patience);
        let seed = self.seed.wrapping_add(number << 32);
        let place = Place::new(seed, self.server.addresses.clone(), patience, shape);
        let place = place.with_memcached(self.server.memcached_port);
        let place = place.lasting(time, self.arguments.fault);
        let bounds =
            Bounds { slack: self.arguments.slack_mb * MB, most: self.arguments.peak_mb * MB };
        let peak = Peak::default();
        let played = play(&self.server, &place, self.arguments.connections, bounds, &peak);
        self.peak.see(peak.bytes());
        let failures = place.failures();
        ensure!(failures.is_empty(), "{}", self.report_text(&failures));
        played?;
        self.commands += place.commands.load(Relaxed);
        let full = self.server.resident();
        self.empty(number)?;
        println!(
            "  {} commands in {:.1} s; peak resident {} MB, at the end {} MB, without keys {} MB",
            self.commands - commands,
            began.elapsed().as_secs_f64(),
            peak.bytes() / MB,
            full / MB,
            self.server.resident() / MB
        );
        Ok(())
    }

    /// Returns the report of failures. If the server has ended, connections only know which replies
    /// are missing.
    fn report_text(&self, failures: &[String]) -> String {
        std::thread::sleep(LAST_WORDS);
        if self.server.ended().is_none() {
            let waited = failures.iter().any(|words| words.contains("-> no reply"));
            let stacks = if waited { self.server.stacks() } else { String::new() };
            return failures[..failures.len().min(3)].join("\n  and: ") + "\n" + &stacks;
        }
        let unanswered = failures.iter().flat_map(|words| words.lines());
        let unanswered = unanswered.filter(|line| line.ends_with("-> no reply"));
        unanswered.map(|line| format!("\n{line}")).collect()
    }

    fn shape(&self, number: u64) -> Shape {
        let avoided = Avoided::all_but(&self.arguments.tried);
        let mut chance = Chance::new(self.seed, number);
        let mut is_due = |when| match when {
            Busy::Never => false,
            // Short runs should include phases with and without it.
            Busy::Sometimes => chance.below(3) as u64 == number % 3,
            Busy::Always => true,
        };
        let [busy, evicts] = [self.arguments.busy, self.arguments.eviction].map(&mut is_due);
        let kind = if evicts {
            let megabytes = *chance.pick(&[64, 100, 200]);
            let policy = chance.word(avoided.policies());
            Kind::Eviction { megabytes, policy }
        } else {
            Kind::Everything
        };
        Shape::new(&mut chance, kind, busy)
    }

    /// Binds the server to cores, and sets its memory limit.
    fn arrange(&self, shape: &Shape) -> Result<Option<Spinner>> {
        let (megabytes, policy) = match shape.kind {
            Kind::Everything => (0, "noeviction"),
            Kind::Eviction { megabytes, policy } => (megabytes, policy),
        };
        if megabytes > 0 {
            // The memory left by the previous phase does not count for this one.
            let limit = (megabytes + self.arguments.slack_mb) * MB;
            let (resident, _) = come_to_rest(&self.server, limit, REST_MAX);
            ensure!(
                resident <= limit,
                "{} MB are resident behind FLUSHALL, over {} MB:\n{}",
                resident / MB,
                limit / MB,
                self.server.largest_mappings()
            );
        }
        let mut client = self.client()?;
        let limit = format!("{megabytes}mb");
        let request = words!["CONFIG", "SET", "maxmemory", limit, "maxmemory-policy", policy];
        fine(&client.ask(&request)?)?;
        if shape.busy {
            self.server.stay_on(&core(0).to_string())?;
            return Spinner::start().map(Some);
        }
        self.server.stay_on(&first_cores(cores()))?;
        Ok(None)
    }

    /// Removes all keys, in one way or the other.
    fn empty(&self, number: u64) -> Result<()> {
        let mut client = self.client()?;
        fine(&client.ask(&words!["CONFIG", "SET", "maxmemory", 0])?)?;
        if number % 2 == 1 {
            let mut cursor = b"0".to_vec();
            loop {
                let mut found = texts(client.ask(&words!["SCAN", cursor])?)?;
                cursor = found.remove(0);
                for key in found {
                    fine(&client.ask(&words!["UNLINK", key])?)?;
                }
                if cursor == b"0" {
                    break;
                }
            }
            let left = integer(&client.ask(&words!["DBSIZE"])?)?;
            ensure!(left == 0, "{left} keys are left where each was removed");
        }
        let how = ["SYNC", "ASYNC"][(number / 2 % 2) as usize];
        fine(&client.ask(&words!["FLUSHALL", how])?)
    }

    /// Checks that memory is freed without any command, and ends the server.
    fn rest(&mut self) -> Result<()> {
        let mut client = self.client()?;
        fine(&client.ask(&words!["FLUSHALL"])?)?;
        drop(client);
        let limit = self.arguments.rest_mb * MB;
        let (resident, came) = come_to_rest(&self.server, limit, REST_MAX);
        let mut client = self.client()?;
        let info = text(client.ask(&words!["INFO", "memory"])?)?.unwrap_or_default();
        for line in String::from_utf8_lossy(&info).lines().filter(|line| !line.contains("human")) {
            println!("  {line}");
        }
        for database in 0..4 {
            fine(&client.ask(&words!["SELECT", database])?)?;
            let left = integer(&client.ask(&words!["DBSIZE"])?)?;
            ensure!(left == 0, "{left} keys in database {database} behind FLUSHALL");
        }
        let reply = client.ask(&words!["PING"])?;
        ensure!(error(&reply).is_none(), "{reply:?}");
        println!("  {} MB are resident {:.1} s behind FLUSHALL", resident / MB, came.as_secs_f64());
        if resident > limit {
            bail!(
                "{} MB are resident behind FLUSHALL, over {} MB:\n{}",
                resident / MB,
                limit / MB,
                self.server.largest_mappings()
            );
        }
        self.server.end(self.arguments.shutdown)?;
        self.server.starts_again(&self.arguments.server, &self.arguments.options)?;
        println!(
            "hammer: {} commands, {} threads, all invariants hold; peak resident {} MB, \
             at rest {} MB",
            self.commands,
            self.arguments.threads,
            self.peak.bytes() / MB,
            resident / MB
        );
        Ok(())
    }

    fn client(&self) -> Result<Client> {
        let patience = Duration::from_secs(self.arguments.patience);
        Client::open(self.server.addresses.next(), patience).context("the server does not accept")
    }
}

/// Time for a server that is about to end to log the reason.
const LAST_WORDS: Duration = Duration::from_millis(500);
const REST_MAX: Duration = Duration::from_secs(15);
