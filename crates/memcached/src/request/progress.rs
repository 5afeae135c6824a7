//! Results of parsing, and the limits within which it is done.

use crate::{Command, Refusal};
use wire::Span;

/// Limits of a client's requests.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most bytes of an item's value.
    pub item_bytes_max: u64,
    /// Most bytes of a line without its end, but for lines of keys. Beyond it the connection is
    /// closed.
    pub line_bytes_max: usize,
    /// Most bytes of a line of keys. Beyond it the connection is closed.
    pub keys_line_bytes_max: usize,
    /// True if the client may send all commands. Before, it may only authenticate.
    pub authenticated: bool,
    /// True before the first request of a connection, whose first byte tells the binary protocol.
    pub is_first: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            item_bytes_max: 512 << 20,
            line_bytes_max: 2048,
            keys_line_bytes_max: 64 << 20,
            authenticated: true,
            is_first: false,
        }
    }
}

/// State of a parser between two requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Resume {
    /// A line begins.
    #[default]
    Line,
    /// A line of keys goes on, of which all is there.
    Keys {
        /// Command of the line.
        command: Command,
        /// Its expiry; 0 without one.
        expiry: i32,
    },
    /// So many bytes are dropped.
    Swallow(usize),
    /// The line of a dump comes once more, of which some parts were executed.
    Dump,
}

/// Whole request, or a part of a line of keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Bytes that it took. The next one begins behind them.
    pub consumed: usize,
    /// Its command.
    pub command: Command,
    /// True if the client wants no reply: it said `noreply`. Of meta commands the flags tell.
    pub is_quiet: bool,
    /// True if a meta command's key is in base64.
    pub is_base64: bool,
    /// True unless it is a later part of a line of keys or of a dump.
    pub is_first: bool,
    /// True unless another part of its line follows.
    pub is_last: bool,
    /// Expiry that gat and gats give; 0 for all others.
    pub expiry: i32,
    /// State of the parser before it, from which it can be parsed once more.
    pub resume: Resume,
}

impl Request {
    #[inline]
    pub(super) fn new(command: Command, consumed: usize) -> Request {
        Request {
            consumed,
            command,
            is_quiet: false,
            is_base64: false,
            is_first: true,
            is_last: true,
            expiry: 0,
            resume: Resume::Line,
        }
    }
}

/// Line that is not executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused {
    /// Bytes that it took. A data block that follows is swallowed by the next calls.
    pub consumed: usize,
    /// Reason, which knows the line to answer.
    pub refusal: Refusal,
    /// True if nothing is answered.
    pub is_quiet: bool,
    /// Command whose key loses its value, as the new one is too large. Its words are in the spans,
    /// as those of a request are, but for the block.
    pub removes: Option<Command>,
    /// True if the key of that command is in base64.
    pub is_base64: bool,
}

impl Refused {
    pub(super) fn new(consumed: usize, refusal: Refusal, is_quiet: bool) -> Refused {
        Refused { consumed, refusal, is_quiet, removes: None, is_base64: false }
    }
}

/// Result of parsing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// A request is complete. Its words are in the spans: those that its command needs, with the
    /// command itself as the first one, and the data block as the last one. In a later part of a
    /// line of keys, empty spans stand for the words before the keys.
    Request(Request),
    /// A line is refused.
    Refused(Refused),
    /// Bytes of a data block that nobody wants were dropped.
    Swallowed {
        /// Number of bytes.
        consumed: usize,
    },
    /// The request goes on beyond the input.
    Incomplete {
        /// Bytes that are known to be missing, at least 1: a hint for reading. The client chose it:
        /// do not allocate that much at once.
        wanted: usize,
    },
    /// The connection is to be closed without a word.
    Close,
    /// The client speaks the binary protocol.
    Binary,
}

/// Request whose data block is arriving.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arriving<'a> {
    /// Its command.
    pub command: Command,
    /// Its words.
    pub spans: &'a [Span],
    /// Length of the data block, without its line end.
    pub len: usize,
    /// True if its key is in base64.
    pub is_base64: bool,
}

const _: () = assert!(size_of::<Resume>() <= 16);
