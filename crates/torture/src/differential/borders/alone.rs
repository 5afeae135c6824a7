//! Cases for Varve alone, which has to survive them and to give all memory back.

use super::families::wanted;
use super::state::State;
use super::tried::Tried;
use crate::client::{Reply, encoded};
use crate::differential::arguments::Arguments;
use crate::differential::case::Case;
use crate::differential::generate::settings;
use crate::differential::pair::{Broken, Side};
use crate::differential::step::{Action, Request, line, request};
use anyhow::{Context, Result, bail, ensure};
use bench::servers::{Launch, Program};
use std::time::{Duration, Instant};

/// Plays every case of every family, with plenty of memory or with little.
///
/// # Errors
/// If the server cannot be started, ends by itself, or does not free unused memory.
pub fn alone(arguments: &Arguments, program: &Program, launch: &Launch) -> Result<()> {
    if !arguments.tight {
        return Run::new(arguments, program, launch.clone(), false).families();
    }
    for policy in ["noeviction", "allkeys-lru"] {
        println!("{TIGHT} of memory, {policy}");
        let launch = launch.clone().with("maxmemory", TIGHT).with("maxmemory-policy", policy);
        Run::new(arguments, program, launch, true).families()?;
    }
    Ok(())
}

struct Run<'a> {
    arguments: &'a Arguments,
    side: Side,
    is_tight: bool,
    /// True if the memory was filled since all keys were removed.
    is_filled: bool,
    refused: u64,
    cases: usize,
}

impl<'a> Run<'a> {
    fn new(arguments: &'a Arguments, program: &Program, launch: Launch, is_tight: bool) -> Run<'a> {
        let side = Side::new("Varve", program.clone(), launch);
        Run { arguments, side, is_tight, is_filled: false, refused: 0, cases: 0 }
    }

    fn families(mut self) -> Result<()> {
        let began = Instant::now();
        self.side.renew()?;
        // The server samples its memory from time to time, and reports zero before that.
        std::thread::sleep(SAMPLED);
        let at_rest = self.used()?;
        for family in wanted(self.arguments) {
            let mut tried = Tried::default();
            let family_began = Instant::now();
            for (state, cases) in family.cases_of_states(self.arguments.one_in) {
                tried.add(&cases);
                let tried = self.state(state, &cases);
                tried.with_context(|| format!("{}, --only '{}'", family.name, state.label))?;
            }
            let seconds = family_began.elapsed().as_secs_f64();
            let used = self.come_to_rest(at_rest)?;
            tried.print(&family, seconds);
            println!("{:14} {} KB in use, {} KB at the start", "", used >> 10, at_rest >> 10);
        }
        ensure!(self.cases > 0, "no border has such a name");
        let seconds = began.elapsed().as_secs_f64();
        print!("{} cases, {seconds:.0} seconds, ", self.cases);
        println!("{} requests refused for lack of memory, and the server lives", self.refused);
        Ok(())
    }

    fn state(&mut self, state: &State, cases: &[Case]) -> Result<()> {
        let settings: Vec<_> =
            [settings::defaults()].into_iter().chain(state.configure()).collect();
        self.ask(&settings)?;
        for case in cases {
            self.cases += 1;
            if self.is_tight && self.cases.is_multiple_of(FILLED_EVERY) {
                self.fill()?;
                // Leaves between nothing and some megabytes free.
                let gap = GAPS[self.cases / FILLED_EVERY % GAPS.len()];
                self.ask(&[request(&["DEL", gap]), request(&["SELECT", "0"])])?;
            }
            let mut requests = case.build.to_vec();
            for action in &case.actions {
                match action {
                    Action::Send(it) | Action::Iterate(it) | Action::LetExpire(it, _) => {
                        requests.push(it.clone());
                    }
                    Action::Serve { .. } => {}
                }
            }
            let asked = self.ask(&requests);
            asked.with_context(|| {
                let shown = requests.iter().skip(case.build.len() - state.build.len());
                let lines = shown.map(|it| format!("> {}", line(it)));
                lines.collect::<Vec<_>>().join("\n")
            })?;
        }
        Ok(())
    }

    /// Fills the memory with values of all sizes, the smallest last.
    fn fill(&mut self) -> Result<()> {
        self.ask(&[request(&["SELECT", "5"])])?;
        // With eviction no write is refused, and a part of the values keeps the memory full.
        let part = if self.is_filled { 8 } else { 1 };
        self.is_filled = true;
        for (size, most) in FILLING {
            let most = most / part;
            for number in 0..most {
                let key = format!("fill:{size}:{number}").into_bytes();
                let refused = self.refused;
                self.ask(&[vec![b"SET".to_vec(), key, vec![b'f'; *size]]])?;
                if self.refused > refused {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Sends requests in one piece and waits for their replies.
    fn ask(&mut self, requests: &[Request]) -> Result<(), Broken> {
        let bytes: Vec<u8> = requests.iter().flat_map(|request| encoded(request)).collect();
        self.side.send(0, &bytes)?;
        for _ in requests {
            let reply = self.side.receive(0)?;
            let is_refused = matches!(&reply, Reply::Error(text) if text.starts_with(b"OOM"));
            self.refused += u64::from(is_refused);
        }
        Ok(())
    }

    /// Returns the bytes in use, as the server reports them.
    fn used(&mut self) -> Result<u64> {
        self.side.send(0, &encoded(&["INFO", "memory"]))?;
        let (Reply::Bulk(text) | Reply::Verbatim(text)) = self.side.receive(0)? else {
            bail!("no text of INFO");
        };
        let text = String::from_utf8_lossy(&text).into_owned();
        let number = text.lines().find_map(|it| it.strip_prefix("used_memory:"));
        Ok(number.context("no used_memory in INFO")?.trim().parse()?)
    }

    /// Removes all keys and waits until memory use is as at the start; returns the bytes then in
    /// use.
    fn come_to_rest(&mut self, at_rest: u64) -> Result<u64> {
        self.side.renew()?;
        self.is_filled = false;
        let began = Instant::now();
        let mut used = self.used()?;
        while used > at_rest + SLACK {
            let patient = began.elapsed() < PATIENCE;
            ensure!(patient, "{used} bytes are in use without keys, {at_rest} at the start");
            std::thread::sleep(Duration::from_millis(20));
            used = self.used()?;
        }
        Ok(used)
    }
}

/// Sizes of values in bytes, each with the most values of that size.
const FILLING: &[(usize, usize)] =
    &[(4 << 20, 8), (1 << 20, 16), (100_000, 64), (10_000, 104), (500, 200)];
const TIGHT: &str = "48mb";
/// Cases between two fillings of the memory.
const FILLED_EVERY: usize = 16;
/// Values of which one is removed once the memory is full.
const GAPS: &[&str] = &[
    "fill:none",
    "fill:500:0",
    "fill:10000:0",
    "fill:100000:0",
    "fill:1048576:0",
    "fill:4194304:0",
];
const SAMPLED: Duration = Duration::from_secs(1);
/// Allowance for open segments and grown buffers.
const SLACK: u64 = 8 << 20;
const PATIENCE: Duration = Duration::from_secs(10);
