//! Differences that were found, each kind of them reduced and shown once.

use super::pair::Pair;
use super::play::{Failure, What};
use super::reduce;
use super::step::{Step, line};
use super::text::{first_difference, reply_text};
use super::transcript::transcript;
use anyhow::{Result, bail, ensure};
use std::collections::BTreeMap;

/// Collection of differences.
#[derive(Debug)]
pub struct Findings {
    /// True if a difference does not end the run.
    keep_going: bool,
    /// Number of listed differences, by their reasons.
    listed: BTreeMap<&'static str, u64>,
    /// Number of failures, by kind.
    failures: BTreeMap<String, u64>,
}

impl Findings {
    /// Creates an empty collection; `keep_going` decides whether the first failure ends the run.
    pub fn new(keep_going: bool) -> Findings {
        Findings { keep_going, listed: BTreeMap::new(), failures: BTreeMap::new() }
    }

    /// Counts differences that are listed.
    pub fn note(&mut self, listed: BTreeMap<&'static str, u64>) {
        for (reason, seen) in listed {
            *self.listed.entry(reason).or_default() += seen;
        }
    }

    /// Counts one difference for a reason without an entry in the list.
    pub fn note_one(&mut self, reason: &'static str) {
        *self.listed.entry(reason).or_default() += 1;
    }

    /// Reduces and shows a failure, if its kind is new. The `attempts` to repeat it are tried in
    /// order until one fails again.
    ///
    /// # Errors
    /// If a server cannot be started, or the run ends with the first difference.
    pub fn failed(
        &mut self,
        pair: &mut Pair,
        heading: &str,
        attempts: &[&[Step]],
        failure: Failure,
    ) -> Result<()> {
        let signature = failure.what.signature();
        if let Some(seen) = self.failures.get_mut(&signature) {
            *seen += 1;
            return Ok(());
        }
        println!("\n== {heading}: {signature}");
        // Any harm to the memory of the reference ends with its process.
        pair.valkey.stop();
        let ended = matches!(failure.what, What::Broken(_));
        let mut what = failure.what;
        let mut reduced = None;
        for steps in attempts {
            let failure = Failure { played: steps.len().min(failure.played), what };
            let attempt = reduce::reduce(pair, steps, failure)?;
            let is_repeatable = attempt.is_repeatable;
            what = attempt.failure.what;
            reduced = Some((attempt.steps, is_repeatable));
            if is_repeatable {
                break;
            }
        }
        let (steps, is_repeatable) = reduced.unwrap_or_default();
        if !is_repeatable {
            println!("# it did not come again: {heading}");
        }
        let is_told_only = !is_repeatable && !ended;
        if is_told_only {
            self.note_one("a difference that did not come again");
        } else {
            self.failures.insert(signature, 1);
        }
        let shown = steps.len().saturating_sub(SHOWN);
        print!("{}", transcript(&steps[shown..]));
        print_failure(&what);
        ensure!(self.keep_going || is_told_only, "the servers differ");
        Ok(())
    }

    /// Prints a summary; `done` describes the work that was done.
    ///
    /// # Errors
    /// If there was a difference that is not listed.
    pub fn end(self, done: &str) -> Result<()> {
        for (reason, seen) in &self.listed {
            println!("{seen:6} listed: {reason}");
        }
        for (signature, seen) in &self.failures {
            println!("{seen:6} differ: {signature}");
        }
        let (differ, listed) =
            (self.failures.values().sum::<u64>(), self.listed.values().sum::<u64>());
        print!("{done}, ");
        println!("{differ} differences that are not listed ({listed} listed ones seen)");
        if self.failures.is_empty() { Ok(()) } else { bail!("the servers differ") }
    }
}

fn print_failure(what: &What) {
    match what {
        What::Broken(broken) => println!("# {}: {}", broken.side, broken.error),
        What::Differ { request, is_check, varve, valkey } => {
            if *is_check {
                println!("> {}", line(request));
            }
            println!("# Varve:  {}", reply_text(varve));
            println!("# Valkey: {}", reply_text(valkey));
            if let (Some(one), Some(other)) = first_difference(varve, valkey)
                && (one, other) != (varve, valkey)
            {
                println!("# first:  {} / {}", reply_text(one), reply_text(other));
            }
        }
    }
}

/// Most steps shown of a transcript that could not be reduced.
const SHOWN: usize = 60;
