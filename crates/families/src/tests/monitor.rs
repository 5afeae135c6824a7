//! Tests of what clients that run MONITOR see, without sockets.

use crate::testing::{Mailbox, STARTED, World, check, here};
use command::forget_all;
use command::{begin_monitor, send_monitor_lines};
use session::{ClientFlags, Endpoint, Needs, Owner, Post, Session};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A client that runs MONITOR.
struct Onlooker {
    session: Session,
    mailbox: Arc<Mailbox>,
}

impl Onlooker {
    fn of(world: &World) -> Onlooker {
        let mailbox = Arc::new(Mailbox::default());
        let post: Arc<dyn Post> = mailbox.clone();
        let client =
            world.instance.clients.add(here(), Owner { post, ..Owner::default() }, STARTED);
        let mut session = Session::new(client, true);
        begin_monitor(&world.instance, &mut session);
        Onlooker { session, mailbox }
    }

    /// Returns what it sees of the commands of the world's client: database and arguments.
    fn sees(&self, world: &mut World) -> Vec<String> {
        if world.session.has_lines() {
            send_monitor_lines(&world.instance, &mut world.session);
        }
        let letters = self.mailbox.take();
        let texts = letters.iter().flat_map(|(_, text)| text.trim_end().split(" +"));
        let begin = "1700000000.000000 [";
        let short = texts.map(|text| text.trim_start_matches('+').trim_start_matches(begin));
        short.map(|line| line.replace(" 127.0.0.1:1]", "")).collect()
    }
}

/// Returns a server and a client that runs MONITOR.
fn world() -> (World, Onlooker) {
    let world = World::new();
    let onlooker = Onlooker::of(&world);
    (world, onlooker)
}

