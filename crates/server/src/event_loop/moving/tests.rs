//! Tests of connections that move, at the moments at which something else happens.

use crate::worker::testing::{Peer, World};
use session::Notice;

/// Has a worker hand all connections that can leave to the worker with this number.
fn send_all(from: &mut World, to: usize) {
    let worker = &mut from.worker;
    worker.event_loop.move_some(to, |_| true);
}

/// The client of a connection at the worker that has taken it over.
fn arrived(at: &mut World, peer: Peer) -> Peer {
    at.iterate(&[]);
    at.peer_of(peer.socket, peer.client)
}

#[test]
fn a_client_is_served_where_its_connection_has_gone_to() {
    let [mut first, mut second] = World::pair();
    let peer = first.connect();
    assert_eq!(first.ask(&peer, "MULTI\r\nSET k v\r\n"), "+OK +QUEUED");
    send_all(&mut first, 1);
    let peer = arrived(&mut second, peer);
    assert_eq!(second.ask(&peer, "EXEC\r\n"), "*1 +OK");
    send_all(&mut second, 0);
    let peer = arrived(&mut first, peer);
    assert_eq!(first.ask(&peer, "GET k\r\n"), "$1 v");
}

#[test]
fn a_client_on_its_way_hears_of_a_key_that_changes_meanwhile() {
    let [mut first, mut second] = World::pair();
    let (other, peer) = (first.connect(), first.connect());
    first.ask(&peer, "HELLO 3\r\n");
    assert_eq!(first.ask(&peer, "CLIENT TRACKING ON\r\nGET k\r\n"), "+OK _");
    assert_eq!(first.ask(&other, "SUBSCRIBE news\r\n"), "*3 $9 subscribe $4 news :1");
    send_all(&mut first, 1);
    // Who subscribes stays, and can change keys once it has ended that.
    assert_eq!(
        first.ask(&other, "UNSUBSCRIBE\r\nSET k v\r\n"),
        "*3 $11 unsubscribe $4 news :0 +OK"
    );
    let peer = arrived(&mut second, peer);
    second.run_until_idle();
    assert_eq!(peer.read(), ">2 $10 invalidate *1 $1 k");
}

#[test]
fn a_notice_that_finds_its_client_on_the_way_back_waits_for_it() {
    let [mut first, mut second] = World::pair();
    let peer = first.connect();
    peer.client.notify(Notice::Close(peer.client.id));
    send_all(&mut first, 1);
    second.iterate(&[]);
    send_all(&mut second, 0);
    first.run_until_idle();
    assert!(peer.is_closed());
}
