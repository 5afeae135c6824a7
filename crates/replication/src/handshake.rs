//! What a replica says to its primary before the stream begins.
//!
//! ```text
//! Handshake::begin ──▶ PING
//!   +PONG          ──▶ AUTH, REPLCONF listening-port, ip-address, capa, version   at once
//!   a line for each ──▶ PSYNC
//!   +CONTINUE or +FULLRESYNC ──▶ Synced
//! ```
//! A primary that does not know a REPLCONF option says so, and the handshake goes on. Empty lines
//! stand for a primary that is at work on an answer.

use journal::sync_line::ReplicationId;
use journal::unit::{Command, Words, encode};
use std::collections::VecDeque;
use std::fmt;
use text::parse_u64;
use thiserror::Error;

/// Longest line that a primary may answer with: the error that it quotes may be long. The link
/// reads no more of one.
pub const LINE_BYTES_MAX: usize = 16 << 10;
/// Longest part of an answer that an error tells.
const QUOTED_BYTES: usize = 256;

/// What a replica tells of itself.
#[derive(Clone, Default)]
pub struct Own {
    /// Its user at the primary; the default user without.
    pub user: Option<Vec<u8>>,
    /// Password, if it logs in.
    pub password: Option<Vec<u8>>,
    /// Port at which it can be reached; zero if nobody can.
    pub port: u16,
    /// Address at which it can be reached, if that is not the one from which it comes.
    pub address: Option<Vec<u8>>,
    /// Version of Valkey as which it behaves.
    pub version: &'static str,
    /// Id and offset of the bytes that it has, if it has any.
    pub has: Option<(ReplicationId, u64)>,
    /// True if the other side, which is its replica so far, is to be the primary.
    pub fails_over: bool,
}

/// A password is in no log.
impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Own")
            .field("port", &self.port)
            .field("has", &self.has)
            .finish_non_exhaustive()
    }
}

/// How the primary brings the replica up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synced {
    /// The stream goes on, under another id if one is told.
    Continues(Option<ReplicationId>),
    /// A snapshot comes, as of this offset of the stream with this id.
    Snapshot(ReplicationId, u64),
}

/// What is to be done after an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Wait for another one.
    Wait,
    /// Send these bytes, and wait.
    Send(Vec<u8>),
    /// The handshake has ended: what follows is the snapshot, or the stream.
    Done(Synced),
}

/// Reason why there is no link. It is tried again later.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// Neither PONG nor a wish for a password.
    #[error("the primary answers PING with '{0}'")]
    Ping(String),
    /// Wrong user or password.
    #[error("Unable to AUTH to PRIMARY (`primaryuser`, `primaryauth`): '{0}'")]
    Auth(String),
    /// It is not ready: it loads data, or its own link is down.
    #[error("the primary cannot synchronize yet: '{0}'")]
    NotYet(String),
    /// Not for this replica, or no PSYNC.
    #[error("the primary refuses PSYNC: '{0}'")]
    Psync(String),
    /// No answer that there could be.
    #[error("the primary answers {0} with what is no answer: '{1}'")]
    Garbage(&'static str, String),
}

impl Refused {
    /// True if it is a primary itself, and so cannot be told to become one.
    pub fn is_of_primary(&self) -> bool {
        let says = |text: &String| text.contains("PSYNC FAILOVER can't be sent to a master");
        matches!(self, Refused::Psync(text) if says(text))
    }

    /// True for an answer to PSYNC.
    pub fn is_of_psync(&self) -> bool {
        match self {
            Refused::NotYet(_) | Refused::Psync(_) => true,
            Refused::Garbage(asked, _) => *asked == Asked::Psync.name(),
            Refused::Ping(_) | Refused::Auth(_) => false,
        }
    }
}

/// What an answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Ping,
    Auth,
    Fact,
    Psync,
}

/// The replica's side of a handshake.
#[derive(Debug)]
pub struct Handshake {
    own: Own,
    asked: VecDeque<Asked>,
}

impl Handshake {
    /// Begins one, and returns what is to be sent.
    pub fn begin(own: Own) -> (Handshake, Vec<u8>) {
        let handshake = Handshake { own, asked: VecDeque::from([Asked::Ping]) };
        (handshake, request(&[b"PING"]))
    }

