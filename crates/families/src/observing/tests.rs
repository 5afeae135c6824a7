//! Tests of what is seen of commands: with limits of zero, every command passes them.

use crate::testing::{BEGIN, World, check, reply_to};
use base::Stopwatch;
use command::{Observer, Seen};
use std::sync::Arc;
use std::time::Duration;
use store::{EvictionPolicy, Limits};

/// A server that keeps every command, and whose commands take this long.
fn world(settings: &[&str]) -> World {
    let mut world = World::new();
    for setting in settings {
        check(&mut world, &[(&format!("CONFIG SET {setting}"), "+OK")]);
    }
    world
}

/// Executes a line that takes so many nanoseconds, and notes it.
fn run(world: &mut World, line: &str, nanos: u64) {
    let observer = Observer::of(&world.instance.settings);
    world.run(line, |call| observer.count(call, Seen { nanos, reply_bytes: 5 }));
}

#[test]
fn a_slow_command_is_kept_with_its_arguments_truncated() {
    let mut world = world(&["slowlog-log-slower-than 1000", "slowlog-max-len 2"]);
    run(&mut world, "GET fast", 999_999);
    run(&mut world, "GET first", 1_000_000);
    run(&mut world, &format!("SET long {}", "x".repeat(130)), 2_000_000);
    let many = format!("SADD many {}", ["m"; 31].join(" "));
    run(&mut world, &many, 3_000_000);
    check(&mut world, &[("SLOWLOG LEN", ":2"), ("COMMANDLOG LEN slow", ":2")]);
    let latest = reply_to(&mut world, "SLOWLOG GET 1");
    let expected = "*1 *6 :2 :1700000000 :3000 *32 $4 SADD $4 many";
    assert!(latest.starts_with(expected), "{latest}");
    assert!(latest.ends_with("$1 m $22 ... (2 more arguments) $11 127.0.0.1:1 $0"), "{latest}");
    let all = reply_to(&mut world, "SLOWLOG GET -1");
    assert!(all.contains("xxx... (2 more bytes)"), "{all}");
    check(&mut world, &[("SLOWLOG RESET", "+OK"), ("SLOWLOG GET", "*0")]);
}

#[test]
fn large_requests_and_replies_have_logs_of_their_own() {
    let mut world = world(&["commandlog-request-larger-than 10", "commandlog-reply-larger-than 5"]);
    // The commands that have set the limits may pass them.
    check(&mut world, &[("COMMANDLOG RESET large-request", "+OK")]);
    check(&mut world, &[("COMMANDLOG RESET large-reply", "+OK")]);
    run(&mut world, "GET k", 0);
    run(&mut world, "GET a-long-key", 0);
    check(
        &mut world,
        &[
            ("COMMANDLOG LEN slow", ":0"),
            ("COMMANDLOG LEN large-request", ":1"),
            ("COMMANDLOG LEN large-reply", ":2"),
            (
                "COMMANDLOG LEN none",
                "-ERR type should be one of the following: slow, large-request, large-reply",
            ),
            ("COMMANDLOG GET -2 slow", "-ERR count should be greater than or equal to -1"),
        ],
    );
}

#[test]
fn secrets_are_not_kept() {
    let mut world = world(&["slowlog-log-slower-than 0"]);
    for line in
        ["AUTH secret", "HELLO 2 AUTH default secret SETNAME me", "CONFIG SET requirepass secret"]
    {
        run(&mut world, line, 1);
    }
    run(&mut world, "CONFIG SET requirepass \"\"", 1);
    let log = reply_to(&mut world, "SLOWLOG GET -1");
    assert!(!log.contains("secret"), "{log}");
    assert!(log.contains("$4 AUTH $10 (redacted)") && log.contains("$7 SETNAME $2 me"), "{log}");
}

