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

/// The line at work of a client; none of one that speaks RESP, for which this is one pointer.
#[derive(Debug, Default)]
pub struct CurrentLine(Option<Box<AtWork>>);

#[derive(Debug)]
struct AtWork {
    line: Line,
    /// True if a part of it was refused.
    is_refused: bool,
    parts: Option<LineParts>,
}

impl CurrentLine {
    /// Returns what is known of it.
    #[inline]
    pub fn get(&self) -> Option<Line> {
        self.0.as_ref().map(|it| it.line)
    }

    /// Begins with the next line, or the next part of one.
    #[inline]
    pub fn set(&mut self, line: Line) {
        match &mut self.0 {
            Some(at_work) => at_work.line = line,
            None => self.0 = Some(Box::new(AtWork { line, is_refused: false, parts: None })),
        }
    }

    /// Notes that the next request is no line.
    pub fn forget(&mut self) {
        self.0 = None;
    }

    /// Returns what is kept between its parts, if it has several and was let in.
    pub fn parts(&self) -> Option<&LineParts> {
        self.0.as_ref()?.parts.as_ref()
    }

    /// Takes what is kept between its parts.
    pub fn take_parts(&mut self) -> Option<LineParts> {
        self.0.as_mut()?.parts.take()
    }

    /// Keeps something for its next part.
    pub fn keep_parts(&mut self, parts: LineParts) {
        if let Some(at_work) = &mut self.0 {
            at_work.parts = Some(parts);
        }
    }

    /// Notes that it was refused, or a part of it: parts behind that do nothing.
    pub fn refuse(&mut self) {
        if let Some(at_work) = &mut self.0 {
            at_work.is_refused = !at_work.line.request.is_last;
        }
    }

    /// Begins the part at work: returns true if one before it was refused, so that it does nothing,
    /// and is not refused once more. To be called once for each part.
    pub fn passes_over_part(&mut self) -> bool {
        self.0.as_mut().is_some_and(|at_work| {
            let request = at_work.line.request;
            let is_refused = !request.is_first && at_work.is_refused;
            at_work.is_refused = is_refused && !request.is_last;
            is_refused
        })
    }
}

/// What is kept between the parts of a line: of one of keys what they have taken so far, as it is
/// counted as one command, and of a dump where that goes on.
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
    /// Where the walk over keys of a dump goes on.
    pub walked_to: u64,
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

    /// Returns what is kept of a dump whose walk over keys goes on there.
    pub fn of_walk(walked_to: u64) -> LineParts {
        LineParts { walked_to, ..LineParts::default() }
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
