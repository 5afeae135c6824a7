//! Tests of transactions: what of them only the server itself can see.

use crate::testing::{World, check, reply_to};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use store::{Author, Change, EvictionPolicy, Interests, Limits, Listener, Reason, Unit};

/// Listener that keeps the units it gets.
#[derive(Debug, Default)]
struct Units(Mutex<Vec<Unit>>);

impl Listener for Units {
    fn unit(&self, unit: &Unit, _: Author) {
        self.0.lock().expect("no panic").push(unit.clone());
    }
}

/// Runs lines in a transaction; returns the effects of each unit, as words of a line.
fn effects_of(world: &mut World, lines: &[&str]) -> Vec<Vec<String>> {
    let units = Arc::new(Units::default());
    let listener: Arc<dyn Listener> = units.clone();
    world.instance.store.add_listener(&listener);
    world.instance.store.set_interest(Interests::EFFECTS, true);
    check(world, &[("MULTI", "+OK")]);
    lines.iter().for_each(|line| check(world, &[(line, "+QUEUED")]));
    reply_to(world, "EXEC");
    world.instance.store.set_interest(Interests::EFFECTS, false);
    let units = std::mem::take(&mut *units.0.lock().expect("no panic"));
    let words = |args: Vec<Vec<u8>>| String::from_utf8_lossy(&args.join(&b' ')).into_owned();
    let effects = |unit: &Unit| unit.commands().map(|(_, args)| words(args)).collect();
    units.iter().map(effects).collect()
}

#[test]
fn what_a_transaction_changes_is_one_unit_and_reads_are_none() {
    let mut world = World::new();
    let lines = ["SET a 1", "GET a", "INCR a", "SADD a x", "SELECT 2", "SET b 2"];
    let told = ["SET a 1", "INCR a", "SET b 2"].map(str::to_owned).to_vec();
    assert_eq!(effects_of(&mut world, &lines), [told]);
    assert_eq!(effects_of(&mut world, &["GET b", "DEL nothing"]), Vec::<Vec<String>>::new());
}

#[test]
fn actions_on_databases_have_their_place_in_the_unit() {
    let mut world = World::new();
    let lines = ["SET a 1", "SWAPDB 0 1", "SET b 2", "FLUSHALL", "SET c 3"];
    let told = lines.map(str::to_owned).to_vec();
    assert_eq!(effects_of(&mut world, &lines), [told]);
    check(&mut world, &[("DBSIZE", ":1"), ("GET c", "$1 3")]);
}

#[test]
fn a_client_that_leaves_leaves_nothing_behind() {
    let mut world = World::new();
    check(&mut world, &[("WATCH a b a", "+OK"), ("MULTI", "+OK"), ("SET a 1", "+QUEUED")]);
    assert_eq!(world.instance.watches.keys(), 2);
    let client = Arc::clone(&world.session.client);
    assert_eq!((client.watched.load(Relaxed), client.queued.load(Relaxed)), (2, 1));
    assert!(client.queue_bytes.load(Relaxed) > 0 && client.watch_bytes.load(Relaxed) > 0);
    world.session.forget_watches(&world.instance.watches);
    assert_eq!(world.instance.watches.keys(), 0);
    assert_eq!((client.watched.load(Relaxed), client.watch_bytes.load(Relaxed)), (0, 0));
}

#[test]
fn the_bytes_of_long_keys_and_prefixes_count_for_the_client() {
    let mut world = World::new();
    let long = "k".repeat(100_000);
    check(&mut world, &[(&format!("WATCH {long} {long}2"), "+OK")]);
    reply_to(&mut world, "HELLO 3");
    let client = Arc::clone(&world.session.client);
    let (least, most) = (200_000, 201_000);
    assert!((least..most).contains(&client.watch_bytes.load(Relaxed)));
    let track = format!("CLIENT TRACKING ON BCAST PREFIX {long} PREFIX x{long}");
    check(&mut world, &[(&track, "+OK")]);
    assert!((least..most).contains(&client.prefix_bytes.load(Relaxed)));
    check(&mut world, &[("UNWATCH", "+OK"), ("CLIENT TRACKING OFF", "+OK")]);
    let left = [&client.watch_bytes, &client.prefix_bytes].map(|bytes| bytes.load(Relaxed));
    assert_eq!(left, [0, 0]);
}

#[test]
fn however_a_transaction_ends_its_client_watches_nothing() {
    let mut world = World::new();
    for end in [&["UNWATCH"][..], &["MULTI", "EXEC"], &["MULTI", "DISCARD"], &["RESET"]] {
        check(&mut world, &[("WATCH a b", "+OK")]);
        end.iter().for_each(|line| drop(reply_to(&mut world, line)));
        assert_eq!(world.instance.watches.keys(), 0, "{end:?}");
    }
    for refusal in ["NOSUCH", "EXEC x"] {
        check(&mut world, &[("WATCH a", "+OK"), ("MULTI", "+OK")]);
        reply_to(&mut world, refusal);
        reply_to(&mut world, "EXEC");
        assert_eq!(world.instance.watches.keys(), 0, "{refusal}");
        check(&mut world, &[("PING", "+PONG")]);
    }
}

