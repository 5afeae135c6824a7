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

/// What the parts of a line of keys have taken so far, as the line is counted as one command.
#[derive(Clone, Debug, Default)]
pub struct LineParts {
    /// Nanoseconds.
    pub nanos: u64,
    /// Bytes of the replies.
    pub reply_bytes: u64,
    /// Bytes of the line, without the part at work.
    pub request_bytes: u64,
    /// Words of the line, without those of the part at work.
    pub words: usize,
    /// The first words, with a blank behind each.
    first_words: Vec<u8>,
}

impl LineParts {
    /// Returns what the first part has taken before it ran: nothing. Of its words the first are
    /// kept, for logs of requests.
    pub fn begin<'w>(words: impl Iterator<Item = &'w [u8]>) -> LineParts {
        let mut first_words = Vec::with_capacity(FIRST_WORDS_ROOM);
        for word in words {
            first_words.extend_from_slice(word);
            first_words.push(b' ');
        }
        LineParts { first_words, ..LineParts::default() }
    }

    /// Returns the first words.
    pub fn first_words(&self) -> impl Iterator<Item = &[u8]> {
        let words = self.first_words.strip_suffix(b" ").unwrap_or_default();
        words.split(|byte| *byte == b' ')
    }
}

/// Room for the first words of a line, of which most are short.
const FIRST_WORDS_ROOM: usize = 1 << 10;

impl Line {
    /// Returns true if the line stands whole in this request.
    pub fn is_whole(&self) -> bool {
        self.request.is_first && self.request.is_last
    }

    /// Returns the number of words that a later part lacks, as they stood in the first.
    pub fn words_left_out(&self) -> usize {
        let before_keys = self.request.command.words_before_keys();
        before_keys.filter(|_| !self.request.is_first).unwrap_or(0)
    }

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
