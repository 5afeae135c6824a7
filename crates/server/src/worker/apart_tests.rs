//! Tests of long values, which are received into the store before their commands run.

use super::testing::{MIB, Peer, World, bulk};
use base::Random;
use std::sync::atomic::Ordering::Relaxed;
use store::value::long_string::WHOLE_BYTES_MAX;

const LENGTHS: [usize; 4] = [WHOLE_BYTES_MAX, WHOLE_BYTES_MAX + 1, 3 * MIB / 2, 3 * MIB + 16384];

fn value(len: usize, seed: usize) -> String {
    (0..len).map(|at| char::from(b'a' + ((at / 7 + at / 4096 + seed) % 26) as u8)).collect()
}

/// Returns a request of words, of which `V` stands for a value.
fn request(words: &str, value: &str) -> String {
    let words: Vec<&str> =
        words.split(' ').map(|word| if word == "V" { value } else { word }).collect();
    let bulks: String = words.iter().map(|word| bulk(word)).collect();
    format!("*{}\r\n{bulks}", words.len())
}

/// Sends bytes in pieces of random length, with `between` before one of them; returns what the
/// client has read.
fn send(
    world: &mut World,
    peer: &Peer,
    bytes: &str,
    between: &mut dyn FnMut(&mut World),
) -> String {
    let mut random = Random::from_seed(bytes.len() as u64);
    let (mut left, when) = (bytes.as_bytes(), random.below(bytes.len() as u64 / 2) as usize);
    let (mut is_due, mut read) = (true, String::new());
    while !left.is_empty() && !peer.is_closed() {
        if is_due && bytes.len() - left.len() >= when {
            between(world);
            is_due = false;
        }
        let most = [1, 40, 5_000, 70_000, 200_000][random.below(5) as usize];
        let sent = peer.send_some(&left[..most.min(left.len())]);
        left = &left[sent..];
        // Also while the worker is in the middle of something long.
        if random.below(4) == 0 {
            world.turn_meanwhile(&[peer.readable()]);
        }
        world.iterate(&[peer.readable()]);
        read += &peer.read_bytes();
    }
    assert!(!is_due || bytes.len() < MIB / 2, "it was too late");
    for _ in 0..200 {
        world.iterate(&[peer.writable()]);
        read += &peer.read_bytes();
    }
    read
}

fn get(world: &mut World, peer: &Peer, key: &str) -> String {
    send(world, peer, &request(&format!("GET {key}"), ""), &mut |_| {})
}

/// Asserts that nothing is left of values once their keys are gone.
fn assert_nothing_is_left(world: &mut World, peer: &Peer) {
    world.ask(peer, "FLUSHALL SYNC\r\n");
    let thread = &mut world.worker.pipeline.executor.thread;
    while world.instance.store.free_some(thread, 1 << 10) {}
    assert_eq!(world.instance.store.live_bytes(), 0);
}

#[test]
fn long_values_are_set_on_every_condition_in_pieces_of_any_size() {
    let cases = [
        ("SET k V", "+OK\r\n", true, -1),
        ("set k V EX 100", "+OK\r\n", true, 100),
        ("SET k V XX KEEPTTL", "+OK\r\n", true, 50),
        ("SET k V NX", "$-1\r\n", false, 50),
        ("SET k V GET", "OLD", true, -1),
        ("SET k V EX", "-ERR syntax error\r\n", false, 50),
        ("SETEX k 100 V", "+OK\r\n", true, 100),
        ("SETEX k x V", "-ERR value is not an integer or out of range\r\n", false, 50),
        ("PSETEX k 70000 V", "+OK\r\n", true, 70),
        ("SETNX k V", ":0\r\n", false, 50),
        ("GETSET k V", "OLD", true, -1),
    ];
    let mut world = World::new();
    let peer = world.connect();
    for (number, (words, reply, is_set, ttl)) in cases.into_iter().enumerate() {
        for len in LENGTHS {
            let (old, new) = (value(len + 5, number), value(len, number + 1));
            send(&mut world, &peer, &request("SET k V EX 50", &old), &mut |_| {});
            let pipelined = [&request(words, &new), "TTL k\r\nPING\r\n"].concat();
            let read = send(&mut world, &peer, &pipelined, &mut |_| {});
            let reply = if reply == "OLD" { bulk(&old) } else { reply.to_owned() };
            assert!(read == format!("{reply}:{ttl}\r\n+PONG\r\n"), "{words}, {len} bytes");
            let kept = get(&mut world, &peer, "k");
            assert!(kept == bulk(if is_set { &new } else { &old }), "{words}, {len} bytes");
        }
    }
    assert_nothing_is_left(&mut world, &peer);
}

