//! Tests of the family: what one client can see without a socket.

use crate::testing::{World, check};
use session::StreamRequest;

/// What Valkey 9.1.2 answers, asked over a socket.
const ANSWERS: &[(&str, &str)] = &[
    ("REPLCONF", "+OK"),
    ("REPLCONF listening-port", "-ERR syntax error"),
    ("REPLCONF listening-port abc", "-ERR value is not an integer or out of range"),
    ("REPLCONF LISTENING-PORT 7000 capa EOF capa nonsense", "+OK"),
    ("REPLCONF version 9.1", "-ERR Unrecognized version format: 9.1"),
    ("REPLCONF rdb-only 2", "-ERR value is out of range, value must between 0 and 1"),
    ("REPLCONF rdb-filter-only foo", "-ERR Unsupported rdb-filter-only option: foo"),
    ("REPLCONF nosuch 1", "-ERR Unrecognized REPLCONF option: nosuch"),
    ("REPLCONF ACK 7", ""),
    ("REPLCONF GETACK *", ""),
    ("PSYNC x y", "-ERR value is not an integer or out of range"),
    ("PSYNC x 1 FAILOVER", "-ERR PSYNC FAILOVER can't be sent to a master."),
    ("ROLE", "*3 $6 master :0 *0"),
    ("WAIT 0 10", ":0"),
];

#[test]
fn a_primary_answers_as_valkey_does() {
    check(&mut World::new(), ANSWERS);
}

#[test]
fn an_option_has_its_effect_though_a_later_one_is_refused() {
    let mut world = World::new();
    world.answer("REPLCONF listening-port 7000 nosuch 1 capa eof");
    let reader = world.session.reader.as_deref().expect("it has told something");
    assert_eq!((reader.port, reader.takes_mark), (7000, false));
}

#[test]
fn who_asks_for_the_stream_leaves_and_one_that_wants_a_part_needs_a_mark() {
    let mut world = World::new();
    assert!(world.waits("PSYNC ? -1"));
    let wanted = world.session.wants_stream.take().expect("it leaves");
    assert_eq!(*wanted, StreamRequest::From(b"?".to_vec(), -1));
    assert!(world.waits("SYNC"));
    assert_eq!(world.session.wants_stream.take().as_deref(), Some(&StreamRequest::Old));
    world.answer("REPLCONF rdb-filter-only functions");
    let needs_mark = "-ERR Filtered replica requires EOF capability";
    check(&mut world, &[("PSYNC ? -1", needs_mark)]);
    world.answer("REPLCONF capa eof");
    assert!(world.waits("PSYNC ? -1"));
}
