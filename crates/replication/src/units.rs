//! The stream as it comes, split into units: a command, or those from MULTI to EXEC.
//!
//! ```text
//! received  | SET k v | MULTI | INCR a | INCR b | EXEC | DEL
//! units     |    1    |               2                |        the rest has not come yet
//! ```
//! A note of attributes is a part of the command behind it. A unit is applied whole or not at all,
//! so what has come of one that is not whole counts for nothing. Memory is that of its bytes, and
//! at most as much again for the places of its words.

use std::ops::Range;
use text::AttributeNote;
use thiserror::Error;
use wire::{Limits, Progress, ProtocolError, RequestParser, Span};

/// A primary is not limited in what it sends: it has taken it from its own clients.
const LIMITS: Limits = Limits {
    bulk_bytes_max: u32::MAX as u64,
    arguments_max: u32::MAX as u64,
    inline_bytes_max: 64 << 10,
    authenticated: true,
};

/// Words around the commands of a unit of several.
pub const FRAME_BEGIN: &[u8] = b"MULTI";
/// See `FRAME_BEGIN`.
pub const FRAME_END: &[u8] = b"EXEC";
/// Ends a frame of which nothing is to be executed. It stands in no stream.
pub const FRAME_GIVEN_UP: &[u8] = b"DISCARD";

/// Reason why bytes are no stream of units. The link is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoUnit {
    /// No request in RESP.
    #[error("{0}")]
    Protocol(#[from] ProtocolError),
    /// A request as people type it, or one without words.
    #[error("a request without words, or not in RESP")]
    NoWords,
    /// MULTI within MULTI.
    #[error("MULTI within a transaction")]
    MultiWithin,
    /// EXEC without MULTI.
    #[error("EXEC without MULTI")]
    ExecWithout,
}

/// Splitter of a stream.
#[derive(Debug, Default)]
pub struct Units {
    parser: RequestParser,
    /// Words of the unit's commands, each from the first byte of its command on.
    spans: Vec<Span>,
    commands: Vec<Place>,
    /// Bytes of the unit that are split.
    at: usize,
    is_framed: bool,
    note: Option<Note>,
}

/// Where a command of a unit is.
#[derive(Clone, Debug)]
struct Place {
    /// Its bytes, with those of its note before them.
    bytes: Range<usize>,
    words: Range<usize>,
    /// True if the word before these is the text that was noted for it.
    is_noted: bool,
}

/// A note that has come, and its command has not.
#[derive(Clone, Copy, Debug)]
struct Note {
    /// Where it begins.
    begin: usize,
    /// Bytes of it.
    bytes: usize,
}

/// A command of a unit.
#[derive(Clone, Copy, Debug)]
pub struct UnitCommand<'u> {
    /// The request, with its note before it.
    pub bytes: &'u [u8],
    /// Where in the request the words are.
    pub words: &'u [Span],
    /// The same, with the text that was noted for it as a word before them.
    pub noted: Option<&'u [Span]>,
}

/// A whole unit.
#[derive(Clone, Copy, Debug)]
pub struct Unit<'u> {
    bytes: &'u [u8],
    spans: &'u [Span],
    commands: &'u [Place],
    /// True if MULTI and EXEC stand around its commands.
    pub is_framed: bool,
}

impl<'u> Unit<'u> {
    /// Its bytes, as they came.
    pub fn bytes(&self) -> &'u [u8] {
        self.bytes
    }

    /// Its commands. MULTI, EXEC and notes are not among them, and there may be none in a frame.
    pub fn commands(&self) -> impl ExactSizeIterator<Item = UnitCommand<'u>> + use<'u> {
        let (bytes, spans) = (self.bytes, self.spans);
        self.commands.iter().map(move |it| {
            let noted = || &spans[it.words.start - 1..it.words.end];
            UnitCommand {
                bytes: &bytes[it.bytes.clone()],
                words: &spans[it.words.clone()],
                noted: it.is_noted.then(noted),
            }
        })
    }
}

