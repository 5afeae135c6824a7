use super::{LIMITS, STRANGER, hear, says};
use crate::request::Limits;

const FORMAT: &str = "CLIENT_ERROR bad command line format";

fn key(len: usize) -> String {
    "k".repeat(len)
}

#[test]
fn a_key_has_at_most_250_bytes() {
    let (longest, longer) = (key(250), key(251));
    for command in ["get", "gets", "gat 0", "gats 0", "delete", "mg", "md", "me"] {
        says(format!("{command} {longest}\r\n"), &[&format!("{command} {longest}")]);
        says(format!("{command} {longer}\r\n"), &[FORMAT]);
        says(format!("{command} {longer}\r\nmn\r\n"), &[FORMAT, "mn"]);
    }
    for command in ["touch", "incr", "decr"] {
        says(format!("{command} {longest} 1\r\n"), &[&format!("{command} {longest} 1")]);
        says(format!("{command} {longer} 1\r\n"), &[FORMAT]);
        says(format!("{command} {longer} 1 noreply\r\n"), &[&format!("quiet: {FORMAT}")]);
    }
    says(format!("ma {longest}\r\n"), &[&format!("ma {longest}")]);
    says(format!("ma {longer}\r\n"), &["CLIENT_ERROR invalid or duplicate flag"]);
}

#[test]
fn a_block_behind_a_key_that_is_too_long_is_swallowed() {
    let (longest, longer) = (key(250), key(251));
    for command in ["set", "add", "replace", "append", "prepend"] {
        says(
            format!("{command} {longest} 0 0 1\r\nx\r\n"),
            &[&format!("{command} {longest} 0 0 1 x")],
        );
        says(format!("{command} {longer} 0 0 1\r\nx\r\nmn\r\n"), &[FORMAT, "swallowed 3", "mn"]);
        says(
            format!("{command} {longer} 0 0 1 noreply\r\nx\r\n"),
            &[&format!("quiet: {FORMAT}"), "swallowed 3"],
        );
    }
    says(format!("ms {longest} 1\r\nx\r\n"), &[&format!("ms {longest} 1 x")]);
    says(format!("ms {longer} 1\r\nx\r\n"), &[FORMAT, "swallowed 3"]);
    says(format!("cas {longer} 0 0 1 0\r\nx\r\n"), &[FORMAT, "swallowed 3"]);
}

#[test]
fn a_line_has_at_most_2048_bytes_without_its_end() {
    for (len, end, expected) in [
        (2047, "\r\n", "ERROR"),
        (2048, "\r\n", "ERROR"),
        (2048, "\n", "ERROR"),
        (2049, "\r\n", "closed"),
        (2049, "\n", "closed"),
        (2047, "", "waits"),
        (2048, "", "waits"),
        (2048, "\r", "waits"),
        (2048, "\rx", "closed"),
        (2049, "", "closed"),
    ] {
        says(format!("{}{end}", "w".repeat(len)), &[expected]);
    }
    says(format!("mn\r\n{}", "w".repeat(2049)), &["mn", "closed"]);
    let long = format!("get{}", "w".repeat(2046));
    says(&long, &["closed"]);
    says(format!("delete k {}\r\n", "a".repeat(2040)), &["closed"]);
}

#[test]
fn a_line_of_keys_may_be_longer() {
    let keys = format!("{} ", key(99)).repeat(30);
    for command in ["get", "gets", "gat 0", "gats 0"] {
        says(format!("{command} {keys}"), &["waits"]);
        let heard = hear(format!("{command} {keys}\r\n"), &LIMITS);
        assert!(heard.len() == 1 && heard[0].len() > 2900, "{heard:?}");
    }
    assert_eq!(hear(format!("get {keys}"), &STRANGER), ["closed"]);
    let narrow = Limits { keys_line_bytes_max: 3004, ..LIMITS };
    assert_eq!(hear(format!("get {keys}"), &narrow), ["waits"]);
    assert_eq!(hear(format!("get {keys}k"), &narrow), ["closed"]);
}

