//! Tests of commands of the family, in process.

use crate::testing::{BEGIN, STARTED, World, play};
use session::{Holder, Shutdown};
use settings::Origin;
use wire::Protocol;

/// A world whose clients may use DEBUG.
fn debugging() -> World {
    let world = World::new();
    load(&world, "enable-debug-command yes");
    world
}

fn load(world: &World, line: &str) {
    let (settings, sources) = (&world.instance.settings, settings::Sources::Nowhere);
    settings::load_text(settings, "test", line.as_bytes(), sources).expect("it is a setting");
}

/// Returns the value of a line of INFO.
fn info(world: &mut World, field: &str) -> String {
    let text = world.answer("INFO everything");
    let start = format!("\r\n{field}:");
    let (_, rest) = text.split_once(&start).unwrap_or_else(|| panic!("no {field} in {text}"));
    rest.split("\r\n").next().unwrap_or_default().to_owned()
}

#[test]
fn databases_are_counted_flushed_and_swapped() {
    play(
        &mut World::new(),
        r#"
        > DBSIZE
        < :0
        > FLUSHDB SYNC ASYNC
        < -ERR syntax error
        > SWAPDB a 1
        < -ERR invalid first DB index
        > SWAPDB 0 4294967296
        < -ERR invalid second DB index
        > SWAPDB 0 16
        < -ERR DB index is out of range
        > SWAPDB 0 1
        < +OK
        > FLUSHALL async
        < +OK
        "#,
    );
    let mut world = debugging();
    assert_eq!(world.answer("DEBUG POPULATE 3 k 10"), "+OK\r\n");
    assert_eq!(world.answer("GET k:2"), "$10\r\nvalue:2\0\0\0\r\n");
    world.answer("SWAPDB 0 5");
    assert_eq!(world.answer("DBSIZE"), ":0\r\n");
    world.answer("SWAPDB 5 0");
    assert_eq!(world.answer("DBSIZE"), ":3\r\n");
    world.answer("FLUSHDB");
    assert_eq!(world.answer("DBSIZE"), ":0\r\n");
    assert_eq!(world.changes(), 2 + 3);
}

#[test]
fn the_time_is_told_in_seconds_and_microseconds() {
    let time = World::new().answer("TIME");
    let words: Vec<&str> = time.split("\r\n").collect();
    assert_eq!(words[0], "*2");
    assert!(words[2].len() >= 10 && words[4].parse::<u32>().is_ok_and(|it| it < 1_000_000));
}

#[test]
fn a_shutdown_is_asked_for_and_taken_back() {
    let mut world = World::new();
    play(
        &mut world,
        "
        > SHUTDOWN ABORT
        < -ERR No shutdown in progress.
        > SHUTDOWN SAVE NOSAVE
        < -ERR syntax error
        > SHUTDOWN NOSAVE ABORT
        < -ERR syntax error
        > SHUTDOWN FAILOVER
        < -ERR SHUTDOWN FAILOVER is only supported in cluster mode.
        ",
    );
    assert_eq!(world.instance.shutdown.requested(), None);
    assert!(world.waits("SHUTDOWN NOSAVE NOW"));
    let how = Shutdown { saves: Some(false), force: false, now: true };
    assert_eq!(world.instance.shutdown.requested(), Some(how));
    assert!(world.waits("SHUTDOWN FORCE"));
    let how = Shutdown { saves: None, force: true, now: false };
    assert_eq!(world.instance.shutdown.requested(), Some(how));
    assert_eq!(world.answer("SHUTDOWN ABORT"), "+OK\r\n");
    assert_eq!(world.instance.shutdown.requested(), None);
}

#[test]
fn info_tells_that_writes_are_postponed_before_the_end() {
    let mut world = World::new();
    let fields = ["paused_reason", "paused_actions", "paused_timeout_milliseconds"];
    world.instance.clients.postpone_writes(Holder::End);
    let far = (i64::MAX.unsigned_abs() - BEGIN.0).to_string();
    let held = ["shutdown_in_progress", "write", far.as_str()];
    assert_eq!(fields.map(|field| info(&mut world, field)), held);
    world.instance.clients.let_writes_flow(Holder::End);
    assert_eq!(fields.map(|field| info(&mut world, field)), ["none", "none", "0"]);
    world.answer("CLIENT PAUSE 500 WRITE");
    assert_eq!(fields.map(|field| info(&mut world, field)), ["client_pause", "write", "500"]);
}

