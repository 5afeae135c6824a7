//! Tests of what is counted of commands, of replies and of writes to sockets.

use super::testing::World;
use session::CommandTotals;
use std::sync::atomic::Ordering::Relaxed;

fn row_of(name: &str) -> usize {
    families::table().find(name.as_bytes()).expect("it exists").id
}

fn counts(world: &World, name: &str) -> CommandTotals {
    world.instance.statistics.sums().commands[row_of(name)]
}

fn writes(world: &World) -> u64 {
    world.instance.statistics.sums().server.writes
}

#[test]
fn a_command_that_another_thread_answers_is_counted_with_its_answer() {
    let mut world = World::new();
    let (asker, other) = (world.connect(), world.connect());
    assert_eq!(world.ask(&other, "CONFIG SET slowlog-log-slower-than 0\r\n"), "+OK");
    assert_eq!(world.ask(&asker, "SHUTDOWN NOSAVE\r\n"), "");
    assert_eq!(counts(&world, "SHUTDOWN").calls, 0);
    assert_eq!(world.ask(&other, "SHUTDOWN ABORT\r\n"), "+OK");
    world.run_until_idle();
    assert_eq!(asker.read(), "-ERR Errors trying to SHUTDOWN. Check logs.");
    let counts = counts(&world, "SHUTDOWN");
    assert_eq!((counts.calls, counts.failed), (2, 1));
    assert_eq!(world.instance.statistics.errors().get("ERR"), Some(&1));
    assert_eq!(world.instance.statistics.times()[&row_of("SHUTDOWN")].total(), 2);
    let log = world.ask(&other, "SLOWLOG GET -1\r\n");
    assert!(log.contains("*2 $8 SHUTDOWN $6 NOSAVE"), "{log}");
    assert_eq!(world.ask(&asker, "PING\r\n"), "+PONG");
}

#[test]
fn a_command_whose_reply_comes_as_mail_is_counted_at_once() {
    let mut world = World::new();
    let (peer, other) = (world.connect(), world.connect());
    assert_eq!(world.ask(&other, "CONFIG SET slowlog-log-slower-than 0\r\n"), "+OK");
    for line in ["SUBSCRIBE c\r\n", "UNSUBSCRIBE c\r\n", "SUBSCRIBE c\r\n", "RESET\r\n"] {
        world.ask(&peer, line);
        world.run_until_idle();
    }
    for name in ["UNSUBSCRIBE", "RESET"] {
        assert_eq!(counts(&world, name).calls, 1, "{name}");
        assert_eq!(world.instance.statistics.times()[&row_of(name)].total(), 1, "{name}");
    }
    let log = world.ask(&other, "SLOWLOG GET -1\r\n");
    assert!(log.contains("*2 $11 UNSUBSCRIBE $1 c") && log.contains("*1 $5 RESET"), "{log}");
}

#[test]
fn a_request_that_breaks_the_protocol_counts_as_an_error() {
    let mut world = World::new();
    let peer = world.connect();
    let reply = world.ask(&peer, "*1\r\n+PING\r\n");
    assert!(reply.starts_with("-ERR Protocol error"), "{reply}");
    let statistics = &world.instance.statistics;
    assert_eq!((statistics.errors().get("ERR"), statistics.refusals()), (Some(&1), 1));
}

#[test]
fn every_write_that_sends_bytes_is_counted_once() {
    let mut world = World::new();
    let peer = world.connect();
    assert_eq!(world.ask(&peer, "PING\r\nPING\r\n"), "+PONG +PONG");
    assert_eq!(writes(&world), 1);
    world.mailbox.send(peer.message("hello"));
    world.iterate(&[]);
    assert_eq!((peer.read(), writes(&world)), ("hello".to_owned(), 2));
    world.iterate(&[peer.writable()]);
    assert_eq!(writes(&world), 2, "nothing was to be sent");
    // A large reply leaves in parts.
    assert_eq!(world.ask(&peer, "SETBIT k 8388607 0\r\n"), ":0");
    peer.send("GET k\r\n");
    world.iterate(&[peer.readable()]);
    let mut read = peer.read_bytes().len();
    while peer.client.output_bytes.load(Relaxed) > 0 {
        world.iterate(&[peer.writable()]);
        read += peer.read_bytes().len();
    }
    assert_eq!(read, "$1048576\r\n".len() + (1 << 20) + 2);
    assert!(writes(&world) >= 3 + 4, "{} writes", writes(&world));
}
