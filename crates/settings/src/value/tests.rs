use super::{default_of, expected, parse_over};
use crate::names::find;
use crate::rows::all;
use proptest::prelude::{any, prop, proptest};

fn set(name: &str, words: &[&str]) -> Result<String, String> {
    let row = find(name.as_bytes()).expect("the setting exists");
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    let value = parse_over(row, &words, &default_of(row))?;
    Ok(String::from_utf8(value.to_bytes()).expect("shown values here are UTF-8"))
}

fn refused(name: &str, words: &[&str], reason: &str) {
    assert_eq!(set(name, words), Err(reason.to_owned()), "{name} {words:?}");
}

fn accepted(name: &str, words: &[&str], shown: &str) {
    assert_eq!(set(name, words), Ok(shown.to_owned()), "{name} {words:?}");
}

#[test]
fn yes_and_no_in_any_case_and_nothing_else() {
    accepted("daemonize", &["YES"], "yes");
    accepted("daemonize", &["no"], "no");
    refused("daemonize", &["1"], "argument must be 'yes' or 'no'");
    refused("daemonize", &[""], "argument must be 'yes' or 'no'");
}

#[test]
fn whole_numbers_within_their_range() {
    accepted("port", &["0"], "0");
    accepted("port", &["65535"], "65535");
    refused("port", &["65536"], "argument must be between 0 and 65535 inclusive");
    refused("port", &["-1"], "argument must be between 0 and 65535 inclusive");
    refused("active-expire-effort", &["11"], "argument must be between 1 and 10 inclusive");
    for word in ["abc", "", " 1", "1 ", "0x10", "+1", "01", "99999999999999999999"] {
        refused("port", &[word], "argument couldn't be parsed into an integer");
    }
    accepted("list-max-listpack-size", &["-2147483648"], "-2147483648");
}

#[test]
fn sizes_with_units() {
    accepted("maxmemory", &["100mb"], "104857600");
    accepted("maxmemory", &["1k"], "1000");
    accepted("maxmemory", &[""], "0");
    accepted("maxmemory-clients", &["mb"], "0");
    accepted("maxmemory", &["18446744073709551615"], "18446744073709551615");
    refused("maxmemory", &["1tb"], "argument must be a memory value");
    refused("maxmemory", &["-1"], "argument must be a memory value");
    refused(
        "proto-max-bulk-len",
        &["1kb"],
        "argument must be between 1048576 and 9223372036854775807 inclusive",
    );
    refused(
        "client-query-buffer-limit",
        &[""],
        "argument must be between 1048576 and 9223372036854775807 inclusive",
    );
}

#[test]
fn percentages_where_they_are_allowed() {
    accepted("maxmemory-clients", &["0"], "0");
    accepted("maxmemory-clients", &["2mb"], "2097152");
    accepted("maxmemory-clients", &["100%"], "100%");
    refused("maxmemory-clients", &["101%"], "percentage argument must be less or equal to 100");
    refused("maxmemory-clients", &["%"], "argument must be a memory or percent value");
    refused("maxmemory-clients", &["-5%"], "argument must be a memory or percent value");
    refused("maxmemory", &["5%"], "argument must be a memory value");
}

#[test]
fn octal_permissions() {
    accepted("unixsocketperm", &["700"], "700");
    refused("unixsocketperm", &["8"], "argument couldn't be parsed as an octal number");
    refused("unixsocketperm", &["1000"], "argument must be between 0 and 777 inclusive");
}

#[test]
fn one_of_several_names() {
    accepted("maxmemory-policy", &["AllKeys-LRU"], "allkeys-lru");
    refused(
        "maxmemory-policy",
        &["lru"],
        "argument(s) must be one of the following: volatile-lru, volatile-lfu, volatile-random, \
         volatile-ttl, allkeys-lru, allkeys-lfu, allkeys-random, noeviction",
    );
}

#[test]
fn choices_are_named_in_the_order_of_valkey() {
    let text = "argument(s) must be one of the following: everysec, always, no";
    refused("appendfsync", &["sometimes"], text);
}

#[test]
fn any_of_several_names() {
    accepted("shutdown-on-sigterm", &["force", "now"], "now force");
    accepted("shutdown-on-sigterm", &["default"], "default");
    refused(
        "shutdown-on-sigterm",
        &["force", "maybe"],
        "argument(s) must be one of the following: default, save, nosave, now, force, \
         safe",
    );
    refused(
        "shutdown-on-sigterm",
        &["save", "nosave"],
        "shutdown options SAVE and NOSAVE can't be used simultaneously",
    );
}

#[test]
fn addresses_are_plain_words_and_at_most_sixteen() {
    accepted("bind", &["127.0.0.1", "-::1"], "127.0.0.1 -::1");
    accepted("bind", &[""], "");
    accepted("bind", &[], "");
    refused("bind", &["1"; 17], "Too many bind addresses specified.");
    refused("bind", &["a\nb"], "argument must be a list of addresses separated by spaces");
}

