//! Tests of waiters whose turn comes in a pause.

use crate::commands::table;
use crate::testing::{Answers, STARTED, World, check, here};
use command::Environment;
use session::{Client, Needs, Owner, Session, Waiter};
use std::sync::Arc;

/// Client that waits, and its answers.
struct Waiting {
    client: Arc<Client>,
    answers: Arc<Answers>,
}

impl Waiting {
    /// Makes a client that runs a command and waits.
    fn begin(world: &mut World, line: &str) -> Waiting {
        let answers = Arc::new(Answers::default());
        let owner = Owner { post: answers.clone(), ..Owner::default() };
        let client = world.instance.clients.add(here(), owner, STARTED);
        let session = Session::new(Arc::clone(&client), true);
        let own = std::mem::replace(&mut world.session, session);
        assert!(world.waits(line), "{line}");
        world.session = own;
        Waiting { client, answers }
    }

    fn waiter(&self) -> Option<Arc<Waiter>> {
        self.client.waiter().clone()
    }
}

/// Runs commands in a transaction, and at its end begins a pause of writes.
fn run_and_pause(world: &mut World, lines: &[&str]) {
    check(world, &[("MULTI", "+OK")]);
    for line in lines.iter().chain(&["CLIENT PAUSE 1000 WRITE"]) {
        check(world, &[(*line, "+QUEUED")]);
    }
    world.answer("EXEC");
}

/// Looks at waiters as the background jobs do.
fn look(world: &mut World) {
    let now = world.instance.clock.now();
    world.instance.store.enter(&world.thread);
    let (instance, statistics) = (&*world.instance, &*world.statistics);
    let environment = Environment { instance, table: table(), statistics, now };
    command::resume_postponed(environment, &mut world.thread);
    command::serve_losses(environment, &mut world.thread);
    world.instance.store.leave(&world.thread);
}

/// Ends a pause and runs the waiters that it has postponed.
fn unpause(world: &mut World) {
    check(world, &[("CLIENT UNPAUSE", "+OK")]);
    look(world);
}

/// Clients that wait, keys with lines, and postponed waiters.
fn counts(world: &World) -> (u64, usize, usize) {
    let waiters = &world.instance.waiters;
    (waiters.count(), waiters.keys(), waiters.postponed.len())
}

#[test]
fn only_the_end_of_the_pause_ends_the_wait_of_one_that_is_postponed() {
    let mut world = World::new();
    let waiting = Waiting::begin(&mut world, "BLPOP l m 0.2");
    let id = waiting.client.id;
    run_and_pause(&mut world, &["RPUSH l v", "RPUSH m w"]);
    assert_eq!(counts(&world), (1, 0, 1));
    world.instance.clock.advance(500);
    assert!(!command::time_out(&world.instance, &waiting.waiter().expect("it waits")));
    let unblock = [format!("CLIENT UNBLOCK {id}"), format!("CLIENT UNBLOCK {id} ERROR")];
    unblock.iter().for_each(|line| check(&mut world, &[(line.as_str(), ":0")]));
    check(&mut world, &[("LLEN l", ":1"), ("CLIENT UNPAUSE", "+OK")]);
    assert!(waiting.answers.take().is_empty());
    look(&mut world);
    assert_eq!(waiting.answers.take(), ["*2 $1 l $1 v"]);
    assert!(waiting.waiter().is_none());
    assert_eq!((counts(&world), world.instance.waiters.bytes()), ((0, 0, 0), 0));
}

#[test]
fn a_waiter_that_finds_nothing_behind_a_pause_waits_anew_behind_all_others() {
    let mut world = World::new();
    let first = Waiting::begin(&mut world, "BLPOP l 0");
    let second = Waiting::begin(&mut world, "BLPOP l m 0.2");
    let other = Waiting::begin(&mut world, "BLPOP m 0");
    let bytes = second.waiter().expect("it waits").bytes();
    run_and_pause(&mut world, &["RPUSH l v"]);
    assert_eq!(counts(&world), (3, 1, 2));
    world.instance.clock.advance(500);
    unpause(&mut world);
    assert_eq!(first.answers.take(), ["*2 $1 l $1 v"]);
    let anew = second.waiter().expect("it waits anew");
    assert_eq!((anew.deadline, anew.bytes()), (Some(STARTED.after(701)), bytes));
    assert_eq!(counts(&world), (2, 2, 0));
    check(&mut world, &[("RPUSH m w", ":1")]);
    assert_eq!(other.answers.take(), ["*2 $1 m $1 w"]);
    assert!(command::time_out(&world.instance, &anew));
    assert_eq!(second.answers.take(), ["*-1"]);
    assert_eq!((counts(&world), world.instance.waiters.bytes()), ((0, 0, 0), 0));
}

