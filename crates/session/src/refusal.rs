//! Errors that tell clients why a command was not executed, with Valkey's texts.

use std::borrow::Cow;
use std::fmt;

/// Error reply for the client: the whole text, with its code in front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(Cow<'static, [u8]>);

impl Refusal {
    /// Options that do not fit together.
    pub const SYNTAX: Refusal = Refusal::of("ERR syntax error");
    /// PSYNC while the server hands over to a replica.
    pub const FAILS_OVER: Refusal = Refusal::of("NOMASTERLINK Can't SYNC while failing over");
    /// PSYNC of a primary that hands over to a server without its stream.
    pub const OTHER_STREAM: Refusal =
        Refusal::of("ERR PSYNC FAILOVER replid must match my replid.");
    /// Argument that is no integer.
    pub const NOT_INTEGER: Refusal = Refusal::of("ERR value is not an integer or out of range");
    /// Argument that is no floating-point number.
    pub const NOT_FLOAT: Refusal = Refusal::of("ERR value is not a valid float");
    /// Key that holds another kind of value.
    pub const WRONG_TYPE: Refusal =
        Refusal::of("WRONGTYPE Operation against a key holding the wrong kind of value");
    /// Key that must exist and does not.
    pub const NO_SUCH_KEY: Refusal = Refusal::of("ERR no such key");
    /// Memory is used up.
    pub const OUT_OF_MEMORY: Refusal =
        Refusal::of("OOM command not allowed when used memory > 'maxmemory'.");
    /// A database number that does not exist.
    pub const DB_INDEX: Refusal = Refusal::of("ERR DB index is out of range");
    /// Command that needs the data while it is loaded.
    pub const LOADING: Refusal = Refusal::of("LOADING Valkey is loading the dataset in memory");
    /// Wait of a client while the server becomes a replica.
    pub const OTHER_ROLE: Refusal = Refusal::of(
        "UNBLOCKED force unblock from blocking operation, instance state changed (master -> \
         replica?)",
    );
    /// PSYNC behind replies that have not left.
    pub const PENDING_OUTPUT: Refusal =
        Refusal::of("ERR SYNC and PSYNC are invalid with pending output");
    /// Client that is not authenticated.
    pub const NO_AUTH: Refusal = Refusal::of("NOAUTH Authentication required.");

    /// Creates an error with a fixed text.
    pub const fn of(text: &'static str) -> Refusal {
        Refusal(Cow::Borrowed(text.as_bytes()))
    }

    /// Creates an error with a text made at run time.
    pub fn new(text: impl Into<Vec<u8>>) -> Refusal {
        Refusal(Cow::Owned(text.into()))
    }

    /// Creates an error that repeats what the client sent: each `{}` of the template is replaced by
    /// the next word, which ends at its first zero byte, as C strings are.
    pub fn naming(template: &str, words: &[&[u8]]) -> Refusal {
        let mut words = words.iter();
        let mut text = Vec::new();
        for (at, part) in template.split("{}").enumerate() {
            if at > 0 {
                text.extend(words.next().into_iter().copied().flat_map(until_zero));
            }
            text.extend_from_slice(part.as_bytes());
        }
        let end = text.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n'));
        text.truncate(end.map_or(0, |last| last + 1));
        Refusal::new(text)
    }

    /// The refusal of EXEC for this reason, which drops the transaction.
    pub fn aborting(&self) -> Refusal {
        let reason = self.0.strip_prefix(b"ERR ").unwrap_or(&self.0);
        let begin = b"EXECABORT Transaction discarded because of: ";
        Refusal::new([&begin[..], reason].concat())
    }

    /// The whole text.
    pub fn text(&self) -> &[u8] {
        &self.0
    }

    /// The code in front of the text, as INFO's errorstats count it.
    pub fn code(&self) -> &str {
        let code = self.0.split(|byte| *byte == b' ').next().unwrap_or_default();
        std::str::from_utf8(code).unwrap_or("ERR")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

/// Maximum bytes that errors repeat of a client's argument that may have any length.
const REPEATED_MAX: usize = 128;

/// Returns the first `REPEATED_MAX` bytes of a client's argument.
pub fn begin_of(word: &[u8]) -> &[u8] {
    &word[..word.len().min(REPEATED_MAX)]
}

/// Quotes the first arguments of a request that names no command, about `REPEATED_MAX` bytes of
/// them.
pub fn begin_of_all<'w>(words: impl Iterator<Item = &'w [u8]>) -> Vec<u8> {
    let mut quoted = Vec::new();
    for word in words {
        if quoted.len() >= REPEATED_MAX {
            break;
        }
        let word = &word[..word.len().min(REPEATED_MAX - quoted.len())];
        quoted.push(b'\'');
        quoted.extend(until_zero(word));
        quoted.extend_from_slice(b"' ");
    }
    quoted
}

fn until_zero(word: &[u8]) -> impl Iterator<Item = u8> {
    word.iter().copied().take_while(|byte| *byte != 0)
}

#[cfg(test)]
mod tests {
    use super::{Refusal, begin_of_all};

    #[test]
    fn a_clients_words_are_repeated_byte_by_byte_up_to_a_zero() {
        let refusal = Refusal::naming("ERR no '{}' in '{}'", &[b"\xff{}\0x", b"\r\n"]);
        assert_eq!(refusal.text(), b"ERR no '\xff{}' in '\r\n'");
        assert_eq!(refusal.code(), "ERR");
    }

    #[test]
    fn line_ends_at_the_end_are_left_out() {
        let refusal = Refusal::naming("ERR Unsupported option {}", &[b"a\nb\r\n"]);
        assert_eq!(refusal.text(), b"ERR Unsupported option a\nb");
    }

    #[test]
    fn some_128_bytes_of_an_unknown_request_are_repeated() {
        let long = [b'x'; 200];
        assert_eq!(begin_of_all([&b"a\0b"[..], &b""[..]].into_iter()), b"'a' '' ");
        assert_eq!(begin_of_all([&long[..], &long[..]].into_iter()).len(), 128 + 3);
        assert_eq!(begin_of_all([&long[..120], &long[..]].into_iter()).len(), 123 + 5 + 3);
    }
}
