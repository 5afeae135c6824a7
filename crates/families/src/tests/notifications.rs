//! Tests of `notifications` with the commands of all families.

use crate::testing::{Mailbox, STARTED, World, check, here};
use session::{Owner, Post, Topic};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use wire::Protocol;

/// Returns a server that publishes events of these classes, and the mailbox of a subscriber.
fn world(classes: &str) -> (World, Arc<Mailbox>) {
    let (mut world, mailbox) = (World::new(), Arc::new(Mailbox::default()));
    let post: Arc<dyn Post> = mailbox.clone();
    let client = world.instance.clients.add(here(), Owner { post, ..Owner::default() }, STARTED);
    let pubsub = &world.instance.pubsub;
    pubsub.subscribe(Topic::Pattern, b"__key*", &client, Protocol::Resp2);
    let line = format!("CONFIG SET notify-keyspace-events \"{classes}\"");
    check(&mut world, &[(&line, "+OK")]);
    world.instance.follow_event_classes();
    (world, mailbox)
}

/// Returns channels and payloads of the messages.
fn notified(mailbox: &Mailbox) -> Vec<String> {
    let texts = mailbox.take().into_iter().map(|(_, text)| text);
    texts.map(|text| text.split(' ').skip(6).step_by(2).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn each_event_goes_to_the_channel_of_its_key_and_to_that_of_its_name() {
    let (mut world, mailbox) = world("KEA");
    world.answer("SET k v");
    assert_eq!(notified(&mailbox), ["__keyspace@0__:k set", "__keyevent@0__:set k"]);
    world.answer("SELECT 3");
    world.answer("DEL nothing");
    world.answer("SADD s x");
    world.answer("SPOP s");
    let expected = ["sadd", "spop", "del"];
    let expected =
        expected.map(|it| [format!("__keyspace@3__:s {it}"), format!("__keyevent@3__:{it} s")]);
    assert_eq!(notified(&mailbox), expected.concat());
}

#[test]
fn classes_are_chosen_by_their_letters() {
    for (classes, line, count) in [
        ("K$", "SET k v", 1),
        ("Kg", "SET k v", 0),
        ("A", "SET k v", 0),
        ("En", "SET k v", 1),
        ("KEA", "GET nothing", 0),
        ("Em", "GET nothing", 1),
        ("Em", "EXISTS nothing", 1),
        ("KEm", "DEL nothing", 0),
    ] {
        let (mut world, mailbox) = world(classes);
        world.answer(line);
        assert_eq!(notified(&mailbox).len(), count, "{classes}: {line}");
    }
}

#[test]
fn what_expires_is_notified_when_it_is_asked_for() {
    let (mut world, mailbox) = world("Ex");
    world.answer("SET k v PX 10");
    world.instance.clock.advance(20);
    world.answer("GET k");
    assert_eq!(notified(&mailbox), ["__keyevent@0__:expired k"]);
}

#[test]
fn a_worker_that_sleeps_is_woken_behind_the_locks() {
    let (mut world, mailbox) = world("KEA");
    world.answer("MSET a 1 b 2");
    assert_eq!((mailbox.letters(), mailbox.wakes.load(Relaxed)), (4, 0));
    world.instance.send_pending_messages();
    assert!(mailbox.wakes.load(Relaxed) > 0);
    assert!(!world.instance.notifications.has_left());
}

#[test]
fn nothing_is_notified_once_the_setting_is_empty_again() {
    let (mut world, mailbox) = world("KEA");
    check(&mut world, &[("CONFIG SET notify-keyspace-events \"\"", "+OK")]);
    world.instance.follow_event_classes();
    world.answer("SET k v");
    assert!(notified(&mailbox).is_empty());
}
