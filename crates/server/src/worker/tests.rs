use super::Worker;
use super::testing::{BEGIN, MIB, Peer, World, bulk, woken};
use crate::mail::Mail;
use crate::poller::Ready;
use base::{Millis, Random, Stopwatch, meanwhile};
use session::Notice;
use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

#[test]
fn a_request_is_answered_when_its_socket_is_ready() {
    let mut world = World::new();
    let peer = world.connect();
    assert_eq!(world.ask(&peer, "SET k v\r\nGET k\r\n"), "+OK $1 v");
    peer.send("GET k\r\n");
    world.iterate(&[]);
    assert_eq!(peer.read(), "", "no event has told of it");
}

#[test]
fn connections_that_are_ready_together_are_answered_in_one_turn() {
    let mut world = World::new();
    let peers: Vec<_> = (0..100).map(|_| world.connect()).collect();
    for (number, peer) in peers.iter().enumerate() {
        peer.send(&format!("INCRBY n 1\r\nECHO {number}\r\n"));
    }
    let ready: Vec<_> = peers.iter().map(|peer| peer.readable()).collect();
    world.iterate(&ready);
    for (number, peer) in peers.iter().enumerate() {
        let expected = format!(":{} {}", number + 1, bulk(&number.to_string()));
        assert_eq!(peer.read(), expected.replace("\r\n", " ").trim_end());
    }
}

#[test]
fn a_pipeline_longer_than_a_batch_and_a_read_is_served_to_its_end_after_one_event() {
    let mut world = World::new();
    let peer = world.connect();
    let number = 3000;
    peer.send(&"INCR n\r\n".repeat(number));
    world.iterate(&[peer.readable()]);
    assert!(world.waited() > 0, "it would have slept before the event");
    world.run_until_idle();
    let expected: String = (1..=number).map(|n| format!(":{n}\r\n")).collect();
    assert_eq!(peer.read_bytes(), expected);
}

#[test]
fn a_request_that_comes_in_pieces_is_answered_once_it_is_whole() {
    let mut world = World::new();
    let peer = world.connect();
    let request = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n";
    for at in 0..request.len() - 1 {
        assert_eq!(world.ask(&peer, &request[at..=at]), "");
    }
    assert_eq!(world.ask(&peer, "\n"), "+OK");
}

#[test]
fn limits_end_with_the_request_that_authenticates() {
    let mut world = World::new();
    world.instance.access.set_default_password(b"secret");
    let keys = "$1\r\nk\r\n".repeat(10);
    let requests = format!("AUTH secret\r\n*11\r\n$4\r\nMGET\r\n{keys}");
    let peer = world.connect();
    assert_eq!(world.ask(&peer, &requests), format!("+OK *10{}", " $-1".repeat(10)));
}

#[test]
fn a_wait_that_is_ended_with_an_error_counts_as_a_request_refused() {
    let mut world = World::new();
    let (waiter, other) = (world.connect(), world.connect());
    world.ask(&waiter, "BLPOP k 0\r\n");
    let unblock = format!("CLIENT UNBLOCK {} ERROR\r\n", waiter.client.id);
    assert_eq!(world.ask(&other, &unblock), ":1");
    let blpop = families::table().find(b"BLPOP").expect("it exists").id;
    let counts = world.instance.statistics.sums().commands[blpop];
    assert_eq!((counts.calls, counts.rejected, counts.failed), (1, 1, 0));
    assert_eq!(world.instance.statistics.errors().get("UNBLOCKED"), Some(&1));
}

#[test]
fn a_client_that_waits_is_answered_in_the_turn_of_the_write_without_a_system_call() {
    let mut world = World::new();
    let (waiter, writer) = (world.connect(), world.connect());
    assert_eq!(world.ask(&waiter, "BLPOP k 0\r\nECHO after\r\n"), "");
    assert_eq!(world.ask(&writer, "RPUSH k v\r\n"), ":1");
    assert_eq!(waiter.read(), "*2 $1 k $1 v $5 after");
    assert_eq!(world.wakes.load(SeqCst), 0);
    assert_eq!(world.instance.waiters.count(), 0);
}

#[test]
fn a_client_that_was_answered_is_not_read_again_in_vain() {
    let mut world = World::new();
    let (waiter, writer) = (world.connect(), world.connect());
    world.ask(&waiter, "BLPOP k 0\r\n");
    world.ask(&writer, "RPUSH k v\r\n");
    world.iterate(&[]);
    assert!(world.waited() > 0);
    assert_eq!(world.ask(&waiter, "PING\r\n"), "*2 $1 k $1 v +PONG");
}

