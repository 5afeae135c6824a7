//! Requests of Memcached's protocol: what is known of one besides its words.

use memcached::{Refusal, Refused, Request, Resume};

/// What is known of a line, or of a part of a line of keys.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// What the parser has found.
    pub request: Request,
    /// The refusal that its command answers, once the key has lost its value.
    pub refusal: Option<Refusal>,
}

impl Line {
    /// Returns the line that removes a key, if a refused line has one whose value must go; `None`
    /// if nothing is to be done for it.
    pub fn of_removal(refused: &Refused) -> Option<Line> {
        let Refused { consumed, refusal, is_quiet, removes, is_base64 } = *refused;
        let request = Request {
            consumed,
            command: removes?,
            is_quiet,
            is_base64,
            is_first: true,
            is_last: true,
            expiry: 0,
            resume: Resume::Line,
        };
        Some(Line { request, refusal: Some(refusal) })
    }
}
