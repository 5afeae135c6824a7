use crate::testing::{World, check};

#[test]
fn changes_are_counted_as_clients_know_it() {
    let mut world = World::new();
    let mut before = 0;
    for (line, expected) in [
        ("ZADD z 1 a 2 b 3 c", 3),
        ("ZADD z 1 a 5 b", 1),
        ("ZADD z NX 9 a", 0),
        ("ZINCRBY z 0 a", 0),
        ("ZINCRBY z 1 a", 1),
        ("ZREM z a nothing", 1),
        ("ZRANGESTORE d z 0 -1", 1),
        ("ZUNIONSTORE d 1 none", 1),
        ("ZUNIONSTORE d 1 none", 0),
        ("ZPOPMIN z 5", 2),
        ("ZPOPMIN z", 0),
    ] {
        world.answer(line);
        assert_eq!(world.changes() - before, expected, "{line}");
        before = world.changes();
    }
}

#[test]
fn what_is_popped_is_shown_as_the_protocol_has_it() {
    let mut world = World::new();
    world.answer("ZADD z 1 a 2 b 3 c 4 d");
    let rows = [
        ("ZPOPMIN z", "*2 $1 a $1 1"),
        ("ZPOPMAX z 1", "*2 $1 d $1 4"),
        ("HELLO 3", ""),
        ("ZPOPMIN z", "*2 $1 b ,2"),
        ("ZPOPMIN z 1", "*1 *2 $1 c ,3"),
        ("ZMPOP 1 z MIN", "_"),
    ];
    for row in rows {
        if row.0.starts_with("HELLO") {
            world.answer(row.0);
        } else {
            check(&mut world, &[row]);
        }
    }
}

#[test]
fn members_that_are_integers_are_in_the_order_of_their_texts() {
    let mut world = World::new();
    let rows = [
        ("ZADD z 1 9 1 10 1 -1 1 a", ":4"),
        ("ZRANGE z 0 -1", "*4 $2 -1 $2 10 $1 9 $1 a"),
        ("ZRANGEBYLEX z [10 (a", "*2 $2 10 $1 9"),
        ("CONFIG SET zset-max-listpack-entries 0", "+OK"),
        ("ZADD z 1 05", ":1"),
        ("OBJECT ENCODING z", "$8 skiplist"),
        ("ZRANGE z 0 -1", "*5 $2 -1 $2 05 $2 10 $1 9 $1 a"),
        ("ZRANGEBYLEX z [10 (a", "*2 $2 10 $1 9"),
        ("ZRANK z 9", ":3"),
    ];
    check(&mut world, &rows);
}
