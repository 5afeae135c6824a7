//! The same random commands for Varve and a reference server, whose replies are compared.
//!
//! ```text
//! seed ─generate─▶ round of steps ─play─▶ both servers ─rule, known─▶ agree, or a failure
//!                                                       failure ─reduce─▶ transcript
//! borders ─every state, every form─▶ cases ─play─▶ as above
//! ```

mod arguments;
mod borders;
mod case;
mod corpus;
mod findings;
pub(crate) mod generate;
mod known;
mod memcached;
mod pair;
mod play;
mod reduce;
mod replay;
mod rule;
pub(crate) mod step;
mod text;
mod transcript;

pub use arguments::Arguments;

use anyhow::{Context, Result};
use bench::servers::{Launch, Peers, Program};
use corpus::Recording;
use findings::Findings;
use generate::Generator;
use pair::{Pair, Side};
use play::{Failure, PACE, What, play};
use std::fs;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Runs until the time is over or a difference is found.
///
/// # Errors
/// If a server cannot be started, or the two differ.
pub fn run(arguments: &Arguments) -> Result<()> {
    let program = Program::parse(&arguments.server)?;
    program.must_be_there()?;
    let launch = Launch::on(2, arguments.threads);
    if arguments.memcached {
        return memcached::run(arguments);
    }
    if arguments.borders && (arguments.alone || arguments.tight) {
        return borders::alone(arguments, &program, &launch);
    }
    let mut varve = Side::new("Varve", program.clone(), launch.clone());
    if let Some(file) = &arguments.play {
        return play_recording(&mut varve, file);
    }
    let reference = Launch::on(2, 1);
    let valkey = match Peers::find() {
        Ok(peers) => Side::new("Valkey", peers.program("valkey"), reference),
        Err(error) => {
            println!("{error:#}");
            if arguments.borders {
                println!("no reference server: Varve meets the borders alone");
                return borders::alone(arguments, &program, &launch);
            }
            println!("SKIPPED: no reference server; the recorded corpus is played instead");
            return play_recording(&mut varve, Path::new(CORPUS));
        }
    };
    let recording = arguments.record.as_ref().map(|_| Recording::default());
    let pair = Pair { varve, valkey, recording };
    if arguments.borders {
        return borders::beside(arguments, pair);
    }
    Run::new(arguments, pair)?.rounds()
}

fn play_recording(varve: &mut Side, file: &Path) -> Result<()> {
    let requests = replay::replay(varve, file)?;
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
    findings: Findings,
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
            findings: Findings::new(arguments.keep_going),
        })
    }

    fn rounds(mut self) -> Result<()> {
        let mut number = self.arguments.round;
        while !self.arguments.are_over(self.began, self.requests) {
            let steps = self.generator.round(number);
            if number.is_multiple_of(REFERENCE_ROUNDS) {
                self.pair.valkey.stop();
            }
            let outcome = play(&mut self.pair, &steps, PACE)?;
            self.requests += outcome.requests;
            self.findings.note(outcome.listed);
            match outcome.failure {
                None => {}
                Some(Failure { what: What::Broken(broken), .. }) if broken.side == "Valkey" => {
                    println!("\n== seed {}, round {number}: {broken}", self.seed);
                    self.findings.note_one("the reference ended by itself");
                }
                Some(failure) => {
                    let heading = format!("--seed {} --round {number}", self.seed);
                    self.findings.failed(&mut self.pair, &heading, &[&steps], failure)?;
                }
            }
            number += 1;
        }
        self.end()
    }

    fn end(self) -> Result<()> {
        let seconds = self.began.elapsed().as_secs_f64();
        if let (Some(file), Some(recording)) = (&self.arguments.record, &self.pair.recording) {
            fs::write(file, format!("{HEADER}{}", recording.text))
                .with_context(|| file.display().to_string())?;
        }
        println!("{:.0} commands per second", self.requests as f64 / seconds);
        self.findings.end(&format!("{} commands, {seconds:.0} seconds", self.requests))
    }
}

/// Rounds for one process of the reference, which may harm its own memory.
const REFERENCE_ROUNDS: u64 = 100;
const HEADER: &str = "# Written by scripts/differential --record; corpus.rs says what it means.\n";
const CORPUS: &str = "tests/differential/valkey.txt";
