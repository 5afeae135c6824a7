//! Any lines as the answers of a primary, and any bytes as the snapshot that it sends: a handshake
//! ends or waits, and what is passed on of a snapshot is what came before its mark or its length.
#![no_main]

use journal::sync_line::ReplicationId;
use libfuzzer_sys::fuzz_target;
use replication::{Ending, Handshake, Next, Own, Transfer};

fuzz_target!(|answers: &[u8]| {
    for has in [None, Some(99)] {
        answer(answers, has);
    }
});

fn answer(answers: &[u8], has: Option<u64>) {
    let id = ReplicationId::parse(&[b'a'; 40]).expect("digits");
    let password = has.map(|_| b"secret".to_vec());
    let has = has.map(|offset| (id, offset));
    let own = Own { password, version: "9.1.2", has, ..Own::default() };
    let (mut handshake, _) = Handshake::begin(own);
    let mut rest = answers;
    let mut sends = 0;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        rest = &rest[end + 1..];
        match handshake.take(line) {
            Ok(Next::Wait) => {}
            Ok(Next::Send(bytes)) => {
                assert!(!bytes.is_empty());
                sends += 1;
            }
            Ok(Next::Done(_)) => break,
            Err(refused) => {
                assert!(refused.to_string().len() < 2048);
                return;
            }
        }
    }
    assert!(sends <= 2);
    for piece in [1, 7, 100] {
        receive(rest, piece);
    }
}

/// Takes a snapshot in pieces of this length.
fn receive(bytes: &[u8], piece: usize) {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return };
    let Some(transfer) = Transfer::parse(&bytes[..end]) else { return };
    let all = &bytes[end + 1..];
    let (mut ending, mut passed) = (Ending::new(transfer), Vec::new());
    for piece in all.chunks(piece) {
        let came = ending.take(piece, |it| passed.extend_from_slice(it));
        assert!(came.taken == piece.len() || came.is_whole);
        assert_eq!(ending.passed(), passed.len() as u64);
        assert!(all.starts_with(&passed));
        if came.is_whole {
            match transfer {
                Transfer::Length(length) => assert_eq!(passed.len() as u64, length),
                Transfer::Mark(mark) => assert!(all[passed.len()..].starts_with(&mark)),
            }
            return;
        }
    }
    assert!(all.len() - passed.len() <= 40);
}