impl Units {
    /// Returns the unit at the begin of `received`; `None` if the rest of it has not come yet: then
    /// the same bytes and more are given next. Otherwise, those behind the unit are.
    ///
    /// # Errors
    /// When the bytes are no stream.
    pub fn next<'u>(&'u mut self, received: &'u [u8]) -> Result<Option<Unit<'u>>, NoUnit> {
        if self.at == 0 {
            self.spans.clear();
            self.commands.clear();
            self.is_framed = false;
            self.note = None;
        }
        loop {
            let (words, rest) = (self.spans.len(), &received[self.at..]);
            let bytes = match self.parser.parse(rest, &mut self.spans, &LIMITS)? {
                Progress::Complete { consumed } => self.at..self.at + consumed,
                Progress::Incomplete { .. } => return Ok(None),
                Progress::Inline { .. } => return Err(NoUnit::NoWords),
            };
            self.at = bytes.end;
            let words = words..self.spans.len();
            let Some(name) = self.spans.get(words.start) else { return Err(NoUnit::NoWords) };
            let name = name.of(&received[bytes.clone()]);
            if self.takes_note(received, bytes.clone(), words.clone()) {
                continue;
            }
            let is_last = if name.eq_ignore_ascii_case(FRAME_BEGIN) {
                if self.is_framed {
                    return Err(NoUnit::MultiWithin);
                }
                (self.is_framed, self.note) = (true, None);
                false
            } else if name.eq_ignore_ascii_case(FRAME_END) {
                if !self.is_framed {
                    return Err(NoUnit::ExecWithout);
                }
                self.note = None;
                true
            } else {
                self.push_command(bytes, words);
                !self.is_framed
            };
            if is_last {
                let bytes = &received[..std::mem::take(&mut self.at)];
                let Units { spans, commands, is_framed, .. } = self;
                return Ok(Some(Unit { bytes, spans, commands, is_framed: *is_framed }));
            }
        }
    }
}

impl Units {
    /// Keeps a command for the next one if it notes something for that. Returns true if it does.
    fn takes_note(&mut self, received: &[u8], bytes: Range<usize>, words: Range<usize>) -> bool {
        let request = &received[bytes.clone()];
        let spans = &mut self.spans[words];
        if AttributeNote::text_of(spans.iter().map(|word| word.of(request))).is_none() {
            return false;
        }
        let Some(text) = spans.last_mut() else { return false };
        let begin = narrow::to_u32(AttributeNote::BEGIN.len());
        *text = Span { start: text.start + begin, len: text.len - begin };
        self.note = Some(Note { begin: bytes.start, bytes: bytes.len() });
        true
    }

    /// Adds a command to the unit, with what was noted for it. A request that would be too long
    /// with its note goes without.
    fn push_command(&mut self, bytes: Range<usize>, words: Range<usize>) {
        let note = self.note.take().filter(|note| u32::try_from(bytes.end - note.begin).is_ok());
        let Some(Note { begin, bytes: note }) = note else {
            return self.commands.push(Place { bytes, words, is_noted: false });
        };
        for span in &mut self.spans[words.clone()] {
            span.start += narrow::to_u32(note);
        }
        self.commands.push(Place { bytes: begin..bytes.end, words, is_noted: true });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{ProptestConfig, Strategy, prop_assert_eq, proptest};

    fn request(words: &[impl AsRef<str>]) -> String {
        let words = words.iter().map(AsRef::as_ref);
        let body: String = words.clone().map(|it| format!("${}\r\n{it}\r\n", it.len())).collect();
        format!("*{}\r\n{body}", words.len())
    }

    /// Splits a stream that comes in pieces, and returns the units as text, and how many of its
    /// bytes they are.
    fn split(stream: &[u8], mut pieces: impl Iterator<Item = usize>) -> (Vec<String>, usize) {
        let (mut units, mut texts, mut taken) = (Units::default(), Vec::new(), 0);
        let mut come = 0;
        while come < stream.len() {
            come += pieces.next().expect("it is endless").min(stream.len() - come);
            while let Some(unit) = units.next(&stream[taken..come]).expect("a stream") {
                texts.push(text(&unit));
                taken += unit.bytes().len();
            }
        }
        (texts, taken)
    }

    fn text(unit: &Unit<'_>) -> String {
        fn word(request: &[u8], span: &Span) -> String {
            String::from_utf8_lossy(span.of(request)).into_owned()
        }
        let command = |UnitCommand { bytes, words, noted }: UnitCommand<'_>| {
            let words: Vec<_> = words.iter().map(|span| word(bytes, span)).collect();
            let note = noted.and_then(<[Span]>::first).map(|text| word(bytes, text));
            words.join(" ") + &note.map_or(String::new(), |note| format!(" <{note}>"))
        };
        let commands: Vec<_> = unit.commands().map(command).collect();
        if unit.is_framed { format!("({})", commands.join("; ")) } else { commands.join("; ") }
    }

