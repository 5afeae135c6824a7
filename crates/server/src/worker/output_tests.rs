//! Replies that a socket does not take at once.

use super::testing::{MIB, Peer, World, bulk};
use std::sync::atomic::Ordering::Relaxed;

#[test]
fn a_slow_reader_gets_every_byte_in_order_and_holds_little_meanwhile() {
    let mut world = World::new();
    let (peer, other) = (world.connect(), world.connect());
    let (number, value) = (40, "\0".repeat(MIB));
    assert_eq!(world.ask(&other, &format!("SETBIT k {} 0\r\n", 8 * MIB - 1)), ":0");
    let echoes: String = (0..number).map(|n| format!("GET k\r\nECHO {n}\r\n")).collect();
    peer.send(&echoes);
    world.iterate(&[peer.readable()]);
    let expected: String =
        (0..number).map(|n| [bulk(&value), bulk(&n.to_string())].concat()).collect();
    let mut taken = Vec::new();
    for turn in 0.. {
        assert!(turn < 1_000_000 && taken.len() <= expected.len());
        taken.extend(peer.read_some(1 + turn * 7919 % 100_000));
        let held = peer.client.output_room.load(Relaxed);
        assert!(held < 3 * MIB as u64, "{held} bytes");
        if taken.len() == expected.len() {
            break;
        }
        world.iterate(&[peer.writable()]);
    }
    assert!(taken == expected.as_bytes());
    assert_eq!(peer.client.output_room.load(Relaxed), 0);
    assert_eq!(world.ask(&peer, "PING\r\n"), "+PONG");
}

/// A socket that is waited for to take bytes is ready whenever its client has read, and stands
/// before what others sent earlier.
#[test]
fn a_socket_is_waited_for_to_take_bytes_only_while_it_is_full() {
    let mut world = World::new();
    let (peer, other) = (world.connect(), world.connect());
    assert_eq!(world.ask(&other, &format!("SETBIT k {} 0\r\n", 8 * MIB - 1)), ":0");
    assert_eq!(world.ask(&peer, "PING\r\n"), "+PONG");
    assert!(!peer.is_watched(&world) && !other.is_watched(&world));
    for _ in 0..2 {
        peer.send("GET k\r\n");
        world.iterate(&[peer.readable()]);
        world.run_until_idle();
        assert!(peer.is_watched(&world) && !other.is_watched(&world));
        let mut taken = 0;
        while taken < bulk(&"\0".repeat(MIB)).len() {
            let waits = peer.client.output_bytes.load(Relaxed) > 0;
            assert_eq!(peer.is_watched(&world), waits, "{taken} bytes were read");
            taken += peer.read_some(MIB).len();
            world.iterate(&[peer.writable()]);
            world.run_until_idle();
        }
        assert!(!peer.is_watched(&world));
    }
    // Messages that were given to it are no reason either, once they are written.
    world.mailbox.send(peer.message("hello"));
    world.run_until_idle();
    assert_eq!(peer.read(), "hello");
    assert!(!peer.is_watched(&world));
}

#[test]
fn a_client_whose_backlog_passes_its_limit_is_closed() {
    let mut world = World::new();
    let (peer, other) = (world.connect(), world.connect());
    let limit = "CONFIG SET client-output-buffer-limit \"normal 2mb 0 0\"\r\n";
    assert_eq!(world.ask(&other, limit), "+OK");
    assert_eq!(world.ask(&other, "SETBIT k 479999 0\r\n"), ":0");
    peer.send(&"GET k\r\n".repeat(100));
    world.iterate(&[peer.readable()]);
    world.run_until_idle();
    assert_eq!(world.instance.clients.count(), 1);
    assert_eq!(world.ask(&other, "PING\r\n"), "+PONG", "nobody else is");
}

fn is_gone(world: &World, peer: &Peer) -> bool {
    world.instance.clients.find(peer.client.id).is_none()
}

#[test]
fn a_client_that_was_never_authenticated_may_leave_little_output_unread() {
    let mut world = World::new();
    world.instance.access.set_default_password(b"secret");
    let (stranger, known) = (world.connect(), world.connect());
    assert_eq!(world.ask(&known, "AUTH secret\r\nRESET\r\n"), "+OK +RESET");
    for peer in [&stranger, &known] {
        // Their replies wait until the socket takes more.
        let mut sent = 0;
        while sent < 400_000 && !is_gone(&world, peer) {
            sent += peer.send_some(&b"GET k\r\n".repeat(500));
            world.iterate(&[peer.readable()]);
        }
    }
    world.run_until_idle();
    assert!(is_gone(&world, &stranger) && !is_gone(&world, &known));
}
