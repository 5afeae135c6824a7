//! Scripts and the replies of Valkey 9.1.2: `tests/recorded/*.txt`, written by `record.py` there.

use script::Protocol;

use crate::host::Server;

#[test]
fn the_language_is_as_valkey_has_it() {
    play(include_str!("../recorded/language.txt"));
}

#[test]
fn more_of_the_language_is_as_valkey_has_it() {
    play(include_str!("../recorded/more.txt"));
}

#[test]
fn the_sandbox_is_as_valkey_has_it() {
    play(include_str!("../recorded/sandbox.txt"));
}

#[test]
fn errors_are_as_valkey_has_them() {
    play(include_str!("../recorded/errors.txt"));
}

#[test]
fn returned_values_are_as_valkey_has_them() {
    play(include_str!("../recorded/returned.txt"));
}

#[test]
fn arguments_of_commands_are_as_valkey_has_them() {
    play(include_str!("../recorded/arguments.txt"));
}

#[test]
fn the_table_redis_is_as_valkey_has_it() {
    play(include_str!("../recorded/api.txt"));
}

#[test]
fn json_is_as_valkey_has_it() {
    play(include_str!("../recorded/json.txt"));
}

#[test]
fn message_pack_is_as_valkey_has_it() {
    play(include_str!("../recorded/message_pack.txt"));
}

#[test]
fn struct_is_as_valkey_has_it() {
    play(include_str!("../recorded/packed_struct.txt"));
}

#[test]
fn bit_is_as_valkey_has_it() {
    play(include_str!("../recorded/bits.txt"));
}

#[test]
fn what_is_drawn_at_random_is_as_valkey_has_it() {
    play(include_str!("../recorded/random.txt"));
}

/// Runs each script of a recording in one interpreter, and compares all replies.
fn play(recording: &str) {
    let mut server = Server::new();
    let mut script = String::new();
    let mut differences = String::new();
    for line in recording.lines() {
        match line.split_at_checked(2) {
            Some(("2>", text)) => {
                (server.protocol, script) = (Protocol::Resp2, text.trim_start().replace('¶', "\n"))
            }
            Some(("3>", text)) => {
                (server.protocol, script) = (Protocol::Resp3, text.trim_start().replace('¶', "\n"))
            }
            Some(("< ", text)) => {
                let reply = escape(&server.eval(&script));
                if reply != text {
                    differences += &format!("{script}\n  Valkey {text}\n  ours   {reply}\n");
                }
            }
            _ => assert!(line.is_empty() || line.starts_with('#'), "{line}"),
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

fn escape(bytes: &[u8]) -> String {
    let one = |&byte: &u8| match byte {
        b'\r' => "\\r".to_owned(),
        b'\n' => "\\n".to_owned(),
        b'\\' => "\\\\".to_owned(),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    };
    bytes.iter().map(one).collect()
}
