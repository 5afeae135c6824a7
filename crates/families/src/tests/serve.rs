//! Tests of who is served, and of what is locked and looked at for that.

use crate::testing::{Answers, STARTED, World, check, here};
use command::waiting::{Request, Touch, Waker, begin_of_lines};
use session::{DatabaseKey, Owner, Session};
use std::sync::Arc;
use store::ShardSet;

/// Makes a client that runs a command and waits; returns where its answer comes.
fn wait(world: &mut World, line: &str) -> Arc<Answers> {
    let answers = Arc::new(Answers::default());
    let owner = Owner { post: answers.clone(), ..Owner::default() };
    let client = world.instance.clients.add(here(), owner, STARTED);
    let mut session = Session::new(client, true);
    session.select(world.session.database);
    let own = std::mem::replace(&mut world.session, session);
    assert!(world.waits(line), "{line}");
    world.session = own;
    answers
}

/// The shards of some keys.
fn shards(world: &World, keys: &[&str]) -> ShardSet {
    let mut shards = ShardSet::new();
    keys.iter().for_each(|key| shards.add(world.instance.store.hash(key.as_bytes())));
    shards
}

/// The shards that are locked for a write to a key.
fn locked_for(world: &mut World, key: &str) -> ShardSet {
    let mut locked = ShardSet::new();
    world.run("PING", |call| {
        let hash = call.instance.store.hash(key.as_bytes());
        let touched = begin_of_lines([DatabaseKey::new(0, key.as_bytes(), hash)]);
        locked = Waker::of(call).shards_of(&touched, ShardSet::new());
    });
    locked
}

/// The keys with waiters, and their databases, that a request touches.
fn touched(world: &mut World, line: &str) -> Vec<(usize, String)> {
    let mut touched = Vec::new();
    world.run(line, |call| {
        let keys = Request::of(call).touched(call.instance, &mut ShardSet::new());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        touched.extend(keys.iter().map(|(key, _)| (key.database, text(&key.bytes))));
    });
    touched.sort();
    touched
}

#[test]
fn a_push_locks_the_keys_of_those_who_wait_for_it_and_not_those_of_their_neighbours() {
    let mut world = World::new();
    for at in 0..100 {
        wait(&mut world, &format!("BLPOP q{at} q{} 0", at + 1));
    }
    assert_eq!(locked_for(&mut world, "q0"), shards(&world, &["q0", "q1"]));
    assert_eq!(locked_for(&mut world, "q50"), shards(&world, &["q49", "q50", "q51"]));
}

#[test]
fn the_keys_of_those_who_wait_for_what_a_waiter_writes_are_locked_too() {
    let mut world = World::new();
    for line in [
        "BLMOVE a b LEFT LEFT 0",
        "BLPOP b x 0",
        "BRPOPLPUSH b c 0",
        "BLPOP c y 0",
        "BLPOP x other 0",
        "BLMOVE other elsewhere LEFT LEFT 0",
    ] {
        wait(&mut world, line);
    }
    assert_eq!(locked_for(&mut world, "a"), shards(&world, &["a", "b", "c", "x", "y"]));
}

#[test]
fn one_push_goes_through_a_chain_of_moves_to_who_waits_for_several_keys() {
    let mut world = World::new();
    let last = wait(&mut world, "BLPOP x c y 0");
    let second = wait(&mut world, "BLMOVE b c LEFT RIGHT 0");
    let first = wait(&mut world, "BLMOVE a b LEFT RIGHT 0");
    check(&mut world, &[("RPUSH a v", ":1"), ("EXISTS a b c", ":0")]);
    let answers = [first, second, last].map(|answers| answers.take());
    assert_eq!(answers, [["$1 v"], ["$1 v"], ["*2 $1 c $1 v"]]);
    assert_eq!((world.instance.waiters.count(), world.instance.waiters.keys()), (0, 0));
}

