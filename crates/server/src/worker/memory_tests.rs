//! Tests of the memory of clients: how it is counted, and who is closed for it.

use super::testing::{Peer, World};
use std::sync::atomic::Ordering::Relaxed;

const LIMIT: &str = "CONFIG SET maxmemory-clients 400kb\r\n";

/// Asserts that the sum of the worker is that of its clients, and returns it.
fn sum(world: &World) -> u64 {
    let clients = &world.instance.clients;
    let sum: u64 = clients.list().iter().map(|client| client.memory()).sum();
    assert_eq!(clients.memory(), sum);
    sum
}

/// Sends all but the end of a request with an argument of many bytes, unless the client is closed
/// before.
fn begin_argument(world: &mut World, peer: &Peer, bytes: usize) {
    let head = format!("*2\r\n$4\r\nECHO\r\n${}\r\n", bytes + 1);
    let request = [head.as_bytes(), &vec![b'x'; bytes]].concat();
    let mut left = &request[..];
    while !left.is_empty() && !peer.client.is_doomed() {
        left = &left[peer.send_some(left)..];
        world.iterate(&[peer.readable()]);
    }
    world.run_until_idle();
}

fn evicted(world: &World) -> u64 {
    world.instance.statistics.sums().server.evicted_clients
}

#[test]
fn memory_of_every_kind_is_counted_and_nothing_is_left_of_it() {
    let mut world = World::new();
    let (peer, other) = (world.connect(), world.connect());
    let empty = sum(&world);
    let kinds = [
        ("WATCH a b c\r\n", "UNWATCH\r\n"),
        ("MULTI\r\nSET k v\r\n", "DISCARD\r\n"),
        ("HELLO 3\r\nSUBSCRIBE a b\r\n", "UNSUBSCRIBE\r\n"),
        ("PSUBSCRIBE a b\r\n", "PUNSUBSCRIBE\r\n"),
        ("SSUBSCRIBE a b\r\n", "SUNSUBSCRIBE\r\n"),
        ("SUBSCRIBE a\r\nWATCH a\r\nMULTI\r\nPING\r\n", "RESET\r\n"),
        ("*1\r\n$4\r\nPI", "NG\r\n"),
        ("CLIENT SETNAME me\r\n", "CLIENT SETNAME \"\"\r\n"),
    ];
    for (begin, end) in kinds {
        world.ask(&peer, begin);
        assert!(sum(&world) > empty, "{begin}");
        world.ask(&peer, end);
        world.run_until_idle();
        let kept = [&peer.client.query_free, &peer.client.queue_room];
        let kept: u64 = kept.iter().map(|bytes| bytes.load(Relaxed)).sum();
        assert_eq!(sum(&world) - kept, empty, "{end}");
    }
    world.ask(&other, "SETBIT k 2399999 0\r\n");
    peer.send(&"GET k\r\n".repeat(4));
    world.iterate(&[peer.readable()]);
    assert!(sum(&world) > empty + 300_000);
    for peer in [peer, other] {
        peer.end();
        world.iterate(&[peer.ending()]);
        drop(peer);
    }
    world.run_until_idle();
    world.iterate(&[]);
    assert!(world.instance.clients.count() < 2 && sum(&world) < empty + 2_000_000);
}

#[test]
fn the_largest_client_is_closed_and_the_others_stay() {
    let mut world = World::new();
    let (small, large, other) = (world.connect(), world.connect(), world.connect());
    assert_eq!(world.ask(&other, LIMIT), "+OK");
    begin_argument(&mut world, &small, 150_000);
    begin_argument(&mut world, &large, 300_000);
    assert_eq!((world.instance.clients.count(), evicted(&world)), (2, 1));
    assert!(large.client.is_doomed() && !small.client.is_doomed());
    assert!(sum(&world) < 400 << 10);
    assert!(world.ask(&other, "INFO stats\r\n").contains("evicted_clients:1 "));
}

#[test]
fn a_client_that_goes_beyond_all_within_one_request_is_closed_too() {
    let mut world = World::new();
    let (peer, other) = (world.connect(), world.connect());
    world.ask(&other, LIMIT);
    world.ask(&other, "SETBIT k 7999999 0\r\n");
    peer.send("GET k\r\n");
    world.iterate(&[peer.readable()]);
    world.run_until_idle();
    assert_eq!((world.instance.clients.count(), evicted(&world)), (1, 1));
}