    #[test]
    fn a_command_is_a_unit_and_so_is_what_stands_between_multi_and_exec() {
        let stream = [
            request(&["SET", "k", "v"]),
            request(&["multi"]),
            request(&["INCR", "a"]),
            request(&["SELECT", "3"]),
            request(&["INCR", ""]),
            request(&["Exec"]),
            request(&["MULTI"]),
            request(&["EXEC"]),
            request(&["ping"]),
            request(&["MULTI"]),
            request(&["DEL", "k"]),
        ];
        let whole: usize = stream[..9].iter().map(String::len).sum();
        let (units, taken) = split(stream.concat().as_bytes(), std::iter::repeat(7));
        assert_eq!(units, ["SET k v", "(INCR a; SELECT 3; INCR )", "()", "ping"]);
        assert_eq!(taken, whole, "the last is not whole");
    }

    #[test]
    fn a_note_belongs_to_the_command_behind_it_wherever_the_stream_is_cut() {
        let stream = [
            request(&["ECHO", "varve:f5 s"]),
            request(&["SET", "k", "v"]),
            request(&["MULTI"]),
            request(&["echo", "varve:"]),
            request(&["EXISTS", "k"]),
            request(&["SET", "l", ""]),
            request(&["EXEC"]),
            request(&["ECHO", "varve:f1"]),
            request(&["ECHO", "varve:f2"]),
            request(&["DEL", "k"]),
            request(&["ECHO", "varve:f3"]),
            request(&["MULTI"]),
            request(&["SET", "k", "v"]),
            request(&["EXEC"]),
            request(&["ECHO", "varv"]),
        ];
        let whole: usize = stream.iter().map(String::len).sum();
        let stream = [stream.concat(), request(&["ECHO", "varve:f4"])].concat();
        for piece in [1, 2, 3, 7, 50, 1000] {
            let (units, taken) = split(stream.as_bytes(), std::iter::repeat(piece));
            let framed = "(EXISTS k <>; SET l )";
            let expected = ["SET k v <f5 s>", framed, "DEL k <f2>", "(SET k v)", "ECHO varv"];
            assert_eq!(units, expected);
            assert_eq!(taken, whole, "the last note has no command yet");
        }
    }

    #[test]
    fn what_is_no_unit_is_told_apart() {
        let nested = [request(&["MULTI"]), request(&["MULTI"])].concat();
        for (stream, expected) in [
            (nested.as_str(), NoUnit::MultiWithin),
            (&request(&["EXEC"]), NoUnit::ExecWithout),
            ("*0\r\n", NoUnit::NoWords),
            ("*-1\r\n", NoUnit::NoWords),
            ("SET k v\r\n", NoUnit::NoWords),
            ("\r\n", NoUnit::NoWords),
            ("*1\r\n+x\r\n", NoUnit::Protocol(ProtocolError::BulkExpected(b'+'))),
            ("*99999999999\r\n", NoUnit::Protocol(ProtocolError::ArgumentCountInvalid)),
            ("*1\r\n$9999999999\r\n", NoUnit::Protocol(ProtocolError::BulkLengthInvalid)),
        ] {
            let found = Units::default().next(stream.as_bytes()).map(|it| it.is_some());
            assert_eq!(found, Err(expected), "{stream:?}");
        }
        let endless = "x".repeat(70 << 10);
        let found = Units::default().next(endless.as_bytes()).map(|it| it.is_some());
        assert_eq!(found, Err(NoUnit::Protocol(ProtocolError::InlineTooLong)));
    }

    fn unit() -> impl Strategy<Value = Vec<Vec<String>>> {
        let command = proptest::collection::vec("[a-dx-z$*\r\n]{1,12}", 1..5);
        proptest::collection::vec(command, 0..5)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 500 }))]

        #[test]
        fn the_pieces_in_which_a_stream_comes_change_nothing(
            units in proptest::collection::vec(unit(), 1..12),
            pieces in proptest::collection::vec(1..40_usize, 1..30),
        ) {
            let (mut stream, mut expected) = (String::new(), Vec::new());
            for commands in &units {
                let requests: String = commands.iter().map(|it| request(it)).collect();
                let texts: Vec<_> = commands.iter().map(|it| it.join(" ")).collect();
                if commands.len() == 1 {
                    stream += &requests;
                    expected.push(texts.concat());
                } else {
                    stream += &[request(&["MULTI"]), requests, request(&["EXEC"])].concat();
                    expected.push(format!("({})", texts.join("; ")));
                }
            }
            let (found, taken) = split(stream.as_bytes(), pieces.into_iter().cycle());
            prop_assert_eq!(found, expected);
            prop_assert_eq!(taken, stream.len());
        }
    }
}
