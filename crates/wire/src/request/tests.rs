use super::{Limits, Progress, RequestParser, Span};
use crate::ProtocolError;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};

const LIMITS: Limits = Limits {
    bulk_bytes_max: 512 << 20,
    arguments_max: i32::MAX as u64,
    inline_bytes_max: 64 << 10,
    authenticated: true,
};
const STRANGER: Limits = Limits { authenticated: false, ..LIMITS };
const NARROW: Limits =
    Limits { bulk_bytes_max: 2000, arguments_max: 1200, inline_bytes_max: 64, authenticated: true };

type Outcome = Result<(Vec<Vec<u8>>, usize), ProtocolError>;

/// Feeds `input` in pieces that end at `ends`; `None` when the request is still open after the
/// last.
fn parse_in_pieces(
    input: &[u8],
    ends: impl Iterator<Item = usize>,
    limits: &Limits,
) -> Option<Outcome> {
    let mut parser = RequestParser::new();
    let mut spans = vec![Span { start: 7, len: 7 }];
    for end in ends.chain([input.len()]) {
        let outcome = parser.parse(&input[..end], &mut spans, limits);
        if matches!(outcome, Ok(Progress::Incomplete { wanted }) if wanted > 0) {
            assert_eq!(spans.len(), 1);
            assert!(parser.is_unfinished() == (end > 0));
            assert!(
                parser.heap_bytes() <= 128 + 4 * end,
                "{} bytes held for {end}",
                parser.heap_bytes()
            );
            continue;
        }
        assert!(!parser.is_unfinished());
        assert_eq!(spans.remove(0), Span { start: 7, len: 7 });
        return Some(outcome.map(|progress| match progress {
            Progress::Complete { consumed } => {
                (spans.iter().map(|span| span.of(input).to_vec()).collect(), consumed)
            }
            Progress::Inline { consumed, arguments } => (arguments, consumed),
            Progress::Incomplete { .. } => panic!("an incomplete request wants no bytes"),
        }));
    }
    None
}

fn parse(input: impl AsRef<[u8]>, limits: &Limits) -> Option<Outcome> {
    let input = input.as_ref();
    let whole = parse_in_pieces(input, std::iter::empty(), limits);
    if input.len() < 1000 {
        assert_eq!(parse_in_pieces(input, 0..input.len(), limits), whole);
    }
    whole
}

fn encode(arguments: &[Vec<u8>]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        out.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        out.extend_from_slice(argument);
        out.extend_from_slice(b"\r\n");
    }
    out
}

#[track_caller]
fn reads(input: impl AsRef<[u8]>, arguments: &[&str], consumed: usize) {
    let arguments = arguments.iter().map(|argument| argument.as_bytes().to_vec()).collect();
    assert_eq!(parse(input, &LIMITS), Some(Ok((arguments, consumed))));
}

#[track_caller]
fn refuses(input: impl AsRef<[u8]>, limits: &Limits, error: ProtocolError, text: &str) {
    assert_eq!(parse(input, limits), Some(Err(error)));
    assert_eq!(error.to_string(), format!("Protocol error: {text}"));
}

#[track_caller]
fn waits(input: impl AsRef<[u8]>) {
    assert_eq!(parse(input, &LIMITS), None);
}

#[test]
fn a_request_is_read_and_the_next_one_is_left() {
    reads("*1\r\n$4\r\nPING\r\n", &["PING"], 14);
    reads("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n", &["GET", "k"], 20);
    reads("*2\r\n$0\r\n\r\n$2\r\n\r\n\r\n", &["", "\r\n"], 18);
}

#[test]
fn a_request_without_arguments_is_passed_over() {
    reads("*0\r\n*1\r\n", &[], 4);
    reads("*-1\r\n", &[], 5);
    reads("*-2147483649\r\n", &[], 14);
    reads("\r\nPING\r\n", &[], 2);
    reads("\n", &[], 1);
    reads(" \t \r\n", &[], 5);
}

#[test]
fn a_line_is_a_request_too() {
    reads("PING\r\n", &["PING"], 6);
    reads("set k 'a b'\n*1", &["set", "k", "a b"], 12);
    reads("set k \"a\\x41\"b\r\n", &["set", "k", "aAb"], 16);
}

#[test]
fn an_open_request_is_awaited() {
    for input in [
        "",
        "*",
        "*1",
        "*1\r",
        "*1\r\n",
        "*1\r\n$4",
        "*1\r\n$4\r",
        "*1\r\n$4\r\nPIN",
        "*1\r\n$4\r\nPING\r",
        "*1\r\n+",
        "PING",
    ] {
        waits(input);
    }
}

