use super::*;

/// A stream of a protocol with its counts and first error, streams that are no replies, and the
/// beginning of a reply that goes on up to the end of its line.
struct Case {
    protocol: Protocol,
    stream: &'static [u8],
    replies: Replies,
    first_error: &'static str,
    refused: &'static str,
    line: &'static str,
}

fn counts(counts: [u64; 9]) -> Replies {
    let [status, bulk, nil, integer, error, array, elements, zero, bytes] = counts;
    Replies { status, bulk, nil, integer, error, array, elements, zero, bytes }
}

fn cases() -> [Case; 2] {
    let resp = Case {
        protocol: Protocol::Resp,
        stream: b"+OK\r\n$5\r\nhello\r\n$0\r\n\r\n$-1\r\n*-1\r\n_\r\n:12\r\n:0\r\n-ERR no\r\n\
            +PONG\r\n*0\r\n*3\r\n:0\r\n*2\r\n$1\r\na\r\n*0\r\n-ERR in\r\n$2\r\n\r\n\r\n",
        replies: counts([2, 3, 3, 2, 1, 2, 3, 1, 8]),
        first_error: "ERR no",
        refused: "?\r\n|+OK\n|$x\r\n|$\r\n|$1\r\nabc|$1\r\na\rX|$0\r\n\n\r|$9999999999\r\n|\
            *x\r\n|:x\r\n|*999999999999\r\n|\r\n",
        line: "-ERR ",
    };
    let memcached = Case {
        protocol: Protocol::Memcached,
        stream: b"STORED\r\nVALUE k 0 16\r\n0123456789abcdef\r\nEND\r\nEND\r\nDELETED\r\n\
            NOT_FOUND\r\nSERVER_ERROR out of memory\r\nERROR\r\nVALUE e 7 0\r\n\r\nEND\r\n\
            VALUE k 0 5\r\nEND\r\n\r\nEND\r\n\
            VALUE a 0 1\r\nx\r\nVALUE b 0 2 77\r\n\r\n\r\nEND\r\n\
            VA 2 kx\r\nab\r\nEN\r\nHD\r\nMN\r\nNF\r\n12\r\nTOUCHED\r\nNS\r\n",
        replies: counts([3, 5, 2, 5, 3, 0, 1, 2, 26]),
        first_error: "SERVER_ERROR out of memory",
        refused: "+OK\r\n|STORED\n|VALUE k 0 x\r\n|VALUE k 0 \r\n|VALUE k 0 1\r\nabc|\
            VALUE k 0 1\r\na\rX|VALUE k 0 1 1 1\r\n|VALUE k 0 1 x\r\n|VA x\r\n|XY\r\n",
        line: "ERROR ",
    };
    [resp, memcached]
}

fn fed<'part>(
    protocol: Protocol,
    parts: impl IntoIterator<Item = &'part [u8]>,
) -> Result<(Replies, Option<String>, Vec<Value>), Unexpected> {
    let mut counts = ReplyReader::new(protocol);
    let mut keeps = ReplyReader::keeping(protocol);
    for part in parts {
        counts.feed(part)?;
        keeps.feed(part)?;
    }
    assert_eq!(counts.counted, keeps.counted);
    Ok((counts.take(), counts.first_error().map(str::to_owned), keeps.take_values()))
}

/// Returns all ways to split a stream into three parts.
fn splits(stream: &[u8]) -> impl Iterator<Item = [&[u8]; 3]> {
    let firsts = 0..=stream.len();
    let pairs = firsts.flat_map(|first| (first..=stream.len()).map(move |it| (first, it)));
    pairs.map(|(first, second)| [&stream[..first], &stream[first..second], &stream[second..]])
}

#[test]
fn a_split_anywhere_changes_nothing() {
    for Case { protocol, stream, replies, first_error, .. } in cases() {
        let whole = fed(protocol, [stream]).unwrap();
        assert_eq!((whole.0, whole.1.as_deref()), (replies, Some(first_error)));
        for parts in splits(stream) {
            assert_eq!(fed(protocol, parts).unwrap(), whole, "{:?}", parts.map(<[u8]>::len));
        }
        assert_eq!(fed(protocol, stream.chunks(1)).unwrap(), whole);
    }
}

#[test]
fn what_is_no_reply_or_too_long_a_line_is_refused_however_it_is_split() {
    for Case { protocol, refused, line, .. } in cases() {
        for text in refused.split('|') {
            let bytes = text.as_bytes();
            assert!(splits(bytes).all(|parts| fed(protocol, parts).is_err()), "{text:?}");
            assert!(fed(protocol, bytes.chunks(1)).is_err(), "{text:?} byte by byte");
        }
        for (length, is_sound) in [(LINE_BYTES_MAX, true), (LINE_BYTES_MAX + 1, false)] {
            let text = "x".repeat(length - line.len() - 2);
            let stream = [line, &text, "\r\n"].concat().into_bytes();
            for piece in [length, length - 1, 1000] {
                let fed = fed(protocol, stream.chunks(piece));
                assert_eq!(fed.is_ok(), is_sound, "{length} bytes in pieces of {piece}");
            }
        }
    }
}

#[test]
fn values_are_kept_in_the_order_of_the_stream() {
    let stream = b"*3\r\n$1\r\na\r\n:-7\r\n$-1\r\n-ERR x\r\n+OK\r\n";
    let (replies, _, values) = fed(Protocol::Resp, [&stream[..]]).unwrap();
    assert_eq!((replies.array, replies.elements, replies.total()), (1, 3, 3));
    let text = |text: &str| Value::Text(text.into());
    let error = Value::Error("ERR x".to_owned());
    assert_eq!(values, [text("a"), Value::Integer(-7), Value::Nil, error, text("OK")]);
}

#[test]
fn replies_answer_a_batch_if_kinds_and_number_fit() {
    let mut expected = Expected::default();
    [Answer::Value, Answer::Integer].into_iter().for_each(|answer| expected.count(answer));
    let replies = |bulk, nil, integer, error| {
        expected.is_met_by(&Replies { bulk, nil, integer, error, ..Replies::default() })
    };
    assert!(replies(1, 0, 1, 0) && replies(0, 1, 1, 0) && replies(0, 0, 0, 2));
    assert!(!replies(2, 0, 0, 0) && !replies(0, 0, 2, 0) && !replies(1, 0, 0, 0));
}
