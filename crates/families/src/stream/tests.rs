use crate::testing::{World, check, play};

#[track_caller]
fn talk(conversation: &str) {
    play(&mut World::new(), conversation);
}

#[test]
fn entries_are_added_and_read_in_the_order_of_their_ids() {
    talk(
        "
        > XADD s 1-1 f v
        < $3 1-1
        > XADD s 1-* f v
        < $3 1-2
        > XADD s * n 12 n m
        < $15 1700000000000-0
        > XADD s 5 f v
        < -ERR The ID specified in XADD is equal or smaller than the target stream top item
        > XRANGE s (1-1 +
        < *2 *2 $3 1-2 *2 $1 f $1 v *2 $15 1700000000000-0 *4 $1 n $2 12 $1 n $1 m
        > XREVRANGE s 1 - COUNT 1
        < *1 *2 $3 1-2 *2 $1 f $1 v
        > XREAD COUNT 1 STREAMS s none 1-1 0
        < *1 *2 $1 s *1 *2 $3 1-2 *2 $1 f $1 v
        > XREAD STREAMS s $
        < *-1
        > XLEN s
        < :3
        > OBJECT ENCODING s
        < $6 stream
    ",
    );
}

#[test]
fn what_a_consumer_was_given_is_pending_until_it_acknowledges() {
    talk(
        "
        > XGROUP CREATE s g $ MKSTREAM
        < +OK
        > XADD s 1-1 f v
        < $3 1-1
        > XREADGROUP GROUP g a STREAMS s >
        < *1 *2 $1 s *1 *2 $3 1-1 *2 $1 f $1 v
        > XREADGROUP GROUP g b STREAMS s >
        < *-1
        > XPENDING s g
        < *4 :1 $3 1-1 $3 1-1 *1 *2 $1 a $1 1
        > XCLAIM s g b 0 1-1 JUSTID
        < *1 $3 1-1
        > XPENDING s g - + 10
        < *1 *4 $3 1-1 $1 b :0 :1
        > XAUTOCLAIM s g a 0 - COUNT 1
        < *3 $3 0-0 *1 *2 $3 1-1 *2 $1 f $1 v *0
        > XACK s g 1-1 1-1
        < :1
        > XGROUP DELCONSUMER s g a
        < :0
        > XGROUP DESTROY s g
        < :1
    ",
    );
}

#[test]
fn changes_are_counted_as_they_are_made() {
    let mut world = World::new();
    let rows = [
        ("XADD s 1-1 f v", 1),
        ("XADD s MAXLEN 1 2-1 f v", 1),
        ("XADD s NOMKSTREAM 3-1 f v", 1),
        ("XADD none NOMKSTREAM 3-1 f v", 0),
        ("XGROUP CREATE s g 0", 1),
        ("XREADGROUP GROUP g a STREAMS s >", 2),
        ("XREADGROUP GROUP g a STREAMS s >", 0),
        ("XREADGROUP GROUP g a STREAMS s 0", 1),
        ("XCLAIM s g b 0 2-1 3-1", 3),
        ("XACK s g 2-1 9-9", 1),
        ("XDEL s 2-1 3-1 4-1", 2),
        ("XAUTOCLAIM s g b 0 0", 1),
        ("XTRIM s MAXLEN 0", 0),
        ("XSETID s 9-9", 1),
        ("XGROUP DELCONSUMER s g nobody", 0),
        ("XGROUP DELCONSUMER s g b", 1),
        ("XGROUP CREATECONSUMER s g b", 1),
    ];
    for (line, expected) in rows {
        let before = world.changes();
        world.answer(line);
        assert_eq!(world.changes() - before, expected, "{line}");
    }
}

#[test]
fn words_that_stand_for_ids_have_their_places() {
    let mut world = World::new();
    let invalid = "-ERR Invalid stream ID specified as stream command argument";
    check(
        &mut world,
        &[
            ("XADD s - f v", invalid),
            ("XRANGE s * +", invalid),
            ("XREAD STREAMS s -", invalid),
            ("XTRIM s MINID +", invalid),
            ("XRANGE s (18446744073709551615-18446744073709551615 +", INVALID_START),
            ("XREVRANGE s (0-0 -", "-ERR invalid end ID for the interval"),
        ],
    );
}

/// Valkey 9.1.2 reads ids as texts of C.
#[test]
fn an_id_ends_at_its_first_zero_byte() {
    let mut world = World::new();
    for (words, reply) in [
        (&[&b"XADD"[..], b"s", b"5\0", b"f", b"v"][..], "$3\r\n5-0\r\n"),
        (&[b"XADD", b"s", b"6-1\0", b"f", b"v"], "$3\r\n6-1\r\n"),
        (&[b"XADD", b"s", b"7\0-2", b"f", b"v"], "$3\r\n7-0\r\n"),
        (&[b"XDEL", b"s", b"6-1\0zz"], ":1\r\n"),
        (&[b"XGROUP", b"CREATE", b"s", b"g", b"1\0"], "+OK\r\n"),
    ] {
        assert_eq!(world.answer_words(words), reply.as_bytes(), "{words:?}");
    }
}

const INVALID_START: &str = "-ERR invalid start ID for the interval";