#[test]
fn a_value_may_be_as_large_as_an_item_and_no_larger() {
    let limits = Limits { item_bytes_max: 3, ..LIMITS };
    let large = "SERVER_ERROR object too large for cache";
    assert_eq!(hear("set k 0 0 3\r\nabc\r\n", &limits), ["set k 0 0 3 abc"]);
    assert_eq!(
        hear("set k 0 0 4\r\nabcd\r\nmn\r\n", &limits),
        [&format!("{large}, removes: set k 0 0 4"), "swallowed 6", "mn"]
    );
    assert_eq!(
        hear("set k 0 0 4 noreply\r\nabcd\r\n", &limits),
        [&format!("quiet: {large}, removes: set k 0 0 4"), "swallowed 6"]
    );
    assert_eq!(
        hear("ms k 4 q Oa MA\r\nabcd\r\n", &limits),
        [&format!("{large}, removes: ms k 4 q Oa MA"), "swallowed 6"]
    );
    for command in ["add", "replace", "append", "prepend"] {
        let heard = hear(format!("{command} k 0 0 4\r\nabcd\r\n"), &limits);
        assert_eq!(heard, [large, "swallowed 6"]);
    }
    assert_eq!(hear("cas k 0 0 4 1\r\nabcd\r\n", &limits), [large, "swallowed 6"]);
}

#[test]
fn a_length_above_2_147_483_645_is_no_length_and_nothing_is_swallowed() {
    let large = "SERVER_ERROR object too large for cache, removes: ";
    says(
        "set k 0 0 2147483645\r\nx",
        &[&format!("{large}set k 0 0 2147483645"), "swallowed 1", "waits"],
    );
    says("set k 0 0 2147483646\r\nmn\r\n", &[FORMAT, "mn"]);
    says("set k 0 0 2147483646 noreply\r\nmn\r\n", &[FORMAT, "mn"]);
    says("ms k 2147483646\r\nmn\r\n", &[FORMAT, "mn"]);
}

#[test]
fn noreply_counts_as_the_last_word_or_the_23rd() {
    says(format!("delete k {}noreply b c\r\n", "a ".repeat(20)), &["quiet: delete k"]);
    says(format!("delete k {}noreply b c\r\n", "a ".repeat(19)), &["delete k"]);
    let words = |count: usize| format!("delete k {}noreply\r\n", "a ".repeat(count - 3));
    says(words(3), &["quiet: delete k"]);
    says(words(23), &["quiet: delete k"]);
    says(words(24), &["delete k"]);
    let words = |count: usize| format!("set k 0 0 1 {}noreply\r\nx\r\n", "a ".repeat(count - 6));
    says(words(6), &["quiet: set k 0 0 1 x"]);
    says(words(23), &["quiet: set k 0 0 1 x"]);
    says(words(24), &["set k 0 0 1 x"]);
}

#[test]
fn a_web_browser_is_known_by_the_last_word_or_the_23rd() {
    says(format!("xx {}HTTP/1.0 b c\r\n", "a ".repeat(21)), &["closed"]);
    let words = |count: usize| format!("xx {}HTTP/1.0\r\n", "a ".repeat(count - 2));
    says(words(2), &["closed"]);
    says(words(23), &["closed"]);
    says(words(24), &["ERROR"]);
}

#[test]
fn a_meta_command_has_at_most_20_words() {
    let flags = "c f h k l s t u v x I L P Oa D1 E1 F1 N1 R1 T1";
    let first = |count: usize| flags.split(' ').take(count).collect::<Vec<_>>().join(" ");
    let many = "CLIENT_ERROR options flags are too long";
    says(format!("mg k {}\r\n", first(18)), &[&format!("mg k {}", first(18))]);
    says(format!("mg k {}\r\n", first(19)), &[many]);
    says(format!("ms k 1 {}\r\nx\r\n", first(17)), &[&format!("ms k 1 {} x", first(17))]);
    says(format!("ms k 1 {}\r\nx\r\n", first(18)), &[many, "swallowed 3"]);
    says(format!("md k {}\r\n", first(18)), &[&format!("md k {}", first(18))]);
    says(format!("md k {}\r\n", first(19)), &[many]);
    says(format!("ma k {}\r\n", first(18)), &[&format!("ma k {}", first(18))]);
    says(format!("ma k {}\r\n", first(19)), &["CLIENT_ERROR invalid or duplicate flag"]);
    says(format!("mg k {flags} ?\r\n"), &[FORMAT]);
    says(format!("ms k 1 {flags} ?\r\nx\r\n"), &[many, "swallowed 3"]);
}

#[test]
fn what_authenticates_has_at_most_16_kib() {
    let set = |len: usize| format!("set k 0 0 {len}\r\nu {}\r\n", "p".repeat(len - 2));
    let heard = hear(set(16 << 10), &STRANGER);
    assert!(heard.len() == 1 && heard[0].starts_with("authenticates: set u ppp"), "{heard:?}");
    let heard = hear("set k 0 0 16385\r\nset k 0 0 3\r\nu p\r\n", &STRANGER);
    assert_eq!(heard, ["CLIENT_ERROR auth token too long", "authenticates: set u p"]);
}
