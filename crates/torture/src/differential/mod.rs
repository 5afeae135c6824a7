//! The same random commands to Varve and to a reference server; what they answer is compared.
//!
//! ```text
//! seed ─generate─▶ round of steps ─play─▶ both servers ─rule, known─▶ agree, or a failure
//!                                                       failure ─reduce─▶ transcript
//! ```

mod corpus;
mod generate;
mod known;
mod pair;
mod play;
mod reduce;
mod rule;
mod step;
mod text;

use anyhow::{Context, Result, bail, ensure};
use bench::servers::{Launch, Peers, Program};
use corpus::Recording;
use generate::Generator;
use pair::{Pair, Side};
use play::{Failure, Pace, What, play};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use step::{Step, line, transcript};
use text::{first_difference, reply_text};

/// What `varve-torture differential` is told.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// Ends after so many minutes
    #[arg(long, default_value_t = 0)]
    minutes: u64,
    /// Ends after so many seconds; a minute, if nothing else ends it
    #[arg(long, default_value_t = 0)]
    seconds: u64,
    /// Ends after so many commands
    #[arg(long)]
    commands: Option<u64>,
    /// Draws the same commands as a run that printed this number
    #[arg(long)]
    seed: Option<u64>,
    /// Begins with this round
    #[arg(long, default_value_t = 0)]
    round: u64,
    /// Protocol of all connections; otherwise some of each
    #[arg(long, value_parser = clap::value_parser!(u8).range(2..=3))]
    resp: Option<u8>,
    /// Varve
    #[arg(long, default_value = "target/checked/varve-server")]
    server: String,
    /// Worker threads of Varve
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Goes on after a difference, and prints each kind of them once
    #[arg(long)]
    keep_going: bool,
    /// Writes requests and the reference's replies into a file
    #[arg(long)]
    record: Option<PathBuf>,
    /// Plays a recording to Varve alone
    #[arg(long)]
    play: Option<PathBuf>,
}

/// Runs until the time is over or a difference is found.
///
/// # Errors
/// If a server cannot be started, or the two differ.
pub fn run(arguments: &Arguments) -> Result<()> {
    let program = Program::parse(&arguments.server)?;
    program.must_be_there()?;
    let launch = Launch::default().with_threads(arguments.threads).on_cores(2);
    let mut varve = Side::new("Varve", program, launch);
    if let Some(file) = &arguments.play {
        return play_recording(&mut varve, file);
    }
    let launch = Launch::default().on_cores(2);
    let valkey = Peers::find().and_then(|peers| {
        peers.versions()?;
        Ok(Side::new("Valkey", peers.program("valkey")?, launch))
    });
    let valkey = match valkey {
        Ok(valkey) => valkey,
        Err(error) => {
            println!("{error:#}");
            println!("SKIPPED: no reference server; the recorded corpus is played instead");
            return play_recording(&mut varve, Path::new(CORPUS));
        }
    };
    let recording = arguments.record.as_ref().map(|_| Recording::default());
    let pair = Pair { varve, valkey, recording };
    Run::new(arguments, pair)?.rounds()
}

fn play_recording(varve: &mut Side, file: &Path) -> Result<()> {
    let requests = corpus::play(varve, file)?;
    println!("{requests} recorded commands, 0 differences");
    Ok(())
}

struct Run<'a> {
    arguments: &'a Arguments,
    pair: Pair,
    generator: Generator,
    seed: u64,
    began: Instant,
    requests: u64,
    /// Listed differences, by their reasons.
    listed: BTreeMap<&'static str, u64>,
    /// Kinds of failures, and how often they were seen.
    failures: BTreeMap<String, u64>,
}

impl<'a> Run<'a> {
    fn new(arguments: &'a Arguments, pair: Pair) -> Result<Run<'a>> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros() as u64;
        let seed = arguments.seed.unwrap_or(now % 1_000_000_007);
        println!("seed {seed}");
        Ok(Run {
            arguments,
            pair,
            generator: Generator::new(seed, arguments.resp, arguments.record.is_some()),
            seed,
            began: Instant::now(),
            requests: 0,
            listed: BTreeMap::new(),
            failures: BTreeMap::new(),
        })
    }

