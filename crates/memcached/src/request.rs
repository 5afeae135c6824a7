//! Requests: lines, and data blocks behind them, in place.
//!
//! ```text
//! line ──▶ get gets gat gats ──▶ parts of at most 32 keys, each a request
//!      ──▶ set add ... ms    ──▶ the block is awaited ──▶ a request
//!      ──▶ refused           ──▶ its line is answered; the announced block is swallowed
//!      ──▶ all others        ──▶ a request
//! ```
//! A request that lies whole in the input, the common case, leaves nothing behind in the parser.
//! What is awaited stands in a box, so that an idle parser is one pointer long.

mod authentication;
mod block;
mod keys;
mod line;
mod progress;
mod text;

use crate::words::next_word;
use crate::{Command, Refusal};
use block::{Block, LINE_END_LEN};
pub use keys::KEYS_MAX;
use keys::{Part, take_first_keys, take_more_keys};
use line::{Found, find_line};
pub use progress::{Arriving, Limits, Progress, Refused, Request, Resume};
use text::{Asked, Line, Unfit};
use wire::Span;

/// Parser that finds one request after the other. [`Progress::Close`] and [`Progress::Binary`] are
/// the end of its connection.
#[derive(Default, Debug)]
pub struct RequestParser {
    unfinished: Option<Box<Stage>>,
}

/// What is awaited.
#[derive(Debug)]
enum Stage {
    /// The end of a line, of which so many bytes were searched.
    Line { searched: usize },
    /// The data block of a request.
    Block(Block),
    /// The next keys of a line.
    Keys { command: Command, expiry: i32 },
    /// Bytes to drop.
    Swallow(usize),
    /// The line of a dump, which is executed part by part.
    Dump,
}

impl RequestParser {
    /// Returns a parser at the beginning of a line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns true if the parser is not at the beginning of a line: part of a request was parsed,
    /// keys of a line are left, or bytes are swallowed.
    pub fn is_unfinished(&self) -> bool {
        self.unfinished.is_some()
    }

    /// Returns the bytes that are missing of a data block whose length was announced, given that
    /// `received` bytes of its request are there: a hint, as the client chose the length.
    pub fn announced(&self, received: usize) -> usize {
        self.block()
            .map_or(0, |block| (block.at + block.len + LINE_END_LEN).saturating_sub(received))
    }

