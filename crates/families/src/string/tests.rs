use crate::testing::{BEGIN, World, play};
use base::Millis;

#[track_caller]
fn talk(conversation: &str) -> World {
    let mut world = World::new();
    play(&mut world, conversation);
    world
}

/// Returns the deadline of a key, in milliseconds from the begin of the world.
fn ends_after(world: &mut World, name: &[u8]) -> Option<u64> {
    let store = &world.instance.store;
    let key = store.key(store.keyspace(0).expect("database 0"), name);
    let access = store.lock(&mut world.thread, &key, BEGIN);
    access.lookup_without_touch(&key).expect("is there").deadline.map(|at| at.since(BEGIN))
}

#[test]
fn what_is_set_is_got() {
    talk(
        r#"
        > GET k
        < $-1
        > SET k "a b"
        < +OK
        > get k
        < $3 a b
        > STRLEN k
        < :3
        > SET k
        < -ERR wrong number of arguments for 'set' command
    "#,
    );
}

#[test]
fn set_writes_only_on_its_condition() {
    talk(
        "
        > SET k a XX
        < $-1
        > SET k a NX
        < +OK
        > SET k b NX
        < $-1
        > SET k b NX GET
        < $1 a
        > SET k b IFEQ x
        < $-1
        > SET k b IFEQ a
        < +OK
        > SET k c IFEQ b GET
        < $1 b
        > SET new c IFEQ b
        < $-1
        > SET new c XX GET
        < $-1
        > GET new
        < $-1
        > GET k
        < $1 c
    ",
    );
}

#[test]
fn options_of_set_that_contradict_are_a_syntax_error() {
    let mut world = World::new();
    for options in [
        "NX XX",
        "NX IFEQ a",
        "IFEQ a IFEQ a",
        "IFEQ",
        "EX",
        "EX 10 PX 10",
        "EX 10 KEEPTTL",
        "KEEPTTL EX 10",
        "PERSIST",
        "EX a XY",
    ] {
        let answer = world.answer(&format!("SET k v {options}"));
        assert_eq!(answer, "-ERR syntax error\r\n", "{options}");
    }
    for options in ["NX NX", "GET GET", "EX 5 EX 10 NX", "KEEPTTL KEEPTTL XX"] {
        assert!(!world.answer(&format!("SET k v {options}")).starts_with('-'), "{options}");
    }
}

#[test]
fn deadlines_are_positive_and_fit() {
    talk(
        "
        > SET k v EX 0
        < -ERR invalid expire time in 'set' command
        > SET k v EX x
        < -ERR value is not an integer or out of range
        > SET k v EX 9223372036854775807
        < -ERR invalid expire time in 'set' command
        > SET k v PX 9223372036854775807
        < -ERR invalid expire time in 'set' command
        > SETEX k 0 v
        < -ERR invalid expire time in 'setex' command
        > PSETEX k -1 v
        < -ERR invalid expire time in 'psetex' command
        > GETEX k EX 0
        < -ERR invalid expire time in 'getex' command
        > MSETEX 1 k v EX 0
        < -ERR invalid expire time in 'msetex' command
        > SET k v PXAT 9223372036854775807
        < +OK
        > GET k
        < $1 v
    ",
    );
}

#[test]
fn deadlines_are_set_kept_and_taken_away() {
    let world = &mut World::new();
    for (line, expected) in [
        ("SET k v EX 10", Some(10_000)),
        ("SET k w KEEPTTL", Some(10_000)),
        ("APPEND k x", Some(10_000)),
        ("SETRANGE k 500 x", Some(10_000)),
        ("SET k 5 PX 77", Some(77)),
        ("INCR k", Some(77)),
        ("INCRBYFLOAT k 0.5", Some(77)),
        ("GETEX k", Some(77)),
        ("GETEX k PX 99", Some(99)),
        ("GETEX k PERSIST", None),
        ("SETEX k 3 v", Some(3_000)),
        ("GETSET k v", None),
        ("PSETEX k 3 v", Some(3)),
        ("SETBIT k 1 1", Some(3)),
        ("MSET k v", None),
        ("MSETEX 2 k v l v PX 8", Some(8)),
        ("MSETEX 1 k v KEEPTTL", Some(8)),
        ("SET k v", None),
        ("SET k v PXAT 1700000000005", Some(5)),
    ] {
        let answer = world.answer(line);
        assert!(!answer.starts_with('-'), "{line}: {answer}");
        assert_eq!(ends_after(world, b"k"), expected, "{line}");
    }
}

