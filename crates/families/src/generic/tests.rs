//! Tests of commands on keys of any kind.

use crate::testing::{BEGIN, World, check, reply_to};
use std::collections::BTreeSet;

#[test]
fn removing_and_counting_keys_counts_each_argument_once() {
    let mut world = World::new();
    check(
        &mut world,
        &[
            ("SET a 1", "+OK"),
            ("SET b 2", "+OK"),
            ("EXISTS a a missing b", ":3"),
            ("TOUCH a missing", ":1"),
            ("TYPE a", "+string"),
            ("TYPE missing", "+none"),
            ("DEL a a missing", ":1"),
            ("UNLINK b", ":1"),
            ("EXISTS a b", ":0"),
        ],
    );
    assert_eq!(world.changes(), 4);
}

#[test]
fn a_deadline_in_the_past_removes_the_key_and_counts_as_expired() {
    let mut world = World::new();
    for command in ["EXPIRE k 0", "PEXPIRE k -1", "EXPIREAT k 1", "PEXPIREAT k 1"] {
        check(&mut world, &[("SET k v", "+OK"), (command, ":1"), ("EXISTS k", ":0")]);
    }
    assert_eq!(world.instance.store.totals().expired, 4);
    assert_eq!(world.changes(), 8);
}

#[test]
fn remaining_time_is_told_in_the_units_asked_for() {
    let mut world = World::new();
    let at = |seconds: u64| format!(":{}", BEGIN.0 / 1000 + seconds);
    check(
        &mut world,
        &[
            ("TTL k", ":-2"),
            ("SET k v", "+OK"),
            ("TTL k", ":-1"),
            ("EXPIRE k 100", ":1"),
            ("TTL k", ":100"),
            ("PTTL k", ":100000"),
            ("EXPIRETIME k", &at(100)),
            ("PEXPIRE k 1500", ":1"),
            ("TTL k", ":2"),
            ("PERSIST k", ":1"),
            ("PERSIST k", ":0"),
            ("PEXPIRETIME k", ":-1"),
            ("EXPIRE k 10", ":1"),
        ],
    );
    world.instance.clock.advance(10_000);
    check(&mut world, &[("TTL k", ":-2"), ("EXISTS k", ":0")]);
}

#[test]
fn conditions_compare_a_new_deadline_with_the_present_one() {
    let mut world = World::new();
    check(
        &mut world,
        &[
            ("SET k v", "+OK"),
            ("EXPIRE k 100 XX", ":0"),
            ("EXPIRE k 100 GT", ":0"),
            ("EXPIRE k 100 lt", ":1"),
            ("EXPIRE k 50 NX", ":0"),
            ("EXPIRE k 50 GT", ":0"),
            ("EXPIRE k 200 GT xx", ":1"),
            ("EXPIRE k 200 LT", ":0"),
            (
                "EXPIRE k 10 NX GT",
                "-ERR NX and XX, GT or LT options at the same time are not compatible",
            ),
            ("EXPIRE k 10 GT LT", "-ERR GT and LT options at the same time are not compatible"),
            ("EXPIRE k 10 Maybe", "-ERR Unsupported option Maybe"),
            ("TTL k", ":200"),
        ],
    );
}

#[test]
fn deadlines_beyond_the_clock_are_refused_and_all_others_are_told_as_they_were_set() {
    let mut world = World::new();
    check(
        &mut world,
        &[
            ("SET k v", "+OK"),
            ("EXPIRE k 9223372036854776", "-ERR invalid expire time in 'expire' command"),
            ("PEXPIRE k 9223372036854775807", "-ERR invalid expire time in 'pexpire' command"),
            ("EXPIREAT k abc", "-ERR value is not an integer or out of range"),
            ("TTL k", ":-1"),
            ("PEXPIREAT k 9223372036854775807", ":1"),
            ("PEXPIRETIME k", ":9223372036854775807"),
            ("EXPIRETIME k", ":9223372036854776"),
            ("COPY k l", ":1"),
            ("PEXPIRETIME l", ":9223372036854775807"),
            ("PEXPIREAT k -9223372036854775808", ":1"),
            ("EXISTS k", ":0"),
        ],
    );
}

#[test]
fn a_renamed_key_takes_its_deadline_along() {
    let mut world = World::new();
    check(
        &mut world,
        &[
            ("RENAME a b", "-ERR no such key"),
            ("SET a 1", "+OK"),
            ("EXPIRE a 10", ":1"),
            ("SET b 2", "+OK"),
            ("RENAMENX a b", ":0"),
            ("RENAME a b", "+OK"),
            ("TTL b", ":10"),
            ("EXISTS a", ":0"),
            ("RENAME b b", "+OK"),
            ("RENAMENX b b", ":0"),
            ("GET b", "$1 1"),
        ],
    );
}

#[test]
fn keys_are_copied_and_moved_between_databases() {
    let mut world = World::new();
    check(
        &mut world,
        &[
            ("SET a 1", "+OK"),
            ("COPY a a", "-ERR source and destination objects are the same"),
            ("COPY a a DB 3", ":1"),
            ("COPY a a DB 3", ":0"),
            ("COPY a a DB 3 REPLACE", ":1"),
            ("COPY a b DB", "-ERR syntax error"),
            ("COPY a b DB 16", "-ERR DB index is out of range"),
            ("MOVE a 0", "-ERR source and destination objects are the same"),
            ("MOVE a 3", ":0"),
            ("MOVE a 4", ":1"),
            ("EXISTS a", ":0"),
            ("SELECT 4", "+OK"),
            ("GET a", "$1 1"),
        ],
    );
}

