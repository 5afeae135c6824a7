//! Any bytes in any pieces: the same requests and refusals, no more memory than what has arrived,
//! and each request is read again from where it says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use memcached::{Limits, Progress, RequestParser};
use wire::Span;

// The first byte holds the limits, in bits, and the second says how many bytes are lengths of
// pieces; the rest is what a client sends, so that seeds can be read.
fuzz_target!(|input: &[u8]| {
    let [bits, pieces, rest @ ..] = input else { return };
    let (piece_lens, bytes) = rest.split_at(rest.len().min(usize::from(*pieces)));
    let is_set = |bit: u8| bits >> bit & 1 == 1;
    let usual = Limits { authenticated: !is_set(0), is_first: is_set(1), ..Limits::default() };
    let limits = if is_set(2) {
        Limits { item_bytes_max: 20, line_bytes_max: 64, keys_line_bytes_max: 400, ..usual }
    } else {
        usual
    };
    let whole = events(bytes, std::iter::empty(), &limits);
    let pieces = piece_lens.iter().map(|len| usize::from(*len));
    assert_eq!(events(bytes, pieces, &limits), whole);
    let single = std::iter::repeat_n(1, bytes.len());
    assert_eq!(events(bytes, single, &limits), whole);
});

/// Request or refusal with its words, number of bytes swallowed, or the end of the connection.
#[derive(PartialEq, Eq, Debug)]
enum Event {
    Parsed(Progress, Vec<Vec<u8>>),
    Swallowed(usize),
    Waits(usize),
}

fn events(bytes: &[u8], piece_lens: impl Iterator<Item = usize>, limits: &Limits) -> Vec<Event> {
    let mut parser = RequestParser::new();
    let (mut found, mut spans) = (Vec::new(), Vec::<Span>::new());
    let (mut begin, mut end) = (0, 0);
    for len in piece_lens.chain([bytes.len()]) {
        end = bytes.len().min(end + len);
        loop {
            spans.clear();
            let input = &bytes[begin..end];
            let progress = parser.parse(input, &mut spans, limits);
            let consumed = match progress {
                Progress::Incomplete { wanted } => {
                    assert!(wanted > 0 && spans.is_empty());
                    assert!(parser.heap_bytes() <= 160 + 4 * input.len());
                    break;
                }
                Progress::Swallowed { consumed } => {
                    match found.last_mut() {
                        Some(Event::Swallowed(bytes)) => *bytes += consumed,
                        _ => found.push(Event::Swallowed(consumed)),
                    }
                    begin += consumed;
                    continue;
                }
                Progress::Request(request) => {
                    assert!(spans.len() <= 64 && parser.is_unfinished() != request.is_last);
                    read_again(input, &progress, &spans, limits);
                    request.consumed
                }
                Progress::Refused(refused) => refused.consumed,
                Progress::Close | Progress::Binary => 0,
            };
            let words = spans.iter().map(|span| span.of(input).to_vec()).collect();
            found.push(Event::Parsed(progress, words));
            if consumed == 0 {
                return found;
            }
            begin += consumed;
        }
    }
    found.push(Event::Waits(begin));
    found
}

/// Another parser that is set to where a request began finds the same.
fn read_again(input: &[u8], progress: &Progress, spans: &[Span], limits: &Limits) {
    let Progress::Request(request) = progress else { return };
    let (mut parser, mut again) = (RequestParser::new(), Vec::new());
    parser.resume_at(request.resume);
    assert_eq!(parser.parse(input, &mut again, limits), *progress);
    assert_eq!(again, spans);
}
