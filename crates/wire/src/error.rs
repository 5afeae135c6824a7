//! Protocol errors: reasons why the bytes of a connection are not a valid request.

/// Error in a request. The connection replies with the text and closes, as the beginning of the
/// next request in the stream is unknown.
///
/// The text is the part of the reply behind `-ERR `.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProtocolError {
    /// No end of line within the inline limit.
    #[error("Protocol error: too big inline request")]
    InlineTooLong,
    /// A quote in an inline request is not closed.
    #[error("Protocol error: unbalanced quotes in request")]
    UnbalancedQuotes,
    /// No end of line after the `*` of a request.
    #[error("Protocol error: too big mbulk count string")]
    ArgumentCountTooLong,
    /// The number of arguments is not a number or too large.
    #[error("Protocol error: invalid multibulk length")]
    ArgumentCountInvalid,
    /// More arguments than a client may send before it has authenticated.
    #[error("Protocol error: unauthenticated multibulk length")]
    ArgumentCountUnauthenticated,
    /// No end of line after the `$` of an argument.
    #[error("Protocol error: too big bulk count string")]
    BulkLengthTooLong,
    /// The length of an argument is not a number or too large.
    #[error("Protocol error: invalid bulk length")]
    BulkLengthInvalid,
    /// A longer argument than a client may send before it has authenticated.
    #[error("Protocol error: unauthenticated bulk length")]
    BulkLengthUnauthenticated,
    /// An argument begins with this byte, where `$` must stand. See also [`ProtocolError::text`].
    #[error("Protocol error: expected '$', got '{}'", char::from(*.0))]
    BulkExpected(u8),
    /// A carriage return without line feed, or an argument without line end.
    #[error("Protocol error: invalid CRLF in request")]
    LineEndInvalid,
    /// The request as a whole is longer than 4 GiB.
    #[error("Protocol error: too big request")]
    RequestTooLong,
}

impl ProtocolError {
    /// Returns the text as bytes. It differs from `Display` where the client's own byte is shown:
    /// that byte is returned unchanged.
    pub fn text(&self) -> Vec<u8> {
        match self {
            Self::BulkExpected(byte) => {
                [b"Protocol error: expected '$', got '", &[*byte][..], b"'"].concat()
            }
            other => other.to_string().into_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ProtocolError;

    #[test]
    fn the_clients_byte_goes_back_as_it_came() {
        assert_eq!(
            ProtocolError::BulkExpected(b'+').to_string(),
            "Protocol error: expected '$', got '+'"
        );
        assert_eq!(
            ProtocolError::BulkExpected(0xff).text(),
            b"Protocol error: expected '$', got '\xff'"
        );
        assert_eq!(
            ProtocolError::LineEndInvalid.text(),
            b"Protocol error: invalid CRLF in request"
        );
    }
}
