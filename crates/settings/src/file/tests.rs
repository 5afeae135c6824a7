use super::{Sources, load_text};
use crate::names::find;
use crate::network::{BIND, PORT, REQUIREPASS};
use crate::{Settings, limits};
use proptest::prelude::{any, prop_assert, proptest};
use std::fs;

fn loaded(text: &str) -> Settings {
    let settings = Settings::new();
    if let Err(error) = load_text(&settings, "test.conf", text.as_bytes(), Sources::Nowhere) {
        panic!("{error}");
    }
    settings
}

fn refused(text: &str) -> (usize, String, String) {
    let error = load_text(&Settings::new(), "test.conf", text.as_bytes(), Sources::Nowhere)
        .expect_err("the text is wrong");
    (error.line_number, error.line, error.reason)
}

fn refused_at(text: &str, number: usize, line: &str, reason: &str) {
    assert_eq!(refused(text), (number, line.to_owned(), reason.to_owned()));
}

#[test]
fn comments_blank_lines_and_spaces_around_are_skipped() {
    let settings = loaded("# a comment\n\n  \t port   7000 \r\n#port 1\n");
    assert_eq!(PORT.get(&settings), 7000);
}

#[test]
fn later_lines_win_and_names_may_have_any_case() {
    assert_eq!(PORT.get(&loaded("port 1\nPORT 2")), 2);
}

#[test]
fn quoted_words_keep_spaces_and_escapes() {
    let settings = loaded("requirepass \"a b\\x00\\\"\"\nlogfile ''");
    assert_eq!(*REQUIREPASS.get(&settings), *b"a b\0\"");
}

#[test]
fn settings_of_several_words_take_them_apart_or_quoted_together() {
    assert_eq!(*BIND.get(&loaded("bind 1.1.1.1 2.2.2.2")), ["1.1.1.1", "2.2.2.2"]);
    assert_eq!(*BIND.get(&loaded("bind '1.1.1.1 2.2.2.2'")), ["1.1.1.1", "2.2.2.2"]);
    assert!(BIND.get(&loaded("bind \"\"")).is_empty());
}

#[test]
fn output_limits_add_up_over_lines() {
    let name = "client-output-buffer-limit";
    let settings = loaded(&format!("{name} normal 1 2 3\n{name} pubsub 4 5 6\n"));
    let limits = limits::CLIENT_OUTPUT_BUFFER_LIMIT.get(&settings);
    assert_eq!((limits.normal.hard_bytes, limits.pubsub.hard_bytes), (1, 4));
}

#[test]
fn settings_that_cannot_change_later_are_set_at_start() {
    assert_eq!(crate::general::THREADS.get(&loaded("threads 3")), 3);
}

#[test]
fn an_error_names_the_line_and_what_is_wrong_with_it() {
    refused_at(
        "port 1\n\n  port abc \n",
        3,
        "port abc",
        "argument couldn't be parsed into an integer",
    );
    refused_at("port", 1, "port", "wrong number of arguments");
    refused_at("\nport 1 2", 2, "port 1 2", "wrong number of arguments");
    refused_at("#\nfoo bar", 2, "foo bar", "Bad directive or wrong number of arguments");
    refused_at("logfile \"x", 1, "logfile \"x", "Unbalanced quotes in configuration line");
    refused_at("include", 1, "include", "Bad directive or wrong number of arguments");
    refused_at("save 900 x", 1, "save 900 x", "Invalid save parameters");
    refused_at(
        "rename-command CONFIG \"\"",
        1,
        "rename-command CONFIG \"\"",
        "renaming commands is not supported by this version of Varve: remove the line if every \
         client may use the command by its own name",
    );
}

#[test]
fn the_report_names_file_line_reason_and_what_is_expected() {
    let error = load_text(&Settings::new(), "/etc/v.conf", b"\nport x", Sources::Nowhere)
        .expect_err("the text is wrong");
    let report = error.to_string();
    let lines: Vec<&str> = report.lines().collect();
    assert!(lines[0].starts_with("*** FATAL CONFIG FILE ERROR (Version "));
    assert_eq!(
        lines[1..],
        [
            "Reading the configuration file, at line 2 of /etc/v.conf",
            ">>> 'port x'",
            "argument couldn't be parsed into an integer",
            "Expected: port a whole number from 0 to 65535",
        ]
    );
}

