//! Tests of waiters whose turn comes in a pause.

use super::testing::World;

const PUSH_AND_PAUSE: &str = "MULTI\r\nRPUSH k v\r\nCLIENT PAUSE 1000 WRITE\r\nEXEC\r\n";
const PAUSED: &str = "+OK +QUEUED +QUEUED *2 :1 +OK";

#[test]
fn a_waiter_is_served_before_the_requests_that_the_same_pause_postponed() {
    let mut world = World::new();
    let (waiter, other, writer) = (world.connect(), world.connect(), world.connect());
    for end in ["CLIENT UNPAUSE\r\n", "its time"] {
        world.ask(&waiter, "BLPOP k 0.1\r\n");
        assert_eq!(world.ask(&writer, PUSH_AND_PAUSE), PAUSED);
        assert_eq!(world.ask(&other, "LPOP k\r\n"), "");
        world.instance.clock.advance(500);
        world.iterate(&[]);
        assert_eq!(waiter.read(), "");
        if end == "its time" {
            world.instance.clock.advance(501);
        } else {
            assert_eq!(world.ask(&writer, end), "+OK");
        }
        world.run_until_idle();
        assert_eq!((waiter.read(), other.read()), ("*2 $1 k $1 v".into(), "$-1".into()), "{end}");
    }
    assert_eq!((world.instance.waiters.count(), world.instance.waiters.deadlines()), (0, 0));
}

#[test]
fn a_waiter_that_finds_nothing_behind_a_pause_has_its_whole_time_again() {
    for millis_held in [60, 500] {
        let mut world = World::new();
        let (first, second, writer) = (world.connect(), world.connect(), world.connect());
        world.ask(&first, "BLPOP k 0\r\n");
        world.ask(&second, "BLPOP k 0.1\r\n");
        assert_eq!(world.ask(&writer, PUSH_AND_PAUSE), PAUSED);
        world.instance.clock.advance(millis_held);
        world.iterate(&[]);
        assert_eq!(world.ask(&writer, "CLIENT UNPAUSE\r\n"), "+OK");
        world.run_until_idle();
        assert_eq!(first.read(), "*2 $1 k $1 v");
        world.instance.clock.advance(100);
        world.run_until_idle();
        assert_eq!((second.read(), world.instance.waiters.deadlines()), (String::new(), 1));
        world.instance.clock.advance(1);
        world.run_until_idle();
        assert_eq!((second.read(), world.instance.waiters.deadlines()), ("*-1".to_owned(), 0));
    }
}

#[test]
fn a_reply_to_one_that_has_waited_is_held_to_the_limit_of_its_class() {
    for (begin, answer) in [
        ("HELLO 3\r\nSUBSCRIBE c\r\n", "*2\r\n$1\r\nl\r\n$2000000\r\n"),
        ("CLIENT REPLY OFF\r\n", ""),
    ] {
        let mut world = World::new();
        let (peer, owner) = (world.connect(), world.connect());
        let limits = "CONFIG SET client-output-buffer-limit \"normal 1mb 0 0 pubsub 0 0 0\"\r\n";
        assert_eq!(world.ask(&owner, limits), "+OK");
        peer.send(begin);
        world.iterate(&[peer.readable()]);
        peer.read();
        assert_eq!(world.ask(&peer, "BLPOP l 0\r\n"), "");
        let value = "v".repeat(2_000_000);
        let request = format!("*3\r\n$5\r\nRPUSH\r\n$1\r\nl\r\n$2000000\r\n{value}\r\n");
        let mut unsent = request.as_bytes();
        while !unsent.is_empty() {
            unsent = &unsent[owner.send_some(unsent)..];
            world.iterate(&[owner.readable()]);
        }
        let mut received = String::new();
        loop {
            world.iterate(&[peer.writable()]);
            match peer.read_bytes() {
                more if more.is_empty() => break,
                more => received += &more,
            }
        }
        assert!(received.starts_with(answer));
        assert_eq!(received.len(), if answer.is_empty() { 0 } else { answer.len() + 2_000_002 });
        assert!(!peer.is_closed(), "{begin}");
    }
}

#[test]
fn a_subscriber_has_the_limit_of_its_class_from_its_first_channel_on() {
    let mut world = World::new();
    let (peer, owner) = (world.connect(), world.connect());
    let limits = "CONFIG SET client-output-buffer-limit \"normal 1mb 0 0 pubsub 0 0 0\"\r\n";
    assert_eq!(world.ask(&owner, limits), "+OK");
    assert_eq!(world.ask(&owner, "SETRANGE k 1999999 x\r\n"), ":2000000");
    peer.send("HELLO 3\r\nSUBSCRIBE c\r\nGET k\r\n");
    world.iterate(&[peer.readable()]);
    let mut received = 0;
    while received < 2_000_000 {
        let more = peer.read_bytes().len();
        assert!(more > 0, "{received} bytes came");
        received += more;
        world.iterate(&[peer.writable()]);
    }
}
