//! Use of keys, as OBJECT tells it and RESTORE takes it.

use crate::payload::Use;
use crate::resp::Reply;

/// Which use of keys is taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// Seconds since the last access.
    Idle,
    /// Frequency of access.
    Frequency,
}

impl Usage {
    /// Name of the subcommand of OBJECT that tells it.
    pub fn word(self) -> &'static [u8] {
        if self == Usage::Idle { b"IDLETIME" } else { b"FREQ" }
    }

    /// The use that a reply tells.
    pub fn of(self, reply: &Reply) -> Option<Use> {
        let number = u64::try_from(reply.integer()?).ok()?;
        match self {
            Usage::Idle => Some(Use::Idle(number)),
            Usage::Frequency => u8::try_from(number).ok().map(Use::Frequency),
        }
    }
}
