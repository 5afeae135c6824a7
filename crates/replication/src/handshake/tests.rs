use super::*;
use proptest::prelude::{ProptestConfig, prop_assert, proptest};

const ID: &str = "13186f93de41c9b3ab511aed046edf44d2764afb";

fn own() -> Own {
    Own { port: 7000, version: "9.1.2", ..Own::default() }
}

fn having(offset: u64) -> Own {
    Own { has: ReplicationId::parse(ID.as_bytes()).map(|id| (id, offset)), ..own() }
}

/// Plays the primary's lines, and returns what the replica has sent, word by word, and its end.
fn play(own: Own, lines: &[&str]) -> (Vec<String>, Result<Next, Refused>) {
    let (mut handshake, first) = Handshake::begin(own);
    let (mut sent, mut last) = (words(&first), Ok(Next::Wait));
    for line in lines {
        last = handshake.take(line.as_bytes());
        match &last {
            Ok(Next::Send(bytes)) => sent.extend(words(bytes)),
            Ok(Next::Wait) => {}
            _ => break,
        }
    }
    (sent, last)
}

fn words(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8(bytes.to_vec()).expect("tests send text");
    let mut requests: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        match line.as_bytes()[0] {
            b'*' => requests.push(Vec::new()),
            b'$' => {}
            _ => requests.last_mut().expect("a request has begun").push(line),
        }
    }
    requests.iter().map(|words| words.join(" ")).collect()
}

#[test]
fn a_replica_that_has_nothing_says_what_valkey_says() {
    let full = format!("+FULLRESYNC {ID} 14");
    let (sent, end) = play(own(), &["+PONG", "+OK", "+OK", "+OK", "", "", &full]);
    let said = [
        "PING",
        "REPLCONF listening-port 7000",
        "REPLCONF capa eof capa psync2",
        "REPLCONF version 9.1.2",
        "PSYNC ? -1",
    ];
    assert_eq!(sent, said);
    let id = ReplicationId::parse(ID.as_bytes()).expect("digits");
    assert_eq!(end, Ok(Next::Done(Synced::Snapshot(id, 14))));
}

#[test]
fn it_asks_for_the_byte_behind_those_that_it_has() {
    let (sent, end) = play(having(99), &["+PONG", "+OK", "+OK", "+OK", "+CONTINUE"]);
    assert_eq!(sent.last(), Some(&format!("PSYNC {ID} 100")));
    assert_eq!(end, Ok(Next::Done(Synced::Continues(None))));
    let other = "B".repeat(40);
    let told = format!("+CONTINUE {other}");
    let (_, end) = play(having(99), &["+PONG", "+OK", "+OK", "+OK", &told]);
    let id = ReplicationId::parse(other.to_ascii_lowercase().as_bytes());
    assert_eq!(end, Ok(Next::Done(Synced::Continues(id))));
}

#[test]
fn it_logs_in_once_it_is_asked_to_and_tells_another_address() {
    let own = Own {
        user: Some(b"replicator".to_vec()),
        password: Some(b"secret".to_vec()),
        address: Some(b"replica.example".to_vec()),
        ..own()
    };
    let (sent, _) = play(own.clone(), &["-NOAUTH Authentication required.", "+OK", "+OK"]);
    assert_eq!(sent[1], "AUTH replicator secret");
    assert_eq!(sent[3], "REPLCONF ip-address replica.example");
    assert!(!format!("{own:?}").contains("secret"));
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.";
    let (_, end) = play(own, &["+PONG", wrong]);
    assert_eq!(end, Err(Refused::Auth(wrong.to_owned())));
}

#[test]
fn options_that_a_primary_does_not_know_change_nothing() {
    let unknown = "-ERR Unrecognized REPLCONF option: version";
    let (sent, end) = play(own(), &["+PONG", "+OK", unknown, unknown]);
    assert_eq!(sent.last().map(String::as_str), Some("PSYNC ? -1"));
    assert!(matches!(end, Ok(Next::Send(_))));
}

#[test]
fn what_a_primary_refuses_is_told_apart() {
    let begin = ["+PONG", "+OK", "+OK", "+OK"];
    let with = |line| [&begin[..], &[line]].concat();
    for not_yet in ["-NOMASTERLINK Can't SYNC while not connected with my primary", "-LOADING x"] {
        let (_, end) = play(own(), &with(not_yet));
        assert_eq!(end, Err(Refused::NotYet(not_yet.to_owned())));
    }
    let (_, end) = play(own(), &with("-ERR unknown command 'PSYNC'"));
    assert!(matches!(end, Err(Refused::Psync(_))));
    assert!(matches!(play(own(), &["-MISCONF no"]).1, Err(Refused::Ping(_))));
}

#[test]
fn what_is_no_answer_ends_the_link() {
    let begin = ["+PONG", "+OK", "+OK", "+OK"];
    let full = |rest: &str| format!("+FULLRESYNC {rest}");
    let answers = [
        "+CONTINUE".to_owned(),
        "+OK".to_owned(),
        "$5".to_owned(),
        full(""),
        full(ID),
        full(&format!("{ID} -1")),
        full(&format!("{ID} 99999999999999999999")),
        full(&format!("{ID} 1 2")),
        full(&format!("{} 1", &ID[1..])),
        format!("+DUALCHANNELSYNC {ID}"),
    ];
    for answer in &answers {
        let (_, end) = play(own(), &[&begin[..], &[answer]].concat());
        assert!(matches!(end, Err(Refused::Garbage("PSYNC", _))), "{answer}: {end:?}");
    }
    let endless = format!("+{}", "x".repeat(LINE_BYTES_MAX));
    assert!(matches!(play(own(), &[&endless]).1, Err(Refused::Garbage("PING", _))));
    assert!(matches!(play(own(), &["PONG"]).1, Err(Refused::Garbage("PING", _))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 1_000 }))]

    #[test]
    fn whatever_a_primary_says_a_handshake_ends_or_waits(
        lines in proptest::collection::vec(
            "[-+$:*]?(PONG|OK|CONTINUE|FULLRESYNC|NOAUTH|.{0,40})( .{0,50})?",
            0..12,
        )
    ) {
        let (mut handshake, _) = Handshake::begin(having(u64::MAX));
        let mut sends = 0;
        for line in &lines {
            match handshake.take(line.as_bytes()) {
                Ok(Next::Send(_)) => sends += 1,
                Ok(Next::Wait) => {}
                _ => break,
            }
        }
        prop_assert!(sends <= 2, "facts and PSYNC");
    }
}