#[test]
fn a_deadline_in_the_past_removes_the_key() {
    let mut world = talk(
        "
        > SET k v
        < +OK
        > SET k w EXAT 1
        < +OK
        > GET k
        < $-1
        > SET k v
        < +OK
        > GETEX k PXAT 1
        < $1 v
        > GET k
        < $-1
        > MSETEX 1 k v PXAT 1
        < :1
        > GET k
        < $-1
    ",
    );
    assert_eq!(world.changes(), 5);
    assert_eq!(world.answer("SET k w EXAT 1"), "+OK\r\n");
    assert_eq!(world.changes(), 5, "there was nothing to remove");
}

#[test]
fn a_key_past_its_deadline_leaves_nothing_behind() {
    let mut world = World::new();
    for line in ["SET k 5 KEEPTTL", "INCR k", "APPEND k 5", "MSETEX 1 k 5 KEEPTTL"] {
        world.answer("SET k 7 PX 10");
        world.instance.clock.advance(10);
        world.answer(line);
        world.instance.clock.advance(1_000_000);
        assert!(world.answer("STRLEN k").starts_with(":1"), "{line}");
        world.answer("GETDEL k");
    }
    assert_eq!(world.instance.clock.now(), Millis(BEGIN.0 + 4 * 1_000_010));
}

#[test]
fn counting_stays_within_64_bits() {
    talk(
        "
        > INCR n
        < :1
        > DECRBY n 3
        < :-2
        > INCRBY n 9223372036854775807
        < :9223372036854775805
        > INCRBY n 3
        < -ERR increment or decrement would overflow
        > DECRBY n -9223372036854775808
        < -ERR decrement would overflow
        > INCRBY n 1.5
        < -ERR value is not an integer or out of range
        > SET n 01
        < +OK
        > DECR n
        < -ERR value is not an integer or out of range
        > INCRBYFLOAT n 0.25
        < $4 1.25
        > INCRBYFLOAT n x
        < -ERR value is not a valid float
        > INCRBYFLOAT n inf
        < -ERR increment would produce NaN or Infinity
        > GET n
        < $4 1.25
    ",
    );
}

#[test]
fn ranges_are_clamped_at_both_ends() {
    talk(
        r#"
        > SET k "This is a string"
        < +OK
        > GETRANGE k 0 3
        < $4 This
        > SUBSTR k -3 -1
        < $3 ing
        > GETRANGE k 10 100
        < $6 string
        > GETRANGE k 0 -100
        < $1 T
        > GETRANGE k -1 -2
        < $0
        > GETRANGE k 100 200
        < $0
        > GETRANGE none 0 -1
        < $0
        > SETRANGE k 10 STR
        < :16
        > GET k
        < $16 This is a STRing
        > SETRANGE k -1 x
        < -ERR offset is out of range
        > SETRANGE none 5 ""
        < :0
        > SETRANGE k 0 ""
        < :16
        > SETRANGE none 536870911 xy
        < -ERR string exceeds maximum allowed size (proto-max-bulk-len)
        > SETRANGE none 9223372036854775807 xy
        < -ERR string exceeds maximum allowed size (proto-max-bulk-len)
        > SETRANGE zeros 2 x
        < :3
    "#,
    );
}

#[test]
fn several_keys_are_written_all_or_none() {
    talk(
        "
        > MSET a 1 b 2 a 3
        < +OK
        > MGET a b c
        < *3 $1 3 $1 2 $-1
        > MSETNX c 1 a 1
        < :0
        > MGET c a
        < *2 $-1 $1 3
        > MSETNX c 1 d 1
        < :1
        > MSET a 1 b
        < -ERR wrong number of arguments for 'mset' command
        > MSETEX 2 a 5 e 5 NX
        < :0
        > MSETEX 2 a 5 e 5 XX
        < :0
        > MSETEX 2 e 5 f 5 NX
        < :1
        > MSETEX 0 a 1
        < -ERR invalid numkeys value or out of range
        > MSETEX 2147483648 a 1
        < -ERR invalid numkeys value or out of range
        > MSETEX 2 a 1 b
        < -ERR syntax error
        > MSETEX 1 a 1 IFEQ 5
        < -ERR syntax error
        > MGET a e f
        < *3 $1 3 $1 5 $1 5
    ",
    );
}

