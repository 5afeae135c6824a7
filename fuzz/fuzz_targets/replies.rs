//! Streams of replies to the load generator: any bytes in any pieces give the same counts, or are
//! refused alike.
#![no_main]

use bench::generator::{MemcachedCounter, Replies, ReplyCounter};
use libfuzzer_sys::fuzz_target;

#[derive(arbitrary::Arbitrary, Debug)]
struct Stream {
    bytes: Vec<u8>,
    piece_lens: Vec<u8>,
}

fuzz_target!(|stream: Stream| {
    let whole = vec![&stream.bytes[..]];
    let single: Vec<_> = stream.bytes.chunks(1).collect();
    let pieces = pieces(&stream);
    for count in [resp, memcached] {
        let counted = count(&whole);
        assert_eq!(count(&pieces), counted);
        assert_eq!(count(&single), counted);
    }
});

fn pieces(stream: &Stream) -> Vec<&[u8]> {
    let mut rest = &stream.bytes[..];
    let mut pieces = Vec::new();
    for len in &stream.piece_lens {
        let (piece, behind) = rest.split_at(rest.len().min((*len).into()));
        pieces.push(piece);
        rest = behind;
    }
    pieces.push(rest);
    pieces
}

/// The counts and the text of the first error, unless the stream is refused.
type Counted = Option<(Replies, Option<String>)>;

fn resp(pieces: &[&[u8]]) -> Counted {
    let mut counter = ReplyCounter::default();
    pieces.iter().try_for_each(|piece| counter.feed(piece)).ok()?;
    Some((*counter.counted(), counter.first_error().map(str::to_owned)))
}

fn memcached(pieces: &[&[u8]]) -> Counted {
    let mut counter = MemcachedCounter::default();
    pieces.iter().try_for_each(|piece| counter.feed(piece)).ok()?;
    Some((*counter.counted(), counter.first_error().map(str::to_owned)))
}