    /// Takes a line of the primary, without its end.
    ///
    /// # Errors
    /// When the link is to be given up.
    pub fn take(&mut self, line: &[u8]) -> Result<Next, Refused> {
        let asked = self.asked.front().copied().unwrap_or(Asked::Psync);
        if line.is_empty() {
            return Ok(Next::Wait);
        }
        if line.len() > LINE_BYTES_MAX {
            return Err(Refused::Garbage(asked.name(), quoted(line)));
        }
        let is_error = match line[0] {
            b'-' => true,
            b'+' => false,
            _ => return Err(Refused::Garbage(asked.name(), quoted(line))),
        };
        if asked == Asked::Psync {
            return self.psync_answered(line, is_error);
        }
        match asked {
            Asked::Ping if is_error && !is_about_rights(line) => {
                return Err(Refused::Ping(quoted(line)));
            }
            Asked::Auth if is_error => return Err(Refused::Auth(quoted(line))),
            _ => {}
        }
        self.asked.pop_front();
        Ok(match asked {
            Asked::Ping => Next::Send(self.facts()),
            _ if self.asked.is_empty() => Next::Send(self.psync()),
            _ => Next::Wait,
        })
    }

    /// Login and facts, in one write.
    fn facts(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let own = &self.own;
        let mut say = |words: &[&[u8]], asked| {
            bytes.extend(request(words));
            self.asked.push_back(asked);
        };
        if let Some(password) = &own.password {
            match &own.user {
                Some(user) => say(&[b"AUTH", user, password], Asked::Auth),
                None => say(&[b"AUTH", password], Asked::Auth),
            }
        }
        if own.port != 0 {
            let port = own.port.to_string();
            say(&[b"REPLCONF", b"listening-port", port.as_bytes()], Asked::Fact);
        }
        if let Some(address) = &own.address {
            say(&[b"REPLCONF", b"ip-address", address], Asked::Fact);
        }
        say(&[b"REPLCONF", b"capa", b"eof", b"capa", b"psync2"], Asked::Fact);
        say(&[b"REPLCONF", b"version", own.version.as_bytes()], Asked::Fact);
        bytes
    }

    fn psync(&mut self) -> Vec<u8> {
        self.asked.push_back(Asked::Psync);
        match &self.own.has {
            Some((id, offset)) => {
                let first = (u128::from(*offset) + 1).to_string();
                let (id, first) = (id.as_str().as_bytes(), first.as_bytes());
                match self.own.fails_over {
                    true => request(&[b"PSYNC", id, first, b"FAILOVER"]),
                    false => request(&[b"PSYNC", id, first]),
                }
            }
            None => request(&[b"PSYNC", b"?", b"-1"]),
        }
    }

    fn psync_answered(&mut self, line: &[u8], is_error: bool) -> Result<Next, Refused> {
        if is_error {
            let is_not_yet = [&b"-NOMASTERLINK"[..], b"-LOADING", b"-MASTERDOWN", b"-BUSY"]
                .iter()
                .any(|begin| line.starts_with(begin));
            let quoted = quoted(line);
            return Err(if is_not_yet { Refused::NotYet(quoted) } else { Refused::Psync(quoted) });
        }
        let garbage = || Refused::Garbage(Asked::Psync.name(), quoted(line));
        let mut words = line.split(|byte| *byte == b' ');
        let (name, id, offset) = (words.next(), words.next(), words.next());
        let id = id.map(|id| ReplicationId::parse(&id.to_ascii_lowercase()).ok_or_else(garbage));
        let id = id.transpose()?;
        let synced = match (name, id, offset, words.next()) {
            // A replica that has nothing has asked for nothing that could go on.
            (Some(b"+CONTINUE"), id, None, None) if self.own.has.is_some() => Synced::Continues(id),
            (Some(b"+FULLRESYNC"), Some(id), Some(offset), None) => {
                Synced::Snapshot(id, parse_u64(offset).ok_or_else(garbage)?)
            }
            _ => return Err(garbage()),
        };
        Ok(Next::Done(synced))
    }
}

impl Asked {
    fn name(self) -> &'static str {
        match self {
            Asked::Ping => "PING",
            Asked::Auth => "AUTH",
            Asked::Fact => "REPLCONF",
            Asked::Psync => "PSYNC",
        }
    }
}

/// Returns true if a primary does not say PONG since nobody has logged in yet. Servers before
/// Redis 6 say "operation not permitted".
fn is_about_rights(line: &[u8]) -> bool {
    line.starts_with(b"-NOAUTH")
        || line.starts_with(b"-NOPERM")
        || line.starts_with(b"-ERR operation not permitted")
}

/// The line as text for a log, shortened, without control characters.
fn quoted(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(&line[..line.len().min(QUOTED_BYTES)]);
    line.chars().map(|it| if it.is_control() { '?' } else { it }).collect()
}

/// A request in RESP.
fn request(words: &[&[u8]]) -> Vec<u8> {
    let (command, mut bytes) = (Command { database: 0, words: Words::Args(words) }, Vec::new());
    encode(0, std::iter::once(command), &mut |piece| bytes.extend_from_slice(piece));
    bytes
}

#[cfg(test)]
mod tests;
