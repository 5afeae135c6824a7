//! Tests of the ways that messages take through a worker.

use super::testing::{Peer, World, woken};
use crate::mail::Mail;
use session::{Answer, Needs, Notice, Post};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

const SUBSCRIBED: &str = "*3 $9 subscribe $1 c :1";
const HELLO: &str = "*3 $7 message $1 c $1 1";

/// Returns a client that has subscribed to the channel `c`.
fn subscriber(world: &mut World) -> Peer {
    let peer = world.connect();
    assert_eq!(world.ask(&peer, "SUBSCRIBE c\r\n"), SUBSCRIBED);
    peer
}

/// Returns a request that publishes a text on the channel `c`.
fn publishing(text: &str) -> String {
    format!("*3\r\n$7\r\nPUBLISH\r\n$1\r\nc\r\n${}\r\n{text}\r\n", text.len())
}

#[test]
fn a_message_comes_in_the_same_loop_iteration_and_nobody_is_woken_for_it() {
    let mut world = World::new();
    let (first, second, publisher) =
        (subscriber(&mut world), subscriber(&mut world), world.connect());
    let wakes = world.wakes.load(SeqCst);
    assert_eq!(world.ask(&publisher, "PUBLISH c 1\r\n"), ":2");
    assert_eq!((first.read(), second.read()), (HELLO.to_owned(), HELLO.to_owned()));
    assert_eq!(world.wakes.load(SeqCst), wakes);
}

#[test]
fn what_a_client_publishes_to_itself_comes_behind_that_reply_and_before_the_next() {
    let mut world = World::new();
    let peer = world.connect();
    peer.send("HELLO 3\r\nSUBSCRIBE c\r\n");
    world.iterate(&[peer.readable()]);
    peer.read();
    peer.send("PUBLISH c 1\r\nECHO x\r\nMULTI\r\nPUBLISH c 1\r\nECHO y\r\nEXEC\r\nPING\r\n");
    world.iterate(&[peer.readable()]);
    world.run_until_idle();
    let message = ">3 $7 message $1 c $1 1";
    let queued = "+QUEUED +QUEUED";
    let expected = format!(":1 {message} $1 x +OK {queued} *2 :1 $1 y {message} +PONG");
    assert_eq!(peer.read(), expected);
}

#[test]
fn what_a_client_publishes_behind_an_answer_by_mail_comes_before_its_next_reply_too() {
    let mut world = World::new();
    let peer = world.connect();
    peer.send("HELLO 3\r\nSUBSCRIBE c d\r\n");
    world.iterate(&[peer.readable()]);
    peer.read();
    peer.send("UNSUBSCRIBE d\r\nPUBLISH c 1\r\nECHO x\r\n");
    world.iterate(&[peer.readable()]);
    peer.send("PING\r\n");
    world.iterate(&[peer.readable()]);
    world.run_until_idle();
    let confirmed = ">3 $11 unsubscribe $1 d :1";
    assert_eq!(peer.read(), format!("{confirmed} :1 >3 $7 message $1 c $1 1 $1 x +PONG"));
}

#[test]
fn a_transaction_that_unsubscribes_is_answered_between_earlier_and_own_messages() {
    let request = "MULTI\r\nPUBLISH c 2\r\nSET g 2\r\nUNSUBSCRIBE c\r\nEXEC\r\nPING\r\n";
    let queued = "+OK +QUEUED +QUEUED +QUEUED";
    let theirs = ">3 $7 message $1 c $1 1";
    let confirmed = ">3 $11 unsubscribe $1 c :0";
    let own = ">3 $7 message $1 c $1 2 >2 $10 invalidate *1 $1 g";
    for (mode, expected) in [
        ("ON", format!("{queued} {theirs} *3 :1 +OK {confirmed} {own} +PONG")),
        ("OFF", format!("{theirs} {confirmed} {own}")),
    ] {
        let mut world = World::new();
        let (peer, publisher) = (world.connect(), world.connect());
        let tracking = "CLIENT TRACKING ON\r\nGET g\r\n";
        peer.send(&format!("HELLO 3\r\nSUBSCRIBE c\r\n{tracking}CLIENT REPLY {mode}\r\n"));
        world.iterate(&[peer.readable()]);
        peer.read();
        publisher.send("PUBLISH c 1\r\n");
        peer.send(request);
        world.iterate(&[publisher.readable(), peer.readable()]);
        world.run_until_idle();
        assert_eq!((publisher.read(), peer.read()), (":1".to_owned(), expected));
    }
}

