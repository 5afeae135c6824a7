use crate::testing::{World, check, play};

#[track_caller]
fn talk(conversation: &str) {
    play(&mut World::new(), conversation);
}

#[test]
fn elements_are_added_and_counted() {
    talk(
        "
        > PFADD k
        < :1
        > PFADD k
        < :0
        > PFCOUNT k
        < :0
        > PFADD k a b c
        < :1
        > PFADD k a b c
        < :0
        > PFCOUNT k
        < :3
        > PFCOUNT none
        < :0
        > PFADD other c d
        < :1
        > PFCOUNT k none other
        < :4
        > OBJECT ENCODING k
        < $3 raw
        > TYPE k
        < +string
    ",
    );
}

#[test]
fn sources_are_merged_into_the_first_key() {
    talk(
        "
        > PFADD a 1 2 3
        < :1
        > PFADD b 3 4
        < :1
        > PFMERGE c a b none
        < +OK
        > PFCOUNT c
        < :4
        > PFMERGE a b
        < +OK
        > PFCOUNT a
        < :4
        > PFMERGE d
        < +OK
        > PFCOUNT d
        < :0
        > PFDEBUG TODENSE b
        < :1
        > PFMERGE d b
        < +OK
        > PFDEBUG ENCODING d
        < +dense
    ",
    );
}

#[test]
fn the_inside_is_shown() {
    talk(
        "
        > PFADD k 1 2 3
        < :1
        > PFDEBUG ENCODING k
        < +sparse
        > PFDEBUG decode k
        < $45 Z:7527 v:1,1 Z:3445 v:1,1 Z:4397 v:4,1 Z:1012
        > PFDEBUG TODENSE k
        < :1
        > PFDEBUG TODENSE k
        < :0
        > PFDEBUG DECODE k
        < -ERR HLL encoding is not sparse
        > PFCOUNT k
        < :3
        > PFDEBUG ENCODING none
        < -ERR The specified key does not exist
        > PFDEBUG NOTHING k
        < -ERR Unknown PFDEBUG subcommand 'NOTHING'
        > PFDEBUG SIMD ON
        < +disabled
        > PFDEBUG SIMD k
        < -ERR Argument must be ON or OFF
        > PFDEBUG ENCODING
        < -ERR wrong number of arguments for 'pfdebug' command
        > PFSELFTEST
        < +OK
    ",
    );
}

#[test]
fn asking_for_registers_makes_them_dense() {
    let mut world = World::new();
    world.answer("PFADD k 1 2 3");
    let registers = world.answer("PFDEBUG GETREG k");
    assert!(registers.starts_with("*16384\r\n"));
    assert_eq!(registers.matches(":1\r\n").count(), 2);
    assert_eq!(registers.matches(":4\r\n").count(), 1);
    check(&mut world, &[("PFDEBUG ENCODING k", "+dense")]);
}

#[test]
fn strings_that_are_no_hyperloglog_are_refused() {
    let not_one = "-WRONGTYPE Key is not a valid HyperLogLog string value.";
    let corrupted = "-INVALIDOBJ Corrupted HLL object detected";
    let mut world = World::new();
    world.answer("MSET text hello number 12");
    world.answer("PFADD broken 1 2 3");
    world.answer("APPEND broken hello");
    let requests =
        ["PFADD {} a", "PFCOUNT {}", "PFCOUNT none {}", "PFMERGE new {}", "PFMERGE {} none"];
    for request in requests {
        let of = |key| request.replace("{}", key);
        check(&mut world, &[(&of("text"), not_one), (&of("number"), not_one)]);
        if !request.starts_with("PFADD") {
            check(&mut world, &[(&of("broken"), corrupted)]);
        }
    }
    check(
        &mut world,
        &[
            ("PFDEBUG ENCODING text", not_one),
            ("PFDEBUG GETREG broken", corrupted),
            ("PFDEBUG TODENSE broken", corrupted),
            ("EXISTS new", ":0"),
        ],
    );
}

#[test]
fn the_setting_limits_the_sparse_form() {
    let mut world = World::new();
    let rows = [
        ("CONFIG SET hll-sparse-max-bytes 30", "+OK"),
        ("PFADD k a b c", ":1"),
        ("PFDEBUG ENCODING k", "+sparse"),
        ("PFADD k d e f", ":1"),
        ("PFDEBUG ENCODING k", "+dense"),
        ("PFMERGE to k", "+OK"),
        ("STRLEN to", ":12304"),
    ];
    check(&mut world, &rows);
}

#[test]
fn changes_are_counted_for_registers_and_for_estimates_that_are_kept() {
    let mut world = World::new();
    let mut before = 0;
    for (line, expected) in [
        ("PFADD k", 1),
        ("PFADD k", 0),
        ("PFADD k a b a", 2),
        ("PFCOUNT k", 1),
        ("PFCOUNT k", 0),
        ("PFCOUNT k none", 0),
        ("PFADD new a b", 3),
        ("PFMERGE k new", 1),
        ("PFDEBUG ENCODING k", 0),
        ("PFDEBUG GETREG k", 1),
        ("PFDEBUG TODENSE k", 0),
    ] {
        world.answer(line);
        assert_eq!(world.changes() - before, expected, "{line}");
        before = world.changes();
    }
}
