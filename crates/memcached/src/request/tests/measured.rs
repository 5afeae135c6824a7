//! What Memcached 1.6.45 answered over a socket, as far as the words of a line decide it.

use super::{STRANGER, hear, says};

const FORMAT: &str = "CLIENT_ERROR bad command line format";
const QUIET_FORMAT: &str = "quiet: CLIENT_ERROR bad command line format";
const EXPIRY: &str = "CLIENT_ERROR invalid exptime argument";
const DELTA: &str = "CLIENT_ERROR invalid numeric delta argument";
const BLOCK: &str = "CLIENT_ERROR bad data chunk";

/// Checks lines, each with the one thing that comes of it.
#[track_caller]
fn lines_say(table: &[(&str, &str)]) {
    for (line, expected) in table {
        assert_eq!(hear(format!("{line}\r\n"), &super::LIMITS), [*expected], "{line:?}");
    }
}

#[test]
fn lines_without_a_command() {
    lines_say(&[
        ("", FORMAT),
        ("a", FORMAT),
        (" ", FORMAT),
        ("\r", FORMAT),
        ("a ", "ERROR"),
        ("ab", "ERROR"),
        ("a b", "ERROR"),
        ("  ", "ERROR"),
        ("   ", "ERROR"),
        (" get k", "ERROR"),
        (" watch", "ERROR"),
        (" lru_crawler metadump all", "lru_crawler metadump all"),
        ("  flush_all 1", "flush_all 1"),
        (" verbosity 1", "verbosity 1"),
        (" cache_memlimit 64", "cache_memlimit 64"),
        (" shutdown", "SERVER_ERROR: shutdown not enabled"),
        (" stats", "ERROR"),
        (" version", "ERROR"),
        ("GET k", "ERROR"),
        ("g k", "ERROR"),
        ("ge k", "ERROR"),
        ("getx k", "ERROR"),
        ("get\tk", "ERROR"),
        ("m k", "ERROR"),
        ("mz k", "ERROR"),
        ("mnn", "ERROR"),
        ("bget k", "ERROR"),
        ("stat", "ERROR"),
        ("slabs reassign", "ERROR"),
        ("misbehave", "ERROR"),
        ("x\r", "ERROR"),
        ("xx noreply", "quiet: ERROR"),
        (" xx noreply", "quiet: ERROR"),
        (" get noreply", "quiet: ERROR"),
        ("xx HTTP/ noreply", "quiet: ERROR"),
        ("noreply", "quiet: ERROR"),
        ("xx noreply x", "ERROR"),
    ]);
    for line in ["\n", "a\n", "xx\n", "  \n", " a\n", "mn\n", "ms\n"] {
        says(line, &[FORMAT]);
    }
    says("abc\n", &["ERROR"]);
    says("ab \n", &["ERROR"]);
}

#[test]
fn requests_of_a_web_browser() {
    lines_say(&[
        ("GET / HTTP/1.1", "closed"),
        ("GET HTTP/1.1", "closed"),
        ("x HTTP/1.0", "closed"),
        ("xx y HTTP/1.0 ", "closed"),
        ("xx HTTP/", "closed"),
        (" a HTTP/1", "closed"),
        ("xx HTTP", "ERROR"),
        ("xx http/1.0", "ERROR"),
        ("HTTP/1.0", "ERROR"),
        ("HTTP/1.0 x", "ERROR"),
        ("x HTTP/ x", "ERROR"),
        ("aa bb xHTTP/", "ERROR"),
        ("get k HTTP/1.0", "get k HTTP/1.0"),
        ("mn HTTP/", "mn"),
        ("touch HTTP/1.0", FORMAT),
        ("set HTTP/1.0", FORMAT),
    ]);
}

#[test]
fn lines_of_keys() {
    lines_say(&[
        ("get", FORMAT),
        ("get ", FORMAT),
        ("gets", FORMAT),
        ("gat", FORMAT),
        ("gat 10", FORMAT),
        ("gats 10", FORMAT),
        ("get  k  ", "get k"),
        ("get k\r", "get k\\r"),
        ("get a a", "get a a"),
        ("get k noreply", "get k noreply"),
        ("get a\tb\0c", "get a\\tb\\x00c"),
        ("gat x k", EXPIRY),
        ("gat 1x k", EXPIRY),
        ("gat +1 k", EXPIRY),
        ("gat \t1 k", EXPIRY),
        ("gat 2147483648 k", EXPIRY),
        ("gats 2147483648 k", EXPIRY),
        ("gat 2147483647 k", "gat 2147483647 k"),
        ("gat -2147483648 k", "gat -2147483648 k"),
        ("gat - k", "gat - k"),
        ("gat 01 k", "gat 01 k"),
    ]);
    says(b"get k\xff\n", &["get k\\xff"]);
}

