//! Tests of the table of subscriptions, without sockets.

use crate::testing::{Mailbox, here};
use base::Steady;
use session::{
    Client, Clients, LARGE_PAYLOAD, Message, MessageBytes, Owner, Payload, Post, PubSub, Topic,
};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use wire::Protocol::{Resp2, Resp3};

struct World {
    clients: Clients,
    pubsub: PubSub,
    workers: [Arc<Mailbox>; 2],
}

impl World {
    fn new() -> World {
        World {
            clients: Clients::default(),
            pubsub: PubSub::default(),
            workers: Default::default(),
        }
    }

    fn client(&self, worker: usize) -> Arc<Client> {
        let post: Arc<dyn Post> = self.workers[worker].clone();
        self.clients.add(here(), Owner { post, ..Owner::default() }, Steady(0))
    }

    fn subscribe(&self, topic: Topic, name: &str, client: &Client) {
        self.pubsub.subscribe(topic, name.as_bytes(), client, Resp2);
    }

    /// Publishes a message and wakes who sleeps; returns the number of receivers.
    fn publish(&self, topic: Topic, name: &str) -> usize {
        let left = self.pubsub.publish(topic, name.as_bytes(), b"hello", 0);
        left.sleepers.iter().for_each(|post| post.wake());
        left.receivers
    }
}

#[test]
fn a_message_goes_once_to_each_worker_that_has_a_receiver_and_wakes_it_once() {
    let world = World::new();
    let clients: Vec<_> = (0..5).map(|number| world.client(number % 2)).collect();
    clients.iter().for_each(|client| world.subscribe(Topic::Channel, "news", client));
    world.subscribe(Topic::Pattern, "n*", &clients[0]);
    assert_eq!(world.publish(Topic::Channel, "news"), 6);
    for worker in &world.workers {
        assert_eq!(worker.letters(), 1);
        assert_eq!(worker.wakes.load(Relaxed), 1);
    }
    let channel = ">3 $7 message $4 news $5 hello ";
    let pattern = ">4 $8 pmessage $2 n* $4 news $5 hello ";
    let expected = [(1, channel), (3, channel), (5, channel), (1, pattern)];
    assert_eq!(world.workers[0].take(), expected.map(|(id, text)| (id, text.to_owned())));
    assert_eq!(world.workers[1].take().len(), 2);
}

#[test]
fn nobody_gets_what_was_published_before_or_after_the_subscription() {
    let world = World::new();
    let client = world.client(0);
    for topic in [Topic::Channel, Topic::Pattern, Topic::ShardChannel] {
        let publish = || match topic {
            Topic::Pattern => world.publish(Topic::Channel, "c"),
            topic => world.publish(topic, "c"),
        };
        assert_eq!(publish(), 0, "{topic:?}");
        world.subscribe(topic, "c", &client);
        assert_eq!((publish(), world.pubsub.count(topic)), (1, 1), "{topic:?}");
        world.pubsub.unsubscribe(topic, b"c", &client);
        assert_eq!((publish(), world.pubsub.count(topic)), (0, 0), "{topic:?}");
        assert_eq!(world.workers[0].take().len(), 1, "{topic:?}");
    }
}

#[test]
fn channels_and_shard_channels_of_one_name_are_apart() {
    let world = World::new();
    world.subscribe(Topic::Channel, "c", &world.client(0));
    world.subscribe(Topic::ShardChannel, "c", &world.client(1));
    assert_eq!(world.publish(Topic::ShardChannel, "c"), 1);
    assert_eq!(world.workers[1].take(), [(2, ">3 $8 smessage $1 c $5 hello ".to_owned())]);
    assert!(world.workers[0].take().is_empty());
}

#[test]
fn a_letter_keeps_the_receivers_of_its_moment() {
    let world = World::new();
    let (first, second) = (world.client(0), world.client(0));
    world.subscribe(Topic::Channel, "c", &first);
    world.publish(Topic::Channel, "c");
    world.subscribe(Topic::Channel, "c", &second);
    world.publish(Topic::Channel, "c");
    world.pubsub.unsubscribe(Topic::Channel, b"c", &first);
    world.publish(Topic::Channel, "c");
    let ids: Vec<u64> = world.workers[0].take().into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, [1, 1, 2, 2]);
}

#[test]
fn a_message_is_formatted_once_for_each_protocol() {
    let message = Message::push(Resp3, &[b"message", b"c"], &Payload::of(b"x"));
    let words = b"3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n";
    assert_eq!(message.bytes(Resp3).head[..], [b">", &words[..]].concat());
    assert_eq!(message.bytes(Resp2).head[..], [b"*", &words[..]].concat());
    assert!(Arc::ptr_eq(message.bytes(Resp2).head, message.bytes(Resp2).head));
}

#[test]
fn a_large_payload_is_there_once_for_all_messages_and_protocols() {
    for (len, is_shared) in [(LARGE_PAYLOAD - 1, false), (LARGE_PAYLOAD, true)] {
        let bytes = vec![b'x'; len];
        let payload = Payload::of(&bytes);
        let [first, second] =
            [b"a", b"b"].map(|name| Message::push(Resp2, &[b"message", name], &payload));
        let bytes_of = |message: &Message, protocol| {
            let MessageBytes { head, payload } = message.bytes(protocol);
            [&head[..], payload.map_or(&[][..], |payload| payload)].concat()
        };
        for (message, name) in [(&first, "a"), (&second, "b")] {
            let head = format!("3\r\n$7\r\nmessage\r\n$1\r\n{name}\r\n${len}\r\n");
            for (protocol, kind) in [(Resp2, "*"), (Resp3, ">")] {
                let expected = [kind.as_bytes(), head.as_bytes(), &bytes, b"\r\n"].concat();
                assert_eq!(bytes_of(message, protocol), expected);
            }
            assert_eq!(message.size(), bytes_of(message, Resp2).len());
            let has_own_part = message.bytes(Resp3).payload.is_some();
            assert_eq!(has_own_part, is_shared, "{len}");
        }
        assert!(first.room() > len);
        assert_eq!(second.room() < len, is_shared, "{} of {len}", second.room());
    }
}

#[test]
fn a_client_that_is_sent_too_much_while_its_worker_cannot_read_is_to_be_closed() {
    let world = World::new();
    let (many, few) = (world.client(0), world.client(0));
    let elsewhere = world.client(1);
    for client in [&many, &elsewhere] {
        world.subscribe(Topic::Channel, "c", client);
    }
    world.subscribe(Topic::Pattern, "*", &few);
    world.workers[0].is_flooded.store(true, Relaxed);
    let message = ">3 $7 message $1 c $5 hello ".len() + 7;
    world.pubsub.follow_limit(Some(3 * message as u64));
    for _ in 0..10 {
        world.publish(Topic::Channel, "c");
    }
    let given = |worker: usize, client: &Client| {
        world.workers[worker].given().iter().filter(|(id, _)| *id == client.id).count()
    };
    assert_eq!(given(0, &many), 3);
    assert_eq!(given(1, &elsewhere), 10, "that worker reads");
    assert!(given(0, &few) < 3, "messages of patterns are longer");
    let mut closed = world.workers[0].take_flooded();
    closed.sort_unstable();
    assert_eq!(closed, [many.id, few.id]);
    assert!(world.workers[1].take_flooded().is_empty());
    world.pubsub.end_flood();
    world.publish(Topic::Channel, "c");
    assert_eq!(given(0, &many), 4);
    world.pubsub.follow_limit(None);
    for _ in 0..10 {
        world.publish(Topic::Channel, "c");
    }
    assert_eq!(given(0, &many), 14);
}
