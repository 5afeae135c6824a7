//! Refusals: reasons for which a line is not executed, and what is answered.

/// Reason for which a line, with its data block, is refused. The connection goes on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Refusal {
    /// No command has this name, or not with these words.
    Unknown,
    /// A word is missing, is too long or is no number, or a meta flag begins with a character that
    /// no flag has.
    Format,
    /// A data block does not end where it was announced to end.
    DataBlock,
    /// The expiry of touch, gat, gats or flush_all is no number of 32 bits.
    Expiry,
    /// The number to add or subtract is none of 64 bits without a sign.
    Delta,
    /// The data block is longer than an item may be.
    TooLarge,
    /// A flag of a meta command stands there twice.
    DuplicateFlag,
    /// No meta command has this flag.
    InvalidFlag,
    /// A meta command has more words than 20.
    TooManyFlags,
    /// The key of a meta command with flag `b` is not base64.
    KeyEncoding,
    /// The number behind a flag C, E, N, R or T is none, or too large.
    FlagNumber,
    /// The number behind a flag D is none, outside of `ma`.
    FlagDelta,
    /// The number behind a flag J is none, outside of `ma`.
    FlagInitial,
    /// The text behind flag O is longer than 31 bytes, with its letter 32.
    OpaqueTooLong,
    /// No mode of `ms` begins with this letter.
    SetMode,
    /// No mode of `ma` begins with this letter.
    ArithmeticMode,
    /// Anything wrong with key or flags of `ma` that has no reason of its own there.
    ArithmeticFlags,
    /// The client has not authenticated, and this is no `set` that does.
    Unauthenticated,
    /// The block that authenticates has no blank between name and password.
    CredentialsFormat,
    /// The block that authenticates is announced longer than 16 KiB.
    CredentialsTooLong,
    /// The block that authenticates does not end where it was announced to end.
    CredentialsEnd,
    /// There is no log to watch.
    Watch,
    /// A client cannot stop the server.
    Shutdown,
}

impl Refusal {
    /// All refusals.
    pub const ALL: [Refusal; 23] = [
        Refusal::Unknown,
        Refusal::Format,
        Refusal::DataBlock,
        Refusal::Expiry,
        Refusal::Delta,
        Refusal::TooLarge,
        Refusal::DuplicateFlag,
        Refusal::InvalidFlag,
        Refusal::TooManyFlags,
        Refusal::KeyEncoding,
        Refusal::FlagNumber,
        Refusal::FlagDelta,
        Refusal::FlagInitial,
        Refusal::OpaqueTooLong,
        Refusal::SetMode,
        Refusal::ArithmeticMode,
        Refusal::ArithmeticFlags,
        Refusal::Unauthenticated,
        Refusal::CredentialsFormat,
        Refusal::CredentialsTooLong,
        Refusal::CredentialsEnd,
        Refusal::Watch,
        Refusal::Shutdown,
    ];

    /// Returns the line that is answered, with its line end.
    pub fn line(self) -> &'static [u8] {
        match self {
            Refusal::Unknown => b"ERROR\r\n",
            Refusal::Format => b"CLIENT_ERROR bad command line format\r\n",
            Refusal::DataBlock => b"CLIENT_ERROR bad data chunk\r\n",
            Refusal::Expiry => b"CLIENT_ERROR invalid exptime argument\r\n",
            Refusal::Delta => b"CLIENT_ERROR invalid numeric delta argument\r\n",
            Refusal::TooLarge => b"SERVER_ERROR object too large for cache\r\n",
            Refusal::DuplicateFlag => b"CLIENT_ERROR duplicate flag\r\n",
            Refusal::InvalidFlag => b"CLIENT_ERROR invalid flag\r\n",
            Refusal::TooManyFlags => b"CLIENT_ERROR options flags are too long\r\n",
            Refusal::KeyEncoding => b"CLIENT_ERROR error decoding key\r\n",
            Refusal::FlagNumber => b"CLIENT_ERROR bad token in command line format\r\n",
            Refusal::FlagDelta => b"CLIENT_ERROR invalid numeric delta value\r\n",
            Refusal::FlagInitial => b"CLIENT_ERROR invalid numeric initial value\r\n",
            Refusal::OpaqueTooLong => b"CLIENT_ERROR opaque token too long\r\n",
            Refusal::SetMode => b"CLIENT_ERROR invalid mode for ms M token\r\n",
            Refusal::ArithmeticMode => b"CLIENT_ERROR invalid mode for ma M token\r\n",
            Refusal::ArithmeticFlags => b"CLIENT_ERROR invalid or duplicate flag\r\n",
            Refusal::Unauthenticated => b"CLIENT_ERROR unauthenticated\r\n",
            Refusal::CredentialsFormat => b"CLIENT_ERROR bad authentication token format\r\n",
            Refusal::CredentialsTooLong => b"CLIENT_ERROR auth token too long\r\n",
            Refusal::CredentialsEnd => b"CLIENT_ERROR bad command line termination\r\n",
            Refusal::Watch => b"CLIENT_ERROR watch commands not allowed\r\n",
            Refusal::Shutdown => b"SERVER_ERROR: shutdown not enabled\r\n",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Refusal;
    use std::collections::HashSet;

    #[test]
    fn each_refusal_is_answered_by_a_line_of_its_own() {
        let lines: HashSet<_> = Refusal::ALL.iter().map(|refusal| refusal.line()).collect();
        assert_eq!(lines.len(), Refusal::ALL.len());
        for line in lines {
            let text = line.strip_suffix(b"\r\n").expect("the line has an end");
            let begins = ["ERROR", "CLIENT_ERROR", "SERVER_ERROR"];
            assert!(begins.iter().any(|begin| text.starts_with(begin.as_bytes())));
        }
    }
}