#[test]
fn settings_are_read_and_changed_as_one() {
    play(
        &mut World::new(),
        "
        > CONFIG SET timeout 100 tcp-keepalive 200
        < +OK
        > CONFIG SET timeout 50 nosuch 1
        < -ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'
        > CONFIG GET timeout
        < *2 $7 timeout $3 100
        > CONFIG SET timeout 1 tcp-keepalive
        < -ERR syntax error
        > CONFIG REWRITE
        < -ERR The server is running without a config file
        > CONFIG NOSUCH
        < -ERR unknown subcommand 'NOSUCH'. Try CONFIG HELP.
        ",
    );
}

#[test]
fn info_tells_the_sections_that_are_asked_for_each_once() {
    let mut world = World::new();
    let text = world.answer("INFO cpu DEFAULT");
    assert_eq!(text.matches("used_cpu_user_children").count(), 1);
    assert!(text.contains("# Keyspace") && !text.contains("# Commandstats"));
    assert!(!text.contains("# TLS") && !text.contains("# Scripting Engines"));
    assert_eq!(world.answer("INFO nosuch"), "$0\r\n\r\n");
    assert!(world.answer("INFO commandSTATS").contains("cmdstat_info:calls=2,"));
    let titles = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.strip_prefix("# ").map(str::to_owned)).collect()
    };
    let named = world.answer("INFO Cluster_Info tls scriptingengines module_list");
    assert_eq!(titles(&named), ["TLS", "Modules", "Cluster Info", "Scripting Engines"]);
    let all = titles(&world.answer("INFO all"));
    assert_eq!(all[..3], ["Server", "TLS", "Clients"]);
    let last = ["Latencystats", "Cluster", "Cluster Info", "Scripting Engines", "Keyspace"];
    assert_eq!(all[all.len() - last.len()..], last);
    world.session.protocol = Protocol::Resp3;
    assert_eq!(world.answer("INFO keyspace"), "=16\r\ntxt:# Keyspace\r\n\r\n");
}

#[test]
fn the_debug_section_is_shown_only_to_those_who_name_it() {
    let mut world = World::new();
    world.instance.statistics.note_iteration(5_000, 7);
    world.instance.statistics.note_iteration(4_000, 2);
    let text = world.answer("INFO debug");
    assert!(text.contains("eventloop_duration_max:5\r\neventloop_cmd_per_cycle_max:7\r\n"));
    for line in ["INFO", "INFO all", "INFO everything"] {
        assert!(!world.answer(line).contains("eventloop_duration_max"), "{line}");
    }
}

#[test]
fn info_counts_what_happened_since_the_last_reset() {
    let mut world = debugging();
    world.answer("DEBUG POPULATE 10");
    world.answer("GET key:1");
    world.answer("GET nosuch");
    world.answer("SWAPDB a b");
    assert_eq!(info(&mut world, "keyspace_hits"), "1");
    assert_eq!(info(&mut world, "keyspace_misses"), "1");
    assert_eq!(info(&mut world, "errorstat_ERR"), "count=1");
    assert_eq!(info(&mut world, "total_error_replies"), "1");
    assert_eq!(info(&mut world, "db0"), "keys=10,expires=0,avg_ttl=0,keys_with_volatile_items=0");
    assert_eq!(world.answer("CONFIG RESETSTAT"), "+OK\r\n");
    assert_eq!(info(&mut world, "keyspace_hits"), "0");
    assert_eq!(info(&mut world, "total_error_replies"), "0");
    assert!(!world.answer("INFO commandstats").contains("cmdstat_get:"));
}

