//! Text of a request in each protocol.

use anyhow::{Result, ensure};

use super::answer::Answer;
use super::key_text::KEY_BYTES;
use super::operation::Operation;
use super::protocol::Protocol;

/// Offsets in a request that are written anew for each key.
#[derive(Clone, Copy)]
pub(super) struct Places {
    /// Offset behind the last digit of the key.
    pub(super) key_end: usize,
    /// Offset of the 13 digits of the deadline; zero if the request has none.
    pub(super) deadline_at: usize,
    /// Kind of its reply.
    pub(super) answer: Answer,
}

/// Refuses operations that the protocol does not have.
pub(super) fn check(protocol: Protocol, operation: Operation) -> Result<()> {
    if protocol == Protocol::Memcached {
        let has_deadlines = matches!(operation, Operation::SetUntil(_));
        ensure!(!has_deadlines, "memcached knows no deadlines in milliseconds");
        let is_long = matches!(operation, Operation::SetFor(seconds) if seconds > MONTH_SECONDS);
        ensure!(!is_long, "memcached takes more than {MONTH_SECONDS} seconds for a date");
    }
    Ok(())
}

/// Appends a request for a key whose digits are all zero. A mix is written as its SETs.
pub(super) fn push(
    protocol: Protocol,
    operation: Operation,
    value: &[u8],
    bytes: &mut Vec<u8>,
) -> Places {
    match protocol {
        Protocol::Resp => push_resp(operation, value, bytes),
        Protocol::Memcached => push_memcached(operation, value, bytes),
    }
}

fn push_resp(operation: Operation, value: &[u8], bytes: &mut Vec<u8>) -> Places {
    let seconds;
    let (parts, answer): (&[&[u8]], Answer) = match operation {
        Operation::Get => (&[b"GET", KEY], Answer::Value),
        Operation::Delete => (&[b"DEL", KEY], Answer::Integer),
        Operation::Set | Operation::Mixed(_) => (&[b"SET", KEY, value], Answer::Status),
        Operation::SetFor(time) => {
            seconds = time.to_string();
            (&[b"SET", KEY, value, b"EX", seconds.as_bytes()], Answer::Status)
        }
        Operation::SetUntil(_) => (&[b"SET", KEY, value, b"PXAT", NO_DEADLINE], Answer::Status),
    };
    let mut key_end = 0;
    bytes.extend_from_slice(format!("*{}\r\n", parts.len()).as_bytes());
    for (index, part) in parts.iter().enumerate() {
        bytes.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
        bytes.extend_from_slice(part);
        if index == 1 {
            key_end = bytes.len();
        }
        bytes.extend_from_slice(b"\r\n");
    }
    let has_deadline = matches!(operation, Operation::SetUntil(_));
    let deadline_at = if has_deadline { bytes.len() - 2 - NO_DEADLINE.len() } else { 0 };
    Places { key_end, deadline_at, answer }
}

/// Appends a request of memcached's protocol; an operation that [`check`] refuses is written
/// without its deadline.
fn push_memcached(operation: Operation, value: &[u8], bytes: &mut Vec<u8>) -> Places {
    let (verb, seconds, answer): (&[u8], _, _) = match operation {
        Operation::Get => (b"get ", 0, Answer::Value),
        Operation::Delete => (b"delete ", 0, Answer::Integer),
        Operation::SetFor(seconds) => (b"set ", seconds, Answer::Status),
        Operation::Set | Operation::Mixed(_) | Operation::SetUntil(_) => {
            (b"set ", 0, Answer::Status)
        }
    };
    bytes.extend_from_slice(verb);
    bytes.extend_from_slice(KEY);
    let key_end = bytes.len();
    if answer == Answer::Status {
        bytes.extend_from_slice(format!(" 0 {seconds} {}\r\n", value.len()).as_bytes());
        bytes.extend_from_slice(value);
    }
    bytes.extend_from_slice(b"\r\n");
    Places { key_end, deadline_at: 0, answer }
}

const KEY: &[u8] = b"k000000000000000";
const NO_DEADLINE: &[u8] = b"0000000000000";
const MONTH_SECONDS: u32 = 30 * 24 * 3600;
const _: () = assert!(KEY.len() == KEY_BYTES);

#[cfg(test)]
mod tests {
    use super::{MONTH_SECONDS, Operation, Protocol, check, push};
    use crate::generator::Deadlines;

    fn memcached(operation: Operation) -> String {
        let mut bytes = Vec::new();
        let places = push(Protocol::Memcached, operation, b"abc", &mut bytes);
        assert!(bytes[..places.key_end].ends_with(b" k000000000000000"));
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn memcached_requests_are_lines() {
        assert_eq!(memcached(Operation::Get), "get k000000000000000\r\n");
        assert_eq!(memcached(Operation::Delete), "delete k000000000000000\r\n");
        assert_eq!(memcached(Operation::Set), "set k000000000000000 0 0 3\r\nabc\r\n");
        assert_eq!(memcached(Operation::SetFor(60)), "set k000000000000000 0 60 3\r\nabc\r\n");
    }

    #[test]
    fn what_memcached_cannot_say_is_refused() {
        let deadlines = Deadlines { first_ms: 0, span_ms: 0, count: 1 };
        let refused = [Operation::SetUntil(deadlines), Operation::SetFor(MONTH_SECONDS + 1)];
        for operation in refused {
            assert!(check(Protocol::Memcached, operation).is_err());
            assert!(check(Protocol::Resp, operation).is_ok());
        }
        assert!(check(Protocol::Memcached, Operation::SetFor(MONTH_SECONDS)).is_ok());
    }
}