#[test]
fn what_others_do_meanwhile_changes_nothing_of_a_long_value() {
    let actions: [&str; 9] = [
        "PING\r\n",
        "DEL k\r\n",
        "FLUSHALL\r\n",
        "SWAPDB 0 1\r\nSWAPDB 0 1\r\n",
        "SETBIT k 9000000 1\r\n",
        "RPUSH list a\r\nRENAME list k\r\n",
        "CLIENT PAUSE 1 WRITE\r\n",
        "MONITOR\r\n",
        "CONFIG SET maxmemory-clients 1gb\r\n",
    ];
    for action in actions {
        let mut world = World::new();
        let (peer, other) = (world.connect(), world.connect());
        for (number, len) in LENGTHS.into_iter().enumerate() {
            let new = value(len, number);
            let read = send(&mut world, &peer, &request("SET k V", &new), &mut |world| {
                world.ask(&other, action);
                world.instance.clock.advance(2);
            });
            world.run_until_idle();
            let read = read + &peer.read_bytes();
            assert!(read == "+OK\r\n", "{action}: {read}");
            assert!(get(&mut world, &peer, "k") == bulk(&new), "{action}, {len} bytes");
        }
    }
}

#[test]
fn nothing_is_left_of_a_long_value_whose_command_is_refused_or_whose_client_goes() {
    let mut world = World::new();
    let other = world.connect();
    for len in &LENGTHS[1..] {
        let (peer, new) = (world.connect(), value(*len, 1));
        let read = send(&mut world, &peer, &request("SET k V GET", &new), &mut |world| {
            world.ask(&other, "RPUSH k a\r\n");
        });
        assert!(read.starts_with("-WRONGTYPE "), "{read}");
        world.ask(&other, "DEL k\r\n");
        let id = peer.client.id;
        send(&mut world, &peer, &request("SET k V", &value(*len, 1)), &mut |world| {
            world.ask(&other, &format!("CLIENT KILL ID {id}\r\n"));
        });
        assert!(peer.is_closed());
        let peer = world.connect();
        let torn = request("SET k V", &value(*len, 2)).replace("\r\n*", "");
        send(&mut world, &peer, &torn[..torn.len() - 2], &mut |_| {});
        let read = send(&mut world, &peer, "xy", &mut |_| {});
        assert!(read.starts_with("-ERR Protocol error"), "{read}");
        assert!(get(&mut world, &other, "k") == "$-1\r\n");
    }
    assert_nothing_is_left(&mut world, &other);
}

#[test]
fn a_long_value_is_no_argument_apart_where_something_needs_it_with_its_request() {
    let mut world = World::new();
    let peer = world.connect();
    let new = value(MIB, 3);
    for first in ["MULTI\r\n", "CLIENT REPLY SKIP\r\n"] {
        peer.send(first);
        world.iterate(&[peer.readable()]);
        peer.read();
        send(&mut world, &peer, &request("SET k V", &new), &mut |_| {});
        world.ask(&peer, "EXEC\r\n");
        world.run_until_idle();
        peer.read();
        assert!(get(&mut world, &peer, "k") == bulk(&new), "{first}");
    }
    assert_nothing_is_left(&mut world, &peer);
}