#[test]
fn a_waiter_for_several_keys_of_a_transaction_is_answered_once() {
    let mut world = World::new();
    let first = wait(&mut world, "BLPOP b a 0");
    let second = wait(&mut world, "BLMPOP 0 2 a c LEFT");
    let third = wait(&mut world, "BZPOPMIN c z 0");
    check(&mut world, &[("MULTI", "+OK")]);
    for line in ["RPUSH a 1 2", "RPUSH b 3", "ZADD z 1 m"] {
        check(&mut world, &[(line, "+QUEUED")]);
    }
    check(&mut world, &[("EXEC", "*3 :2 :1 :1"), ("LRANGE a 0 -1", "*1 $1 2")]);
    let answers = [first, second, third].map(|answers| answers.take());
    assert_eq!(answers, [["*2 $1 b $1 3"], ["*2 $1 a *1 $1 1"], ["*3 $1 z $1 m $1 1"]]);
    assert_eq!((world.instance.waiters.count(), world.instance.waiters.keys()), (0, 0));
}

#[test]
fn those_beyond_the_ones_that_are_reckoned_with_are_served_in_further_holds() {
    let mut world = World::new();
    let waiters: Vec<_> =
        (0..100).map(|at| wait(&mut world, &format!("BLPOP k{at} k x{at} 0"))).collect();
    (0..90).for_each(|at| drop(world.answer(&format!("RPUSH there {at}"))));
    check(&mut world, &[("RENAME there k", "+OK")]);
    for (at, waiter) in waiters.iter().enumerate() {
        let length = at.to_string().len();
        let served = format!("*2 $1 k ${length} {at}");
        assert_eq!(waiter.take(), if at < 90 { vec![served] } else { vec![] });
    }
    check(&mut world, &[("EXISTS k", ":0")]);
    assert_eq!((world.instance.waiters.count(), world.instance.waiters.keys()), (10, 21));
}

#[test]
fn behind_a_transaction_as_many_are_reckoned_with_as_its_requests_have_words() {
    let mut world = World::new();
    let waiters: Vec<_> = (0..40).map(|at| wait(&mut world, &format!("BLPOP k k{at} 0"))).collect();
    let key = world.instance.store.hash(b"k");
    let all: Vec<_> = (0..40).map(|at| format!("k{at}")).chain(["k".to_owned()]).collect();
    let all = shards(&world, &all.iter().map(String::as_str).collect::<Vec<_>>());
    let keys = vec![(0, &b"k"[..], key)];
    let touch = Touch { keys, words: 42, ..Touch::default() };
    world.run("PING", |call| {
        let touched = touch.touched(call.instance);
        assert_eq!(Waker::behind(call, &touch).shards_of(&touched, ShardSet::new()), all);
    });
    check(&mut world, &[("MULTI", "+OK")]);
    (0..40).for_each(|at| check(&mut world, &[(&*format!("RPUSH k {at}"), "+QUEUED")]));
    world.answer("EXEC");
    assert!(waiters.iter().all(|waiter| waiter.take().len() == 1));
}

#[test]
fn nobody_is_left_waiting_for_a_list_that_is_there() {
    let mut world = World::new();
    let mut chance = 1_u64;
    let mut draw = |below: u64| {
        chance = chance.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (chance >> 33) % below
    };
    for _ in 0..5_000 {
        let [one, two, three] = [(); 3].map(|()| draw(12));
        let (keys, line) = match draw(10) {
            0..4 => (vec![one, two, three], format!("BLPOP k{one} k{two} k{three} 0")),
            4 => (vec![one, two], format!("BLMPOP 0 2 k{one} k{two} RIGHT")),
            5 => (vec![one], format!("BLMOVE k{one} k{two} LEFT RIGHT 0")),
            6 => (vec![one], format!("BRPOPLPUSH k{one} k{two} 0")),
            7 => (vec![], format!("RPUSH k{one} 1 2")),
            8 => (vec![], format!("RPUSH k{one} 1")),
            _ => (vec![], "EXEC".to_owned()),
        };
        if line == "EXEC" {
            world.answer("MULTI");
            world.answer(&format!("RPUSH k{one} 1"));
            world.answer(&format!("RPUSH k{two} 1"));
        }
        if keys.is_empty() || keys.iter().any(|key| is_there(&mut world, *key)) {
            world.answer(&line);
        } else {
            wait(&mut world, &line);
        }
        for at in 0..12 {
            let key = format!("k{at}");
            let hash = world.instance.store.hash(key.as_bytes());
            let is_awaited = world.instance.waiters.lines.has(0, key.as_bytes(), hash);
            assert!(!(is_awaited && is_there(&mut world, at)), "{line}: {key}");
        }
    }
}

