use super::LIMITS;
use crate::request::{Progress, Request, RequestParser, Resume};
use wire::Span;

/// Parses a request at the start of `input`.
fn request(parser: &mut RequestParser, input: &[u8]) -> (Request, Vec<Span>) {
    let mut spans = Vec::new();
    match parser.parse(input, &mut spans, &LIMITS) {
        Progress::Request(request) => (request, spans),
        other => panic!("{other:?} is no request"),
    }
}

#[test]
fn a_dump_is_parsed_again_for_each_part_and_tells_that_it_is_not_the_first() {
    let input = b"lru_crawler metadump all\r\nmn\r\n";
    let mut parser = RequestParser::new();
    let (first, words) = request(&mut parser, input);
    assert!(first.is_first && first.resume == Resume::Line);
    for _ in 0..3 {
        parser.resume_at(Resume::Dump);
        assert!(parser.is_unfinished() && parser.resume() == Resume::Dump);
        let (later, again) = request(&mut parser, input);
        assert_eq!((later.command, later.consumed), (first.command, first.consumed));
        assert!(!later.is_first && later.is_last && later.resume == Resume::Dump);
        assert_eq!(again, words);
        assert!(!parser.is_unfinished() && parser.resume() == Resume::Line);
    }
    let (next, _) = request(&mut parser, &input[first.consumed..]);
    assert!(next.is_first, "the line behind it is a new one");
}
