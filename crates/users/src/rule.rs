//! What rules are made of, and what is wrong with one. Texts are those of Valkey 9.1.

use thiserror::Error;

/// Why one rule cannot be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RuleError {
    /// It names a command or a category that does not exist.
    #[error("Unknown command or category name in ACL")]
    Unknown,
    /// It is no rule.
    #[error("Syntax error")]
    Syntax,
    /// It adds a pattern of keys to all keys.
    #[error(
        "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not \
         have any effect. Try 'resetkeys' to start with an empty list of patterns"
    )]
    BehindAllKeys,
    /// It adds a pattern of channels to all channels.
    #[error(
        "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does \
         not have any effect. Try 'resetchannels' to start with an empty list of channels"
    )]
    BehindAllChannels,
    /// It removes a password that the user has not.
    #[error("The password you are trying to remove from the user does not exist")]
    NoSuchPassword,
    /// It has a hash that is none.
    #[error(
        "The password hash must be exactly 64 characters and contain only lowercase hexadecimal \
         characters"
    )]
    NoHash,
    /// It allows the first argument of a subcommand.
    #[error("Allowing first-arg of a subcommand is not supported")]
    ArgumentOfSubcommand,
    /// It names a database that cannot exist.
    #[error("The provided database ID is out of range")]
    NoSuchDatabase,
}

/// Why rules cannot be applied to a user.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SetError {
    /// One of them.
    #[error("Error in ACL SETUSER modifier '{}': {error}", String::from_utf8_lossy(.rule))]
    Rule {
        /// The rule.
        rule: Vec<u8>,
        /// What is wrong with it.
        error: RuleError,
    },
    /// A selector is not closed.
    #[error("Unmatched parenthesis in acl selector starting at '{}'.", String::from_utf8_lossy(.0))]
    Unmatched(Vec<u8>),
}

impl SetError {
    /// Returns the text with the bytes of the rule as they are.
    pub fn text(&self) -> Vec<u8> {
        match self {
            SetError::Rule { rule, error } => {
                let error = error.to_string();
                [b"Error in ACL SETUSER modifier '", &rule[..], b"': ", error.as_bytes()].concat()
            }
            SetError::Unmatched(rule) => {
                let begin = b"Unmatched parenthesis in acl selector starting at '";
                [begin, &rule[..], b"'."].concat()
            }
        }
    }
}

/// Returns true for what cannot stand in a line of rules: with blanks or zero bytes.
pub fn has_blanks(text: &[u8]) -> bool {
    text.iter().any(|byte| byte.is_ascii_whitespace() || matches!(byte, 0 | 0x0b))
}
