use super::{LIMITS, says};
use crate::request::{KEYS_MAX, Limits, Progress, Request, RequestParser, Resume};
use proptest::collection::vec;
use proptest::prelude::{prop_assert_eq, proptest};
use wire::Span;

fn keys(range: std::ops::Range<usize>) -> String {
    range.map(|at| format!("k{at}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_line_of_up_to_32_keys_is_one_request() {
    for count in [1, 31, 32] {
        let line = format!("get {}", keys(0..count));
        says(format!("{line}\r\n"), &[&line]);
        says(format!("{line}  \r\n"), &[&line]);
        says(format!("{line}\n"), &[&line]);
    }
}

#[test]
fn a_longer_line_is_cut_behind_each_32_keys() {
    says(
        format!("get {}\r\nmn\r\n", keys(0..33)),
        &[&format!("more follow: get {}", keys(0..32)), "later part:  k32", "mn"],
    );
    for end in ["\r\n", " \r\n", "   \n", "\n"] {
        says(
            format!("gats 5  {}{end}", keys(0..64)),
            &[
                &format!("more follow: gats 5 {}", keys(0..32)),
                &format!("later part:   {}", keys(32..64)),
            ],
        );
    }
    says(
        format!("gets {}   {} \r\n", keys(0..32), keys(32..65)),
        &[
            &format!("more follow: gets {}", keys(0..32)),
            &format!("later part: more follow:  {}", keys(32..64)),
            "later part:  k64",
        ],
    );
}

#[test]
fn a_key_of_a_carriage_return_behind_32_others_is_a_key() {
    says(
        format!("get {} \r\r\n", keys(0..32)),
        &[&format!("more follow: get {}", keys(0..32)), "later part:  \\r"],
    );
    says(
        format!("get {} \rx\r\n", keys(0..64)),
        &[
            &format!("more follow: get {}", keys(0..32)),
            &format!("later part: more follow:  {}", keys(32..64)),
            "later part:  \\rx",
        ],
    );
}

#[test]
fn a_key_that_is_too_long_refuses_the_line_wherever_it_stands() {
    let (longest, longer) = ("l".repeat(250), "l".repeat(251));
    for before in [0, 1, 31, 32, 33, 100] {
        for after in [0, 1, 40] {
            let line = |key: &str| format!("get {} {key} {}\r\n", keys(0..before), keys(0..after));
            says(line(&longer), &["CLIENT_ERROR bad command line format"]);
            let heard = super::hear(line(&longest), &LIMITS);
            assert_eq!(heard.len(), (before + 1 + after).div_ceil(KEYS_MAX));
        }
    }
}

#[test]
fn a_bad_expiry_refuses_the_line_before_a_long_key_does() {
    let longer = "l".repeat(251);
    says(format!("gat x {longer}\r\n"), &["CLIENT_ERROR invalid exptime argument"]);
    says("gat x\r\n", &["CLIENT_ERROR bad command line format"]);
}

#[test]
fn each_part_tells_the_expiry_and_where_it_stands_in_its_line() {
    let line = format!("gat -7 {}\r\n", keys(0..70));
    let (mut parser, mut rest, mut found) = (RequestParser::new(), line.as_bytes(), Vec::new());
    while let Progress::Request(request) = parser.parse(rest, &mut Vec::new(), &LIMITS) {
        found.push((request.expiry, request.is_first, request.is_last));
        rest = &rest[request.consumed..];
    }
    assert_eq!(found, [(-7, true, false), (-7, false, false), (-7, false, true)]);
}

#[test]
fn a_parser_can_be_set_back_before_each_part() {
    let input = format!("gat 5 {}\r\nget a\r\n", keys(0..100));
    let (mut parser, mut at, mut found) =
        (RequestParser::new(), 0, Vec::<(usize, Request, Vec<Span>)>::new());
    while at < input.len() {
        let mut spans = Vec::new();
        let progress = parser.parse(&input.as_bytes()[at..], &mut spans, &LIMITS);
        let Progress::Request(request) = progress else { panic!("{progress:?}") };
        found.push((at, request, spans));
        at += request.consumed;
    }
    assert_eq!(found.len(), 5);
    for (at, request, expected) in &found {
        let mut spans = Vec::new();
        parser.resume_at(request.resume);
        let again = parser.parse(&input.as_bytes()[*at..], &mut spans, &LIMITS);
        assert_eq!((again, &spans), (Progress::Request(*request), expected));
    }
    assert_eq!(found[4].1.resume, Resume::Line);
}

#[test]
fn a_line_of_100_000_keys_that_comes_in_small_reads_is_searched_once() {
    let line = format!("get {}\r\n", "k ".repeat(100_000));
    let (mut parser, mut spans) = (RequestParser::new(), Vec::new());
    // Were each piece searched from the line's begin, this took 20 GB of reading.
    for end in 1..line.len() {
        let progress = parser.parse(&line.as_bytes()[..end], &mut spans, &Limits::default());
        assert_eq!(progress, Progress::Incomplete { wanted: 1 });
    }
    let (mut at, mut parts) = (0, 0);
    while at < line.len() {
        spans.clear();
        let progress = parser.parse(&line.as_bytes()[at..], &mut spans, &Limits::default());
        let Progress::Request(request) = progress else { panic!("{progress:?}") };
        assert!(spans.len() == 33 && parser.heap_bytes() < 200);
        (at, parts) = (at + request.consumed, parts + 1);
    }
    assert_eq!(parts, 3125);
}

proptest! {
    #[test]
    fn parts_hold_the_words_of_their_line(
        lens in vec(1_usize..=250, 1..120),
        blanks in vec(1_usize..5, 120),
    ) {
        let mut line = b"get".to_vec();
        for (len, blanks) in lens.iter().zip(&blanks) {
            line.extend(std::iter::repeat_n(b' ', *blanks));
            line.extend(std::iter::repeat_n(b'a' + (*len % 26) as u8, *len));
        }
        let words = line[4..].split(|byte| *byte == b' ');
        let expected: Vec<Vec<u8>> =
            words.filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect();
        line.extend_from_slice(b"\r\n");
        let (mut parser, mut at, mut keys) = (RequestParser::new(), 0, Vec::new());
        while at < line.len() {
            let mut spans = Vec::new();
            let progress = parser.parse(&line[at..], &mut spans, &LIMITS);
            let Progress::Request(request) = progress else { panic!("{progress:?}") };
            keys.extend(spans[1..].iter().map(|span| span.of(&line[at..]).to_vec()));
            at += request.consumed;
        }
        prop_assert_eq!(keys, expected);
    }
}
