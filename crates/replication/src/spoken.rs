//! What primary and replica say to each other once the stream flows.

use journal::unit::{Command, Words, encode};
use text::parse_u64;

/// By which a replica knows that its primary lives. It is a part of the stream.
pub const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";
/// Asks replicas for an acknowledgement. It is a part of the stream.
pub const GETACK: &[u8] = b"*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n";

/// Bytes of a stream that change nothing, so many; `None` for numbers that are too small for a
/// command, and for some others.
pub fn filler(bytes: usize) -> Option<Vec<u8>> {
    if bytes == PING.len() {
        return Some(PING.to_vec());
    }
    // A PING that says something; its length has one digit or more.
    let text = |bytes: usize| {
        let fits = |text: &usize| with_text(*text).len() + text + END.len() == bytes;
        (1..=bytes.to_string().len()).filter_map(|it| bytes.checked_sub(SAID + it)).find(fits)
    };
    let (before, text) = match text(bytes) {
        Some(text) => (&[][..], text),
        None => (PING, text(bytes.checked_sub(PING.len())?)?),
    };
    Some([before, with_text(text).as_bytes(), &vec![b' '; text], END].concat())
}

/// Bytes of a PING with a text, but for the text and the digits of its length.
const SAID: usize = 19;
const END: &[u8] = b"\r\n";

/// A PING with a text of so many bytes, up to the text.
fn with_text(text: usize) -> String {
    format!("*2\r\n$4\r\nPING\r\n${text}\r\n")
}

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
    fn all_gaps_but_a_few_can_be_filled_with_what_changes_nothing() {
        let impossible: Vec<usize> = (0..3000).filter(|bytes| filler(*bytes).is_none()).collect();
        let small = (0..14).chain(15..20).chain([30]);
        assert_eq!(impossible, small.collect::<Vec<_>>());
        for bytes in [14, 20, 29, 31, 34, 120, 121, 122, 1020, 1021, 1022, 1023, 1 << 20] {
            let filler = filler(bytes).expect("possible");
            assert_eq!(filler.len(), bytes);
            let (mut units, mut at) = (crate::units::Units::default(), 0);
            while let Some(unit) = units.next(&filler[at..]).expect("a stream") {
                assert!(unit.commands().all(|it| it.words[0].of(it.bytes) == b"PING"));
                at += unit.bytes().len();
            }
            assert_eq!(at, bytes, "whole commands");
        }
    }

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
