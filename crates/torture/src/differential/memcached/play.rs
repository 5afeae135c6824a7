//! Plays lines on both servers until they differ.

use super::super::pair::Broken;
use super::answer::{Answer, Numbers, first_difference, note_told};
use super::known::{self, Past, Seen};
use super::looks::{Look, with_looks};
use super::side::Side;
use super::step::Step;
use anyhow::Result;
use std::collections::{BTreeMap, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

/// Varve and Memcached.
pub struct Pair {
    /// Varve.
    pub varve: Side,
    /// Memcached.
    pub peer: Side,
    /// Keys that rounds name.
    pub keys: Vec<Vec<u8>>,
}

/// Failure that ended the playing of steps.
#[derive(Debug)]
pub struct Failure {
    /// Number of steps that had been played.
    pub played: usize,
    /// Kind of failure.
    pub what: What,
}

/// Kind of failure.
#[derive(Debug)]
pub enum What {
    /// Two answers differ.
    Differ {
        /// The line.
        step: Step,
        /// Answer of Varve.
        varve: Answer,
        /// Answer of Memcached.
        peer: Answer,
        /// Index of the first line that differs.
        at: usize,
    },
    /// A server does not answer.
    Broken(Broken),
    /// Memcached has ended by itself.
    PeerEnded(Broken),
}

impl What {
    /// Returns a text that is equal for failures of the same kind.
    pub fn signature(&self) -> String {
        match self {
            What::Differ { step, varve, peer, at } => {
                format!("{}: {} / {}", step.name(), gist(varve, *at), gist(peer, *at))
            }
            What::Broken(broken) | What::PeerEnded(broken) => {
                let place = broken.error.split("panicked at ").nth(1).unwrap_or(&broken.error);
                format!("{} broken {}", broken.side, place.split(": ").next().unwrap_or_default())
            }
        }
    }
}

/// Returns the kind of a line: its words, with numbers made alike.
fn gist(answer: &Answer, at: usize) -> String {
    let Some(unit) = answer.units.get(at) else {
        return if answer.is_closed { "closed" } else { "nothing" }.to_owned();
    };
    let text = String::from_utf8_lossy(&unit.line);
    let is_meta = ["HD", "VA", "EN", "NF", "NS", "EX"].iter().any(|word| text.starts_with(word));
    let alike = |word: &str| {
        if let Some((name, value)) = word.split_once('=') {
            return if name == "fetch" { value } else { name }.to_owned();
        }
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        match word.chars().next() {
            Some(letter) if is_meta && word.len() > 1 && !is_number => letter.to_string(),
            _ if is_number => "#".to_owned(),
            _ => word.chars().take(12).collect(),
        }
    };
    let words: Vec<_> = text.split(' ').take(8).enumerate().collect();
    words
        .iter()
        .map(|(at, word)| if *at == 0 { (*word).to_owned() } else { alike(word) })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Result of playing.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Difference, if there was one.
    pub failure: Option<Failure>,
    /// Number of lines that both answered.
    pub lines: u64,
    /// Number of listed differences, by their reasons.
    pub listed: BTreeMap<&'static str, u64>,
}

/// Plays steps on servers without items; at most so many (`batch`) are sent in one piece.
///
/// # Errors
/// If a server cannot be started.
pub fn play(pair: &mut Pair, steps: &[Step], batch: usize) -> Result<Outcome> {
    let mut keys = pair.keys.clone();
    keys.extend(steps.iter().map(|step| step.key.clone()));
    keys.sort_unstable();
    keys.dedup();
    let numbers = Numbers::default();
    let (past, outcome) = (HashMap::new(), Outcome::default());
    let mut player = Player { pair, keys, numbers, past, outcome };
    player.renew()?;
    let mut played = 0;
    while played < steps.len() {
        // How many are sent in one piece changes along the round.
        let most = batch.min(1 + played * 7 % 11);
        let end = played + batch_len(&steps[played..], most);
        let result = player.batch(&steps[played..end])?;
        played = end;
        if let Err(what) = result {
            player.outcome.failure = Some(Failure { played, what });
            break;
        }
    }
    Ok(player.outcome)
}

/// Returns the length of the next batch: lines that fit into socket buffers, of which the last
/// alone may have no end.
fn batch_len(steps: &[Step], most: usize) -> usize {
    let mut bytes = 0;
    let fits = |(at, step): &(usize, &Step)| {
        bytes += step.block.as_ref().map_or(0, |block| block.bytes.len()) + LINE_BYTES;
        let may_follow = *at == 0 || !steps[at - 1].end.is_empty();
        bytes < BYTES_MAX && may_follow && (*at == 0 || !step.is_sent_first())
    };
    steps.iter().take(most).enumerate().take_while(fits).count().max(1)
}

struct Player<'a> {
    pair: &'a mut Pair,
    /// All keys that may have items.
    keys: Vec<Vec<u8>>,
    numbers: Numbers,
    /// What was done to keys.
    past: HashMap<Vec<u8>, Past>,
    outcome: Outcome,
}