    fn rounds(mut self) -> Result<()> {
        let mut number = self.arguments.round;
        while !self.is_over() {
            let steps = self.generator.round(number);
            if number.is_multiple_of(REFERENCE_ROUNDS) {
                self.pair.valkey.stop();
            }
            let outcome = play(&mut self.pair, &steps, PACE)?;
            self.requests += outcome.requests;
            for (reason, seen) in outcome.listed {
                *self.listed.entry(reason).or_default() += seen;
            }
            match outcome.failure {
                None => {}
                Some(Failure { what: What::Broken(broken), .. }) if broken.side == "Valkey" => {
                    println!("\n== seed {}, round {number}: {broken}", self.seed);
                    *self.listed.entry("the reference ended by itself").or_default() += 1;
                }
                Some(failure) => self.failed(number, &steps, failure)?,
            }
            number += 1;
        }
        self.end()
    }

    fn is_over(&self) -> bool {
        let Arguments { minutes, seconds, commands, .. } = *self.arguments;
        if commands.is_some_and(|most| self.requests >= most) {
            return true;
        }
        let time = match (minutes * 60 + seconds, commands) {
            (0, Some(_)) => return false,
            (0, None) => 60,
            (time, _) => time,
        };
        self.began.elapsed() >= Duration::from_secs(time)
    }

    fn failed(&mut self, number: u64, steps: &[Step], failure: Failure) -> Result<()> {
        let signature = failure.what.signature();
        let is_new = !self.failures.contains_key(&signature);
        if !is_new {
            *self.failures.entry(signature).or_default() += 1;
            return Ok(());
        }
        println!("\n== seed {}, round {number}: {signature}", self.seed);
        // What may have harmed the reference ends with it.
        self.pair.valkey.stop();
        let ended = matches!(failure.what, What::Broken(_));
        let reduced = reduce::reduce(&mut self.pair, steps, failure)?;
        if !reduced.is_repeatable {
            println!("# it did not come again: --seed {} --round {number}", self.seed);
        }
        let is_told_only = !reduced.is_repeatable && !ended;
        if is_told_only {
            *self.listed.entry("a difference that did not come again").or_default() += 1;
        } else {
            self.failures.insert(signature, 1);
        }
        let shown = reduced.steps.len().saturating_sub(SHOWN);
        print!("{}", transcript(&reduced.steps[shown..]));
        print_failure(&reduced.failure.what);
        ensure!(self.arguments.keep_going || is_told_only, "the servers differ");
        Ok(())
    }

    fn end(self) -> Result<()> {
        let seconds = self.began.elapsed().as_secs_f64();
        if let (Some(file), Some(recording)) = (&self.arguments.record, &self.pair.recording) {
            fs::write(file, format!("{HEADER}{}", recording.text))
                .with_context(|| file.display().to_string())?;
        }
        for (reason, seen) in &self.listed {
            println!("{seen:6} listed: {reason}");
        }
        for (signature, seen) in &self.failures {
            println!("{seen:6} differ: {signature}");
        }
        println!("{:.0} commands per second", self.requests as f64 / seconds);
        let (differ, listed) =
            (self.failures.values().sum::<u64>(), self.listed.values().sum::<u64>());
        print!("{} commands, {seconds:.0} seconds, ", self.requests);
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

/// The pace of a long run.
const PACE: Pace = Pace { batch: 20, looks: 12 };
/// Rounds that one process of the reference plays: it may harm its own memory.
const REFERENCE_ROUNDS: u64 = 100;
/// Steps of a transcript that could not be made shorter.
const SHOWN: usize = 60;
const HEADER: &str = "# Written by scripts/differential --record; corpus.rs says what it means.\n";
const CORPUS: &str = "tests/differential/valkey.txt";
