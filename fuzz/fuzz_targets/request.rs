//! Any bytes in any pieces: the same requests, the same error, and memory within what has arrived.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{Limits, Progress, ProtocolError, RequestParser, Span};

#[derive(arbitrary::Arbitrary, Debug)]
struct Stream {
    bytes: Vec<u8>,
    piece_lens: Vec<u8>,
    authenticated: bool,
    narrow: bool,
}

fuzz_target!(|stream: Stream| {
    let limits = if stream.narrow {
        Limits {
            bulk_bytes_max: 300,
            arguments_max: 40,
            inline_bytes_max: 64,
            authenticated: stream.authenticated,
        }
    } else {
        Limits { authenticated: stream.authenticated, ..Limits::default() }
    };
    let whole = requests(&stream.bytes, std::iter::empty(), &limits);
    let pieces = stream.piece_lens.iter().map(|len| usize::from(*len));
    assert_eq!(requests(&stream.bytes, pieces, &limits), whole);
    assert_eq!(requests(&stream.bytes, std::iter::repeat_n(1, stream.bytes.len()), &limits), whole);
});

type Requests = (Vec<Vec<Vec<u8>>>, Result<usize, ProtocolError>);

/// All requests of a stream, and where the first open one begins or why the stream ended.
fn requests(bytes: &[u8], piece_lens: impl Iterator<Item = usize>, limits: &Limits) -> Requests {
    let mut parser = RequestParser::new();
    let (mut found, mut spans) = (Vec::new(), Vec::<Span>::new());
    let (mut begin, mut end) = (0, 0);
    for len in piece_lens.chain([bytes.len()]) {
        end = bytes.len().min(end + len);
        loop {
            spans.clear();
            let input = &bytes[begin..end];
            match parser.parse(input, &mut spans, limits) {
                Err(error) => return (found, Err(error)),
                Ok(Progress::Incomplete { wanted }) => {
                    assert!(wanted > 0 && spans.is_empty());
                    assert!(parser.heap_bytes() <= 128 + 4 * input.len());
                    break;
                }
                Ok(Progress::Complete { consumed }) => {
                    assert!(consumed > 0 && !parser.is_unfinished());
                    found.push(
                        spans.iter().map(|span| span.of(&input[..consumed]).to_vec()).collect(),
                    );
                    begin += consumed;
                }
                Ok(Progress::Inline { consumed, arguments }) => {
                    assert!(consumed > 0 && !parser.is_unfinished());
                    found.push(arguments);
                    begin += consumed;
                }
            }
        }
    }
    (found, Ok(begin))
}