#[test]
fn what_a_client_sent_beyond_what_is_read_ahead_is_served_after_its_wait() {
    let mut world = World::new();
    let (waiter, writer) = (world.connect(), world.connect());
    world.ask(&waiter, "BLPOP k 0\r\n");
    let request = format!("SET x {}\r\n", "v".repeat(1000));
    let mut sent = 0;
    // Sends until its worker reads no more of it and its socket is full.
    while let Ok(bytes) = (&waiter.socket).write(&request.as_bytes()[sent % request.len()..]) {
        sent += bytes;
        world.iterate(&[waiter.readable()]);
    }
    assert!(sent > MIB, "{sent} bytes");
    assert_eq!(world.ask(&writer, "RPUSH k v\r\n"), ":1");
    world.run_until_idle();
    let oks = "+OK\r\n".repeat(sent / request.len());
    assert!(waiter.read_bytes() == ["*2\r\n$1\r\nk\r\n$1\r\nv\r\n", &oks].concat());
}

#[test]
fn a_client_that_waits_is_answered_when_its_time_is_over() {
    let mut world = World::new();
    let peer = world.connect();
    assert_eq!(world.ask(&peer, "BLPOP k 0.1\r\n"), "");
    world.iterate(&[]);
    let waited = world.waited();
    assert!((100..=101).contains(&waited), "it sleeps until then and no longer: {waited}");
    world.instance.clock.advance(waited);
    world.iterate(&[]);
    assert_eq!(peer.read(), "", "the answer comes as mail");
    world.iterate(&[]);
    assert_eq!((world.waited(), peer.read()), (0, "*-1".to_owned()));
    assert_eq!(world.instance.waiters.deadlines(), 0);
}

#[test]
fn a_client_that_leaves_while_it_waits_leaves_nothing_behind() {
    let mut world = World::new();
    let (peer, other) = (world.connect(), world.connect());
    world.ask(&peer, "BLPOP k 10\r\n");
    assert_eq!((world.instance.waiters.count(), world.instance.waiters.deadlines()), (1, 1));
    peer.send(&"PING\r\n".repeat(10));
    peer.end();
    world.iterate(&[peer.ending()]);
    world.run_until_idle();
    assert_eq!((world.instance.waiters.count(), world.instance.waiters.deadlines()), (0, 0));
    assert_eq!(world.instance.clients.count(), 1);
    assert_eq!(world.ask(&other, "RPUSH k v\r\n"), ":1");
    assert_eq!(world.ask(&other, "LLEN k\r\n"), ":1", "nobody took it");
}

#[test]
fn a_key_that_is_named_twice_has_one_line() {
    let mut world = World::new();
    let (waiter, writer) = (world.connect(), world.connect());
    assert_eq!(world.ask(&waiter, "BLPOP k k other k 0\r\n"), "");
    assert_eq!(world.instance.waiters.keys(), 2);
    assert_eq!(world.ask(&writer, "RPUSH k v w\r\n"), ":2");
    assert_eq!(waiter.read(), "*2 $1 k $1 v");
    assert_eq!(world.ask(&writer, "LLEN k\r\n"), ":1", "it took one");
    let waiters = &world.instance.waiters;
    assert_eq!((waiters.keys(), waiters.count(), waiters.bytes()), (0, 0, 0));
}

#[test]
fn a_client_that_leaves_a_line_anywhere_leaves_the_others_in_their_order() {
    for leaves in 0..4 {
        let mut world = World::new();
        let mut waiters: Vec<_> = (0..4).map(|_| world.connect()).collect();
        let writer = world.connect();
        for waiter in &waiters {
            assert_eq!(world.ask(waiter, "BLPOP k 0\r\n"), "");
        }
        let gone = waiters.remove(leaves);
        gone.end();
        world.iterate(&[gone.ending()]);
        assert_eq!(world.ask(&writer, "RPUSH k 0 1 2 3\r\n"), ":4");
        for (at, waiter) in waiters.iter().enumerate() {
            assert_eq!(waiter.read(), format!("*2 $1 k $1 {at}"));
        }
        assert_eq!(world.ask(&writer, "LRANGE k 0 -1\r\n"), "*1 $1 3");
        assert_eq!((world.instance.waiters.keys(), world.instance.waiters.bytes()), (0, 0));
    }
}