#[test]
fn usual_values_of_missing_features_are_accepted_and_obsolete_ones_mentioned() {
    let notices = load_text(
        &Settings::new(),
        "v.conf",
        b"appendonly no\nslaveof no one\ndynamic-hz yes",
        Sources::Nowhere,
    )
    .expect("all lines are accepted");
    assert_eq!(notices, ["v.conf, line 3: 'dynamic-hz' has no effect: it is obsolete"]);
}

#[test]
fn included_files_are_read_in_the_place_of_the_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("conf.d")).expect("created");
    fs::write(at("conf.d/1.conf"), "port 1\ntimeout 5").expect("written");
    fs::write(at("conf.d/2.conf"), "port 2").expect("written");
    fs::write(at("conf.d/.hidden.conf"), "port 9").expect("written");
    let text = format!(
        "timeout 1\ninclude {0}/conf.d/*.conf\ninclude {0}/none/*.conf\nmaxclients 7",
        folder.path().display()
    );
    let settings = Settings::new();
    load_text(&settings, "main", text.as_bytes(), Sources::Disk).expect("all files are right");
    assert_eq!(PORT.get(&settings), 2);
    assert_eq!(crate::network::TIMEOUT.get(&settings), 5);
    assert_eq!(crate::network::MAXCLIENTS.get(&settings), 7);
}

#[test]
fn an_error_in_an_included_file_names_that_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let bad = folder.path().join("bad.conf");
    fs::write(&bad, "\nport x").expect("written");
    let text = format!("include {}", bad.display());
    let error = load_text(&Settings::new(), "main", text.as_bytes(), Sources::Disk)
        .expect_err("the included file is wrong");
    assert_eq!((error.source_name, error.line_number), (bad.display().to_string(), 2));
}

#[test]
fn a_missing_file_and_an_endless_include_are_errors() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let me = folder.path().join("me.conf");
    let text = format!("include {}", me.display());
    let load = || load_text(&Settings::new(), "main", text.as_bytes(), Sources::Disk);
    let missing = load().expect_err("there is no such file");
    assert!(missing.reason.ends_with("me.conf': No such file or directory"), "{missing}");
    fs::write(&me, &text).expect("written");
    let endless = load().expect_err("it includes itself");
    assert_eq!(endless.reason, "files include each other more than 16 deep");
}

/// Every line with an effect in the file that Valkey 9.1 is delivered with.
const USUAL_FILE: &str = r#"
bind 127.0.0.1 -::1
protected-mode yes
port 6379
tcp-backlog 511
timeout 0
tcp-keepalive 300
daemonize no
pidfile /var/run/valkey_6379.pid
loglevel notice
logfile ""
databases 16
always-show-logo no
hide-user-data-from-log yes
set-proc-title yes
proc-title-template "{title} {listen-addr} {server-mode}"
locale-collate ""
stop-writes-on-bgsave-error yes
rdbcompression yes
rdbchecksum yes
rdb-version-check strict
dbfilename dump.rdb
rdb-del-sync-files no
dir ./
replica-serve-stale-data yes
replica-read-only yes
repl-diskless-sync yes
repl-diskless-sync-delay 5
repl-diskless-sync-max-replicas 0
repl-diskless-load disabled
dual-channel-replication-enabled no
repl-disable-tcp-nodelay no
replica-priority 100
acllog-max-len 128
lazyfree-lazy-eviction yes
lazyfree-lazy-expire yes
lazyfree-lazy-server-del yes
replica-lazy-flush yes
lazyfree-lazy-user-del yes
lazyfree-lazy-user-flush yes
oom-score-adj no
oom-score-adj-values 0 200 800
disable-thp yes
appendonly no
appendfilename "appendonly.aof"
appenddirname "appendonlydir"
appendfsync everysec
no-appendfsync-on-rewrite no
auto-aof-rewrite-percentage 100
auto-aof-rewrite-min-size 64mb
aof-load-truncated yes
aof-use-rdb-preamble yes
aof-timestamp-enabled no
shutdown-timeout 10
commandlog-execution-slower-than 10000
commandlog-slow-execution-max-len 128
commandlog-request-larger-than 1048576
commandlog-large-request-max-len 128
commandlog-reply-larger-than 1048576
commandlog-large-reply-max-len 128
latency-monitor-threshold 0
notify-keyspace-events ""
hash-max-listpack-entries 512
hash-max-listpack-value 64
list-max-listpack-size -2
list-compress-depth 0
set-max-intset-entries 512
set-max-listpack-entries 128
set-max-listpack-value 64
zset-max-listpack-entries 128
zset-max-listpack-value 64
hll-sparse-max-bytes 3000
stream-node-max-bytes 4096
stream-node-max-entries 100
activerehashing yes
client-output-buffer-limit normal 0 0 0
client-output-buffer-limit replica 256mb 64mb 60
client-output-buffer-limit pubsub 32mb 8mb 60
hz 10
aof-rewrite-incremental-fsync yes
rdb-save-incremental-fsync yes
jemalloc-bg-thread yes
bgsave_cpulist 0
aof_rewrite_cpulist 0-1
bgsave-cpulist 0,1
aof-rewrite-cpulist 0-7:2
"#;