#[test]
fn commands_of_a_key() {
    lines_say(&[
        ("delete", FORMAT),
        ("delete k", "delete k"),
        ("delete k 0", "delete k"),
        ("delete k 5", "delete k"),
        ("delete k noreply", "quiet: delete k"),
        ("delete k noreply  ", "quiet: delete k"),
        ("delete k 0 noreply", "quiet: delete k"),
        ("delete k noreply x", "delete k"),
        ("delete k noreply\r", "delete k"),
        ("delete noreply", "quiet: delete noreply"),
        ("touch", FORMAT),
        ("touch k", FORMAT),
        ("touch noreply", FORMAT),
        ("touch k 0", "touch k 0"),
        ("touch k 0 x", "touch k 0"),
        ("touch k 0 x noreply", "quiet: touch k 0"),
        ("touch k x", EXPIRY),
        ("touch k x noreply", "quiet: CLIENT_ERROR invalid exptime argument"),
        ("touch k noreply", "quiet: CLIENT_ERROR invalid exptime argument"),
        ("incr", FORMAT),
        ("incr k", FORMAT),
        ("incr noreply", FORMAT),
        ("incr k 1", "incr k 1"),
        ("incr k 007", "incr k 007"),
        ("incr k 1 x", "incr k 1"),
        ("decr k 1 noreply", "quiet: decr k 1"),
        ("incr k x", DELTA),
        ("incr k +1", DELTA),
        ("incr k -1", DELTA),
        ("incr k 18446744073709551616", DELTA),
        ("incr k 18446744073709551615", "incr k 18446744073709551615"),
        ("incr k noreply", "quiet: CLIENT_ERROR invalid numeric delta argument"),
        ("decr k x noreply", "quiet: CLIENT_ERROR invalid numeric delta argument"),
    ]);
}

#[test]
fn commands_without_a_key() {
    lines_say(&[
        ("flush_all", "flush_all"),
        ("flush_all 0", "flush_all 0"),
        ("flush_all 0 0", "flush_all 0"),
        ("flush_all -1", "flush_all -1"),
        ("flush_all noreply", "quiet: flush_all"),
        ("flush_all noreply noreply", "quiet: CLIENT_ERROR invalid exptime argument"),
        ("flush_all 0  noreply", "quiet: flush_all 0"),
        ("flush_all 0 noreply x", "flush_all 0"),
        ("flush_all noreply x", EXPIRY),
        ("flush_all x", EXPIRY),
        ("flush_all x noreply", "quiet: CLIENT_ERROR invalid exptime argument"),
        ("flush_all 2147483648", EXPIRY),
        ("verbosity", FORMAT),
        ("verbosity 1", "verbosity 1"),
        ("verbosity 1 2 3", "verbosity 1"),
        ("verbosity 1 noreply", "quiet: verbosity 1"),
        ("verbosity 4294967295", "verbosity 4294967295"),
        ("verbosity 4294967296", FORMAT),
        ("verbosity x", FORMAT),
        ("verbosity -1", FORMAT),
        ("verbosity noreply", QUIET_FORMAT),
        ("verbosity x noreply", QUIET_FORMAT),
        ("cache_memlimit", "ERROR"),
        ("cache_memlimit x", "ERROR"),
        ("cache_memlimit -1", "ERROR"),
        ("cache_memlimit 64", "cache_memlimit 64"),
        ("cache_memlimit 064 x", "cache_memlimit 064"),
        ("cache_memlimit 64 noreply", "quiet: cache_memlimit 64"),
        ("cache_memlimit noreply", "quiet: ERROR"),
        ("cache_memlimit x noreply", "quiet: ERROR"),
        ("version", "version"),
        ("version x", "version"),
        ("version noreply", "version"),
        ("quit", "quit"),
        ("quit noreply", "quit"),
        ("mn", "mn"),
        ("mn x", "mn"),
        ("stats", "stats"),
        ("stats a b", "stats a b"),
        ("shutdown", "SERVER_ERROR: shutdown not enabled"),
        ("shutdown noreply", "quiet: SERVER_ERROR: shutdown not enabled"),
        ("shutdown graceful", "SERVER_ERROR: shutdown not enabled"),
        ("watch", "CLIENT_ERROR watch commands not allowed"),
        ("watch noreply", "CLIENT_ERROR watch commands not allowed"),
        ("watch fetchers", "CLIENT_ERROR watch commands not allowed"),
        ("lru_crawler", "ERROR"),
        ("lru_crawler x", "ERROR"),
        ("lru_crawler metadump", "ERROR"),
        ("lru_crawler mgdump", "ERROR"),
        ("lru_crawler metadump all", "lru_crawler metadump all"),
        ("lru_crawler mgdump hash", "lru_crawler mgdump hash"),
        ("lru_crawler metadump 1,2", "lru_crawler metadump 1,2"),
        ("lru_crawler metadump all x", "ERROR"),
    ]);
}