#[test]
fn a_waiter_of_another_kind_in_the_same_line_goes_on_waiting() {
    let mut world = World::new();
    let (list, set, writer) = (world.connect(), world.connect(), world.connect());
    world.ask(&set, "BZPOPMIN k 0\r\n");
    world.ask(&list, "BLPOP k 0\r\n");
    assert_eq!(world.ask(&writer, "RPUSH k v\r\n"), ":1");
    assert_eq!((list.read(), set.read()), ("*2 $1 k $1 v".to_owned(), String::new()));
    assert_eq!(world.ask(&writer, "ZADD k 1 m\r\n"), ":1");
    assert_eq!(set.read(), "*3 $1 k $1 m $1 1");
    assert_eq!(world.instance.waiters.keys(), 0);
}

#[test]
fn what_a_waiter_moves_wakes_who_waits_for_the_place_it_is_moved_to() {
    let mut world = World::new();
    let (first, second, third, writer) =
        (world.connect(), world.connect(), world.connect(), world.connect());
    world.ask(&third, "BLPOP c 0\r\n");
    world.ask(&second, "BLMOVE b c LEFT RIGHT 0\r\n");
    world.ask(&first, "BLMOVE a b LEFT RIGHT 0\r\n");
    assert_eq!(world.ask(&writer, "RPUSH a v\r\n"), ":1");
    let answers = [first.read(), second.read(), third.read()];
    assert_eq!(answers, ["$1 v", "$1 v", "*2 $1 c $1 v"]);
    assert_eq!(world.ask(&writer, "EXISTS a b c\r\n"), ":0");
    assert_eq!((world.instance.waiters.keys(), world.instance.waiters.bytes()), (0, 0));
}

#[test]
fn a_client_is_killed_wherever_it_is() {
    let mut world = World::new();
    let (idle, waiter, killer) = (world.connect(), world.connect(), world.connect());
    world.ask(&waiter, "BLPOP k 0\r\n");
    for peer in [idle, waiter] {
        let kill = format!("CLIENT KILL ID {}\r\n", peer.client.id);
        assert_eq!(world.ask(&killer, &kill), ":1");
        assert!(peer.is_closed());
    }
    assert_eq!(world.instance.waiters.count(), 0);
}

#[test]
fn what_a_pause_postpones_is_served_when_it_ends() {
    let mut world = World::new();
    let (peer, other) = (world.connect(), world.connect());
    world.ask(&other, "CLIENT PAUSE 50 ALL\r\n");
    assert_eq!(world.ask(&peer, "PING\r\n"), "");
    world.iterate(&[]);
    assert_eq!((world.waited(), peer.read()), (50, String::new()));
    world.instance.clock.advance(50);
    world.iterate(&[]);
    assert_eq!(peer.read(), "+PONG");
}

#[test]
fn what_was_postponed_first_goes_on_first_again_and_again() {
    let mut world = World::new();
    let (first, second) = (world.connect(), world.connect());
    for round in 0..3 {
        world.instance.clients.stall_changes();
        assert_eq!(world.ask(&second, "APPEND k 2\r\n"), "");
        assert_eq!(world.ask(&first, "APPEND k 1\r\n"), "");
        // Room that was gone before anybody used it.
        world.instance.clients.look_again();
        world.iterate(&[]);
        world.instance.clients.resume_changes();
        world.run_until_idle();
        let lengths = [1, 2].map(|more| format!(":{}", 2 * round + more));
        assert_eq!([second.read(), first.read()], lengths);
    }
}

#[test]
fn mail_that_comes_while_the_worker_sleeps_wakes_it_and_is_read_in_that_turn() {
    let mut world = World::new();
    let (peer, mailbox) = (world.connect(), world.mailbox.clone());
    let wakes = world.wakes.load(SeqCst);
    let close = Notice::Close(peer.client.id);
    world.turn_during(&[], move || (0..3).for_each(|_| mailbox.send(Mail::Notice(close.clone()))));
    assert!(peer.is_closed());
    assert_eq!(world.wakes.load(SeqCst) - wakes, 1);
    world.iterate(&[woken()]);
    assert!(world.waited() > 0, "an old call of the waker does no harm");
}

#[test]
fn mail_that_comes_while_the_worker_is_awake_keeps_it_so() {
    let mut world = World::new();
    let peer = world.connect();
    world.mailbox.send(Mail::Notice(Notice::Close(peer.client.id)));
    assert!(!peer.is_closed());
    world.iterate(&[]);
    assert!(peer.is_closed());
    assert_eq!((world.waited(), world.wakes.load(SeqCst)), (0, 0));
}

