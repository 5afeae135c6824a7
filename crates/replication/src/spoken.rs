//! What primary and replica say to each other once the stream flows.

use journal::unit::{Command, Words, encode};
use text::parse_u64;

/// By which a replica knows that its primary lives. It is a part of the stream.
pub const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";
/// Asks replicas for an acknowledgement. It is a part of the stream.
pub const GETACK: &[u8] = b"*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n";

/// What a replica says of the bytes that it has, and of those that its files have, if it has some.
pub fn acknowledgement(offset: u64, synced: Option<u64>) -> Vec<u8> {
    let (offset, synced) = (offset.to_string(), synced.map(|it| it.to_string()));
    let mut words: Vec<&[u8]> = vec![b"REPLCONF", b"ACK", offset.as_bytes()];
    if let Some(synced) = &synced {
        words.extend([&b"FACK"[..], synced.as_bytes()]);
    }
    let (command, mut bytes) = (Command { database: 0, words: Words::Args(&words) }, Vec::new());
    encode(0, std::iter::once(command), &mut |piece| bytes.extend_from_slice(piece));
    bytes
}

/// What a replica says to its primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// It has the stream up to this offset, and up to this one in its files, if it tells that.
    Acknowledged(u64, Option<u64>),
    /// Nothing that matters.
    Other,
}

impl Said {
    /// Understands a request of a replica, of which there may be no words. Without an offset that
    /// can be read it says nothing. `None` if it is not what replicas say.
    pub fn of(words: &[&[u8]]) -> Option<Said> {
        let is = |at: usize, name: &str| {
            words.get(at).is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
        };
        if is(0, "REPLCONF") && is(1, "ACK") {
            let offset = |at: usize| words.get(at).and_then(|word| parse_u64(word));
            let synced = if is(3, "FACK") { offset(4) } else { None };
            return Some(offset(2).map_or(Said::Other, |it| Said::Acknowledged(it, synced)));
        }
        (words.is_empty() || is(0, "REPLCONF") || is(0, "PING")).then_some(Said::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_are_understood_and_so_is_what_no_replica_says() {
        let said = |text: &str| {
            let words: Vec<&[u8]> = text.split_ascii_whitespace().map(str::as_bytes).collect();
            Said::of(&words)
        };
        assert_eq!(said("REPLCONF ACK 70"), Some(Said::Acknowledged(70, None)));
        assert_eq!(said("replconf ack 70 fack 60"), Some(Said::Acknowledged(70, Some(60))));
        for other in ["", "PING", "REPLCONF GETACK *", "REPLCONF ACK x", "REPLCONF ACK -1"] {
            assert_eq!(said(other), Some(Said::Other), "{other}");
        }
        assert_eq!(said("SET k v"), None);
    }
}