#[test]
fn scanning_finds_every_key_and_ends_at_zero() {
    let mut world = World::new();
    (0..300).for_each(|n| assert_eq!(reply_to(&mut world, &format!("SET key:{n} v")), "+OK"));
    let (mut found, mut cursor) = (BTreeSet::new(), "0".to_owned());
    loop {
        let reply = reply_to(&mut world, &format!("SCAN {cursor} COUNT 7 MATCH key:*"));
        let words: Vec<&str> = reply.split(' ').collect();
        found.extend(words.iter().filter(|word| word.starts_with("key:")).map(|it| it.to_string()));
        cursor = words[2].to_owned();
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(found.len(), 300);
    assert_eq!(
        reply_to(&mut world, "SCAN 0 TYPE hash COUNT 1000").split(' ').next_back(),
        Some("*0")
    );
    assert_eq!(reply_to(&mut world, "KEYS key:29?").split(' ').next(), Some("*10"));
    assert_eq!(reply_to(&mut world, "KEYS *").split(' ').next(), Some("*300"));
}

#[test]
fn scan_removes_the_expired_among_the_keys_that_it_looks_for() {
    let mut world = World::new();
    for line in ["SET s1 v PX 1", "SET s2 v PX 1", "HSET h f v", "PEXPIRE h 1"] {
        reply_to(&mut world, line);
    }
    world.instance.clock.advance(2);
    for (options, left) in [("TYPE stream", 3), ("MATCH s1", 2), ("TYPE string", 1), ("", 0)] {
        check(&mut world, &[(&format!("SCAN 0 COUNT 1000 {options}"), "*2 $1 0 *0")]);
        check(&mut world, &[("DBSIZE", &format!(":{left}"))]);
    }
}

#[test]
fn a_payload_has_fields_that_have_expired_and_are_not_removed_yet() {
    let mut world = World::new();
    check(&mut world, &[("HSET h f v g w", ":2"), ("HPEXPIRE h 1 FIELDS 1 f", "*1 :1")]);
    world.instance.clock.advance(2);
    let reply = world.answer_words(&[b"DUMP", b"h"]);
    let begin = reply.iter().position(|byte| *byte == b'\n').expect("a bulk string") + 1;
    world.answer_words(&[b"RESTORE", b"copy", b"0", &reply[begin..reply.len() - 2]]);
    check(&mut world, &[("HLEN copy", ":2"), ("HGET copy f", "$-1"), ("HGET copy g", "$1 w")]);
}

#[test]
fn the_empty_key_matches_only_the_pattern_for_all() {
    let mut world = World::new();
    check(
        &mut world,
        &[
            ("RANDOMKEY", "$-1"),
            ("SET \"\" v", "+OK"),
            ("KEYS *", "*1 $0"),
            ("KEYS **", "*0"),
            ("RANDOMKEY", "$0"),
        ],
    );
}

#[test]
fn scan_refuses_what_it_cannot_read() {
    let mut world = World::new();
    check(
        &mut world,
        &[
            ("SCAN abc", "-ERR invalid cursor"),
            ("SCAN 18446744073709551616", "-ERR invalid cursor"),
            ("SCAN 007", "*2 $1 0 *0"),
            ("SCAN 0 COUNT 0", "-ERR syntax error"),
            ("SCAN 0 COUNT x", "-ERR value is not an integer or out of range"),
            ("SCAN 0 MATCH", "-ERR syntax error"),
            ("SCAN 0 TYPE nosuch", "-ERR unknown type name 'nosuch'"),
            ("SCAN 0 NOVALUES", "-ERR NOVALUES option can only be used in HSCAN"),
        ],
    );
}

#[test]
fn a_pattern_with_too_many_stars_matches_nothing() {
    let mut world = World::new();
    let key = "a".repeat(2_000);
    check(&mut world, &[(&format!("SET {key} v"), "+OK")]);
    check(&mut world, &[(&format!("KEYS {}", "*?".repeat(1_001)), "*0")]);
    let found = reply_to(&mut world, &format!("KEYS {}", "*?".repeat(1_000)));
    assert_eq!(found, format!("*1 $2000 {key}"));
}

#[test]
fn object_tells_encoding_and_the_history_that_is_kept() {
    let mut world = World::new();
    let not_counted = "-ERR An LFU maxmemory policy is not selected, access frequency not \
        tracked. Please note that when switching between policies at runtime LRU and LFU data \
        will take some time to adjust.";
    check(
        &mut world,
        &[
            ("SET i 12", "+OK"),
            ("SET s word", "+OK"),
            ("OBJECT ENCODING i", "$3 int"),
            ("object encoding s", "$6 embstr"),
            (&format!("SET long {}", "x".repeat(200)), "+OK"),
            ("OBJECT ENCODING long", "$3 raw"),
            ("OBJECT ENCODING missing", "$-1"),
            ("OBJECT REFCOUNT s", ":1"),
            ("OBJECT IDLETIME s", ":0"),
            ("OBJECT FREQ s", not_counted),
            ("OBJECT FREQ missing", "$-1"),
        ],
    );
}