#[test]
fn the_mean_time_left_is_that_of_keys_with_deadlines_however_few_they_are() {
    let mut world = debugging();
    world.answer("DEBUG POPULATE 1000");
    world.answer("SET soon v PX 5000");
    world.answer("SET later v PX 7000");
    let told = |left| format!("keys=1002,expires=2,avg_ttl={left},keys_with_volatile_items=0");
    assert_eq!(info(&mut world, "db0"), told(6000));
    // What is past its deadline counts for none, until it is removed.
    world.instance.clock.advance(6000);
    assert_eq!(info(&mut world, "db0"), told(1000));
    for key in 0..200 {
        world.answer(&format!("SET volatile:{key} v PX 3500"));
    }
    assert!(info(&mut world, "db0").contains(",expires=202,avg_ttl=3"), "64 of them are enough");
}

#[test]
fn a_reset_restarts_the_counts_of_files_and_of_time() {
    use std::sync::atomic::Ordering::Relaxed;
    let mut world = World::new();
    let journal = &world.instance.journal;
    journal.begin_rewrite(STARTED);
    journal.end_rewrite(true, STARTED);
    journal.delayed_syncs.store(3, Relaxed);
    world.statistics.server.iteration_nanos.add(5_000_000_000);
    world.instance.loading.left_out.store(4, Relaxed);
    let fields = [
        "aof_rewrites",
        "aof_rewrites_consecutive_failures",
        "unexpected_error_replies",
        "used_active_time_main_thread",
    ];
    assert_eq!(fields.map(|field| info(&mut world, field)), ["1", "1", "4", "5.000000"]);
    assert_eq!(world.answer("CONFIG RESETSTAT"), "+OK\r\n");
    assert_eq!(fields.map(|field| info(&mut world, field)), ["0", "0", "0", "0.000000"]);
    assert_eq!(world.instance.journal.delayed_syncs.load(Relaxed), 0);
}

#[test]
fn every_figure_of_the_heap_and_the_cleaner_is_told() {
    let mut world = debugging();
    world.answer("DEBUG POPULATE 1000 k 1000");
    for field in ["segments_touched_bytes", "segments_live_bytes", "index_bytes", "index_buckets"] {
        let value: u64 = info(&mut world, field).parse().expect("a number");
        assert!(value > 0, "{field}");
    }
    let appended: u64 = info(&mut world, "cleaner_bytes_appended").parse().expect("a number");
    assert!(appended > 1_000_000);
    let utilisation: f64 = info(&mut world, "segments_utilisation").parse().expect("a number");
    assert!(utilisation > 0.0 && utilisation <= 1.0, "{utilisation}");
    assert_eq!(info(&mut world, "mem_allocator"), "segments");
}

#[test]
fn bytes_moved_and_won_tell_how_full_the_cleaned_segments_were() {
    let mut world = debugging();
    world.answer("DEBUG POPULATE 20000 k 1000");
    for key in (0..20_000).filter(|key| key % 3 > 0) {
        world.answer(&format!("DEL k:{key}"));
    }
    let World { instance, thread, .. } = &mut world;
    while instance.store.clean_at_rest(thread, 1 << 20, BEGIN) {}
    let [moved, won] = ["cleaner_bytes_moved", "cleaner_bytes_won"]
        .map(|field| info(&mut world, field).parse::<f64>().expect("a number"));
    let utilisation = moved / (moved + won);
    assert!((0.30..0.37).contains(&utilisation), "{moved} moved, {won} won");
}

#[test]
fn segments_are_listed_with_what_they_hold() {
    let mut world = debugging();
    world.answer("DEBUG POPULATE 7");
    let one = "*1\r\n*16\r\n$2\r\nid\r\n";
    let text = world.answer("MEMORY SEGMENTS");
    assert!(text.starts_with(one) && text.contains("$4\r\nopen\r\n"), "{text}");
    assert!(text.contains("live-records\r\n:7\r\n"), "{text}");
    assert_eq!(world.answer("MEMORY SEGMENTS COUNT 1"), text);
    assert_eq!(world.answer("MEMORY SEGMENTS COUNT 0"), "-ERR COUNT must be positive\r\n");
    assert_eq!(world.answer("MEMORY SEGMENTS BAD"), "-ERR syntax error\r\n");
}