#[test]
fn the_missing_part_of_an_argument_is_asked_for() {
    let mut parser = RequestParser::new();
    let outcome = parser.parse(b"*1\r\n$100\r\nabc", &mut Vec::new(), &LIMITS);
    assert_eq!(outcome, Ok(Progress::Incomplete { wanted: 99 }));
    let outcome = parser.parse(b"", &mut Vec::new(), &LIMITS);
    assert!(matches!(outcome, Ok(Progress::Incomplete { .. })));
}

#[test]
fn wrong_counts_are_refused() {
    for count in [
        "",
        "+1",
        "01",
        "1 ",
        "x",
        "-",
        "-0",
        "2147483648",
        "9223372036854775808",
        "99999999999999999999",
    ] {
        refuses(
            format!("*{count}\r\n"),
            &LIMITS,
            ProtocolError::ArgumentCountInvalid,
            "invalid multibulk length",
        );
    }
    waits("*2147483647\r\n");
}

#[test]
fn wrong_lengths_are_refused() {
    for len in ["", "-1", "+1", "01", "x", "536870913", "9223372036854775808"] {
        refuses(
            format!("*1\r\n${len}\r\n"),
            &LIMITS,
            ProtocolError::BulkLengthInvalid,
            "invalid bulk length",
        );
    }
    waits("*1\r\n$536870912\r\n");
}

#[test]
fn arguments_must_begin_with_a_dollar() {
    refuses("*1\r\n+4\r\n", &LIMITS, ProtocolError::BulkExpected(b'+'), "expected '$', got '+'");
    refuses("*1\r\n\r\n", &LIMITS, ProtocolError::BulkExpected(b'\r'), "expected '$', got '\r'");
    refuses("*1\r\n+4\rx", &LIMITS, ProtocolError::BulkExpected(b'+'), "expected '$', got '+'");
}

#[test]
fn line_ends_must_be_whole() {
    for input in [
        "*1\rx",
        "*x\rx",
        "*1\r\n$4\rx",
        "*1\r\n$4\r\nPINGxx",
        "*1\r\n$4\r\nPING\rx",
        "*1\r\n$4\r\nPINGS\r\n",
    ] {
        refuses(input, &LIMITS, ProtocolError::LineEndInvalid, "invalid CRLF in request");
    }
}

#[test]
fn strangers_send_small_requests_only() {
    let error = ProtocolError::ArgumentCountUnauthenticated;
    refuses("*11\r\n", &STRANGER, error, "unauthenticated multibulk length");
    let error = ProtocolError::BulkLengthUnauthenticated;
    refuses("*2\r\n$4\r\nAUTH\r\n$16385\r\n", &STRANGER, error, "unauthenticated bulk length");
    let largest = vec![vec![b'x'; 16384]; 10];
    assert_eq!(
        parse(encode(&largest), &STRANGER),
        Some(Ok((largest.clone(), encode(&largest).len())))
    );
}

#[test]
fn lines_without_end_are_refused_once_they_pass_the_limit() {
    let filler = "1".repeat((64 << 10) - 1);
    waits(format!("*{filler}"));
    refuses(
        format!("*{filler}1"),
        &LIMITS,
        ProtocolError::ArgumentCountTooLong,
        "too big mbulk count string",
    );
    waits(format!("*1\r\n${filler}"));
    refuses(
        format!("*1\r\n${filler}1"),
        &LIMITS,
        ProtocolError::BulkLengthTooLong,
        "too big bulk count string",
    );
    waits(format!("x{filler}"));
    refuses(format!("x{filler}1"), &LIMITS, ProtocolError::InlineTooLong, "too big inline request");
}

#[test]
fn open_quotes_are_refused() {
    refuses(
        "set k \"v\r\n",
        &LIMITS,
        ProtocolError::UnbalancedQuotes,
        "unbalanced quotes in request",
    );
}

#[test]
fn a_request_beyond_four_gibibytes_is_refused() {
    let wide = Limits { bulk_bytes_max: u64::MAX, ..LIMITS };
    refuses("*2\r\n$4294967290\r\n", &wide, ProtocolError::RequestTooLong, "too big request");
    refuses(
        "*2\r\n$9223372036854775807\r\n",
        &wide,
        ProtocolError::RequestTooLong,
        "too big request",
    );
}

#[test]
fn a_million_arguments_arrive_in_small_pieces() {
    let arguments = vec![b"v".to_vec(); 1_000_000];
    let input = encode(&arguments);
    let outcome = parse_in_pieces(&input, (0..input.len()).step_by(16 << 10), &LIMITS);
    assert_eq!(outcome, Some(Ok((arguments, input.len()))));
}

#[test]
fn announced_sizes_take_no_memory() {
    let mut parser = RequestParser::new();
    let _ = parser.parse(b"*2147483647\r\n$536870912\r\nx", &mut Vec::new(), &LIMITS);
    assert!(parser.heap_bytes() < 128);
}