#[test]
fn commands_that_store() {
    for line in ["set", "set k", "set k 0", "set k 0 0", "cas k 0 0", "append k 0 0", "ms", "ms k"]
    {
        says(format!("{line}\r\nx\r\n"), &[FORMAT, FORMAT]);
    }
    for len in ["-1", "x", "1x", "+1", "0x1", "1.0", "1\0", "4294967297", "-0000000001"] {
        says(format!("set k 0 0 {len}\r\nx\r\n"), &[FORMAT, FORMAT]);
        says(format!("set k 0 0 {len} noreply\r\nx\r\n"), &[FORMAT, FORMAT]);
        says(format!("ms k {len}\r\nx\r\n"), &[FORMAT, FORMAT]);
    }
    for line in ["set k 0 0 01", "set  k 0 0  1", "set k 0 0 1 0", "set k 4294967296 -1 1"] {
        assert!(hear(format!("{line}\r\nx\r\n"), &super::LIMITS)[0].ends_with(" x"), "{line}");
    }
    for line in [
        "set k x 0 1",
        "set k -1 0 1",
        "set k 0 x 1",
        "cas k 0 0 1",
        "cas k 0 0 1 x",
        "cas k 0 0 1 -0",
    ] {
        says(format!("{line}\r\nx\r\n"), &[FORMAT, "swallowed 3"]);
        says(format!("{line} noreply\r\nx\r\n"), &[QUIET_FORMAT, "swallowed 3"]);
    }
    says("set k x 0 x\r\nx\r\n", &[FORMAT, FORMAT]);
    says("set k 0 0 noreply\r\nx\r\n", &[FORMAT, FORMAT]);
    says("cas k 0 0 1 0\r\nx\r\n", &["cas k 0 0 1 0 x"]);
    says("cas k 0 0 1 18446744073709551616\r\nx\r\n", &[FORMAT, "swallowed 3"]);
    says("set k 0 0 1 noreply\r\nx\r\n", &["quiet: set k 0 0 1 x"]);
    says("set k 0 0 1 x noreply\r\nx\r\n", &["quiet: set k 0 0 1 x"]);
    for word in ["noreply x", "NOREPLY", "noreplyx"] {
        says(format!("set k 0 0 1 {word}\r\nx\r\n"), &["set k 0 0 1 x"]);
    }
}

#[test]
fn data_blocks() {
    says("set k 0 0 1\nx\r\n", &["set k 0 0 1 x"]);
    says("set k 0 0 0\r\n\r\n", &["set k 0 0 0 "]);
    says("set k 0 0 -\r\n\r\n", &["set k 0 0 - "]);
    says("set k 0 0 1\r\nx\n", &["waits"]);
    says("set k 0 0 1\r\nx\nxyz\r\n", &[BLOCK, "ERROR"]);
    says("set k 0 0 1\r\nxy\r\nmn\r\n", &[BLOCK, FORMAT, "mn"]);
    says("set k 0 0 3\r\nx\r\nmn\r\n", &[BLOCK, FORMAT]);
    says("set k 0 0 0\r\nx\r\n", &[BLOCK, FORMAT]);
    says("set k 0 0 1 noreply\r\nxyz\r\n", &["quiet: CLIENT_ERROR bad data chunk", FORMAT]);
    says("ms k 1 q\r\nxyz\r\n", &[BLOCK, FORMAT]);
    says("ms k 0\r\nx\r\n", &[BLOCK, FORMAT]);
    says("set k x 0 1\r\nxab\r\n", &[FORMAT, "swallowed 3", FORMAT]);
}