#[test]
fn messages_and_replies_come_in_the_order_in_which_they_were_made() {
    let mut world = World::new();
    let peer = world.connect();
    for turn in 0..10 {
        let long = format!("long {turn}{}", "m".repeat(200));
        peer.send(&format!("ECHO {turn}\r\n"));
        world.mailbox.send(peer.message("short "));
        world.mailbox.send(peer.message(&long));
        world.iterate(&[peer.readable()]);
        assert_eq!(peer.read_bytes(), format!("short {long}{}", bulk(&turn.to_string())));
    }
}

#[test]
fn messages_to_one_that_does_not_read_count_as_its_output() {
    let mut world = World::new();
    let (peer, other) = (world.connect(), world.connect());
    let limit = "CONFIG SET client-output-buffer-limit \"normal 2mb 0 0\"\r\n";
    assert_eq!(world.ask(&other, limit), "+OK");
    let message = Arc::new(vec![b'm'; MIB]);
    for _ in 0..4 {
        world.mailbox.send(Mail::Notice(Notice::Message(peer.client.id, Arc::clone(&message))));
    }
    world.iterate(&[]);
    assert_eq!(world.instance.clients.count(), 1);
    assert_eq!(Arc::strong_count(&message), 1, "nobody holds it any more");
}

#[test]
fn replies_behind_a_mark_leave_once_its_position_is_safe() {
    let mut world = World::new();
    let (peer, other) = (world.connect(), world.connect());
    world.mark_safe(7);
    let at = peer.at();
    let connection = world.worker.event_loop.connections.get_mut(at).expect("it is not away");
    connection.mark(b"+PONG\r\n".len(), 9);
    assert_eq!(world.ask(&peer, "PING\r\nECHO written\r\nPING\r\n"), "+PONG");
    assert_eq!(world.ask(&other, "PING\r\n"), "+PONG", "nobody else waits");
    world.mark_safe(8);
    assert_eq!(peer.read(), "");
    world.mark_safe(9);
    assert_eq!(peer.read(), "$7 written +PONG");
    assert_eq!(world.ask(&peer, "PING\r\n"), "+PONG");
}

#[test]
fn others_are_served_while_a_command_holds_its_thread_context_and_its_locks() {
    let mut world = World::new();
    let (peer, newcomer) = (world.connect(), world.accepted());
    let instance = Arc::clone(&world.instance);
    let keyspace = instance.store.keyspace(0).expect("there is one");
    let key = instance.store.key(keyspace, b"k");
    // State of a command at work: inside the gate, with a key locked.
    let Worker { pipeline, event_loop } = &mut world.worker;
    let began = event_loop.enter(pipeline);
    let access = instance.store.lock(&mut pipeline.executor.thread, &key, BEGIN);
    peer.send("PING\r\n");
    world.mailbox.send(Mail::Accepted(newcomer.0));
    event_loop.poller.set_ready(&[peer.readable()]);
    meanwhile::Others::serve(event_loop);
    assert_eq!(peer.read(), "+PONG");
    drop(access);
    pipeline.leave(began);
    let newcomer = world.peer(newcomer.1);
    assert_eq!(world.ask(&newcomer, "SET k v\r\n"), "+OK");
}

#[test]
fn what_comes_for_a_connection_that_is_away_is_kept_until_it_is_back() {
    let mut world = World::new();
    let (away, other) = (world.connect(), world.connect());
    let lent = world.worker.event_loop.connections.take(away.at()).expect("it is there");
    away.send("PING\r\n");
    away.end();
    other.send("PING\r\n");
    world.mailbox.send(away.message("first "));
    world.turn_meanwhile(&[away.ending(), other.readable()]);
    world.mailbox.send(away.message("second "));
    world.turn_meanwhile(&[]);
    assert_eq!((away.read(), other.read()), (String::new(), "+PONG".to_owned()));
    world.worker.event_loop.connections.put(away.at(), lent);
    world.run_until_idle();
    assert_eq!(away.read_bytes(), "first second +PONG\r\n");
    assert_eq!(world.instance.clients.count(), 1, "its end was noticed too");
}

#[test]
fn replies_behind_a_mark_stay_there_while_another_command_is_at_work() {
    let mut world = World::new();
    let peer = world.connect();
    world.mark_safe(1);
    world.worker.event_loop.connections.get_mut(peer.at()).expect("it is not away").mark(0, 2);
    peer.send("PING\r\n");
    world.turn_meanwhile(&[peer.readable()]);
    assert_eq!(peer.read(), "");
    world.mark_safe(2);
    assert_eq!(peer.read(), "+PONG");
}

