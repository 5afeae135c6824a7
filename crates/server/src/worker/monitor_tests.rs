//! Tests of the way of lines to clients that run MONITOR.

use super::testing::{Peer, World};
use std::sync::atomic::Ordering::SeqCst;

/// What stands before each line, in the database 0.
const BEGIN: &str = "+1700000000.000000 [0 ";

/// Returns a client that runs MONITOR.
fn monitor(world: &mut World) -> Peer {
    let peer = world.connect();
    assert_eq!(world.ask(&peer, "MONITOR\r\n"), "+OK");
    peer
}

/// Returns the lines that a client reads, each without its begin and the address.
fn lines(peer: &Peer) -> Vec<String> {
    let text = peer.read_bytes();
    let short = |line: &str| line.split_once("] ").map_or(line, |(_, rest)| rest).to_owned();
    text.lines().map(short).collect()
}

/// Returns a request that sets a key to a text of so many bytes.
fn setting(bytes: usize) -> String {
    format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${bytes}\r\n{}\r\n", "v".repeat(bytes))
}

#[test]
fn the_lines_of_a_batch_come_together_in_the_same_loop_iteration() {
    let mut world = World::new();
    let (first, second, peer) = (monitor(&mut world), monitor(&mut world), world.connect());
    let wakes = world.wakes.load(SeqCst);
    let replies = world.ask(&peer, "SET k v\r\nGET k\r\nMULTI\r\nDEL k\r\nEXEC\r\n");
    assert_eq!(replies, "+OK $1 v +OK +QUEUED *1 :1");
    let expected = [r#""SET" "k" "v""#, r#""GET" "k""#, r#""MULTI""#, r#""DEL" "k""#, r#""EXEC""#];
    assert_eq!(lines(&first), expected);
    assert!(second.read().starts_with(BEGIN));
    assert_eq!(world.wakes.load(SeqCst), wakes);
}

#[test]
fn a_monitor_sees_its_own_commands_each_behind_its_reply() {
    let mut world = World::new();
    let peer = monitor(&mut world);
    peer.send("PING\r\nMULTI\r\nPING\r\nEXEC\r\nPING\r\n");
    world.iterate(&[peer.readable()]);
    world.run_until_idle();
    let multi = [r#""MULTI""#, "+QUEUED", "*1", "+PONG", r#""PING""#, r#""EXEC""#];
    let expected = [&["+PONG", r#""PING""#, "+OK"][..], &multi, &["+PONG", r#""PING""#]].concat();
    assert_eq!(lines(&peer), expected);
}

#[test]
fn the_reply_of_reset_comes_behind_what_was_shown_before_and_nothing_behind_it() {
    let mut world = World::new();
    let (onlooker, peer) = (monitor(&mut world), world.connect());
    peer.send("PING\r\n");
    onlooker.send("RESET\r\nGET k\r\n");
    world.iterate(&[peer.readable(), onlooker.readable()]);
    world.run_until_idle();
    assert_eq!(world.ask(&peer, "PING\r\n"), "+PONG +PONG");
    assert_eq!(lines(&onlooker), [r#""PING""#, "+RESET", "$-1"]);
    assert_eq!(world.instance.monitors.count(), 0);
}

#[test]
fn lines_are_replies_to_a_client_that_wants_none() {
    let mut world = World::new();
    let (onlooker, peer) = (monitor(&mut world), world.connect());
    world.ask(&onlooker, "CLIENT REPLY OFF\r\n");
    world.ask(&peer, "PING\r\n");
    assert_eq!(lines(&onlooker), Vec::<String>::new());
}

#[test]
fn a_monitor_that_does_not_read_is_closed_at_its_limit_and_nothing_is_left() {
    let mut world = World::new();
    let (_onlooker, peer) = (monitor(&mut world), world.connect());
    let limits = "CONFIG SET client-output-buffer-limit \"normal 1mb 0 0\"\r\n";
    assert_eq!(world.ask(&peer, limits), "+OK");
    let (batch, mut most) = (setting(1000).repeat(50), 0);
    for _ in 0..2000 {
        peer.send(&batch);
        let mut replies = String::new();
        while replies.len() < 250 {
            world.iterate(&[peer.readable()]);
            replies += &peer.read_bytes();
        }
        let all = world.instance.clients.list();
        let waits = all.iter().map(|client| client.output_bytes.load(SeqCst)).sum();
        most = most.max(waits);
    }
    assert!((800_000..1_200_000).contains(&most), "{most} bytes waited");
    assert_eq!((world.instance.clients.count(), world.instance.monitors.count()), (1, 0));
    assert_eq!(world.instance.clients.mail_bytes().load(SeqCst), 0);
    assert_eq!(world.worker.pipeline.executor.statistics.server.output_limit_closed.get(), 1);
}

#[test]
fn clients_are_postponed_while_a_worker_has_much_to_read_and_go_on_then() {
    let mut world = World::new();
    let (onlooker, peer) = (monitor(&mut world), world.connect());
    let mut sent = setting(3 << 20).repeat(5).into_bytes();
    let (mut replies, mut most) = (String::new(), 0);
    while replies.len() < 25 {
        let taken = peer.send_some(&sent);
        sent.drain(..taken);
        world.iterate(&[peer.readable(), onlooker.writable()]);
        most = most.max(world.instance.clients.mail_bytes().load(SeqCst));
        onlooker.read();
        replies += &peer.read_bytes();
    }
    assert!(most < 16 << 20, "{most} bytes waited");
}

#[test]
fn a_client_that_disconnects_is_no_monitor_any_more() {
    let mut world = World::new();
    let (onlooker, peer) = (monitor(&mut world), world.connect());
    drop(onlooker);
    world.ask(&peer, "PING\r\n");
    world.run_until_idle();
    assert_eq!((world.instance.clients.count(), world.instance.monitors.count()), (1, 0));
}