#[test]
fn the_usual_file_of_valkey_is_accepted_and_its_values_are_in_force() {
    let settings = loaded(USUAL_FILE);
    let usual = USUAL_FILE.lines().filter(|line| line.starts_with("hash-max-"));
    for line in usual {
        let (name, value) = line.split_once(' ').expect("a name and a value");
        assert_eq!(settings.get_text(name.as_bytes()), Some(value.as_bytes().to_vec()));
    }
    assert_eq!(*BIND.get(&settings), ["127.0.0.1", "-::1"]);
}

/// A line for each setting of Valkey and Redis, with whether it is taken.
fn known_lines() -> impl Iterator<Item = (&'static str, bool)> {
    let mut is_taken = true;
    include_str!("known.txt").lines().filter_map(move |line| {
        is_taken &= line != "# Refused";
        (!line.is_empty() && !line.starts_with('#')).then_some((line, is_taken))
    })
}

#[test]
fn every_setting_of_valkey_and_redis_is_taken_or_refused_with_what_to_do() {
    for (line, is_taken) in known_lines() {
        match load_text(&Settings::new(), "v.conf", line.as_bytes(), Sources::Nowhere) {
            Ok(_) => assert!(is_taken, "{line}"),
            Err(error) => {
                let says_how = error.reason.contains(": remove the line")
                    || error.reason.contains(", or remove the line");
                assert!(!is_taken && says_how, "{line}: {}", error.reason);
            }
        }
    }
    let lines: Vec<&str> = known_lines().map(|(line, _)| line).collect();
    assert!(lines.len() > 260);
}

#[test]
fn whatever_is_taken_is_remembered_and_what_of_it_has_no_effect_says_so() {
    let settings = Settings::new();
    let defaults = Settings::new();
    let taken = known_lines().filter(|(_, is_taken)| *is_taken).map(|(line, _)| line);
    for line in taken.filter(|line| !line.starts_with("user ")) {
        let (name, _) = line.split_once(' ').expect("a name and a value");
        let notices = load_text(&settings, "v.conf", line.as_bytes(), Sources::Nowhere);
        let is_told = notices.is_ok_and(|notices| !notices.is_empty());
        let is_kept = settings.get_text(name.as_bytes()) != defaults.get_text(name.as_bytes());
        assert!(is_told || is_kept, "{line}");
        if let Some(row) = find(name.as_bytes()).filter(|row| !row.idle_because.is_empty()) {
            let told = format!("`{}` has no effect: {}", row.name, row.idle_because);
            assert_eq!(row.idle_note(), Some(told), "{line}");
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_reading_panic(text in any::<Vec<u8>>()) {
        let _ = load_text(&Settings::new(), "text", &text, Sources::Nowhere);
    }

    #[test]
    fn an_error_always_names_a_line_of_the_text(lines in "([a-z]{0,4}[ \"'\\\\]?[0-9]?\n){0,6}") {
        let count = lines.split('\n').count();
        let read = load_text(&Settings::new(), "text", lines.as_bytes(), Sources::Nowhere);
        if let Err(error) = read {
            prop_assert!((1..=count).contains(&error.line_number));
        }
    }
}