#[test]
fn info_tells_what_the_journal_is_to_do() {
    use std::sync::atomic::Ordering::Relaxed;
    let mut world = World::new();
    load(&world, "appendonly yes");
    let fields = ["aof_pending_rewrite", "aof_pending_bio_fsync"];
    assert_eq!(fields.map(|field| info(&mut world, field)), ["0", "0"]);
    world.instance.journal.is_scheduled.store(true, Relaxed);
    world.instance.journal.is_syncing.store(true, Relaxed);
    assert_eq!(fields.map(|field| info(&mut world, field)), ["1", "1"]);
}

#[test]
fn a_client_whose_watched_key_has_changed_watches_nothing() {
    let mut world = World::new();
    let fields = ["watching_clients", "total_watched_keys"];
    world.answer("WATCH k l");
    assert_eq!(fields.map(|field| info(&mut world, field)), ["1", "2"]);
    world.answer("SET k v");
    assert_eq!(fields.map(|field| info(&mut world, field)), ["0", "0"]);
}

#[test]
fn memory_of_the_journal_is_told_by_memory_stats_as_by_info() {
    use std::sync::atomic::Ordering::Relaxed;
    let mut world = World::new();
    world.instance.journal.resident_bytes.store(12_345, Relaxed);
    assert!(world.answer("MEMORY STATS").contains("\r\naof.buffer\r\n:12345\r\n"));
    assert_eq!(info(&mut world, "mem_aof_buffer"), "12345");
}

#[test]
fn memory_of_a_key_is_told_whatever_the_samples() {
    let mut world = debugging();
    world.answer("DEBUG POPULATE 1 k 100");
    let bytes = world.answer("MEMORY USAGE k:0 SAMPLES 5");
    let bytes: i64 = bytes[1..].trim_end().parse().expect("a number");
    assert!((103..160).contains(&bytes), "{bytes}");
    play(
        &mut world,
        "
        > MEMORY USAGE nosuch
        < $-1
        > MEMORY USAGE k:0 SAMPLES -1
        < -ERR syntax error
        > MEMORY USAGE k:0 SAMPLES x
        < -ERR value is not an integer or out of range
        > MEMORY USAGE k:0 SAMPLES
        < -ERR syntax error
        > MEMORY PURGE
        < +OK
        ",
    );
}

#[test]
fn commands_tell_their_keys() {
    play(
        &mut World::new(),
        "
        > COMMAND GETKEYS GET a
        < *1 $1 a
        > COMMAND GETKEYSANDFLAGS GET a
        < *1 *2 $1 a *2 +RO +access
        > COMMAND GETKEYS MEMORY USAGE a
        < *1 $1 a
        > COMMAND GETKEYS DBSIZE
        < -ERR The command has no key arguments
        > COMMAND GETKEYS NOSUCH a
        < -ERR Invalid command specified
        > COMMAND GETKEYS GET
        < -ERR Invalid number of arguments specified for command
        > COMMAND NOSUCH
        < -ERR unknown subcommand 'NOSUCH'. Try COMMAND HELP.
        ",
    );
}

#[test]
fn commands_are_listed_by_pattern_and_category() {
    play(
        &mut World::new(),
        "
        > COMMAND LIST FILTERBY PATTERN config|re*
        < *2 $16 config|resetstat $14 config|rewrite
        > COMMAND LIST FILTERBY MODULE lua
        < *0
        > COMMAND LIST FILTERBY ACLCAT nosuch
        < *0
        > COMMAND LIST FILTERBY
        < -ERR syntax error
        > COMMAND INFO nosuch
        < *1 $-1
        ",
    );
    let dangerous = World::new().answer("COMMAND LIST FILTERBY ACLCAT dangerous");
    assert!(dangerous.contains("flushall") && !dangerous.contains("\r\nget\r\n"));
}

