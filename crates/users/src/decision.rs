//! Whether a request is allowed, and why not.

use crate::catalog::CommandId;
use crate::channels::Channels;
use crate::databases::Databases;
use crate::keys::{Access, Keys};
use crate::selector::Selector;
use crate::user::User;

/// A request, as far as rights are concerned. Positions are those of its arguments, from the name
/// of the command on, which is 0.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The command, or its subcommand.
    pub command: CommandId,
    /// True for a command that everybody may call, since a client needs it to log in.
    pub is_for_everybody: bool,
    /// What stands behind the name of the command, or of its subcommand.
    pub first_argument: Option<&'a [u8]>,
    /// Databases that it reaches.
    pub databases: AskedDatabases<'a>,
    /// Keys; may be left out if [`User::looks_at_keys`] says so.
    pub keys: &'a [AskedKey<'a>],
    /// Channels; may be left out if [`User::looks_at_channels`] says so.
    pub channels: &'a [AskedChannel<'a>],
}

/// Databases that a request reaches.
#[derive(Clone, Copy, Debug)]
pub enum AskedDatabases<'a> {
    /// These: each where it is named, and the present one at 0.
    These(&'a [(usize, u32)]),
    /// All, which are so many.
    All(u32),
}

/// Key of a request.
#[derive(Clone, Copy, Debug)]
pub struct AskedKey<'a> {
    /// Where it stands.
    pub position: usize,
    /// The key.
    pub key: &'a [u8],
    /// What is done to it; nothing where neither its value is told nor changed.
    pub access: Access,
}

/// Channel of a request.
#[derive(Clone, Copy, Debug)]
pub struct AskedChannel<'a> {
    /// Where it stands.
    pub position: usize,
    /// The channel, or a pattern of channels.
    pub channel: &'a [u8],
    /// True for a pattern.
    pub is_pattern: bool,
}

/// What a user lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The right to reach a database.
    Database,
    /// The right to call the command.
    Command,
    /// The right to do that to a key.
    Key,
    /// The right to use a channel.
    Channel,
}

/// Why a request is not allowed. Of two reasons the later one in the order of `Reason` is told,
/// then the one that stands further behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Denied {
    /// What is lacking.
    pub reason: Reason,
    /// For which argument; 0 where it is none.
    pub position: usize,
}

impl Denied {
    fn new(reason: Reason, position: usize) -> Denied {
        Denied { reason, position }
    }
}

/// Decides whether one selector of a user allows all of a request.
///
/// # Errors
/// The reason against it of the selector that came furthest.
pub fn decide(user: &User, asked: &Asked<'_>) -> Result<(), Denied> {
    let mut denied = Denied::new(Reason::Database, 0);
    for selector in user.selectors() {
        match selector.decide(asked) {
            Ok(()) => return Ok(()),
            Err(reason) => denied = denied.max(reason),
        }
    }
    Err(denied)
}

/// Returns true if one selector of a user allows all of a request, and this to any key.
pub fn decide_on_all_keys(user: &User, asked: &Asked<'_>, access: Access) -> bool {
    let allows = |it: &Selector| it.keys.allow_all(access) && it.decide(asked).is_ok();
    user.selectors().iter().any(allows)
}

impl User {
    /// Returns true if a decision depends on keys.
    pub fn looks_at_keys(&self) -> bool {
        self.selectors().iter().any(|it| it.keys != Keys::All)
    }

    /// Returns true if one of its selectors allows a command, whatever its arguments are, in a
    /// database and on a key: each where there is one.
    #[inline]
    pub fn may_simply(
        &self,
        command: CommandId,
        database: Option<u32>,
        key: Option<(&[u8], Access)>,
    ) -> bool {
        for it in self.selectors() {
            if it.commands.allow(command)
                && database.is_none_or(|number| it.databases.allow(number))
                && key.is_none_or(|(key, access)| it.keys.allow(key, access))
            {
                return true;
            }
        }
        false
    }

    /// Returns true if one of its selectors lets it use a channel, or a pattern of channels.
    pub fn may_use_channel(&self, channel: &AskedChannel<'_>) -> bool {
        self.selectors().iter().any(|it| it.allows_channel(channel))
    }

    /// Returns true if one of its selectors lets it use all channels.
    pub fn may_use_all_channels(&self) -> bool {
        self.selectors().iter().any(|it| it.channels == Channels::All)
    }

    /// Returns true if a decision depends on channels.
    pub fn looks_at_channels(&self) -> bool {
        self.selectors().iter().any(|it| it.channels != Channels::All)
    }
}

impl Selector {
    fn decide(&self, asked: &Asked<'_>) -> Result<(), Denied> {
        self.decide_on_databases(asked.databases)?;
        if !asked.is_for_everybody && !self.commands.allow(asked.command) {
            let argument = asked.first_argument;
            let is_allowed = |it| self.commands.allows_argument(asked.command, it);
            if !argument.is_some_and(is_allowed) {
                return Err(Denied::new(Reason::Command, 0));
            }
        }
        let denied = asked.keys.iter().find(|it| !self.keys.allow(it.key, it.access));
        if let Some(key) = denied {
            return Err(Denied::new(Reason::Key, key.position));
        }
        let denied = asked.channels.iter().find(|it| !self.allows_channel(it));
        denied.map_or(Ok(()), |it| Err(Denied::new(Reason::Channel, it.position)))
    }

    fn allows_channel(&self, asked: &AskedChannel<'_>) -> bool {
        match asked.is_pattern {
            true => self.channels.allow_pattern(asked.channel),
            false => self.channels.allow(asked.channel),
        }
    }

    fn decide_on_databases(&self, asked: AskedDatabases<'_>) -> Result<(), Denied> {
        let denied = match (&self.databases, asked) {
            (Databases::All, _) => None,
            (own, AskedDatabases::These(all)) => {
                all.iter().find(|(_, database)| !own.allow(*database)).map(|(at, _)| *at)
            }
            (own, AskedDatabases::All(count)) => {
                (0..count).any(|database| !own.allow(database)).then_some(0)
            }
        };
        denied.map_or(Ok(()), |position| Err(Denied::new(Reason::Database, position)))
    }
}