#[test]
fn the_end_of_a_client_that_is_postponed_ends_its_wait() {
    let mut world = World::new();
    let waiting = Waiting::begin(&mut world, "BLPOP l 0");
    run_and_pause(&mut world, &["RPUSH l v"]);
    world.instance.waiters.forget(&waiting.client);
    assert_eq!((counts(&world), world.instance.waiters.bytes()), ((0, 0, 0), 0));
    unpause(&mut world);
    check(&mut world, &[("LLEN l", ":1")]);
    assert!(waiting.answers.take().is_empty());
}

#[test]
fn a_waiter_that_does_not_write_is_served_behind_one_that_is_postponed() {
    let mut world = World::new();
    check(&mut world, &[("XGROUP CREATE s g $ MKSTREAM", "+OK")]);
    let consumer = Waiting::begin(&mut world, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >");
    let xread = Waiting::begin(&mut world, "XREAD BLOCK 0 STREAMS s $");
    run_and_pause(&mut world, &["XADD s 1-1 f v"]);
    let read = "*1 *2 $1 s *1 *2 $3 1-1 *2 $1 f $1 v";
    assert_eq!((xread.answers.take(), consumer.answers.take().len()), (vec![read.to_owned()], 0));
    unpause(&mut world);
    assert_eq!(consumer.answers.take(), [read]);
}

#[test]
fn the_next_look_finds_those_whose_pause_is_over() {
    let mut world = World::new();
    let waiting = Waiting::begin(&mut world, "BLMOVE l m LEFT LEFT 0");
    let next = Waiting::begin(&mut world, "BLPOP m 0");
    run_and_pause(&mut world, &["RPUSH l v"]);
    look(&mut world);
    assert_eq!(counts(&world), (2, 1, 1));
    world.instance.clock.advance(1001);
    look(&mut world);
    assert_eq!([waiting, next].map(|it| it.answers.take()), [["$1 v"], ["*2 $1 m $1 v"]]);
    assert_eq!(counts(&world), (0, 0, 0));
}

#[test]
fn the_first_write_behind_a_pause_comes_after_those_who_have_waited() {
    for ends_by_time in [false, true] {
        let mut world = World::new();
        let waiting = Waiting::begin(&mut world, "BLPOP l 0");
        run_and_pause(&mut world, &["RPUSH l v"]);
        assert!(world.is_postponed("LPOP l"));
        if ends_by_time {
            world.instance.clock.advance(1001);
        } else {
            check(&mut world, &[("CLIENT UNPAUSE", "+OK")]);
        }
        check(&mut world, &[("LPOP l", "$-1")]);
        assert_eq!(waiting.answers.take(), ["*2 $1 l $1 v"]);
    }
}

#[test]
fn a_transaction_that_ends_a_pause_runs_those_whom_it_postponed() {
    let mut world = World::new();
    let waiting = Waiting::begin(&mut world, "BLPOP l 0");
    run_and_pause(&mut world, &["RPUSH l v"]);
    check(&mut world, &[("MULTI", "+OK"), ("CLIENT UNPAUSE", "+QUEUED"), ("LLEN l", "+QUEUED")]);
    check(&mut world, &[("EXEC", "*2 +OK :1"), ("LLEN l", ":0")]);
    assert_eq!(waiting.answers.take(), ["*2 $1 l $1 v"]);
}

#[test]
fn a_waiter_whose_turn_comes_after_a_change_of_role_changes_nothing_and_hears_why() {
    let role = [
        (Needs::SLOT, "-CLUSTERDOWN Hash slot not served"),
        (Needs::REPLICAS, "-NOREPLICAS Not enough good replicas to write."),
        (Needs::PRIMARY, "-READONLY You can't write against a read only replica."),
    ];
    for (need, refusal) in role {
        let mut world = World::new();
        let waiting = Waiting::begin(&mut world, "BLMOVE from to LEFT LEFT 0");
        world.instance.clients.grants.withdraw(need);
        let (_, reply) = world.with_call(&[b"LPUSH", b"from", b"a"], command::waiting::run);
        assert_eq!(reply, b":1\r\n");
        assert_eq!(waiting.answers.take(), [refusal]);
        world.instance.clients.grants.restore(need);
        check(&mut world, &[("LLEN from", ":1"), ("EXISTS to", ":0")]);
    }
}