#[test]
fn the_bytes_of_a_long_value_count_for_its_client_while_they_arrive() {
    let mut world = World::new();
    let peer = world.connect();
    let whole = request("SET k V", &value(2 * MIB, 3));
    send(&mut world, &peer, &whole[..MIB], &mut |_| {});
    let counted = peer.client.argument_bytes.load(Relaxed);
    assert!(counted > MIB as u64 - 200, "{counted}");
    assert!(peer.client.query_bytes.load(Relaxed) < 200);
    world.ask(&peer, "");
    send(&mut world, &peer, &whole[MIB..], &mut |_| {});
    assert!(peer.client.argument_bytes.load(Relaxed) < 1000);
}

#[test]
fn a_long_value_is_logged_by_its_first_bytes_and_its_length() {
    let mut world = World::new();
    let peer = world.connect();
    world.ask(&peer, "CONFIG SET commandlog-request-larger-than 100000\r\n");
    let new = value(MIB, 3);
    send(&mut world, &peer, &request("SET key V EX 100", &new), &mut |_| {});
    let read = world.ask(&peer, "COMMANDLOG GET 1 large-request\r\n");
    let bytes = request("SET key V EX 100", &new).len();
    let shown = format!("{}... ({} more bytes)", &new[..128], MIB - 128);
    assert!(read.contains(&format!(":{bytes} ")) && read.contains(&shown), "{read}");
}

/// The requests behind a refused one may come with its last bytes.
#[test]
fn a_value_whose_command_was_refused_is_no_argument_of_the_requests_behind_it() {
    let refused =
        ["SET k V BADOPT", "SETEX k 0 V", "PSETEX k x V", "SETNX k V extra", "SET l V GET"];
    for words in refused {
        let mut world = World::new();
        let peer = world.connect();
        world.ask(&peer, "RPUSH l a\r\n");
        let followers = "SET a 1\r\nSETNX b 2\r\nGETSET c 3\r\nSETEX d 9 4\r\n\
                         MULTI\r\nSET e 5\r\nEXEC\r\nSET k 6\r\n";
        let all = [&request(words, &value(MIB, 3)), followers].concat();
        let read = send(&mut world, &peer, &all, &mut |_| {});
        assert!(read.starts_with('-'), "{words}: {read}");
        assert_eq!(
            world.ask(&peer, "MGET a b c d e k\r\n"),
            "*6 $1 1 $1 2 $1 3 $1 4 $1 5 $1 6",
            "{words}"
        );
        assert_nothing_is_left(&mut world, &peer);
    }
}

#[test]
fn a_value_goes_on_arriving_though_output_waits_and_the_worker_is_in_something_long() {
    let mut world = World::new();
    let (peer, other) = (world.connect(), world.connect());
    let (old, new) = (value(3 * MIB / 4, 1), value(2 * MIB, 2));
    send(&mut world, &other, &request("SET old V", &old), &mut |_| {});
    peer.send("GET old\r\n");
    world.iterate(&[peer.readable()]);
    let (whole, mut sent) = (request("SET k V", &new), 0);
    let mut read = String::new();
    for turn in 0..10_000 {
        if sent < whole.len() {
            sent += peer.send_some(&whole.as_bytes()[sent..whole.len().min(sent + 50_000)]);
            world.turn_meanwhile(&[peer.readable(), peer.writable()]);
        }
        // It begins to read in the middle of its own value.
        if sent > MIB {
            read += &String::from_utf8(peer.read_some(100_000)).expect("text");
        }
        world.iterate(&[peer.readable(), peer.writable()]);
        if read.ends_with("+OK\r\n") {
            assert!(read == format!("{}+OK\r\n", bulk(&old)), "after {turn} turns");
            assert!(get(&mut world, &other, "k") == bulk(&new));
            return world.run_until_idle();
        }
    }
    panic!("{sent} of {} bytes were taken, {} read", whole.len(), read.len());
}