#[test]
fn times_are_shown_by_powers_of_two_and_by_percentiles() {
    let mut world = world(&["latency-tracking-info-percentiles \"50 99.9\""]);
    (0..10).for_each(|_| run(&mut world, "GET k", 1500));
    run(&mut world, "GET k", 1_000_000);
    let expected = "*2 $3 get *4 $5 calls :11 $14 histogram_usec *4 :2 :10 :1056 :11";
    let shown = reply_to(&mut world, "LATENCY HISTOGRAM get nosuch");
    assert_eq!(shown, expected);
    let info = reply_to(&mut world, "INFO latencystats");
    assert!(info.contains("latency_percentiles_usec_get:p50=1.503,p99.9=1003.519"), "{info}");
    check(&mut world, &[("CONFIG RESETSTAT", "+OK"), ("LATENCY HISTOGRAM", "*0")]);
}

#[test]
fn events_are_kept_by_second() {
    let mut world = world(&["latency-monitor-threshold 5"]);
    run(&mut world, "GET k", 4_999_999);
    run(&mut world, "GET k", 5_000_000);
    run(&mut world, "GET k", 9_000_000);
    run(&mut world, "KEYS *", 7_000_000);
    check(
        &mut world,
        &[
            (
                "LATENCY LATEST",
                "*2 *6 $7 command :1700000000 :7 :7 :7 :1 \
                 *6 $12 fast-command :1700000000 :9 :9 :14 :2",
            ),
            ("LATENCY HISTORY fast-command", "*1 *2 :1700000000 :9"),
            ("LATENCY HISTORY Fast-Command", "*0"),
            ("LATENCY HISTORY nosuch", "*0"),
            ("LATENCY GRAPH COMMAND", "-ERR No samples available for event 'COMMAND'"),
            ("LATENCY GRAPH nosuch", "-ERR No samples available for event 'nosuch'"),
            ("LATENCY RESET Command nosuch", ":1"),
            ("LATENCY RESET", ":1"),
        ],
    );
}

#[test]
fn eviction_that_took_long_is_an_event_and_other_work_for_room_is_not() {
    let mut world = world(&["latency-monitor-threshold 1"]);
    Arc::get_mut(&mut world.instance).expect("nobody else has it").stopwatch =
        Stopwatch::calibrate();
    let value = "x".repeat(10_000);
    for key in 0..4000 {
        check(&mut world, &[(&format!("SET k{key} {value}"), "+OK")]);
    }
    let World { instance, thread, .. } = &mut world;
    let mut evict = |maxmemory| {
        instance.store.set_limits(&Limits {
            maxmemory,
            other_bytes: 0,
            workers: 1,
            eviction: EvictionPolicy::AllKeysRandom,
            reclaim: Default::default(),
            lfu_log_factor: 10,
            lfu_decay_minutes: 1,
        });
        instance.store.enter(thread);
        instance.note_eviction(thread, |thread| {
            while instance.store.evict_beyond_limits(thread, BEGIN) {}
            std::thread::sleep(Duration::from_millis(2));
        });
        instance.store.leave(thread);
        instance.latency.series().iter().map(|(event, _)| *event).collect::<Vec<_>>()
    };
    assert!(evict(0).is_empty());
    assert_eq!(evict(24 << 20), ["eviction-cycle"]);
}

#[test]
fn what_took_long_is_noted_with_the_time_of_its_end() {
    let mut world = world(&["latency-monitor-threshold 5", "slowlog-log-slower-than 1000"]);
    let observer = Observer::of(&world.instance.settings);
    // The time of a command is that of the begin of its batch.
    world.run("GET k", |call| {
        call.instance.clock.advance(3000);
        observer.count(call, Seen { nanos: 9_000_000, reply_bytes: 5 });
    });
    check(&mut world, &[("LATENCY HISTORY fast-command", "*1 *2 :1700000003 :9")]);
    let latest = reply_to(&mut world, "SLOWLOG GET 1");
    assert!(latest.starts_with("*1 *6 :0 :1700000003 :9000 "), "{latest}");
}