    /// Returns the request whose data block is arriving.
    pub fn arriving(&self) -> Option<Arriving<'_>> {
        let block = self.block()?;
        let Block { command, is_base64, len, .. } = *block;
        Some(Arriving { command, spans: &block.spans, len, is_base64 })
    }

    /// Leaves the bytes of the data block that is arriving to the caller: the request goes on as if
    /// that was empty, with its line end.
    pub fn leave_out(&mut self) {
        if let Some(Stage::Block(block)) = self.unfinished.as_deref_mut() {
            block.len = 0;
        }
    }

    /// Returns the bytes of the unfinished request that were parsed: a line whose data block is
    /// arriving.
    pub fn taken(&self) -> usize {
        self.block().map_or(0, |block| block.at)
    }

    /// Returns the bytes of memory held, to be counted for the connection.
    pub fn heap_bytes(&self) -> usize {
        let spans = self.block().map_or(0, |block| block.spans.capacity());
        self.unfinished.as_ref().map_or(0, |_| size_of::<Stage>() + spans * size_of::<Span>())
    }

    /// Returns the state of the parser, from which what it has not handed out can be parsed again.
    #[inline]
    pub fn resume(&self) -> Resume {
        match self.unfinished.as_deref() {
            None | Some(Stage::Line { .. } | Stage::Block(_)) => Resume::Line,
            Some(Stage::Keys { command, expiry }) => {
                Resume::Keys { command: *command, expiry: *expiry }
            }
            Some(Stage::Swallow(left)) => Resume::Swallow(*left),
            Some(Stage::Dump) => Resume::Dump,
        }
    }

    /// Sets the parser to a state in which it was between two requests: the next call gets the
    /// input from there on.
    pub fn resume_at(&mut self, resume: Resume) {
        self.unfinished = match resume {
            Resume::Line => None,
            Resume::Keys { command, expiry } => Some(Box::new(Stage::Keys { command, expiry })),
            Resume::Swallow(left) => Some(Box::new(Stage::Swallow(left))),
            Resume::Dump => Some(Box::new(Stage::Dump)),
        };
    }

    /// Reads the request at the start of `input`; after [`Progress::Incomplete`], call again with
    /// the same bytes and more. The words of a whole request are appended to `spans`, as offsets
    /// from the start of `input`.
    ///
    /// The result does not depend on the pieces in which the bytes arrive, except that of swallowed
    /// bytes their number does.
    #[inline]
    pub fn parse(&mut self, input: &[u8], spans: &mut Vec<Span>, limits: &Limits) -> Progress {
        match self.unfinished.as_deref() {
            None => self.parse_line(input, 0, spans, limits),
            Some(_) => self.parse_rest(input, spans, limits),
        }
    }

    /// Goes on with what is awaited.
    #[inline(never)]
    fn parse_rest(&mut self, input: &[u8], spans: &mut Vec<Span>, limits: &Limits) -> Progress {
        match self.unfinished.as_deref_mut() {
            None => self.parse_line(input, 0, spans, limits),
            Some(Stage::Line { searched }) => {
                let searched = *searched;
                self.parse_line(input, searched, spans, limits)
            }
            Some(Stage::Block(block)) => {
                let Some(end) = block.find_end(input) else {
                    return Progress::Incomplete { wanted: block.missing(input) };
                };
                let before = spans.len();
                spans.append(&mut block.spans);
                let progress = block.finish(input, end, spans, before);
                self.unfinished = None;
                progress
            }
            Some(Stage::Dump) => self.parse_dump(input, spans, limits),
            Some(Stage::Keys { command, expiry }) => {
                let (command, expiry) = (*command, *expiry);
                match take_more_keys(input, command, expiry, spans) {
                    Some(part) => self.hand_out_keys(command, part),
                    None => Progress::Incomplete { wanted: 1 },
                }
            }
            Some(Stage::Swallow(left)) => {
                let consumed = input.len().min(*left);
                *left -= consumed;
                let wanted = *left;
                if wanted == 0 {
                    self.unfinished = None;
                } else if consumed == 0 {
                    return Progress::Incomplete { wanted };
                }
                Progress::Swallowed { consumed }
            }
        }
    }

    /// Reads the line of a dump once more, which is all there, for its next part.
    fn parse_dump(&mut self, input: &[u8], spans: &mut Vec<Span>, limits: &Limits) -> Progress {
        let progress = self.parse_line(input, 0, spans, limits);
        match progress {
            Progress::Request(request) => {
                let (is_first, resume) = (false, Resume::Dump);
                Progress::Request(Request { is_first, resume, ..request })
            }
            _ => progress,
        }
    }

    /// Reads a line, of which the first `searched` bytes hold no end.
    #[inline]
    fn parse_line(
        &mut self,
        input: &[u8],
        searched: usize,
        spans: &mut Vec<Span>,
        limits: &Limits,
    ) -> Progress {
        if limits.is_first && input.first() == Some(&BINARY) {
            return Progress::Binary;
        }
        match find_line(input, searched, limits) {
            Found::Line(line, consumed) if limits.authenticated => {
                self.take_line(input, (line, consumed), spans, limits)
            }
            Found::Line(line, consumed) => {
                let before = spans.len();
                let asked = authentication::check(line, spans);
                self.take(input, consumed, asked, (spans, before, limits))
            }
            Found::Open => self.wait_for_line(input.len()),
            Found::TooLong => Progress::Close,
        }
    }

    /// Waits for the end of a line, which the first `searched` bytes do not hold.
    fn wait_for_line(&mut self, searched: usize) -> Progress {
        match self.unfinished.as_deref_mut() {
            Some(stage) => *stage = Stage::Line { searched },
            None if searched > 0 => self.unfinished = Some(Box::new(Stage::Line { searched })),
            None => {}
        }
        Progress::Incomplete { wanted: 1 }
    }

    /// Takes a line of an authenticated client.
    #[inline]
    fn take_line(
        &mut self,
        input: &[u8],
        (line, consumed): (&[u8], usize),
        spans: &mut Vec<Span>,
        limits: &Limits,
    ) -> Progress {
        if consumed < LINE_BYTES_MIN {
            return self.refuse(consumed, Unfit::line(Refusal::Format));
        }
        let (before, first) = (spans.len(), next_word(line, 0).unwrap_or_default());
        let is_indented = first.start > 0;
        let command = Command::of_word(first.of(line));
        let command = command.filter(|it| !is_indented || it.may_be_indented());
        match command {
            Some(command) if command.words_before_keys().is_some() => {
                match take_first_keys((line, consumed), command, first, spans) {
                    Ok(part) => self.hand_out_keys(command, part),
                    Err(refusal) => {
                        spans.truncate(before);
                        self.refuse(consumed, Unfit::line(refusal))
                    }
                }
            }
            command => {
                let asked = text::check(command, line, first, spans);
                self.take(input, consumed, asked, (spans, before, limits))
            }
        }
    }

    /// Takes what a line asks for, whose words are the spans from `before` on.
    #[inline]
    fn take(
        &mut self,
        input: &[u8],
        consumed: usize,
        line: Result<Line, Unfit>,
        (spans, before, limits): (&mut Vec<Span>, usize, &Limits),
    ) -> Progress {
        match line {
            Ok(Line::Request(Asked { command, words, is_quiet, is_base64 })) => {
                spans.truncate(before + words);
                self.unfinished = None;
                let request = Request::new(command, consumed);
                Progress::Request(Request { is_quiet, is_base64, ..request })
            }
            Ok(Line::Block(asked, len)) => {
                spans.truncate(before + asked.words);
                if u64::from(len) > limits.item_bytes_max && asked.command != Command::Authenticate
                {
                    return self.refuse_too_large(consumed, (asked, len), spans, before);
                }
                let Asked { command, is_quiet, is_base64, .. } = asked;
                let (at, len) = (consumed, len as usize);
                let block = Block { command, is_quiet, is_base64, at, len, spans: Vec::new() };
                self.take_block(input, block, spans, before)
            }
            Ok(Line::Close) => {
                spans.truncate(before);
                Progress::Close
            }
            Err(unfit) => {
                spans.truncate(before);
                self.refuse(consumed, unfit)
            }
        }
    }

    /// Goes on behind a line with a data block, whose words are the spans from `before` on.
    #[inline]
    fn take_block(
        &mut self,
        input: &[u8],
        mut block: Block,
        spans: &mut Vec<Span>,
        before: usize,
    ) -> Progress {
        if let Some(end) = block.find_end(input) {
            self.unfinished = None;
            return block.finish(input, end, spans, before);
        }
        let wanted = block.missing(input);
        block.spans = spans.split_off(before);
        self.unfinished = Some(Box::new(Stage::Block(block)));
        Progress::Incomplete { wanted }
    }

    /// Refuses a line, and has `block` bytes of data with their line end swallowed.
    #[cold]
    fn refuse(&mut self, consumed: usize, unfit: Unfit) -> Progress {
        let Unfit { refusal, is_quiet, block } = unfit;
        let swallow = block.map(|len| Stage::Swallow(len as usize + LINE_END_LEN));
        self.unfinished = swallow.map(Box::new);
        Progress::Refused(Refused::new(consumed, refusal, is_quiet))
    }

    /// Refuses a request whose data block is larger than an item may be. The value that a set was
    /// to replace is not to be served any more.
    #[cold]
    fn refuse_too_large(
        &mut self,
        consumed: usize,
        (asked, len): (Asked, u32),
        spans: &mut Vec<Span>,
        before: usize,
    ) -> Progress {
        let Asked { command, is_quiet, is_base64, .. } = asked;
        let removes = matches!(command, Command::Set | Command::MetaSet).then_some(command);
        if removes.is_none() {
            spans.truncate(before);
        }
        self.unfinished = Some(Box::new(Stage::Swallow(len as usize + LINE_END_LEN)));
        let refused = Refused::new(consumed, Refusal::TooLarge, is_quiet);
        Progress::Refused(Refused { removes, is_base64, ..refused })
    }

    /// Hands out a part of a line of keys.
    #[inline]
    fn hand_out_keys(&mut self, command: Command, part: Part) -> Progress {
        let Part { consumed, is_first, is_last, expiry } = part;
        if is_last {
            self.unfinished = None;
        } else if is_first {
            self.unfinished = Some(Box::new(Stage::Keys { command, expiry }));
        }
        let resume = if is_first { Resume::Line } else { Resume::Keys { command, expiry } };
        let request = Request::new(command, consumed);
        Progress::Request(Request { expiry, is_first, is_last, resume, ..request })
    }

    fn block(&self) -> Option<&Block> {
        match self.unfinished.as_deref() {
            Some(Stage::Block(block)) => Some(block),
            _ => None,
        }
    }
}

/// First byte of each request of the binary protocol.
const BINARY: u8 = 0x80;
/// Fewest bytes of a line, with its end, that may be a command at all.
const LINE_BYTES_MIN: usize = 4;
const _: () = assert!(size_of::<RequestParser>() == size_of::<usize>());

#[cfg(test)]
mod tests;