#[test]
fn meta_commands() {
    lines_say(&[
        ("mg", FORMAT),
        ("mg ", FORMAT),
        ("md", FORMAT),
        ("ma", FORMAT),
        ("me", FORMAT),
        ("mg ?", "mg ?"),
        ("mg k ?", FORMAT),
        ("md k ?", FORMAT),
        ("ma k ?", FORMAT),
        ("me k ?", FORMAT),
        ("me k z z Cx", "me k"),
        ("mg k {", FORMAT),
        ("mg k `", "CLIENT_ERROR invalid flag"),
        ("mg  b k v", "mg b k v"),
        ("mg YSBi b k", "base64: mg YSBi b k"),
        ("md YSBi b", "base64: md YSBi b"),
        ("ma YSBi b", "base64: ma YSBi b"),
        ("mg k b", "CLIENT_ERROR error decoding key"),
        ("ma k b", "CLIENT_ERROR invalid or duplicate flag"),
    ]);
    says("ms k z\r\n", &[FORMAT]);
    says("ms k x z\r\n", &[FORMAT]);
    says("ms k 1 ?\r\nx\r\n", &[FORMAT, FORMAT]);
    says("ms k 1 z\r\nx\r\n", &["CLIENT_ERROR invalid flag", "swallowed 3"]);
    says("ms k 1 k k\r\nx\r\n", &["CLIENT_ERROR duplicate flag", "swallowed 3"]);
    says("ms k 1 Mz q\r\nx\r\n", &["CLIENT_ERROR invalid mode for ms M token", "swallowed 3"]);
    says("ms !! 1 b\r\nx\r\n", &["CLIENT_ERROR error decoding key", "swallowed 3"]);
    says("ms !! x b\r\nx\r\n", &[FORMAT, FORMAT]);
    says("ms k 1 z\r\nxy\r\n", &["CLIENT_ERROR invalid flag", "swallowed 3", FORMAT]);
    says("ms YSBi 1 b\r\nx\r\n", &["base64: ms YSBi 1 b x"]);
    says("ms  k  1  q \r\nx\r\n", &["ms k 1 q x"]);
}

#[test]
fn a_client_that_has_not_authenticated() {
    let hears = |input: &str, expected: &[&str]| {
        assert_eq!(hear(input, &STRANGER), expected, "{input:?}");
    };
    let refused = "CLIENT_ERROR unauthenticated";
    for line in [
        "version",
        "get kk",
        "add k 0 0 9",
        "set k",
        "set k 0 0 x",
        "set k 0 0 -1",
        "set k 0 0 +9",
        "set k 0 0 4294967305",
        "set k HTTP/",
        " set k 0 0 9",
        "SET k 0 0 9",
        "xx HTTP/1.0",
    ] {
        hears(&format!("{line}\r\n"), &[refused]);
    }
    hears("quit\r\n", &["closed"]);
    for line in
        ["set k 0 0 9", "set k x x 9", "set k 0 0 9 noreply", "set  k 0 0 09", "set k 0 0 9 HTTP/"]
    {
        hears(&format!("{line}\r\nuser pass\r\n"), &["authenticates: set user pass"]);
    }
    let long = "k".repeat(251);
    hears(&format!("set {long} 0 0 9\r\nuser pass\r\n"), &["authenticates: set user pass"]);
    hears("set k 0 0 9\r\nuser\tpass\r\n", &["CLIENT_ERROR bad authentication token format"]);
    hears("set k 0 0 0\r\n\r\n", &["CLIENT_ERROR bad authentication token format"]);
    hears("set k 0 0 2\r\n  \r\n", &["authenticates: set   "]);
    hears("set k 0 0 10\r\nuser  pass\r\n", &["authenticates: set user  pass"]);
    hears("set k 0 0 14\r\nuser pass rest\r\n", &["authenticates: set user pass rest"]);
    hears("set k 0 0 9\r\nuser passxx", &["CLIENT_ERROR bad command line termination"]);
    hears("set k 0 0 2147483648\r\n", &["CLIENT_ERROR auth token too long"]);
    hears("get kk\r\nset k 0 0 3\r\nu p\r\n", &[refused, "authenticates: set u p"]);
}
