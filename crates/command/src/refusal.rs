//! Why a command was not done, in Valkey's words.

use std::borrow::Cow;
use std::fmt;

/// An error for the client, whole, with its code in front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(Cow<'static, str>);

impl Refusal {
    /// Options that do not fit together.
    pub const SYNTAX: Refusal = Refusal::of("ERR syntax error");
    /// A word that should be an integer.
    pub const NOT_INTEGER: Refusal = Refusal::of("ERR value is not an integer or out of range");
    /// A word that should be a number.
    pub const NOT_FLOAT: Refusal = Refusal::of("ERR value is not a valid float");
    /// A key of another kind.
    pub const WRONG_TYPE: Refusal =
        Refusal::of("WRONGTYPE Operation against a key holding the wrong kind of value");
    /// A key that must exist.
    pub const NO_SUCH_KEY: Refusal = Refusal::of("ERR no such key");
    /// Memory is used up.
    pub const OUT_OF_MEMORY: Refusal =
        Refusal::of("OOM command not allowed when used memory > 'maxmemory'.");
    /// A database number that does not exist.
    pub const DB_INDEX: Refusal = Refusal::of("ERR DB index is out of range");
    /// AUTH first.
    pub const NO_AUTH: Refusal = Refusal::of("NOAUTH Authentication required.");

    /// An error with a fixed text.
    pub const fn of(text: &'static str) -> Refusal {
        Refusal(Cow::Borrowed(text))
    }

    /// An error whose text names what the client sent.
    pub fn new(text: impl Into<String>) -> Refusal {
        Refusal(Cow::Owned(text.into()))
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The code in front of the text, as INFO's errorstats count it.
    pub fn code(&self) -> &str {
        self.0.split(' ').next().unwrap_or("ERR")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<store::WrongKind> for Refusal {
    fn from(_: store::WrongKind) -> Refusal {
        Refusal::WRONG_TYPE
    }
}

impl From<store::Fault> for Refusal {
    fn from(fault: store::Fault) -> Refusal {
        match fault {
            store::Fault::WrongKind => Refusal::WRONG_TYPE,
            store::Fault::NoSpace => Refusal::OUT_OF_MEMORY,
        }
    }
}

impl From<store::NoSpace> for Refusal {
    fn from(_: store::NoSpace) -> Refusal {
        Refusal::OUT_OF_MEMORY
    }
}
