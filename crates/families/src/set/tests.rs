//! Tests of sets through commands, for what clients cannot see; the transcripts test what they see.

use crate::testing::{World, check, play, reply_to};

#[test]
fn a_set_that_is_emptied_is_no_key_any_more() {
    let mut world = World::new();
    play(
        &mut world,
        "
        > SADD s a b c
        < :3
        > SREM s a b x
        < :2
        > SPOP s
        < $1 c
        > EXISTS s
        < :0
        ",
    );
    assert_eq!(world.changes(), 6);
}

#[test]
fn moving_counts_a_change_for_each_key_that_changed() {
    let mut world = World::new();
    check(
        &mut world,
        &[
            ("SADD a 1 2", ":2"),
            ("SADD b 2", ":1"),
            ("SMOVE a b 1", ":1"),
            ("SMOVE a b 2", ":1"),
            ("SMOVE a b 3", ":0"),
            ("SMOVE b b 1", ":1"),
            ("SCARD b", ":2"),
        ],
    );
    assert_eq!(world.changes(), 3 + 2 + 1);
}

#[test]
fn results_are_a_change_where_a_key_was_written_or_removed() {
    let mut world = World::new();
    check(
        &mut world,
        &[
            ("SADD a 1 2", ":2"),
            ("SADD b 2 3", ":2"),
            ("SINTERSTORE c a b", ":1"),
            ("SINTERSTORE c a none", ":0"),
            ("SINTERSTORE c a none", ":0"),
            ("SPOP b 9", "*2 $1 2 $1 3"),
        ],
    );
    assert_eq!(world.changes(), 4 + 2 + 2);
}

#[test]
fn raised_limits_keep_the_name_of_a_compact_form_whatever_the_size() {
    let mut world = World::new();
    let raise = "CONFIG SET set-max-intset-entries 100000 set-max-listpack-entries 100000";
    check(&mut world, &[(raise, "+OK")]);
    for from in (0..40_000).step_by(1000) {
        let integers: Vec<String> = (from..from + 1000).map(|it| it.to_string()).collect();
        let texts: Vec<String> = integers.iter().map(|it| format!("m{it}")).collect();
        check(
            &mut world,
            &[
                (&format!("SADD i {}", integers.join(" ")), ":1000"),
                (&format!("SADD t {}", texts.join(" ")), ":1000"),
            ],
        );
    }
    let rows = [
        ("OBJECT ENCODING i", "$6 intset"),
        ("OBJECT ENCODING t", "$8 listpack"),
        ("SISMEMBER i 39999", ":1"),
        ("SISMEMBER i x", ":0"),
        ("SADD i x", ":1"),
        ("OBJECT ENCODING i", "$8 listpack"),
        ("SUNIONSTORE u i t", ":80001"),
        ("OBJECT ENCODING u", "$8 listpack"),
        ("CONFIG SET set-max-listpack-entries 128", "+OK"),
        ("SADD t x", ":1"),
        ("OBJECT ENCODING t", "$9 hashtable"),
        ("SINTERCARD 2 i u", ":40001"),
        ("SPOP u 80000", ""),
    ];
    for (line, expected) in rows {
        let answer = reply_to(&mut world, line);
        assert!(expected.is_empty() || answer == expected, "{line}: {answer}");
    }
    assert_eq!(reply_to(&mut world, "SCARD u"), ":1");
}