#[test]
fn a_lower_limit_is_held_before_the_next_request() {
    let mut world = World::new();
    let (large, other) = (world.connect(), world.connect());
    begin_argument(&mut world, &large, 300_000);
    assert_eq!(world.instance.clients.count(), 2);
    world.ask(&other, "CONFIG SET maxmemory-clients 200kb\r\n");
    assert!(!world.ask(&other, "CLIENT LIST\r\n").contains(&format!("id={} ", large.client.id)));
    world.run_until_idle();
    assert_eq!((world.instance.clients.count(), evicted(&world)), (1, 1));
}

#[test]
fn the_limit_may_be_a_part_of_maxmemory_and_is_none_without_it() {
    let mut world = World::new();
    let (large, other) = (world.connect(), world.connect());
    world.ask(&other, "CONFIG SET maxmemory-clients 1%\r\n");
    begin_argument(&mut world, &large, 300_000);
    assert_eq!(world.instance.clients.count(), 2);
    world.ask(&other, "CONFIG SET maxmemory 20mb\r\n");
    world.run_until_idle();
    assert_eq!((world.instance.clients.count(), evicted(&world)), (1, 1));
}

#[test]
fn a_client_that_was_killed_is_not_served_any_more() {
    let mut world = World::new();
    let (peer, other) = (world.connect(), world.connect());
    peer.send("SET k v\r\n");
    assert!(peer.client.kill());
    world.iterate(&[peer.readable()]);
    world.run_until_idle();
    assert_eq!(world.ask(&other, "GET k\r\n"), "$-1");
    assert_eq!(world.instance.clients.count(), 1);
}

#[test]
fn a_command_that_waits_counts_when_it_is_answered() {
    let mut world = World::new();
    let (peer, other) = (world.connect(), world.connect());
    let commands = |peer: &Peer| peer.client.commands.load(Relaxed);
    world.ask(&peer, "PING\r\nBLPOP list 0\r\nPING\r\n");
    assert_eq!(commands(&peer), 1);
    world.ask(&other, "RPUSH list x\r\n");
    world.run_until_idle();
    assert_eq!((commands(&peer), peer.read()), (3, "*2 $4 list $1 x +PONG".to_owned()));
}

#[test]
fn of_a_client_that_dies_nothing_is_left_in_any_table() {
    let mut world = World::new();
    let other = world.connect();
    world.ask(&other, "PING\r\n");
    let empty = sum(&world);
    let moments = [
        "MULTI\r\nSET k v\r\n",
        "WATCH a b\r\nMULTI\r\nSET a v\r\n",
        "WATCH a b\r\nMULTI\r\nEXE",
        "SUBSCRIBE a\r\nPSUBSCRIBE a*\r\nSSUBSCRIBE a\r\n",
        "SUBSCRIBE a\r\nUNSUBSCRIBE a\r\n",
    ];
    for moment in moments {
        let peer = world.connect();
        peer.send(moment);
        world.iterate(&[peer.readable()]);
        let ending = peer.ending();
        drop(peer);
        // A message is on its way when the client is found to be gone.
        other.send("PUBLISH a x\r\nSPUBLISH a x\r\n");
        world.iterate(&[other.readable(), ending]);
        world.run_until_idle();
        other.read();
        let info = world.ask(&other, "INFO everything\r\n");
        for field in ["watching_clients", "total_watched_keys", "pubsub_clients", "pubsub_channels"]
            .into_iter()
            .chain(["pubsub_patterns", "pubsubshard_channels"])
        {
            assert!(info.contains(&format!(" {field}:0 ")), "{field}, {moment}");
        }
        assert_eq!((world.instance.clients.count(), sum(&world)), (1, empty), "{moment}");
    }
}

#[test]
fn what_a_transaction_queues_counts_against_the_limit_of_the_query() {
    let mut world = World::new();
    let (peer, other) = (world.connect(), world.connect());
    assert_eq!(world.ask(&other, "CONFIG SET client-query-buffer-limit 1mb\r\n"), "+OK");
    world.ask(&peer, "MULTI\r\n");
    let request = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$9000\r\n{}\r\n", "x".repeat(9000));
    let mut queued = 0;
    while world.instance.clients.count() > 1 {
        queued += 1;
        world.ask(&peer, &request);
    }
    assert!((50..120).contains(&queued), "{queued} commands");
    assert_eq!(world.instance.statistics.sums().server.query_limit_closed, 1);
}