#[test]
fn what_it_publishes_behind_that_answer_comes_before_a_request_that_is_sent_later() {
    let mut world = World::new();
    let peer = world.connect();
    peer.send("HELLO 3\r\nSUBSCRIBE c d\r\n");
    world.iterate(&[peer.readable()]);
    peer.read();
    peer.send("UNSUBSCRIBE d\r\nPUBLISH c 1\r\n");
    world.iterate(&[peer.readable()]);
    peer.send("PING\r\n");
    world.iterate(&[peer.readable()]);
    world.run_until_idle();
    let confirmed = ">3 $11 unsubscribe $1 d :1";
    assert_eq!(peer.read(), format!("{confirmed} :1 >3 $7 message $1 c $1 1 +PONG"));
}

#[test]
fn own_messages_behind_the_end_of_a_wait_come_before_a_request_already_there() {
    let mut world = World::new();
    let peer = world.connect();
    peer.send("HELLO 3\r\nSUBSCRIBE c\r\n");
    world.iterate(&[peer.readable()]);
    peer.read();
    peer.send("BLPOP q 0\r\nPUBLISH c 1\r\n");
    world.iterate(&[peer.readable()]);
    peer.send("PING\r\n");
    let answer = Answer { reply: b"_\r\n".to_vec(), position: 0, unserved: None };
    let mail = Mail::Notice(Notice::Answer(peer.client.id, answer));
    let mailbox = world.mailbox.clone();
    world.turn_during(&[peer.readable()], move || mailbox.send(mail));
    world.run_until_idle();
    assert_eq!(peer.read(), "_ :1 >3 $7 message $1 c $1 1 +PONG");
}

#[test]
fn own_messages_come_before_the_next_reply_however_much_mail_is_ahead() {
    let mut world = World::new();
    let (peer, reader, publisher) = (world.connect(), world.connect(), world.connect());
    let limit = "CONFIG SET client-output-buffer-limit \"pubsub 0 0 0\"\r\n";
    assert_eq!(world.ask(&publisher, limit), "+OK");
    peer.send("HELLO 3\r\nSUBSCRIBE own\r\n");
    world.iterate(&[peer.readable()]);
    peer.read();
    // One message to so many patterns is more than a loop iteration gives away.
    let patterns = (0..1200).map(|number| format!(" [c{number:04}]"));
    reader.send(&format!("PSUBSCRIBE{}\r\n", patterns.collect::<String>()));
    world.iterate(&[reader.readable()]);
    world.run_until_idle();
    reader.read();
    publisher.send(&format!("MULTI\r\n{}", publishing(&"m".repeat(16 << 10)).repeat(4)));
    world.iterate(&[publisher.readable()]);
    world.run_until_idle();
    assert_eq!(publisher.read(), "+OK +QUEUED +QUEUED +QUEUED +QUEUED");
    publisher.send("EXEC\r\n");
    peer.send("PUBLISH own 1\r\nECHO x\r\n");
    world.iterate(&[publisher.readable(), peer.readable()]);
    world.run_until_idle();
    assert_eq!(publisher.read(), "*4 :1200 :1200 :1200 :1200");
    assert_eq!(peer.read(), ":1 >3 $7 message $3 own $1 1 $1 x");
}

#[test]
fn what_it_has_changed_before_it_is_tracked_otherwise_comes_before_its_next_reply() {
    let mut world = World::new();
    let peer = world.connect();
    peer.send("HELLO 3\r\nCLIENT TRACKING ON\r\nGET g\r\n");
    world.iterate(&[peer.readable()]);
    peer.read();
    peer.send("MULTI\r\nSET g 2\r\nCLIENT TRACKING ON NOLOOP\r\nEXEC\r\nGET g\r\n");
    world.iterate(&[peer.readable()]);
    world.run_until_idle();
    let invalid = ">2 $10 invalidate *1 $1 g";
    let expected = format!("+OK +QUEUED +QUEUED *2 +OK +OK {invalid} $1 2");
    assert_eq!(peer.read(), expected);
}

#[test]
fn the_end_of_a_subscription_is_confirmed_behind_what_was_published_before() {
    let mut world = World::new();
    let (peer, publisher) = (subscriber(&mut world), world.connect());
    publisher.send("PUBLISH c 1\r\n");
    peer.send("UNSUBSCRIBE c\r\nPING\r\n");
    world.iterate(&[publisher.readable(), peer.readable()]);
    world.run_until_idle();
    assert_eq!(publisher.read(), ":1");
    assert_eq!(peer.read(), format!("{HELLO} *3 $11 unsubscribe $1 c :0 +PONG"));
    assert_eq!(world.ask(&publisher, "PUBLISH c 1\r\n"), ":0");
}

