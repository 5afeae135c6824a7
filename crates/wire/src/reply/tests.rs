use super::{Protocol, Reply};
use crate::ProtocolError;
use proptest::prelude::{any, prop_assert_eq, proptest};

fn written(protocol: Protocol, write: impl FnOnce(&mut Reply<'_>)) -> String {
    let mut out = b"before".to_vec();
    write(&mut Reply::new(&mut out, protocol));
    String::from_utf8_lossy(out.strip_prefix(b"before").unwrap_or(&out)).into_owned()
}

#[track_caller]
fn writes(resp2: &str, resp3: &str, write: impl Fn(&mut Reply<'_>)) {
    assert_eq!(written(Protocol::Resp2, &write), resp2);
    assert_eq!(written(Protocol::Resp3, &write), resp3);
}

#[track_caller]
fn writes_in_both(bytes: &str, write: impl Fn(&mut Reply<'_>)) {
    writes(bytes, bytes, write);
}

#[test]
fn lines_are_the_same_in_both_protocols() {
    writes_in_both("+OK\r\n", |reply| reply.ok());
    writes_in_both("+PONG\r\n", |reply| reply.simple("PONG"));
    writes_in_both("-ERR no such key\r\n", |reply| reply.error("ERR no such key"));
    writes_in_both("-ERR Protocol error: expected '$', got ' '\r\n", |reply| {
        reply.protocol_error(&ProtocolError::BulkExpected(b'\r'));
    });
}

#[test]
fn a_line_cannot_be_ended_early() {
    writes_in_both("-ERR a  +OK b\r\n", |reply| reply.error(b"ERR a\r\n+OK\nb"));
    writes_in_both("+a b\r\n", |reply| reply.simple("a\rb"));
}

#[test]
fn integers_of_every_width_are_written() {
    for value in [0, 1, 9, 10, 99, 100, 12345, -1, -10, i64::MAX, i64::MIN] {
        writes_in_both(&format!(":{value}\r\n"), |reply| reply.integer(value));
        writes_in_both(&format!("${}\r\n{value}\r\n", value.to_string().len()), |reply| {
            reply.bulk_integer(value)
        });
    }
}

#[test]
fn strings_of_every_width_are_written() {
    for len in [0, 1, 9, 10, 99, 100, 101, 65536] {
        let text = "x".repeat(len);
        writes_in_both(&format!("${len}\r\n{text}\r\n"), |reply| reply.bulk(text.as_bytes()));
    }
    writes_in_both("$5\r\na\r\nbc\r\n", |reply| reply.bulk_parts(&[b"a\r", b"", b"\nbc"]));
    writes_in_both("$4\r\nabcd\r\n", |reply| {
        reply.begin_bulk(4);
        reply.raw(b"ab");
        reply.raw(b"cd");
        reply.end_bulk();
    });
}

#[test]
fn absent_values_differ() {
    writes("$-1\r\n", "_\r\n", |reply| reply.null());
    writes("*-1\r\n", "_\r\n", |reply| reply.null_array());
}

#[test]
fn aggregates_differ() {
    writes_in_both("*12\r\n", |reply| reply.array(12));
    writes("*4\r\n", "%2\r\n", |reply| reply.map(2));
    writes("*2\r\n", "~2\r\n", |reply| reply.set(2));
    writes("*3\r\n", ">3\r\n", |reply| reply.push(3));
    writes("", "|1\r\n", |reply| {
        assert_eq!(reply.attribute(1), reply.protocol() == Protocol::Resp3)
    });
}

#[test]
fn scalars_differ() {
    writes("$3\r\n3.1\r\n", ",3.1\r\n", |reply| reply.double(3.1));
    writes("$1\r\n7\r\n", ",7\r\n", |reply| reply.double(7.0));
    writes("$4\r\n-inf\r\n", ",-inf\r\n", |reply| reply.double(f64::NEG_INFINITY));
    writes("$17\r\n3.141592653589793\r\n", ",3.141592653589793\r\n", |reply| {
        reply.double(std::f64::consts::PI);
    });
    writes("$3\r\n0.3\r\n", ",0.3\r\n", |reply| reply.double_text(b"0.3"));
    writes(":1\r\n", "#t\r\n", |reply| reply.boolean(true));
    writes(":0\r\n", "#f\r\n", |reply| reply.boolean(false));
    writes("$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n", |reply| reply.verbatim(b"txt", b"hi"));
    writes("$3\r\n123\r\n", "(123\r\n", |reply| reply.big_number(b"123"));
}

#[test]
fn lengths_may_come_last() {
    writes_in_both("*2\r\n:1\r\n*0\r\n", |reply| {
        let outer = reply.deferred_array();
        reply.integer(1);
        let inner = reply.deferred_array();
        reply.close_array(inner, 0);
        reply.close_array(outer, 2);
    });
    writes("*2\r\n:1\r\n:2\r\n", "%1\r\n:1\r\n:2\r\n", |reply| {
        let map = reply.deferred_map();
        reply.integer(1);
        reply.integer(2);
        reply.close_map(map, 1);
    });
    writes("*1\r\n:1\r\n", "~1\r\n:1\r\n", |reply| {
        let set = reply.deferred_set();
        reply.integer(1);
        reply.close_set(set, 1);
    });
}

#[test]
fn a_failed_reply_leaves_its_error_only() {
    writes_in_both("+OK\r\n-ERR half way\r\n", |reply| {
        reply.ok();
        let mark = reply.mark();
        reply.array(3);
        reply.integer(1);
        reply.truncate(mark);
        reply.error("ERR half way");
    });
}

proptest! {
    #[test]
    fn a_deferred_length_reads_like_a_known_one(len in 0usize..1500, resp3 in any::<bool>()) {
        let protocol = if resp3 { Protocol::Resp3 } else { Protocol::Resp2 };
        let known = written(protocol, |reply| {
            reply.map(len);
            (0..len).for_each(|_| reply.ok());
        });
        let deferred = written(protocol, |reply| {
            let mark = reply.deferred_map();
            (0..len).for_each(|_| reply.ok());
            reply.close_map(mark, len);
        });
        prop_assert_eq!(known, deferred);
    }

    #[test]
    fn a_double_is_framed_by_its_length(value in any::<f64>()) {
        let text = text::format_f64(value);
        prop_assert_eq!(
            written(Protocol::Resp2, |reply| reply.double(value)),
            format!("${}\r\n{text}\r\n", text.len())
        );
    }
}

/// Returns a reply with room for ten bytes, appended to others; `None` if it was over that limit.
fn limited(write: impl FnOnce(&mut Reply<'_>)) -> Option<String> {
    let mut out = b"before".to_vec();
    let most = out.len() + 10;
    let mut reply = Reply::with_limit(&mut out, Protocol::Resp2, most);
    write(&mut reply);
    let is_over_limit = reply.is_over_limit();
    (!is_over_limit).then(|| String::from_utf8_lossy(&out[b"before".len()..]).into_owned())
}

#[test]
fn a_reply_within_its_limit_is_whole() {
    assert_eq!(limited(|reply| reply.bulk(b"abcd")).as_deref(), Some("$4\r\nabcd\r\n"));
    assert_eq!(limited(|reply| reply.ok()).as_deref(), Some("+OK\r\n"));
    let parts = |reply: &mut Reply<'_>| reply.raw_parts(&[b"abcd", b"", b"efghij"]);
    assert_eq!(limited(parts).as_deref(), Some("abcdefghij"));
}

#[test]
fn a_reply_beyond_its_limit_says_so() {
    assert_eq!(limited(|reply| reply.bulk(&[b'x'; 100])), None);
    assert_eq!(limited(|reply| reply.raw_parts(&[b"abcdef", b"ghijkl"])), None);
    assert_eq!(limited(|reply| reply.bulk_parts(&[b"abcdef", b"ghijkl"])), None);
    assert_eq!(limited(|reply| reply.bulk_pieces(12, [&b"abcdef"[..]; 2].into_iter())), None);
    assert_eq!(limited(|reply| reply.error("ERR something is wrong")), None);
    assert_eq!(limited(|reply| (0..10).for_each(|_| reply.integer(1_000_000))), None);
    assert_eq!(limited(|reply| (0..10).for_each(|_| reply.bulk(b"abc"))), None);
    assert_eq!(limited(|reply| (0..10).for_each(|_| reply.verbatim(b"txt", b"abc"))), None);
    let deferred = |reply: &mut Reply<'_>| {
        let mark = reply.deferred_array();
        (0..200).for_each(|_| reply.bulk(b"abc"));
        reply.close_array(mark, 200);
    };
    assert_eq!(limited(deferred), None);
}

#[test]
fn a_part_beyond_the_limit_makes_the_whole_so() {
    let with_part = |bytes: &'static [u8]| {
        move |reply: &mut Reply<'_>| {
            let mut out = Vec::new();
            let mut part = reply.part(&mut out);
            part.bulk(bytes);
            reply.append(&part);
        }
    };
    assert_eq!(limited(with_part(b"abcd")).as_deref(), Some("$4\r\nabcd\r\n"));
    assert_eq!(limited(with_part(b"abcdefghijkl")), None);
}

#[test]
fn what_goes_beyond_the_limit_takes_no_memory() {
    let mut out = Vec::new();
    let mut reply = Reply::with_limit(&mut out, Protocol::Resp2, 10 << 20);
    (0..100).for_each(|_| reply.bulk(&[b'x'; 1 << 20]));
    assert!(reply.is_over_limit());
    assert!(out.capacity() <= 20 << 20, "{} bytes", out.capacity());
}
