//! How far a server has come that follows another one. It stands in a key of that server, which is
//! written in the same transaction as the commands before it: whatever breaks, and whatever the
//! server loses, the key tells what it has.

use crate::scope::POSITION_PREFIX;
use replication::ReplicationId;

/// What the key says while keys of a snapshot arrive: nothing that could be gone on from.
pub const INCOMPLETE: &[u8] = b"incomplete";

/// A place in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Whose stream it is.
    pub id: ReplicationId,
    /// Bytes of it that have arrived.
    pub offset: u64,
    /// Number of the database that is selected there.
    pub database: u64,
}

impl Position {
    /// Reads the key's value.
    pub fn parse(value: &[u8]) -> Option<Position> {
        let mut words = value.split(|byte| *byte == b' ');
        let id = ReplicationId::parse(words.next()?)?;
        let [offset, database] = [words.next()?, words.next()?].map(text::parse_u64);
        words.next().is_none().then_some(Position { id, offset: offset?, database: database? })
    }

    /// The key's value.
    pub fn value(&self) -> Vec<u8> {
        format!("{} {} {}", self.id.as_str(), self.offset, self.database).into_bytes()
    }
}

/// Name of the key of one that follows.
pub fn key_of(identity: &str) -> Vec<u8> {
    [POSITION_PREFIX, identity.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_was_written() {
        let id = ReplicationId::parse(&[b'a'; 40]).expect("digits");
        let position = Position { id, offset: 77, database: 3 };
        assert_eq!(Position::parse(&position.value()), Some(position));
        for wrong in [&b""[..], INCOMPLETE, b"a 1 2", &[&position.value()[..], b" 4"].concat()] {
            assert_eq!(Position::parse(wrong), None);
        }
    }
}
