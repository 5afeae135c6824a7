use crate::testing::{World, play};

#[track_caller]
fn talk(conversation: &str) {
    play(&mut World::new(), conversation);
}

#[test]
fn bits_are_set_and_read_one_by_one() {
    talk(
        "
        > SET k A
        < +OK
        > GETBIT k 1
        < :1
        > SETBIT k 6 1
        < :0
        > SETBIT k 7 0
        < :1
        > GET k
        < $1 B
        > SETBIT k 17 1
        < :0
        > STRLEN k
        < :3
        > GETBIT k 100
        < :0
        > GETBIT none 0
        < :0
        > SETBIT k -1 1
        < -ERR bit offset is not an integer or out of range
        > SETBIT k 4294967296 1
        < -ERR bit offset is not an integer or out of range
        > SETBIT k 0 2
        < -ERR bit is not an integer or out of range
    ",
    );
}

#[test]
fn a_bitmap_reaches_its_last_bit() {
    talk(
        "
        > SETBIT k 1000000000 1
        < :0
        > BITCOUNT k
        < :1
        > BITPOS k 1
        < :1000000000
        > GETBIT k 4294967295
        < :0
    ",
    );
}

#[test]
fn bits_are_counted_in_ranges_of_bytes_and_of_bits() {
    talk(
        "
        > SET k foobar
        < +OK
        > BITCOUNT k
        < :26
        > BITCOUNT k 0 0
        < :4
        > BITCOUNT k 1 1 BYTE
        < :6
        > BITCOUNT k 5 30 BIT
        < :17
        > BITCOUNT k -2
        < :7
        > BITCOUNT k -1 -2
        < :0
        > BITCOUNT none
        < :0
        > BITCOUNT k 0 1 hello
        < -ERR syntax error
        > BITCOUNT k 0 x
        < -ERR value is not an integer or out of range
        > BITCOUNT k 0 1 BIT BIT
        < -ERR syntax error
    ",
    );
}

#[test]
fn the_first_clear_bit_may_lie_beyond_the_end_if_no_end_is_given() {
    talk(
        r#"
        > SET k "\xff\xf0\x00"
        < +OK
        > BITPOS k 0
        < :12
        > BITPOS k 1 2
        < :-1
        > BITPOS k 0 0 0
        < :-1
        > BITPOS k 1 9 15 BIT
        < :9
        > SET k "\xff\xff"
        < +OK
        > BITPOS k 0
        < :16
        > BITPOS k 0 1
        < :16
        > BITPOS k 0 0 -1
        < :-1
        > BITPOS k 0 5
        < :-1
        > BITPOS none 0
        < :0
        > BITPOS none 1
        < :-1
        > BITPOS k 2
        < -ERR The bit argument must be 1 or 0.
    "#,
    );
}

#[test]
fn combinations_are_stored_and_empty_ones_remove_the_key() {
    talk(
        "
        > MSET a ab b Ab d x
        < +OK
        > BITOP AND d a b
        < :2
        > GET d
        < $2 Ab
        > BITOP or d a b none
        < :2
        > GET d
        < $2 ab
        > BITOP XOR d d d
        < :2
        > BITCOUNT d
        < :0
        > BITOP NOT d d
        < :2
        > BITCOUNT d
        < :16
        > BITOP NOT d a b
        < -ERR BITOP NOT must be called with a single source key.
        > BITOP DIFF d a b
        < -ERR syntax error
        > BITOP AND d none other
        < :0
        > GET d
        < $-1
    ",
    );
}

#[test]
fn fields_are_read_set_and_added_to() {
    talk(
        "
        > BITFIELD k SET u8 0 255 GET i8 0 INCRBY u2 100 1 OVERFLOW SAT INCRBY u2 102 4
        < *4 :0 :-1 :1 :3
        > BITFIELD k OVERFLOW FAIL INCRBY u2 102 1 GET u8 #0
        < *2 $-1 :255
        > BITFIELD k SET i64 #1 -9223372036854775808 GET i64 64
        < *2 :117440512 :-9223372036854775808
        > BITFIELD_RO k GET u4 4
        < *1 :15
        > BITFIELD_RO k SET u4 4 1
        < -ERR BITFIELD_RO only supports the GET subcommand
        > BITFIELD k
        < *0
        > BITFIELD none GET i5 100
        < *1 :0
        > BITFIELD k GET u64 0
        < -ERR Invalid bitfield type. Use something like i16 u8. \
               Note that u64 is not supported but i64 is.
        > BITFIELD k GET u8 -1
        < -ERR bit offset is not an integer or out of range
        > BITFIELD k GET u8 #9223372036854775807
        < -ERR bit offset is not an integer or out of range
        > BITFIELD k OVERFLOW NO GET u8 0
        < -ERR Invalid OVERFLOW type specified
        > BITFIELD k SET u8 0
        < -ERR syntax error
    ",
    );
}

#[test]
fn changes_are_counted_when_bits_change() {
    let mut world = World::new();
    let mut before = 0;
    for (line, expected) in [
        ("SETBIT k 0 0", 1),
        ("SETBIT k 0 0", 0),
        ("SETBIT k 0 1", 1),
        ("BITFIELD k SET u8 0 128", 0),
        ("BITFIELD k SET u8 0 1 SET u8 0 2 GET u8 0", 2),
        ("BITFIELD k OVERFLOW FAIL SET u8 100 256", 0),
        ("BITFIELD k SET u8 200 0 SET u8 0 2", 2),
        ("BITOP AND none none none", 0),
        ("BITOP OR k k k", 1),
        ("BITOP OR k none none", 1),
    ] {
        world.answer(line);
        assert_eq!(world.changes() - before, expected, "{line}");
        before = world.changes();
    }
}
