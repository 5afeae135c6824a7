use super::{Limits, Progress, RequestParser};
use crate::Command;
use wire::Span;

mod cuts;
mod dumps;
mod limits;
mod lines_of_keys;
mod measured;

const LIMITS: Limits = Limits {
    item_bytes_max: 1000,
    line_bytes_max: 2048,
    keys_line_bytes_max: 64 << 20,
    authenticated: true,
    is_first: false,
};
const STRANGER: Limits = Limits { authenticated: false, ..LIMITS };

/// Connection whose input comes in pieces.
struct Connection<'a> {
    parser: RequestParser,
    input: &'a [u8],
    begin: usize,
    limits: Limits,
    heard: Vec<String>,
    swallowed: usize,
    is_closed: bool,
}

impl<'a> Connection<'a> {
    fn new(input: &'a [u8], limits: &Limits) -> Connection<'a> {
        let (parser, limits, heard) = (RequestParser::new(), *limits, Vec::new());
        Connection { parser, input, begin: 0, limits, heard, swallowed: 0, is_closed: false }
    }

    /// Parses all that there is of the first `end` bytes of its input.
    fn parse_to(&mut self, end: usize) {
        let mut spans = vec![Span { start: 7, len: 7 }];
        while !self.is_closed {
            let input = &self.input[self.begin..end];
            spans.truncate(1);
            match self.parser.parse(input, &mut spans, &self.limits) {
                Progress::Incomplete { wanted } => {
                    assert!(wanted > 0 && spans.len() == 1);
                    assert!(self.parser.heap_bytes() <= 160 + 4 * input.len());
                    break;
                }
                Progress::Swallowed { consumed } => {
                    assert!(consumed > 0);
                    self.begin += consumed;
                    self.swallowed += consumed;
                }
                progress => self.hear(progress, input, &spans[1..]),
            }
        }
    }

    fn hear(&mut self, progress: Progress, input: &[u8], spans: &[Span]) {
        let words: Vec<_> =
            spans.iter().map(|span| span.of(input).escape_ascii().to_string()).collect();
        let words = words.join(" ");
        let (text, consumed) = match progress {
            Progress::Request(request) => {
                let marks = [
                    (!request.is_first, "later part: "),
                    (request.is_quiet, "quiet: "),
                    (request.is_base64, "base64: "),
                    (!request.is_last, "more follow: "),
                ];
                let marks: String =
                    marks.iter().filter(|(is_set, _)| *is_set).map(|(_, mark)| *mark).collect();
                let name = match request.command {
                    Command::Authenticate => "authenticates: ",
                    _ => "",
                };
                assert_eq!(self.parser.is_unfinished(), !request.is_last);
                (format!("{marks}{name}{words}"), request.consumed)
            }
            Progress::Refused(refused) => {
                let line = String::from_utf8_lossy(refused.refusal.line());
                let line = line.trim_end();
                let quiet = if refused.is_quiet { "quiet: " } else { "" };
                let removes = refused.removes.map(|_| format!(", removes: {words}"));
                assert!(refused.removes.is_some() || spans.is_empty());
                (format!("{quiet}{line}{}", removes.unwrap_or_default()), refused.consumed)
            }
            Progress::Close => ("closed".to_owned(), 0),
            Progress::Binary => ("binary".to_owned(), 0),
            other => panic!("{other:?} is handled elsewhere"),
        };
        self.is_closed = consumed == 0;
        self.settle();
        self.begin += consumed;
        self.heard.push(text);
    }

    /// Writes down what was swallowed since the last line.
    fn settle(&mut self) {
        match std::mem::take(&mut self.swallowed) {
            0 => {}
            bytes => self.heard.push(format!("swallowed {bytes}")),
        }
    }

    /// Returns what was heard, and what was awaited in the end.
    fn end(mut self) -> Vec<String> {
        self.settle();
        if !self.is_closed && (self.begin < self.input.len() || self.parser.is_unfinished()) {
            self.heard.push("waits".to_owned());
        }
        self.heard
    }
}

/// Returns what comes of `input` that ends at each of `ends`, one after the other.
fn hear_in_pieces(input: &[u8], ends: impl Iterator<Item = usize>, limits: &Limits) -> Vec<String> {
    let mut connection = Connection::new(input, limits);
    ends.chain([input.len()]).for_each(|end| connection.parse_to(end));
    connection.end()
}

/// Returns what comes of `input`, whole and byte for byte.
#[track_caller]
fn hear(input: impl AsRef<[u8]>, limits: &Limits) -> Vec<String> {
    let input = input.as_ref();
    let whole = hear_in_pieces(input, std::iter::empty(), limits);
    if input.len() < 5000 {
        assert_eq!(hear_in_pieces(input, 0..input.len(), limits), whole);
    }
    whole
}

#[track_caller]
fn says(input: impl AsRef<[u8]>, expected: &[&str]) {
    assert_eq!(hear(input, &LIMITS), expected);
}

#[test]
fn a_request_is_read_and_the_next_one_is_left() {
    says("get k\r\nmn\r\n", &["get k", "mn"]);
    says("set k 1 2 3\r\nabc\r\nget k\n", &["set k 1 2 3 abc", "get k"]);
    says("mg k v\r\nms k 1 c\r\nx\r\n", &["mg k v", "ms k 1 c x"]);
}

#[test]
fn an_open_request_is_awaited() {
    for input in ["g", "get", "get k", "get k\r", "set k 0 0 1\r\n", "set k 0 0 1\r\nx\r"] {
        says(input, &["waits"]);
    }
    says("", &[]);
}

#[test]
fn the_missing_part_of_a_data_block_is_asked_for() {
    let mut parser = RequestParser::new();
    let head = b"set key 5 6 100\r\n";
    let input = [&head[..], b"abc"].concat();
    let progress = parser.parse(&input, &mut Vec::new(), &LIMITS);
    assert_eq!(progress, Progress::Incomplete { wanted: 99 });
    assert_eq!((parser.taken(), parser.announced(input.len())), (head.len(), 99));
    let arriving = parser.arriving().expect("the block is arriving");
    let words: Vec<&[u8]> = arriving.spans.iter().map(|span| span.of(&input)).collect();
    assert_eq!((arriving.command, arriving.len), (Command::Set, 100));
    assert_eq!(words, [&b"set"[..], b"key", b"5", b"6", b"100"]);
}

#[test]
fn a_block_that_was_left_out_is_empty_in_its_request() {
    for (end, expected) in [("\r\n", "set key 0 0 100 "), ("xy", "CLIENT_ERROR bad data chunk")] {
        let head = "set key 0 0 100\r\n";
        let input = format!("{head}{end}");
        let mut connection = Connection::new(input.as_bytes(), &LIMITS);
        connection.parse_to(head.len());
        connection.parser.leave_out();
        assert_eq!(connection.parser.announced(head.len()), 2);
        connection.parse_to(input.len());
        assert_eq!(connection.end(), [expected]);
    }
}

#[test]
fn swallowed_bytes_are_not_asked_for_and_not_kept() {
    let mut parser = RequestParser::new();
    let limits = Limits { item_bytes_max: 10, ..LIMITS };
    let line = b"set k 0 0 2147483645\r\n";
    let progress = parser.parse(line, &mut Vec::new(), &limits);
    assert!(matches!(progress, Progress::Refused(refused) if refused.consumed == line.len()));
    assert_eq!((parser.announced(0), parser.arriving(), parser.taken()), (0, None, 0));
    let mut left = 2_147_483_647_usize;
    for piece in [1, 2, 65_536] {
        let progress = parser.parse(&vec![b'x'; piece], &mut Vec::new(), &limits);
        assert_eq!(progress, Progress::Swallowed { consumed: piece });
        left -= piece;
    }
    let progress = parser.parse(b"", &mut Vec::new(), &limits);
    assert_eq!(progress, Progress::Incomplete { wanted: left });
}

#[test]
fn a_first_byte_of_the_binary_protocol_is_told_and_a_later_one_is_a_line() {
    let first = Limits { is_first: true, ..LIMITS };
    assert_eq!(hear(b"\x80", &first), ["binary"]);
    assert_eq!(hear(b"\x80\0\0\x01k", &STRANGER_FIRST), ["binary"]);
    assert_eq!(hear(b"\x81\r\n", &first), ["CLIENT_ERROR bad command line format"]);
    says(b"\x80\r\n", &["CLIENT_ERROR bad command line format"]);
    says(b"\x80\x80\r\n", &["ERROR"]);
}

const STRANGER_FIRST: Limits = Limits { is_first: true, ..STRANGER };
