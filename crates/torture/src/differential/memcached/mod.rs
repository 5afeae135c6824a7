//! The same random lines of Memcached's protocol for Varve and Memcached: answers are compared.
//!
//! ```text
//! seed ─generate─▶ round of lines ─play─▶ both servers ─answer, known─▶ agree, or a failure
//!                                                        failure ─reduce─▶ case of tests/memcached
//! ```
//! Answers are equal byte for byte, but for what no client can rely on: numbers of CAS must be the
//! same where the other server's are, and times may differ by what clocks do.

mod answer;
mod base64;
mod generate;
mod known;
mod looks;
mod play;
mod reduce;
mod side;
mod step;

use super::arguments::Arguments;
use anyhow::{Result, bail, ensure};
use bench::servers::{Peers, Program};
use play::{Failure, Pair, What, play};
use side::Side;
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use step::Step;

/// Runs until the time is over or a difference is found.
///
/// # Errors
/// If a server cannot be started, or the two differ.
pub fn run(arguments: &Arguments) -> Result<()> {
    let program = Program::parse(&arguments.server)?;
    program.must_be_there()?;
    let peers = match Peers::find() {
        Ok(peers) => peers,
        Err(error) => {
            println!("{error:#}");
            println!("SKIPPED: no Memcached; tests/memcached holds what it answered");
            return Ok(());
        }
    };
    let varve = Side::varve(program, arguments.threads);
    let pair = Pair { varve, peer: Side::memcached(&peers), keys: generate::keys() };
    Run::new(arguments, pair)?.rounds()
}

struct Run<'a> {
    arguments: &'a Arguments,
    pair: Pair,
    seed: u64,
    began: Instant,
    lines: u64,
    /// Number of listed differences, by their reasons.
    listed: BTreeMap<&'static str, u64>,
    /// Number of failures, by kind.
    failures: BTreeMap<String, u64>,
    /// How often Memcached has ended by itself.
    peer_ends: u64,
}

impl<'a> Run<'a> {
    fn new(arguments: &'a Arguments, pair: Pair) -> Result<Run<'a>> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros() as u64;
        let seed = arguments.seed.unwrap_or(now % 1_000_000_007);
        println!("seed {seed}");
        let (listed, failures, began) = (BTreeMap::new(), BTreeMap::new(), Instant::now());
        Ok(Run { arguments, pair, seed, began, lines: 0, listed, failures, peer_ends: 0 })
    }

    fn rounds(mut self) -> Result<()> {
        let mut number = self.arguments.round;
        while !self.arguments.are_over(self.began, self.lines) {
            let steps = generate::round(self.seed, number);
            let outcome = play(&mut self.pair, &steps, BATCH)?;
            self.lines += outcome.lines;
            for (reason, seen) in outcome.listed {
                *self.listed.entry(reason).or_default() += seen;
            }
            match outcome.failure {
                // It is started again for the next round.
                Some(Failure { what: What::PeerEnded(broken), .. }) => {
                    println!("--seed {} --round {number}: no difference, but {broken}", self.seed);
                    self.peer_ends += 1;
                }
                Some(failure) => self.failed(number, &steps, failure)?,
                None => {}
            }
            number += 1;
        }
        self.end()
    }

    /// Reduces and shows a failure, if its kind is new.
    fn failed(&mut self, number: u64, steps: &[Step], failure: Failure) -> Result<()> {
        let signature = failure.what.signature();
        let seen = self.failures.entry(signature.clone()).or_default();
        *seen += 1;
        if *seen > 1 {
            return Ok(());
        }
        println!("\n== --seed {} --round {number}: {signature}", self.seed);
        let reduced = reduce::reduce(&mut self.pair, steps, failure)?;
        if !reduced.is_repeatable {
            println!("# it did not come again");
        }
        let shown = reduced.steps.len().saturating_sub(SHOWN);
        reduced.steps[shown..].iter().for_each(|step| print!("{}", step.case()));
        match reduced.failure.what {
            What::Broken(broken) | What::PeerEnded(broken) => println!("# {broken}"),
            What::Differ { step, varve, peer, .. } => {
                println!("# {}\n# Varve:\n{}", step.name(), short(varve.case()));
                println!("# Memcached:\n{}", short(peer.case()));
            }
        }
        ensure!(self.arguments.keep_going, "the servers differ");
        Ok(())
    }

    fn end(self) -> Result<()> {
        for (reason, seen) in &self.listed {
            println!("{seen:6} listed: {reason}");
        }
        for (signature, seen) in &self.failures {
            println!("{seen:6} differ: {signature}");
        }
        if self.peer_ends > 0 {
            println!("{:6} times Memcached ended by itself, and was started again", self.peer_ends);
        }
        let seconds = Duration::as_secs_f64(&self.began.elapsed());
        let (listed, differ) = (self.listed.values().sum::<u64>(), self.failures.len());
        print!("{} lines, {seconds:.0} seconds, ", self.lines);
        println!("{differ} kinds of differences that are not listed ({listed} listed ones seen)");
        if differ == 0 { Ok(()) } else { bail!("the servers differ") }
    }
}

fn short(text: String) -> String {
    text.lines().take(SHOWN).map(|line| line.chars().take(300).collect::<String>() + "\n").collect()
}

/// Most lines that are sent in one piece.
const BATCH: usize = 12;
/// Most steps shown of a case that could not be reduced.
const SHOWN: usize = 60;
