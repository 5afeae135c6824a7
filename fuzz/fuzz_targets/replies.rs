//! Streams of replies to the bench: any bytes in any pieces give the same counts and values, or are
//! refused alike.
#![no_main]

use bench::fuzzed::{Protocol, Replies, ReplyReader, Value};
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
    for protocol in [Protocol::Resp, Protocol::Memcached] {
        let counts = || ReplyReader::new(protocol);
        let counted = read(counts(), &whole).map(|read| (read.0, read.1));
        for pieces in [&whole, &single, &pieces] {
            assert_eq!(read(counts(), pieces).map(|read| (read.0, read.1)), counted);
        }
        let kept = read(ReplyReader::keeping(protocol), &whole);
        for pieces in [&single, &pieces] {
            assert_eq!(read(ReplyReader::keeping(protocol), pieces), kept);
        }
        if let Some((replies, error, _)) = kept {
            assert_eq!(Some((replies, error)), counted);
        }
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

/// The counts, the text of the first error and the kept values, unless the stream is refused.
fn read(
    mut reader: ReplyReader,
    pieces: &[&[u8]],
) -> Option<(Replies, Option<String>, Vec<Value>)> {
    pieces.iter().try_for_each(|piece| reader.feed(piece)).ok()?;
    let error = reader.first_error().map(str::to_owned);
    Some((reader.take(), error, reader.take_values()))
}