#[test]
fn a_row_is_told_as_valkey_tells_it() {
    let get = World::new().answer("COMMAND INFO get");
    let expected = "*1\r\n*10\r\n$3\r\nget\r\n:2\r\n*2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n\
                    *3\r\n+@read\r\n+@string\r\n+@fast\r\n*0\r\n*1\r\n*6\r\n$5\r\nflags\r\n*2\r\n\
                    +RO\r\n+access\r\n$12\r\nbegin_search\r\n*4\r\n$4\r\ntype\r\n$5\r\nindex\r\n\
                    $4\r\nspec\r\n*2\r\n$5\r\nindex\r\n:1\r\n$9\r\nfind_keys\r\n*4\r\n$4\r\ntype\
                    \r\n$5\r\nrange\r\n$4\r\nspec\r\n*6\r\n$7\r\nlastkey\r\n:0\r\n$7\r\nkeystep\
                    \r\n:1\r\n$5\r\nlimit\r\n:0\r\n*0\r\n";
    assert_eq!(get, expected);
}

#[test]
fn debug_is_open_to_those_whom_the_setting_lets_in() {
    let mut world = World::new();
    assert!(world.answer("DEBUG SLEEP 0").starts_with("-ERR DEBUG command not allowed."));
    load(&world, "enable-debug-command local");
    assert_eq!(world.answer("DEBUG SLEEP 0"), "+OK\r\n");
    let set = world.instance.settings.set_many(&[("enable-debug-command", "no")], Origin::Local);
    assert!(set.is_err());
}

#[test]
fn debug_refuses_what_would_end_the_process() {
    let mut world = debugging();
    for word in ["PANIC", "SEGFAULT", "OOM", "ASSERT", "RESTART 5", "RELOAD", "LOADAOF"] {
        assert!(world.answer(&format!("DEBUG {word}")).starts_with("-ERR "), "{word}");
    }
}

#[test]
fn debug_switches_and_odd_words() {
    let mut world = debugging();
    play(
        &mut world,
        "
        > DEBUG SET-ACTIVE-EXPIRE 0
        < +OK
        > DEBUG PAUSE-CRON 1
        < +OK
        > DEBUG HASHTABLE-CAN-ABORT-SHRINK 0
        < +OK
        > DEBUG CONFIG-REWRITE-FORCE-ALL
        < -ERR The server is running without a config file
        > DEBUG SLEEP -1
        < +OK
        > DEBUG SLEEP 1e300
        < -ERR value is not a valid float
        > DEBUG ERROR 'MY error'
        < -MY error
        > DEBUG STRINGMATCH-LEN a* abc
        < :1
        > DEBUG POPULATE -1
        < -ERR value is out of range, must be positive
        > DEBUG OBJECT nosuch
        < -ERR no such key
        > DEBUG NOSUCH
        < -ERR unknown subcommand or wrong number of arguments for 'NOSUCH'. Try DEBUG HELP.
        > DEBUG HTSTATS 16
        < -ERR Out of range database
        ",
    );
    use std::sync::atomic::Ordering::Relaxed;
    assert!(!world.instance.active_expire.load(Relaxed));
    assert!(world.instance.background_jobs_paused.load(Relaxed));
}

#[test]
fn digests_equal_those_of_valkey() {
    let mut world = debugging();
    let empty = "+0000000000000000000000000000000000000000\r\n";
    assert_eq!(world.answer("DEBUG DIGEST"), empty);
    world.answer("DEBUG POPULATE 1");
    assert_eq!(world.answer("DEBUG DIGEST"), "+0f7053e02980da31a84b3242f00dfef0a32f9f32\r\n");
    assert_eq!(
        world.answer("DEBUG DIGEST-VALUE key:0"),
        "*1\r\n+c15f34c747bf411833c10208c03e1da1bb7da7cf\r\n"
    );
    assert_eq!(world.answer("DEBUG DIGEST-VALUE nosuch"), format!("*1\r\n{empty}"));
}

#[test]
fn the_index_of_a_database_shrinks_in_htstats_with_its_keys() {
    let mut world = debugging();
    let size = |world: &mut World| -> u64 {
        let text = world.answer("DEBUG HTSTATS 0");
        let size = text.split("table size: ").nth(1).and_then(|rest| rest.split('\n').next());
        size.and_then(|size| size.parse().ok()).unwrap_or(0)
    };
    world.answer("DEBUG POPULATE 100");
    let full = size(&mut world);
    assert!(full >= 100);
    world.answer("FLUSHDB");
    world.answer("DEBUG POPULATE 2");
    assert!((2..full).contains(&size(&mut world)));
}