impl Player<'_> {
    /// Removes all items of both servers.
    fn renew(&mut self) -> Result<()> {
        self.past.clear();
        self.numbers = Numbers::default();
        self.pair.varve.renew(&self.keys)?;
        self.pair.peer.renew(&self.keys)
    }

    /// Plays one batch, and looks at items whose numbers may change.
    fn batch(&mut self, steps: &[Step]) -> Result<Result<(), What>> {
        let steps = with_looks(steps);
        let (ones, others) = match self.exchange(&steps) {
            Ok(answers) => answers,
            Err(broken) if broken.side == self.pair.peer.name && self.pair.peer.has_ended() => {
                return Ok(Err(What::PeerEnded(broken)));
            }
            Err(broken) => return Ok(Err(What::Broken(broken))),
        };
        for (at, (step, (varve, peer))) in steps.iter().zip(ones.iter().zip(&others)).enumerate() {
            self.outcome.lines += 1;
            let past = self.past.entry(step.key.clone()).or_default();
            let around = (at.checked_sub(1).and_then(|at| others.get(at)), others.get(at + 1));
            let look = match around {
                (Some(before), Some(after)) if step.reckons() => Look::of(before, after),
                _ => Look::default(),
            };
            past.note(step, varve, look);
            let found = first_difference(step, varve, peer, &mut self.numbers);
            let seen = Seen { step, varve, peer, past: *past, look };
            let mut known: Vec<_> = known::silent(&seen).into_iter().collect();
            if let Some(at) = found {
                let told = known::find(&seen, &mut self.numbers);
                if told.is_empty() {
                    let (step, varve, peer) = (step.clone(), varve.clone(), peer.clone());
                    return Ok(Err(What::Differ { step, varve, peer, at }));
                }
                known.extend(told);
            }
            for it in &known {
                *self.outcome.listed.entry(it.reason).or_default() += 1;
            }
            if known.is_empty() {
                note_told(step, varve, &mut self.pair.varve.told);
                note_told(step, peer, &mut self.pair.peer.told);
            } else if !known.iter().all(|it| it.only_the_answer) {
                // Later answers of this batch may depend on the difference.
                self.renew()?;
                break;
            }
        }
        Ok(Ok(()))
    }

    /// Sends steps to both, to Varve in one piece, and waits for all answers.
    fn exchange(&mut self, steps: &[Step]) -> Result<(Vec<Answer>, Vec<Answer>), Broken> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = now.as_secs() as i64;
        self.pair.varve.send_steps(steps, now)?;
        let others = self.pair.peer.ask(steps, now)?;
        Ok((self.pair.varve.answers(steps)?, others))
    }
}

const BYTES_MAX: usize = 64 << 10;
/// Most bytes of a usual line.
const LINE_BYTES: usize = 1024;
