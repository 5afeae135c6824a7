//! Reduction of a failing round to the steps and words that are needed.

use super::pair::Pair;
use super::play::{self, Failure, Outcome, Pace, play};
use super::step::{Action, Step};
use anyhow::Result;
use std::time::{Duration, Instant};

/// Reduced steps, and their failure.
pub struct Reduced {
    /// Fewest steps found that still fail.
    pub steps: Vec<Step>,
    /// Failure of these steps.
    pub failure: Failure,
    /// True if the failure could be repeated at all.
    pub is_repeatable: bool,
}

/// Removes steps and words as long as the same failure remains.
///
/// # Errors
/// If a server cannot be started.
pub fn reduce(pair: &mut Pair, steps: &[Step], failure: Failure) -> Result<Reduced> {
    let recording = pair.recording.take();
    let wanted = failure.what.signature();
    let mut steps = steps[..failure.played].to_vec();
    let mut reducer = Reducer { pair, wanted, pace: GENTLY, began: Instant::now(), last: None };
    // Run one by one, they show after which step the values differ.
    let fails = reducer.fails(&steps)? || {
        reducer.pace = AS_PLAYED;
        reducer.fails(&steps)?
    };
    if fails {
        steps.truncate(reducer.last.as_ref().map_or(steps.len(), |last| last.played));
        drop_steps(&mut steps, |fewer| reducer.fails(fewer))?;
        reducer.drop_words(&mut steps)?;
        drop_steps(&mut steps, |fewer| reducer.fails(fewer))?;
        reducer.shorten_words(&mut steps)?;
    }
    let failure = reducer.last.take().unwrap_or(failure);
    pair.recording = recording;
    Ok(Reduced { steps, failure, is_repeatable: fails })
}

/// Drops halves, quarters, and so on down to single steps, as long as the rest fails.
///
/// # Errors
/// Those of `fails`.
pub fn drop_steps<S: Clone>(
    steps: &mut Vec<S>,
    mut fails: impl FnMut(&[S]) -> Result<bool>,
) -> Result<()> {
    let mut chunk = steps.len().div_ceil(2);
    while chunk > 0 {
        let mut end = steps.len();
        while end > 0 {
            let begin = end.saturating_sub(chunk);
            let mut fewer = steps.clone();
            fewer.drain(begin..end);
            if !fewer.is_empty() && fails(&fewer)? {
                *steps = fewer;
            }
            end = begin.min(steps.len());
        }
        chunk /= 2;
    }
    Ok(())
}

struct Reducer<'a> {
    pair: &'a mut Pair,
    wanted: String,
    pace: Pace,
    began: Instant,
    /// Last failure that was the wanted one.
    last: Option<Failure>,
}

impl Reducer<'_> {
    fn fails(&mut self, steps: &[Step]) -> Result<bool> {
        if self.began.elapsed() > PATIENCE {
            return Ok(false);
        }
        let Outcome { failure, .. } = play(self.pair, steps, self.pace)?;
        let Some(failure) = failure else { return Ok(false) };
        let is_wanted = failure.what.signature() == self.wanted;
        if is_wanted {
            self.last = Some(failure);
        }
        Ok(is_wanted)
    }

    fn drop_words(&mut self, steps: &mut [Step]) -> Result<()> {
        for at in 0..steps.len() {
            let mut chunk = steps[at].words() / 2;
            while chunk > 0 {
                let mut end = steps[at].words();
                while end > 1 {
                    let begin = end.saturating_sub(chunk).max(1);
                    let whole = steps[at].clone();
                    if let Action::Send(request) = &mut steps[at].action {
                        request.drain(begin..end);
                    }
                    if !self.fails(steps)? {
                        steps[at] = whole;
                    }
                    end = begin.min(steps[at].words());
                }
                chunk /= 2;
            }
        }
        Ok(())
    }

    fn shorten_words(&mut self, steps: &mut [Step]) -> Result<()> {
        for at in 0..steps.len() {
            for word in 1..steps[at].words().min(WORDS_SHORTENED) {
                let mut chunk = usize::MAX;
                loop {
                    let whole = steps[at].clone();
                    let Action::Send(request) = &mut steps[at].action else { break };
                    chunk = chunk.min(request[word].len() / 2);
                    if chunk < SHORT {
                        break;
                    }
                    let len = request[word].len() - chunk;
                    request[word].truncate(len);
                    if !self.fails(steps)? {
                        steps[at] = whole;
                        chunk /= 2;
                    }
                }
            }
        }
        Ok(())
    }
}

const GENTLY: Pace = Pace { batch: 1, looks: 1 };
const AS_PLAYED: Pace = play::PACE;
const PATIENCE: Duration = Duration::from_secs(90);
const WORDS_SHORTENED: usize = 20;
const SHORT: usize = 4;