#[test]
fn a_directory_must_exist() {
    accepted("dbfilename", &["a.rdb"], "a.rdb");
    refused("dbfilename", &["../a.rdb"], "dbfilename can't be a path, just a filename");
    refused("appenddirname", &["a/b"], "appenddirname can't be a path, just a dirname");
    for name in ["dbfilename", "appendfilename", "appenddirname"] {
        refused(name, &[""], &format!("{name} can't be empty"));
    }
    accepted("dir", &["/"], "/");
    refused("dir", &[""], "dir can't be empty");
    refused("dir", &["/no/such/directory"], "No such file or directory");
    refused("dir", &["/dev/null"], "Not a directory");
}

#[test]
fn output_limits_change_the_classes_they_name() {
    let name = "client-output-buffer-limit";
    accepted(
        name,
        &["slave", "1kb", "2", "3", "NORMAL", "4", "5", "6"],
        "normal 4 5 6 slave 1024 2 3 pubsub 33554432 8388608 60",
    );
    refused(
        name,
        &["normal", "1", "2"],
        "Wrong number of arguments in buffer limit configuration.",
    );
    let class = "Invalid client class specified in buffer limit configuration.";
    refused(name, &["master", "1", "2", "3"], class);
    let number = "Error in hard, soft or soft_seconds setting in buffer limit configuration.";
    refused(name, &["normal", "1x", "2", "3"], number);
    refused(name, &["normal", "1", "2", "-3"], number);
}

#[test]
fn a_fixed_setting_accepts_its_value_and_says_why_it_refuses_others() {
    accepted("cluster-enabled", &["NO"], "no");
    let cluster = "cluster mode is not supported by this version of Varve: remove the line if the \
                   server is to hold all keys by itself";
    refused("cluster-enabled", &["yes"], cluster);
    accepted("rdma-bind", &[""], "");
    accepted("rdma-bind", &[], "");
    let rdma = "RDMA is not supported by Varve: remove the line, and have clients use TCP";
    refused("rdma-bind", &["a", "b"], rdma);
    assert!(set("rdma-bind", &["no", "one"]).is_err());
}

#[test]
fn a_primary_is_an_address_and_a_port_or_nobody() {
    accepted("replicaof", &["no", "ONE"], "");
    accepted("replicaof", &["10.0.0.1", "6379"], "10.0.0.1 6379");
    accepted("replicaof", &["10.0.0.1 6379"], "10.0.0.1 6379");
    refused("replicaof", &["10.0.0.1", "65536"], "Invalid master port");
    refused("replicaof", &["10.0.0.1"], "wrong number of arguments");
}

#[test]
fn classes_of_events_are_letters_and_percentiles_are_numbers() {
    accepted("notify-keyspace-events", &["KEg"], "gKE");
    let unknown = "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.";
    refused("notify-keyspace-events", &["Kq"], unknown);
    let name = "latency-tracking-info-percentiles";
    accepted(name, &["50", "99.90", "0"], "50 99.9 0");
    accepted(name, &[""], "");
    for word in ["x", "nan"] {
        refused(name, &[word], &format!("Invalid {name} parameters"));
    }
    refused(name, &["101"], &format!("{name} parameters should sit between [0.0,100.0]"));
}

#[test]
fn lists_of_numbers_have_their_length_and_range() {
    let name = "oom-score-adj-values";
    accepted(name, &["-2000", "0", "2000"], "-2000 0 2000");
    accepted(name, &["1 2 3"], "1 2 3");
    refused(name, &["1", "2"], "wrong number of arguments");
    let range = "Invalid oom-score-adj-values, elements must be between -2000 and 2000.";
    for word in ["2001", "-2001", "x", ""] {
        refused(name, &["1", "2", word], range);
    }
}

#[test]
fn only_one_word_where_one_is_meant() {
    refused("port", &["1", "2"], "wrong number of arguments");
    refused("port", &[], "wrong number of arguments");
}

#[test]
fn rounds_of_background_work_stay_between_1_and_500() {
    accepted("hz", &["0"], "1");
    accepted("hz", &["100000"], "500");
    refused("hz", &["-1"], "argument must be between 0 and 2147483647 inclusive");
}

#[test]
fn every_row_says_what_it_expects() {
    for row in all() {
        assert!(!expected(row).is_empty(), "{}", row.name);
    }
}

proptest! {
    #[test]
    fn no_word_makes_parsing_panic(words in prop::collection::vec(any::<Vec<u8>>(), 0..5)) {
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        for row in all() {
            let _ = parse_over(row, &words, &default_of(row));
        }
    }
}
