//! Reduction of a failing round to the lines and words that are needed.

use super::super::reduce::drop_steps;
use super::play::{Failure, Pair, play};
use super::step::{Step, Word};
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

/// Removes steps, words and bytes as long as the same failure remains.
///
/// # Errors
/// If a server cannot be started.
pub fn reduce(pair: &mut Pair, steps: &[Step], failure: Failure) -> Result<Reduced> {
    let mut steps = steps[..failure.played].to_vec();
    let wanted = failure.what.signature();
    let mut reducer = Reducer { pair, wanted, batch: 1, began: Instant::now(), last: None };
    let fails = reducer.fails(&steps)? || {
        reducer.batch = usize::MAX;
        reducer.fails(&steps)?
    };
    if fails {
        steps.truncate(reducer.last.as_ref().map_or(steps.len(), |last| last.played));
        drop_steps(&mut steps, |fewer| reducer.fails(fewer))?;
        reducer.drop_words(&mut steps)?;
        reducer.shorten(&mut steps)?;
        drop_steps(&mut steps, |fewer| reducer.fails(fewer))?;
    }
    let failure = reducer.last.take().unwrap_or(failure);
    Ok(Reduced { steps, failure, is_repeatable: fails })
}

struct Reducer<'a> {
    pair: &'a mut Pair,
    wanted: String,
    batch: usize,
    began: Instant,
    /// Last failure that was the wanted one.
    last: Option<Failure>,
}

impl Reducer<'_> {
    fn fails(&mut self, steps: &[Step]) -> Result<bool> {
        if self.began.elapsed() > PATIENCE {
            return Ok(false);
        }
        let Some(failure) = play(self.pair, steps, self.batch)?.failure else { return Ok(false) };
        let is_wanted = failure.what.signature() == self.wanted;
        if is_wanted {
            self.last = Some(failure);
        }
        Ok(is_wanted)
    }

    fn drop_words(&mut self, steps: &mut [Step]) -> Result<()> {
        for at in 0..steps.len() {
            // Without one of the words up to its length, the line would announce another block, or
            // none.
            let is_length = |word: &Word| matches!(word, Word::Length(_));
            let first = steps[at].words.iter().position(is_length).map_or(1, |at| at + 1);
            for word in (first..steps[at].words.len()).rev() {
                let removed = steps[at].words.remove(word);
                if !self.fails(steps)? {
                    steps[at].words.insert(word, removed);
                }
            }
        }
        Ok(())
    }

    /// Shortens words and blocks.
    fn shorten(&mut self, steps: &mut [Step]) -> Result<()> {
        for at in 0..steps.len() {
            let (words, block) = (steps[at].words.len(), steps[at].block.is_some());
            for part in 0..words + usize::from(block) {
                let mut chunk = usize::MAX;
                loop {
                    let whole = steps[at].clone();
                    let bytes = match steps[at].words.get_mut(part) {
                        // The size of a number counts.
                        Some(Word::Text(bytes)) if bytes.len() > LONG => Some(bytes),
                        Some(_) => None,
                        None => steps[at].block.as_mut().map(|block| &mut block.bytes),
                    };
                    let Some(bytes) = bytes else { break };
                    chunk = chunk.min(bytes.len() / 2);
                    if chunk == 0 {
                        break;
                    }
                    bytes.truncate(bytes.len() - chunk);
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

/// Most bytes of a word that is left as it is.
const LONG: usize = 32;
const PATIENCE: Duration = Duration::from_secs(60);