#[test]
fn keys_are_removed_with_their_last_answer() {
    talk(
        "
        > SET k v
        < +OK
        > DELIFEQ k w
        < :0
        > DELIFEQ k v
        < :1
        > DELIFEQ k v
        < :0
        > SETNX k v
        < :1
        > SETNX k w
        < :0
        > GETDEL k
        < $1 v
        > GETDEL k
        < $-1
        > GETSET k v
        < $-1
        > GETSET k w
        < $1 v
        > GETEX k
        < $1 w
        > GETEX k NX
        < -ERR syntax error
        > APPEND k x
        < :2
        > APPEND l 12
        < :2
    ",
    );
}

#[test]
fn lcs_tells_the_bytes_their_number_or_where_they_are() {
    talk(
        "
        > MSET a ohmytext b mynewtext
        < +OK
        > LCS a b
        < $6 mytext
        > LCS a b LEN
        < :6
        > LCS a none
        < $0
        > LCS a b IDX
        < *4 $7 matches *2 *2 *2 :4 :7 *2 :5 :8 *2 *2 :2 :3 *2 :0 :1 $3 len :6
        > LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN
        < *4 $7 matches *1 *3 *2 :4 :7 *2 :5 :8 :4 $3 len :6
        > LCS a b IDX MINMATCHLEN -4
        < *4 $7 matches *2 *2 *2 :4 :7 *2 :5 :8 *2 *2 :2 :3 *2 :0 :1 $3 len :6
        > LCS a b IDX LEN
        < -ERR If you want both the length and indexes, please just use IDX.
        > LCS a b MINMATCHLEN
        < -ERR syntax error
        > SETRANGE c 20000 x
        < :20001
        > LCS c c
        < -ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len
    ",
    );
}

#[test]
fn changes_are_counted_once_per_key_written() {
    let mut world = World::new();
    let mut before = 0;
    for (line, expected) in [
        ("SET k v", 1),
        ("SET k v NX", 0),
        ("MSET a 1 b 2", 2),
        ("INCR a", 1),
        ("INCR k", 0),
        ("GETEX a", 0),
        ("GETEX a PERSIST", 0),
        ("GETEX a EX 5", 1),
        ("GETEX a PERSIST", 1),
        ("SETRANGE a 0 \"\"", 0),
        ("APPEND a \"\"", 1),
        ("GETDEL none", 0),
        ("GETDEL a", 1),
        ("DELIFEQ k x", 0),
        ("MSETNX k 1 z 1", 0),
    ] {
        world.answer(line);
        assert_eq!(world.changes() - before, expected, "{line}");
        before = world.changes();
    }
}

/// A request for many keys looks ahead for a window of 32 of them after the other.
#[test]
fn requests_for_many_keys_answer_for_each_on_both_sides_of_a_window() {
    for count in [1, 4, 5, 31, 32, 33, 63, 64, 65, 100] {
        let mut world = World::new();
        let names: Vec<String> = (0..count).map(|number| format!("k{number}")).collect();
        let pairs: Vec<String> = names.iter().map(|name| format!("{name} v{name}")).collect();
        let values: Vec<String> =
            names.iter().map(|name| format!("${} v{name}", name.len() + 1)).collect();
        let (pairs, all, found) = (pairs.join(" "), names.join(" "), values.join(" "));
        let conversation = format!(
            "
            > MSET {pairs}
            < +OK
            > MGET {all} none
            < *{} {found} $-1
            > EXISTS {all} none k0
            < :{}
            > TOUCH none {all}
            < :{count}
            > DEL {all} k0
            < :{count}
            > EXISTS {all}
            < :0
            ",
            count + 1,
            count + 1
        );
        play(&mut world, &conversation);
    }
}
