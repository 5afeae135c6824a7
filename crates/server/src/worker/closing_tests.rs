//! Tests of the ways in which connections end, and of what they are owed then.

use super::testing::{MIB, World};
use crate::mail::Mail;
use session::Notice;
use std::sync::atomic::Ordering::Relaxed;

#[test]
fn the_requests_of_a_client_that_has_closed_its_side_are_served_and_it_is_forgotten() {
    let mut world = World::new();
    let peer = world.connect();
    peer.send(&"INCR n\r\n".repeat(1000));
    peer.end();
    world.iterate(&[peer.ending()]);
    world.run_until_idle();
    assert!(peer.read_bytes().ends_with(":1000\r\n"));
    assert_eq!(world.instance.clients.count(), 0);
}

#[test]
fn a_client_that_quits_behind_a_mark_gets_its_reply_before_it_is_closed() {
    let mut world = World::new();
    let peer = world.connect();
    world.mark_safe(1);
    let at = peer.at();
    world.worker.event_loop.connections.get_mut(at).expect("it is not away").mark(0, 2);
    assert_eq!(world.ask(&peer, "QUIT\r\n"), "");
    world.mark_safe(2);
    assert_eq!(peer.read(), "+OK");
    assert!(peer.is_closed());
}

#[test]
fn a_client_that_ends_its_side_behind_a_mark_gets_its_reply_before_it_is_closed() {
    let mut world = World::new();
    let peer = world.connect();
    world.mark_safe(1);
    world.worker.event_loop.connections.get_mut(peer.at()).expect("it is not away").mark(0, 2);
    peer.send("PING\r\n");
    peer.end();
    world.iterate(&[peer.ending()]);
    world.run_until_idle();
    assert_eq!((peer.read(), world.instance.clients.count()), (String::new(), 1));
    world.mark_safe(2);
    assert_eq!(peer.read(), "+PONG");
    assert!(peer.is_closed());
}

#[test]
fn a_client_that_waits_or_is_owed_nothing_behind_a_mark_is_closed_at_its_end() {
    for requests in ["CLIENT REPLY OFF\r\n", "BLPOP l 0\r\n", "PING\r\nBLPOP l 0\r\n"] {
        let mut world = World::new();
        let peer = world.connect();
        world.mark_safe(1);
        world.worker.event_loop.connections.get_mut(peer.at()).expect("it is not away").mark(0, 2);
        assert_eq!(world.ask(&peer, requests), "");
        peer.end();
        world.iterate(&[peer.ending()]);
        world.run_until_idle();
        assert_eq!(world.instance.clients.count(), 0, "{requests}");
        assert_eq!(world.instance.waiters.count(), 0, "{requests}");
    }
}

#[test]
fn a_mark_before_nothing_goes_once_its_position_is_safe() {
    let mut world = World::new();
    let peer = world.connect();
    world.mark_safe(1);
    let at = peer.at();
    let connections = &mut world.worker.event_loop.connections;
    connections.get_mut(at).expect("it is not away").mark(0, 2);
    assert_eq!(world.ask(&peer, "CLIENT REPLY OFF\r\n"), "");
    world.mark_safe(2);
    let connections = &mut world.worker.event_loop.connections;
    assert!(!connections.get_mut(at).expect("it is not away").has_output());
}

#[test]
fn an_event_of_a_closed_client_is_not_taken_for_one_of_the_next_in_its_entry() {
    let mut world = World::new();
    let gone = world.connect();
    let (stream, socket) = world.accepted();
    world.mailbox.send(Mail::Notice(Notice::Close(gone.client.id)));
    world.mailbox.send(Mail::Accepted(stream));
    world.iterate(&[gone.ending()]);
    let next = world.peer(socket);
    assert_ne!(next.at(), gone.at());
    world.iterate(&[]);
    assert!(world.waited() > 0, "there is nothing to do");
    assert_eq!(world.ask(&next, "PING\r\n"), "+PONG");
    assert_eq!(world.connect().at(), gone.at(), "it is free by now");
}

#[test]
fn a_client_that_takes_nothing_of_what_it_is_sent_stays_silent() {
    let mut world = World::new();
    let peer = world.connect();
    world.mailbox.send(peer.message(&"m".repeat(4 * MIB)));
    world.iterate(&[]);
    let room = peer.client.output_room.load(Relaxed);
    let before = peer.client.last_interaction.load(Relaxed);
    world.instance.clock.advance(5000);
    world.mailbox.send(peer.message(&"m".repeat(MIB)));
    world.iterate(&[]);
    assert_eq!(peer.client.last_interaction.load(Relaxed), before);
    assert!(peer.client.output_room.load(Relaxed) >= room + MIB as u64);
    peer.read_some(MIB);
    world.iterate(&[peer.writable()]);
    assert_eq!(peer.client.last_interaction.load(Relaxed), before + 5000);
}