/// Client of the test below: what it has still to send, and what it must have read in the end.
struct Talker {
    peer: Peer,
    unsent: VecDeque<u8>,
    expected: Vec<u8>,
    taken: Vec<u8>,
    /// Event that its worker has not got yet, if there is one.
    ready: Option<Ready>,
}

impl Talker {
    fn new(peer: Peer, random: &mut Random) -> Talker {
        let (mut unsent, mut expected) = (VecDeque::new(), Vec::new());
        for turn in 0..random.below(300) {
            let len = if random.one_in(20) { 20_000 } else { random.below(40) } as usize;
            let word = char::from(b'a' + (turn % 26) as u8).to_string().repeat(len);
            let request = format!("*2\r\n$4\r\nECHO\r\n{}", bulk(&word));
            unsent.extend(request.as_bytes());
            expected.extend(bulk(&word).as_bytes());
            if random.one_in(40) {
                // It waits for a list of its own, to which it has added an element, or until its
                // timeout.
                let push = if random.one_in(2) { "RPUSH own v\r\n" } else { "" };
                let key = if push.is_empty() { "none" } else { "own" };
                unsent.extend(format!("{push}BLPOP {key} 0.01\r\n").as_bytes());
                expected.extend(if push.is_empty() {
                    &b"*-1\r\n"[..]
                } else {
                    b":1\r\n*2\r\n$3\r\nown\r\n$1\r\nv\r\n"
                });
            }
        }
        Talker { peer, unsent, expected, taken: Vec::new(), ready: None }
    }

    fn send(&mut self, most: usize) {
        let (bytes, _) = self.unsent.as_slices();
        let bytes = &bytes[..bytes.len().min(most)];
        if let Ok(sent) = (&self.peer.socket).write(bytes)
            && sent > 0
        {
            self.unsent.drain(..sent);
            self.ready.get_or_insert(self.peer.readable());
        }
    }

    fn read(&mut self, most: usize) {
        let bytes = self.peer.read_some(most);
        if !bytes.is_empty() {
            self.taken.extend(bytes);
            self.ready = Some(self.peer.writable());
        }
    }
}

/// Sends requests in pieces and events late, and reads replies in pieces; some clients wait, and
/// those that take long yield to others.
#[test]
fn each_client_reads_its_replies_in_order_whatever_comes_when() {
    for seed in 0..20 {
        let mut world = World::timed_by(Stopwatch::calibrate());
        let mut random = Random::from_seed(seed);
        let mut talkers: Vec<_> = (0..6)
            .map(|database| {
                let peer = world.connect();
                assert_eq!(world.ask(&peer, &format!("SELECT {database}\r\n")), "+OK");
                Talker::new(peer, &mut random)
            })
            .collect();
        let mut iterations = 0;
        while talkers.iter().any(|talker| talker.taken.len() < talker.expected.len()) {
            for talker in &mut talkers {
                match random.below(4) {
                    0 => talker.send(1 + random.below(30) as usize),
                    1 => talker.send(100_000),
                    2 => talker.read(1 + random.below(10_000) as usize),
                    _ => {}
                }
            }
            let drawn = talkers.iter_mut().filter(|_| random.one_in(2));
            let ready: Vec<_> = drawn.filter_map(|talker| talker.ready.take()).collect();
            world.iterate(&ready);
            world.instance.clock.advance(random.below(3));
            iterations += 1;
            assert!(iterations < 100_000, "seed {seed}: somebody waits for ever");
        }
        assert!(talkers.iter().all(|talker| talker.taken == talker.expected), "seed {seed}");
    }
}

#[test]
fn silent_clients_are_closed_and_those_who_wait_are_not() {
    let mut world = World::new();
    let (silent, waiter, other) = (world.connect(), world.connect(), world.connect());
    world.ask(&other, "CONFIG SET timeout 10\r\n");
    world.ask(&waiter, "BLPOP k 0\r\n");
    world.instance.clock.advance(10_001);
    world.ask(&other, "PING\r\n");
    world.iterate(&[]);
    assert!(silent.is_closed() && !waiter.is_closed());
    assert_eq!(world.instance.clock.now(), Millis(BEGIN.0 + 10_001));
}

#[test]
fn every_connection_is_closed_when_the_server_stops() {
    let mut world = World::new();
    let peers = [world.connect(), world.connect()];
    world.mailbox.send(Mail::Stop);
    world.worker.run().expect("a script does not break");
    assert!(peers.iter().all(|peer| peer.is_closed()));
}