#[test]
fn a_line_tells_when_and_where_and_who() {
    let (mut world, onlooker) = world();
    world.answer(r#"SET k "a\"b\n\x01\xff" "#);
    send_monitor_lines(&world.instance, &mut world.session);
    let expected = r#"+1700000000.000000 [0 127.0.0.1:1] "SET" "k" "a\"b\n\x01\xff" "#;
    let sent = [(onlooker.session.client.id, expected.to_owned())];
    assert_eq!(onlooker.mailbox.take(), sent);
}

#[test]
fn a_client_of_a_unix_socket_is_known_by_the_path() {
    let (mut world, onlooker) = world();
    let endpoint = Endpoint { address: "/tmp/s:0".to_owned(), is_unix: true, ..here() };
    let client = world.instance.clients.add(
        endpoint,
        Owner { post: onlooker.mailbox.clone(), ..Owner::default() },
        STARTED,
    );
    world.session = Session::new(client, true);
    world.answer("PING");
    assert_eq!(onlooker.sees(&mut world), [r#"0 unix:/tmp/s] "PING""#]);
}

#[test]
fn what_ran_is_shown_and_what_was_refused_is_not() {
    let (mut world, onlooker) = world();
    for line in ["NOSUCH", "GET", "LPUSH l x", "GET l", "SELECT 3", "get a"] {
        world.answer(line);
    }
    let ran = [r#"0 "LPUSH" "l" "x""#, r#"0 "GET" "l""#, r#"3 "SELECT" "3""#, r#"3 "get" "a""#];
    assert_eq!(onlooker.sees(&mut world), ran);
}

#[test]
fn commands_of_administrators_and_secrets_are_not_shown() {
    let (mut world, onlooker) = world();
    for line in ["CONFIG GET port", "CLIENT LIST", "SLOWLOG LEN", "CLIENT ID"] {
        world.answer(line);
    }
    world.answer("AUTH me secret");
    world.answer("HELLO 2 AUTH default secret SETNAME n");
    let ran = [
        r#"0 "CLIENT" "ID""#,
        r#"0 "AUTH" "(redacted)" "(redacted)""#,
        r#"0 "HELLO" "2" "AUTH" "(redacted)" "(redacted)" "SETNAME" "n""#,
    ];
    assert_eq!(onlooker.sees(&mut world), ran);
}

#[test]
fn what_a_transaction_ran_is_shown_before_exec() {
    let (mut world, onlooker) = world();
    for line in ["MULTI", "SET k v", "SELECT 1", "CONFIG GET port", "INCR k", "EXEC"] {
        world.answer(line);
    }
    let ran = [
        r#"0 "MULTI""#,
        r#"0 "SET" "k" "v""#,
        r#"1 "SELECT" "1""#,
        r#"1 "INCR" "k""#,
        r#"1 "EXEC""#,
    ];
    assert_eq!(onlooker.sees(&mut world), ran);
    for line in ["MULTI", "NOSUCH", "EXEC", "EXEC", "EXEC x", "DISCARD"] {
        world.answer(line);
    }
    let ran = ["MULTI", "EXEC", "EXEC", "EXEC\" \"x", "DISCARD"].map(|it| format!("1 \"{it}\""));
    assert_eq!(onlooker.sees(&mut world), ran);
}

#[test]
fn a_waiter_is_shown_once_when_the_wait_begins() {
    let (mut world, onlooker) = world();
    assert!(world.waits("BLPOP l 0"));
    assert_eq!(onlooker.sees(&mut world), [r#"0 "BLPOP" "l" "0""#]);
    let other = World::new().session.client;
    world.session = Session::new(other, true);
    world.answer("RPUSH l x");
    assert_eq!(world.instance.waiters.count(), 0, "it was served");
    assert_eq!(onlooker.sees(&mut world), [r#"0 "RPUSH" "l" "x""#]);
}

#[test]
fn lines_are_formatted_once_and_sleepers_are_woken_at_the_end() {
    let (mut world, first) = world();
    let second = Onlooker::of(&world);
    (0..3).for_each(|_| drop(world.answer("PING")));
    assert_eq!((first.mailbox.letters(), first.mailbox.wakes.load(Relaxed)), (0, 0));
    let seen = first.sees(&mut world);
    assert_eq!((seen.len(), first.mailbox.wakes.load(Relaxed)), (3, 1));
    assert_eq!(second.sees(&mut world), seen);
}

#[test]
fn long_lines_are_sent_before_the_batch_ends() {
    let (mut world, onlooker) = world();
    let long = "x".repeat(40 << 10);
    world.answer(&format!("ECHO {long}"));
    assert_eq!(onlooker.mailbox.letters(), 0);
    world.answer(&format!("ECHO {long}"));
    assert_eq!(onlooker.mailbox.letters(), 1);
    assert!(!world.session.has_lines());
}

#[test]
fn without_anybody_who_looks_nothing_is_made() {
    let (mut world, mut onlooker) = world();
    forget_all(&world.instance, &mut onlooker.session);
    assert!(world.instance.clients.grants.get().contains(Needs::UNMONITORED));
    assert!(!onlooker.session.client.flags().contains(ClientFlags::MONITOR));
    world.answer("SET k v");
    assert!(!world.session.has_lines());
    assert_eq!(world.instance.monitors.count(), 0);
}

#[test]
fn a_monitor_leaves_keys_alone_and_is_not_paused() {
    let mut world = World::new();
    let refused = "-ERR Replica can't interact with the keyspace";
    check(&mut world, &[("MONITOR", "+OK"), ("MONITOR", ""), ("GET k", refused)]);
    check(&mut world, &[("SET k v", refused), ("PUBLISH c x", refused), ("MULTI", "+OK")]);
    check(&mut world, &[("SET k v", refused), ("DISCARD", "+OK"), ("PING", "+PONG")]);
    check(&mut world, &[("CLIENT PAUSE 100000", "+OK"), ("PING", "+PONG")]);
    assert!(world.session.client.flags().contains(ClientFlags::MONITOR));
    assert!(world.waits("RESET"), "the reply comes behind what was shown before");
    assert!(world.is_postponed("PING"));
    assert_eq!(world.instance.monitors.count(), 0);
}

#[test]
fn monitor_is_queued_and_refused_in_its_turn() {
    let mut world = World::new();
    let refused = "*1 -ERR MONITOR isn't allowed for DENY BLOCKING client";
    check(&mut world, &[("MULTI", "+OK"), ("MONITOR", "+QUEUED"), ("EXEC", refused)]);
    assert_eq!(world.instance.monitors.count(), 0);
}