#[test]
fn a_reset_is_answered_behind_messages_in_the_protocol_of_before() {
    let mut world = World::new();
    let (peer, publisher) = (world.connect(), world.connect());
    peer.send("HELLO 3\r\nSUBSCRIBE c\r\n");
    world.iterate(&[peer.readable()]);
    peer.read();
    publisher.send("PUBLISH c 1\r\n");
    peer.send("RESET\r\nPING\r\n");
    world.iterate(&[publisher.readable(), peer.readable()]);
    world.run_until_idle();
    assert_eq!(peer.read(), ">3 $7 message $1 c $1 1 +RESET +PONG");
    assert_eq!(world.ask(&peer, "SUBSCRIBE c\r\n"), SUBSCRIBED);
    world.ask(&publisher, "PUBLISH c 1\r\n");
    assert_eq!(peer.read(), HELLO);
}

#[test]
fn pushes_of_a_transaction_come_although_replies_are_off() {
    let mut world = World::new();
    let (peer, publisher) = (world.connect(), world.connect());
    peer.send("CLIENT REPLY OFF\r\nMULTI\r\nECHO x\r\nSUBSCRIBE c\r\nEXEC\r\n");
    world.iterate(&[peer.readable()]);
    world.run_until_idle();
    assert_eq!(peer.read(), SUBSCRIBED);
    world.ask(&publisher, "PUBLISH c 1\r\n");
    assert_eq!(peer.read(), HELLO);
}

#[test]
fn while_replies_are_off_neither_refusals_nor_replies_beyond_a_limit_are_sent() {
    let mut world = World::new();
    let (peer, owner) = (world.connect(), world.connect());
    let limit = "CONFIG SET client-output-buffer-limit \"normal 1mb 0 0\"\r\n";
    assert_eq!(world.ask(&owner, limit), "+OK");
    assert_eq!(world.ask(&owner, "SETBIT k 16000000 0\r\n"), ":0");
    let requests = "MULTI\r\nSSUBSCRIBE c\r\nGET k\r\nSUBSCRIBE c\r\nEXEC\r\n";
    peer.send(&format!("CLIENT REPLY OFF\r\n{requests}"));
    world.iterate(&[peer.readable()]);
    world.run_until_idle();
    assert_eq!(peer.read(), SUBSCRIBED);
}

#[test]
fn a_client_that_is_pushed_more_than_its_limit_is_closed_although_replies_are_off() {
    let mut world = World::new();
    let (peer, owner) = (world.connect(), world.connect());
    let limit = "CONFIG SET client-output-buffer-limit \"normal 1mb 0 0 pubsub 1mb 0 0\"\r\n";
    assert_eq!(world.ask(&owner, limit), "+OK");
    peer.send("CLIENT REPLY OFF\r\n");
    let names: String = (0..30_000).map(|number| format!("$40\r\n{number:040}\r\n")).collect();
    let request = format!("*30001\r\n$9\r\nSUBSCRIBE\r\n{names}");
    let mut unsent = request.as_bytes();
    while !unsent.is_empty() {
        let sent = peer.send_some(unsent);
        unsent = &unsent[sent..];
        world.iterate(&[peer.readable()]);
    }
    world.run_until_idle();
    assert_eq!(world.instance.clients.count(), 1);
}

#[test]
fn confirmations_and_messages_come_although_replies_are_off() {
    let mut world = World::new();
    let (peer, publisher) = (world.connect(), world.connect());
    assert_eq!(world.ask(&peer, "CLIENT REPLY OFF\r\nSUBSCRIBE c\r\n"), SUBSCRIBED);
    world.ask(&publisher, "PUBLISH c 1\r\n");
    assert_eq!(peer.read(), HELLO);
    assert_eq!(world.ask(&peer, "UNSUBSCRIBE\r\n"), "*3 $11 unsubscribe $1 c :0");
}

#[test]
fn a_subscriber_that_does_not_read_is_closed_at_the_limit_of_its_class() {
    let mut world = World::new();
    let (_peer, publisher) = (subscriber(&mut world), world.connect());
    let limits = "CONFIG SET client-output-buffer-limit \"pubsub 3mb 0 0 normal 1mb 0 0\"\r\n";
    assert_eq!(world.ask(&publisher, limits), "+OK");
    let request = publishing(&"m".repeat(64 << 10));
    let receivers = (0..100).map(|_| {
        publisher.send(&request);
        world.iterate(&[publisher.readable()]);
        world.run_until_idle();
        publisher.read()
    });
    let reached = receivers.take_while(|reply| reply == ":1").count();
    // What its socket took is not in the server any more.
    assert!((48..70).contains(&reached), "{reached} messages of 64 KiB");
    assert_eq!(world.instance.clients.count(), 1);
    assert_eq!(world.ask(&publisher, "PUBSUB CHANNELS\r\n"), "*0");
}

