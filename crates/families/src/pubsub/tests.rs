//! Tests of commands on messages: what of them one client can see without a socket.

use crate::testing::{Answers, STARTED, World, check, here};
use command::forget_subscriptions;
use session::{Owner, Session, Topic};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const SUBSCRIPTIONS: &str = "SUBSCRIBE a b";

fn counts(world: &World) -> [usize; 3] {
    [Topic::Channel, Topic::Pattern, Topic::ShardChannel]
        .map(|topic| world.instance.pubsub.count(topic))
}

#[test]
fn a_subscriber_under_resp2_may_do_little_else() {
    let mut world = World::new();
    let refused = "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT \
                   / RESET are allowed in this context";
    check(
        &mut world,
        &[
            ("SSUBSCRIBE s", "*3 $10 ssubscribe $1 s :1"),
            ("GET k", refused),
            ("PING", "*2 $4 pong $0"),
            ("PING hello", "*2 $4 pong $5 hello"),
            (SUBSCRIPTIONS, "*3 $9 subscribe $1 a :1 *3 $9 subscribe $1 b :2"),
            ("PSUBSCRIBE p*", "*3 $10 psubscribe $2 p* :3"),
        ],
    );
    assert!(world.waits("RESET"), "the reply comes behind what was published before");
    assert_eq!(counts(&world), [0; 3]);
    check(&mut world, &[("GET k", "$-1")]);
}

#[test]
fn a_subscriber_under_resp3_may_do_all() {
    let mut world = World::new();
    world.answer("HELLO 3");
    check(
        &mut world,
        &[
            (SUBSCRIPTIONS, ">3 $9 subscribe $1 a :1 >3 $9 subscribe $1 b :2"),
            ("GET k", "_"),
            ("PUBLISH a x", ":1"),
            ("PING", "+PONG"),
        ],
    );
    assert!(world.session.yields, "the message comes before the next command");
    world.answer("HELLO 2");
    assert!(world.answer("GET k").starts_with("-ERR Can't execute 'get'"));
}

#[test]
fn what_was_not_subscribed_to_is_ended_at_once_and_the_rest_behind_its_messages() {
    let mut world = World::new();
    check(
        &mut world,
        &[
            ("UNSUBSCRIBE", "*3 $11 unsubscribe $-1 :0"),
            ("UNSUBSCRIBE x y", "*3 $11 unsubscribe $1 x :0 *3 $11 unsubscribe $1 y :0"),
            ("PUNSUBSCRIBE", "*3 $12 punsubscribe $-1 :0"),
            ("SUNSUBSCRIBE s", "*3 $12 sunsubscribe $1 s :0"),
        ],
    );
    world.answer(SUBSCRIPTIONS);
    assert!(world.waits("UNSUBSCRIBE a"));
    assert_eq!(counts(&world), [1, 0, 0]);
    assert!(world.waits("UNSUBSCRIBE"));
    assert_eq!(counts(&world), [0; 3]);
    check(&mut world, &[("GET k", "$-1")]);
}

#[test]
fn subscriptions_begin_and_end_inside_a_transaction_too() {
    let mut world = World::new();
    let answers = Arc::new(Answers::default());
    let owner = Owner { post: answers.clone(), ..Owner::default() };
    world.session = Session::new(world.instance.clients.add(here(), owner, STARTED), true);
    let lines = ["SUBSCRIBE a", "UNSUBSCRIBE a", "SSUBSCRIBE s", "PUBLISH a x"];
    check(&mut world, &[("MULTI", "+OK")]);
    lines.iter().for_each(|line| check(&mut world, &[(line, "+QUEUED")]));
    let told = "*4 *3 $9 subscribe $1 a :1 *3 $11 unsubscribe $1 a :0 \
                -ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client :0";
    assert!(world.waits("EXEC"), "the reply goes by mail");
    assert_eq!(answers.take(), [told]);
}

#[test]
fn nothing_is_left_of_a_client_that_is_gone() {
    let mut world = World::new();
    for line in [SUBSCRIPTIONS, "PSUBSCRIBE p* q*", "SSUBSCRIBE s"] {
        world.answer(line);
    }
    let client = world.session.client.clone();
    assert_eq!(counts(&world), [2, 2, 1]);
    assert_eq!(client.channels.load(Relaxed), 2);
    assert!(client.subscription_bytes.load(Relaxed) > 0);
    forget_subscriptions(&world.instance, &mut world.session);
    assert_eq!((counts(&world), client.subscription_bytes.load(Relaxed)), ([0; 3], 0));
}

#[test]
fn what_is_subscribed_to_can_be_asked() {
    let mut world = World::new();
    world.answer("HELLO 3");
    world.answer("SUBSCRIBE foo foo");
    world.answer("PSUBSCRIBE f*");
    check(
        &mut world,
        &[
            ("PUBSUB CHANNELS", "*1 $3 foo"),
            ("PUBSUB CHANNELS b*", "*0"),
            ("PUBSUB NUMSUB foo bar", "*4 $3 foo :1 $3 bar :0"),
            ("PUBSUB NUMSUB", "*0"),
            ("PUBSUB NUMPAT", ":1"),
            ("PUBSUB SHARDCHANNELS", "*0"),
            ("PUBSUB SHARDNUMSUB foo", "*2 $3 foo :0"),
            (
                "PUBSUB CHANNELS a b",
                "-ERR unknown subcommand or wrong number of arguments for 'CHANNELS'. \
                 Try PUBSUB HELP.",
            ),
            ("PUBLISH foo x", ":2"),
        ],
    );
}
