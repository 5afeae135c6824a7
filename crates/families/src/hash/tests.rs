use crate::testing::{World, check, play, reply_to};

#[test]
fn fields_are_set_read_and_removed() {
    play(
        &mut World::new(),
        "
        > HSET h a 1 b 2 a 3
        < :2
        > HGET h a
        < $1 3
        > HGET h missing
        < $-1
        > HMGET h b missing a
        < *3 $1 2 $-1 $1 3
        > HMGET none a
        < *1 $-1
        > HGETALL h
        < *4 $1 a $1 3 $1 b $1 2
        > HKEYS h
        < *2 $1 a $1 b
        > HVALS h
        < *2 $1 3 $1 2
        > HLEN h
        < :2
        > HEXISTS h a
        < :1
        > HSTRLEN h a
        < :1
        > HSETNX h a 9
        < :0
        > HSETNX h c 9
        < :1
        > HMSET h d 4
        < +OK
        > HDEL h a b c missing d
        < :4
        > EXISTS h
        < :0
        > HSET h a
        < -ERR wrong number of arguments for 'hset' command
        > HSET h a 1 b
        < -ERR wrong number of arguments for 'hset' command
        ",
    );
}

#[test]
fn maps_are_maps_for_clients_that_know_them() {
    play(
        &mut World::new(),
        "
        > HSET h a 1
        < :1
        > HPEXPIRE h 1000 FIELDS 1 a
        < *1 :1
        > HGETALL h
        < *2 $1 a $1 1
        > HGETALL none
        < *0
        ",
    );
    let mut world = World::new();
    world.answer("HELLO 3");
    check(
        &mut world,
        &[
            ("HSET h a 1 b 2", ":2"),
            ("HGETALL h", "%2 $1 a $1 1 $1 b $1 2"),
            ("HSETEX h EX 10 FIELDS 1 a 1", ":1"),
            ("HGETALL h", "%2 $1 a $1 1 $1 b $1 2"),
            ("HGETALL none", "%0"),
            ("HRANDFIELD h 5 WITHVALUES", "*2 *2 $1 a $1 1 *2 $1 b $1 2"),
        ],
    );
}

#[test]
fn changes_are_counted() {
    let mut world = World::new();
    let rows = [
        ("HSET h a 1 b 2 c 3", 3),
        ("HSET h a 1 b 2", 2),
        ("HSETNX h a 1", 0),
        ("HSETNX h d 1", 1),
        ("HINCRBY h a 1", 1),
        ("HINCRBY h a x", 0),
        ("HINCRBYFLOAT h a 1.5", 1),
        ("HDEL h d missing", 1),
        ("HEXPIRE h 10 FIELDS 2 a missing", 1),
        ("HEXPIRE h 0 NX FIELDS 2 a b", 1),
        ("HPERSIST h FIELDS 2 a c", 1),
        ("HGETEX h PERSIST FIELDS 2 a c", 0),
        ("HGETEX h EX 5 FIELDS 2 a c", 2),
        ("HSETEX h FIELDS 2 a 1 x 1", 2),
        ("HSETEX h PXAT 1 FIELDS 2 x 1 y 1", 1),
        ("HGETDEL h FIELDS 3 a c missing", 2),
    ];
    for (line, changes) in rows {
        let before = world.changes();
        reply_to(&mut world, line);
        assert_eq!(world.changes() - before, changes, "{line}");
    }
    assert_eq!(reply_to(&mut world, "EXISTS h"), ":0");
}

#[test]
fn fields_end_with_their_deadlines() {
    let mut world = World::new();
    check(
        &mut world,
        &[
            ("HSET h a 1 b 2 c 3", ":3"),
            ("HEXPIRE h 10 FIELDS 2 a b", "*2 :1 :1"),
            ("HTTL h FIELDS 4 a b c d", "*4 :10 :10 :-1 :-2"),
            ("HPTTL h FIELDS 1 a", "*1 :10000"),
            ("HEXPIRETIME h FIELDS 1 a", "*1 :1700000010"),
            ("HPEXPIRETIME h FIELDS 1 a", "*1 :1700000010000"),
            ("HPERSIST h FIELDS 3 b c d", "*3 :1 :-1 :-2"),
            ("OBJECT ENCODING h", "$9 hashtable"),
        ],
    );
    world.instance.clock.advance(10_000);
    check(
        &mut world,
        &[
            ("HGET h a", "$-1"),
            ("HGETALL h", "*4 $1 b $1 2 $1 c $1 3"),
            ("HKEYS h", "*2 $1 b $1 c"),
            ("HSCAN h 0", "*2 $1 0 *4 $1 b $1 2 $1 c $1 3"),
            ("HLEN h", ":3"),
            ("HDEL h a", ":0"),
            ("HSET h a 4", ":1"),
            ("HTTL h FIELDS 1 a", "*1 :-1"),
        ],
    );
    assert!(world.answer("INFO stats").contains("expired_fields:1\r\n"));
}

#[test]
fn the_keyspace_tells_how_many_hashes_have_fields_that_expire() {
    let mut world = World::new();
    let facts = |world: &mut World, expected: &str| {
        let info = world.answer("INFO keyspace");
        assert!(info.contains(expected), "{info}");
    };
    world.answer("HSETEX h EX 10 FIELDS 1 a 1");
    facts(&mut world, "db0:keys=1,expires=0,avg_ttl=0,keys_with_volatile_items=1");
    world.answer("EXPIRE h 100");
    facts(&mut world, "expires=1,avg_ttl=100000,keys_with_volatile_items=1");
    world.answer("COPY h g");
    world.answer("HSET g a 2");
    facts(&mut world, "keys=2,expires=2,avg_ttl=100000,keys_with_volatile_items=1");
    world.answer("SET h v");
    facts(&mut world, "keys=2,expires=1,avg_ttl=100000,keys_with_volatile_items=0");
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let number = "-ERR numfields should be greater than 0 and match the provided number of fields";
    check(
        &mut World::new(),
        &[
            ("HEXPIRE h 10 FIELDS 2 a", number),
            ("HEXPIRE h 10 FIELDS 0 a", number),
            ("HEXPIRE h 10 a b c", number),
            ("HTTL h FIELDS 2 a", "-ERR syntax error"),
            ("HTTL h NAMES 1 a", "-ERR syntax error"),
            ("HGETDEL h FIELDS 2 a", number),
            ("HSETEX h FNX FXX FIELDS 1 a b", "-ERR syntax error"),
            ("HSETEX h EX 1 KEEPTTL FIELDS 1 a b", "-ERR syntax error"),
            ("HSETEX h EX FIELDS 1 a b", "-ERR syntax error"),
            ("HSETEX h EX -1 FIELDS 1 a b", "-ERR invalid expire time in 'hsetex' command"),
            ("HGETEX h PERSIST EX 1 FIELDS 1 a", "-ERR syntax error"),
            ("HRANDFIELD h 1 WITHSCORES", "-ERR syntax error"),
            ("HSCAN h x", "-ERR invalid cursor"),
        ],
    );
}