fn is_there(world: &mut World, key: u64) -> bool {
    world.answer(&format!("EXISTS k{key}")) == ":1\r\n"
}

#[test]
fn a_command_looks_at_the_lines_of_the_keys_that_it_may_write() {
    let mut world = World::new();
    for key in ["source", "target", "other"] {
        wait(&mut world, &format!("BLPOP {key} 0"));
    }
    check(&mut world, &[("SELECT 1", "+OK")]);
    wait(&mut world, "BLPOP target 0");
    wait(&mut world, "BLPOP else 0");
    check(&mut world, &[("SELECT 0", "+OK")]);
    let both = [(0, "target".to_owned()), (1, "target".to_owned())];
    assert_eq!(touched(&mut world, "SORT none STORE target"), both[..1]);
    assert!(touched(&mut world, "SORT none").is_empty());
    assert_eq!(touched(&mut world, "RESTORE target 0 none"), both[..1]);
    assert_eq!(touched(&mut world, "COPY none target DB 1"), both);
    assert_eq!(touched(&mut world, "MOVE target 1"), both);
    assert_eq!(touched(&mut world, "MOVE else 1"), [(1, "else".to_owned())]);
    assert_eq!(touched(&mut world, "FLUSHALL").len(), 5);
}

#[test]
fn a_list_moved_from_another_database_or_sorted_by_other_keys_serves_waiters() {
    let mut world = World::new();
    check(&mut world, &[("SELECT 1", "+OK")]);
    let there = wait(&mut world, "BLPOP l m 0");
    check(&mut world, &[("SELECT 0", "+OK"), ("RPUSH l a b", ":2"), ("MSET w_a 2 w_b 1", "+OK")]);
    check(&mut world, &[("COPY l m DB 1", ":1")]);
    assert_eq!(there.take(), ["*2 $1 m $1 a"]);
    let sorted = wait(&mut world, "BLPOP x s 0");
    check(&mut world, &[("SORT l BY w_* STORE s", ":2"), ("LRANGE s 0 -1", "*1 $1 a")]);
    assert_eq!(sorted.take(), ["*2 $1 s $1 b"]);
    let both = wait(&mut world, "BLPOP t 0");
    let queue = [("MULTI", "+OK"), ("SORT l BY w_* STORE t", "+QUEUED"), ("EXEC", "*1 :2")];
    check(&mut world, &queue);
    assert_eq!(both.take(), ["*2 $1 t $1 b"]);
    assert_eq!(world.instance.waiters.count(), 0);
}

#[test]
fn a_waiter_for_a_stream_is_not_run_again_by_what_brings_nothing() {
    let mut world = World::new();
    check(&mut world, &[("XGROUP CREATE s g $ MKSTREAM", "+OK")]);
    let answers = wait(&mut world, "XREADGROUP GROUP g alice BLOCK 0 STREAMS s >");
    check(
        &mut world,
        &[
            ("XGROUP DELCONSUMER s g alice", ":0"),
            ("XGROUP CREATECONSUMER s g bob", ":1"),
            ("XREADGROUP GROUP g bob STREAMS s >", "*-1"),
            ("XACK s g 1-1", ":0"),
            ("XDEL s 1-1", ":0"),
            ("XGROUP DELCONSUMER s g bob", ":0"),
            ("XINFO CONSUMERS s g", "*0"),
            ("XADD s 1-1 f v", "$3 1-1"),
            ("XPENDING s g", "*4 :1 $3 1-1 $3 1-1 *1 *2 $5 alice $1 1"),
        ],
    );
    assert_eq!(answers.take().len(), 1);
}