#[test]
fn a_worker_that_gets_nothing_but_mail_keeps_time() {
    let mut world = World::new();
    let (peer, other) = (subscriber(&mut world), world.connect());
    let limits = "CONFIG SET client-output-buffer-limit \"pubsub 0 100kb 2\"\r\n";
    assert_eq!(world.ask(&other, limits), "+OK");
    world.mailbox.send(peer.message(&"m".repeat(3 << 20)));
    let mut turns = 0;
    while world.instance.clients.count() > 1 {
        world.instance.clock.advance(100);
        world.mailbox.send(peer.message("m"));
        world.iterate(&[woken()]);
        turns += 1;
        assert!(turns < 30, "it is above its soft limit for {turns} tenths of a second");
    }
    assert!(turns >= 20, "closed too soon: {turns}");
}

#[test]
fn a_client_above_its_soft_limit_is_closed_once_more_than_its_seconds_have_passed() {
    for (seconds, millis) in [(0, 250), (2, 2000)] {
        let mut world = World::new();
        let (peer, other) = (subscriber(&mut world), world.connect());
        let limits =
            format!("CONFIG SET client-output-buffer-limit \"pubsub 0 100kb {seconds}\"\r\n");
        assert_eq!(world.ask(&other, &limits), "+OK");
        world.mailbox.send(peer.message(&"m".repeat(3 << 20)));
        world.iterate(&[]);
        let mut look_after = |millis| {
            world.instance.clock.advance(millis);
            world.iterate(&[]);
            world.instance.clients.count()
        };
        assert_eq!(look_after(250), 2, "its output is seen above the limit");
        if seconds > 0 {
            assert_eq!(look_after(millis), 2, "just as long as it may be");
        }
        assert_eq!(look_after(250), 1);
    }
}

#[test]
fn clients_that_only_listen_are_not_closed_for_their_silence() {
    let mut world = World::new();
    let (peer, monitor) = (subscriber(&mut world), world.connect());
    let (silent, other) = (world.connect(), world.connect());
    assert_eq!(world.ask(&monitor, "MONITOR\r\n"), "+OK");
    // Administrators' commands are not shown, so nothing is sent to the monitor.
    assert_eq!(world.ask(&other, "CONFIG SET timeout 10\r\n"), "+OK");
    world.instance.clock.advance(10_001);
    world.ask(&other, "CONFIG GET timeout\r\n");
    world.iterate(&[]);
    assert!(silent.is_closed() && !peer.is_closed() && !monitor.is_closed());
    assert_eq!(world.instance.clients.count(), 3);
}

#[test]
fn a_publisher_is_postponed_while_a_worker_has_much_to_read_and_goes_on_then() {
    let mut world = World::new();
    let (peer, publisher) = (subscriber(&mut world), world.connect());
    world.ask(&publisher, "CONFIG SET client-output-buffer-limit \"pubsub 0 0 0\"\r\n");
    let request = publishing(&"m".repeat(3 << 20));
    let (mut sent, mut replies) = (request.repeat(4).into_bytes(), String::new());
    let mut most = 0;
    while replies.matches(":1").count() < 4 {
        let taken = publisher.send_some(&sent);
        sent.drain(..taken);
        world.iterate(&[publisher.readable(), peer.writable()]);
        most = most.max(world.instance.clients.mail_bytes().load(SeqCst));
        peer.read();
        replies += &publisher.read();
    }
    assert!(most < 16 << 20, "{most} bytes waited");
    assert!(!world.mailbox.is_behind());
}

/// Way to a worker that is busy, with more letters to read than it is to have while this is true.
struct Busy(AtomicBool);

impl Post for Busy {
    fn leave(&self, _: Notice) -> bool {
        false
    }

    fn wake(&self) {}

    fn is_behind(&self) -> bool {
        self.0.load(SeqCst)
    }
}

#[test]
fn a_worker_that_has_read_its_mail_frees_publishers_only_if_none_is_behind() {
    let mut world = World::new();
    let busy = Arc::new(Busy(AtomicBool::new(true)));
    world.instance.clients.add_worker(busy.clone());
    let (peer, publisher) = (subscriber(&mut world), world.connect());
    world.ask(&publisher, "PUBLISH c 1\r\n");
    world.instance.clients.grants.withdraw(Needs::MAIL_ROOM);
    let has_room = |world: &World| world.instance.clients.grants.get().contains(Needs::MAIL_ROOM);
    let look_over = |world: &mut World| {
        world.mailbox.send(peer.message("m"));
        world.instance.clock.advance(250);
        world.iterate(&[]);
        world.run_until_idle();
    };
    look_over(&mut world);
    assert!(!has_room(&world));
    busy.0.store(false, SeqCst);
    look_over(&mut world);
    assert!(has_room(&world));
}

#[test]
fn a_client_that_is_closed_in_between_gets_nothing_and_its_entry_keeps_no_mail() {
    let mut world = World::new();
    let (peer, publisher) = (subscriber(&mut world), world.connect());
    publisher.send("PUBLISH c 1\r\n");
    drop(peer);
    world.iterate(&[publisher.readable()]);
    let next = world.connect();
    world.run_until_idle();
    assert_eq!(next.read(), "");
}