#[test]
fn an_idle_parser_holds_nothing() {
    let mut parser = RequestParser::new();
    let _ = parser.parse(b"", &mut Vec::new(), &LIMITS);
    assert_eq!(parser.heap_bytes(), 0);
}

/// Bytes that are mostly a request, with a few places spoilt.
fn nearly_requests() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        Just(b"*1\r\n".to_vec()),
        Just(b"*3\r\n".to_vec()),
        Just(b"$4\r\nPING\r\n".to_vec()),
        Just(b"$0\r\n\r\n".to_vec()),
        Just(b"$12\r\nabcdefghijkl\r\n".to_vec()),
        Just(b"$".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\"a\" 'b".to_vec()),
        vec(any::<u8>(), 0..4),
        "[*$][-0-9]{0,30}(\r\n)?".prop_map(String::into_bytes),
    ];
    vec(token, 0..8).prop_map(|tokens| tokens.concat())
}

#[test]
fn what_is_missing_of_an_announced_argument_is_known() {
    let mut parser = RequestParser::new();
    let (input, mut spans) = (&b"*2\r\n$3\r\nGET\r\n$1000\r\nab"[..], Vec::new());
    assert_eq!(parser.announced(0), 0);
    let progress = parser.parse(input, &mut spans, &LIMITS);
    assert_eq!(progress, Ok(Progress::Incomplete { wanted: 1000 }));
    assert_eq!(parser.announced(input.len()), 1000);
}

proptest! {
    #[test]
    fn any_arguments_are_read_back(
        arguments in vec(vec(any::<u8>(), 0..1100), 1..20),
        tail in any::<u8>(),
    ) {
        let mut input = encode(&arguments);
        let consumed = input.len();
        input.push(tail);
        prop_assert_eq!(parse(&input, &LIMITS), Some(Ok((arguments, consumed))));
    }

    #[test]
    fn many_arguments_are_read_back(count in 90usize..1100) {
        let arguments = vec![b"x".to_vec(); count];
        let input = encode(&arguments);
        prop_assert_eq!(parse(&input, &NARROW), Some(Ok((arguments, input.len()))));
    }

    #[test]
    fn the_result_does_not_depend_on_the_pieces(
        input in nearly_requests(),
        authenticated in any::<bool>(),
    ) {
        let limits = Limits { authenticated, ..NARROW };
        let whole = parse_in_pieces(&input, std::iter::empty(), &limits);
        prop_assert_eq!(parse_in_pieces(&input, 0..input.len(), &limits), whole.clone());
        for end in 0..input.len() {
            prop_assert_eq!(parse_in_pieces(&input, [end].into_iter(), &limits), whole.clone());
        }
    }
}

#[test]
fn joined_words_stand_where_their_spans_say() {
    for words in [&["SET", "", "a key", "1"][..], &["PING"], &[""; 3], &[]] {
        let joined = words.concat();
        let spans = Span::of_joined(words);
        let found: Vec<&[u8]> = spans.iter().map(|span| span.of(joined.as_bytes())).collect();
        assert_eq!(found, words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>());
    }
}

#[test]
fn an_argument_that_is_left_out_is_empty_and_the_others_are_as_they_were() {
    let words: [&[u8]; 4] = [b"SET", b"key", b"a value", b"KEEPTTL"];
    let words: Vec<Vec<u8>> = words.iter().map(|word| word.to_vec()).collect();
    let input = encode(&words);
    for (number, word) in words.iter().enumerate() {
        // The request ends somewhere in the argument, or before its line end.
        let before = encode(&words[..number]).len();
        for end in before..input.len() {
            let (mut parser, mut spans) = (RequestParser::new(), Vec::new());
            let progress = parser.parse(&input[..end], &mut spans, &LIMITS);
            let Ok(Progress::Incomplete { .. }) = progress else { panic!("it is not whole") };
            let Some((whole, len)) = parser.arriving() else { continue };
            if whole.len() != number {
                continue;
            }
            assert_eq!((len, whole.iter().all(|span| span.len > 0)), (word.len(), true));
            let begin = parser.taken();
            parser.leave_out();
            let left = [&input[..begin], &input[begin + len..]].concat();
            for cut in begin..left.len() {
                let progress = parser.parse(&left[..cut], &mut spans, &LIMITS);
                assert!(matches!(progress, Ok(Progress::Incomplete { .. })), "{cut}");
            }
            let progress = parser.parse(&left, &mut spans, &LIMITS);
            assert_eq!(progress, Ok(Progress::Complete { consumed: left.len() }));
            let found: Vec<Vec<u8>> = spans.iter().map(|span| span.of(&left).to_vec()).collect();
            let mut expected = words.clone();
            expected[number].clear();
            assert_eq!(found, expected);
        }
    }
}
