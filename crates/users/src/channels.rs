//! Channels that a selector allows.

use crate::pattern::{Known, Pattern};
use crate::rule::{RuleError, has_blanks};

/// Channels that a selector allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Channels {
    /// All.
    All,
    /// Those that one of these matches.
    Matching(Vec<Pattern>, Known),
}

impl Channels {
    /// No channels.
    pub const NONE: Channels = Channels::Matching(Vec::new(), Known::NONE);

    /// Adds a pattern.
    ///
    /// # Errors
    /// Where it has blanks, or all channels are allowed already.
    pub fn add(&mut self, pattern: &[u8]) -> Result<(), RuleError> {
        let Channels::Matching(patterns, known) = self else {
            return Err(RuleError::BehindAllChannels);
        };
        if has_blanks(pattern) {
            return Err(RuleError::Syntax);
        }
        if known.place(pattern, patterns.len(), |at| patterns[at].text()).is_none() {
            patterns.push(Pattern::new(pattern));
        }
        Ok(())
    }

    pub(crate) fn shrink(&mut self) {
        if let Channels::Matching(patterns, _) = self {
            patterns.shrink_to_fit();
        }
    }

    /// Returns true if a channel is allowed.
    pub fn allow(&self, channel: &[u8]) -> bool {
        match self {
            Channels::All => true,
            Channels::Matching(patterns, _) => patterns.iter().any(|it| it.matches(channel)),
        }
    }

    /// Returns true if a pattern of channels is allowed: it has to be one of those here, letter by
    /// letter.
    pub fn allow_pattern(&self, pattern: &[u8]) -> bool {
        match self {
            Channels::All => true,
            Channels::Matching(patterns, _) => patterns.iter().any(|it| it.text() == pattern),
        }
    }

    /// Appends the patterns as rules, parted by blanks.
    pub fn describe(&self, out: &mut Vec<u8>) {
        let Channels::Matching(patterns, _) = self else { return out.extend_from_slice(b"&*") };
        for (at, pattern) in patterns.iter().enumerate() {
            out.extend_from_slice(if at > 0 { b" &" } else { b"&" });
            out.extend_from_slice(pattern.text());
        }
    }
}