#[test]
fn a_key_that_has_changed_is_watched_by_nobody() {
    let mut world = World::new();
    check(&mut world, &[("WATCH a b", "+OK"), ("SET a 1", "+OK")]);
    assert_eq!(world.instance.watches.keys(), 0, "the first change ends all watching");
    check(&mut world, &[("MULTI", "+OK"), ("EXEC", "*-1")]);
    assert_eq!(world.instance.watches.keys(), 0);
}

#[test]
fn changes_look_for_watched_keys_until_no_key_has_an_entry() {
    let mut world = World::new();
    let hears = |world: &World| {
        world.instance.look_after_keys(&world.thread);
        world.instance.store.wants_any(Interests::MARKED_KEYS)
    };
    assert!(!hears(&world));
    check(&mut world, &[("WATCH a b", "+OK")]);
    assert!(hears(&world));
    check(&mut world, &[("SET a 1", "+OK")]);
    assert!(hears(&world), "the entry of the other key stays until its client is done");
    check(&mut world, &[("UNWATCH", "+OK")]);
    assert!(!hears(&world));
    check(&mut world, &[("WATCH b", "+OK"), ("SET b 1", "+OK"), ("MULTI", "+OK"), ("EXEC", "*-1")]);
    assert!(!hears(&world));
}

#[test]
fn a_queue_keeps_little_memory_and_no_command_of_the_one_before() {
    let mut world = World::new();
    let value = "x".repeat(100_000);
    for value in ["short", &value, "short"] {
        let line = format!("SET k {value}");
        check(&mut world, &[("MULTI", "+OK"), (&line, "+QUEUED"), ("EXEC", "*1 +OK")]);
        check(&mut world, &[("MULTI", "+OK"), ("PING", "+QUEUED"), ("EXEC", "*1 +PONG")]);
        check(&mut world, &[("MULTI", "+OK"), ("GET k", "+QUEUED")]);
        let client = &world.session.client;
        assert!(client.queue_bytes.load(Relaxed) + client.queue_room.load(Relaxed) < 8192);
        check(&mut world, &[("DISCARD", "+OK")]);
    }
}

#[test]
fn a_transaction_for_which_there_is_never_room_is_refused_whole() {
    let mut world = World::new();
    world.instance.store.set_limits(&Limits {
        maxmemory: 100 << 20,
        other_bytes: 0,
        workers: 1,
        eviction: EvictionPolicy::NoEviction,
        reclaim: Default::default(),
        lfu_log_factor: 10,
        lfu_decay_minutes: 1,
    });
    let value = "x".repeat(1 << 20);
    for (count, fits) in [(20, true), (120, false), (20, true)] {
        check(&mut world, &[("FLUSHALL", "+OK"), ("MULTI", "+OK")]);
        for key in 0..count {
            check(&mut world, &[(&format!("SET k{key} {value}"), "+QUEUED")]);
        }
        let reply = reply_to(&mut world, "EXEC");
        assert_eq!(reply.starts_with("-EXECABORT"), !fits, "{count}");
        let keys = if fits { count } else { 0 };
        check(&mut world, &[("DBSIZE", &format!(":{keys}"))]);
        check(&mut world, &[("EXEC", "-ERR EXEC without MULTI")]);
    }
}

#[test]
fn a_transaction_that_only_reads_or_removes_needs_no_memory() {
    let mut world = World::new();
    world.instance.store.set_limits(&Limits {
        maxmemory: 1,
        other_bytes: 2,
        workers: 1,
        eviction: EvictionPolicy::NoEviction,
        reclaim: Default::default(),
        lfu_log_factor: 10,
        lfu_decay_minutes: 1,
    });
    check(&mut world, &[("MULTI", "+OK"), ("GET k", "+QUEUED"), ("DEL k", "+QUEUED")]);
    check(&mut world, &[("EXEC", "*2 $-1 :0")]);
}

#[test]
fn eviction_spoils_a_watch_unless_the_key_had_expired_when_it_was_watched() {
    for (millis, reply) in [(20, "*1 +PONG"), (5, "*-1")] {
        let mut world = World::new();
        check(&mut world, &[("SET k v PX 10", "+OK")]);
        world.instance.clock.advance(millis);
        check(&mut world, &[("WATCH k", "+OK")]);
        let store = &world.instance.store;
        let key = store.key(store.keyspace(0).expect("a database"), b"k");
        let removal = Some(Reason::Evicted);
        let author = Author::default();
        let change = Change { key, database: 0, removal, old: None, author };
        world.instance.watches.before(&change);
        check(&mut world, &[("MULTI", "+OK"), ("PING", "+QUEUED"), ("EXEC", reply)]);
    }
}

#[test]
fn a_client_that_ends_itself_in_a_transaction_gets_nothing_behind_that() {
    let mut world = World::new();
    reply_to(&mut world, "HELLO 3 SETNAME leaver");
    let kill = "CLIENT KILL NAME leaver SKIPME no";
    check(&mut world, &[("CLIENT TRACKING ON BCAST", "+OK"), ("MULTI", "+OK")]);
    for line in ["SET a 1", kill, "SET b 2", "SUBSCRIBE news", "INCR b"] {
        check(&mut world, &[(line, "+QUEUED")]);
    }
    check(&mut world, &[("EXEC", "*5 +OK :1")]);
    assert!(world.session.close_after_reply);
    check(&mut world, &[("GET b", "$1 3")]);
}
