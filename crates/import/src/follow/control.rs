//! Words with the source besides its stream: how far it is, and a pause of its writes.

use crate::address::Address;
use crate::error::Error;
use crate::resp::Reply;
use crate::server::Link;
use replication::ReplicationId;
use std::time::{Duration, Instant};

/// Time that one answer may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// Wait before a source that did not answer is asked again.
const BEFORE_ANOTHER: Duration = Duration::from_secs(5);

/// What a source tells of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// True if it follows another server itself.
    pub is_replica: bool,
    /// Bytes of its stream.
    pub offset: u64,
    /// Whose stream it is, if it tells that.
    pub id: Option<ReplicationId>,
}

/// A connection to the source that is made when it is needed.
#[derive(Debug)]
pub struct Control {
    address: Address,
    link: Option<Link>,
    failed_at: Option<Instant>,
}

impl Control {
    /// Nothing is connected yet.
    pub fn new(address: Address) -> Control {
        Control { address, link: None, failed_at: None }
    }

    /// Has the next question asked over another connection.
    pub fn forget_link(&mut self) {
        self.link = None;
    }

    /// How far the source is, if it tells that now. It is not waited for again and again.
    pub fn told(&mut self) -> Option<Told> {
        if self.failed_at.is_some_and(|it| it.elapsed() < BEFORE_ANOTHER) {
            return None;
        }
        let told = self.ask(&[b"INFO", b"replication"]);
        self.failed_at = told.is_err().then(Instant::now);
        parse_told(&String::from_utf8_lossy(told.ok()?.bytes()?))
    }

    /// Asks something.
    ///
    /// # Errors
    /// When there is no connection, or no answer in time.
    pub fn ask(&mut self, words: &[&[u8]]) -> Result<Reply, Error> {
        let mut link = match self.link.take() {
            Some(link) => link,
            None => Link::open_within(&self.address, PATIENCE)?,
        };
        let reply = link.ask(words)?;
        self.link = Some(link);
        Ok(reply)
    }

    /// The connection, for several questions.
    ///
    /// # Errors
    /// When there is none.
    pub fn link(&mut self) -> Result<&mut Link, Error> {
        if self.link.is_none() {
            self.link = Some(Link::open_within(&self.address, PATIENCE)?);
        }
        self.link.as_mut().ok_or_else(|| Error::Usage("no connection".to_owned()))
    }

    /// Holds writes of clients back for so long. Returns the answer that refuses it.
    pub fn pause(&mut self, time: Duration) -> Result<(), String> {
        let millis = time.as_millis().to_string();
        self.done(&[b"CLIENT", b"PAUSE", millis.as_bytes(), b"WRITE"])
    }

    /// Ends the pause. Returns the answer that refuses it.
    pub fn end_pause(&mut self) -> Result<(), String> {
        self.done(&[b"CLIENT", b"UNPAUSE"])
    }

    fn done(&mut self, words: &[&[u8]]) -> Result<(), String> {
        let reply = self.ask(words).map_err(|error| error.to_string())?;
        reply.error().map_or(Ok(()), Err)
    }
}

fn parse_told(info: &str) -> Option<Told> {
    let field = |name: &str| {
        info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    let offset = |name| field(name).and_then(|it| it.parse().ok());
    let (own, of_primary): (Option<u64>, Option<u64>) =
        (offset("master_repl_offset"), offset("slave_repl_offset"));
    let is_replica = field("role") == Some("slave");
    let offset = if is_replica { of_primary.max(own) } else { own };
    let id = field("master_replid").and_then(|it| ReplicationId::parse(it.as_bytes()));
    Some(Told { is_replica, offset: offset?, id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_tells_how_far_it_is() {
        let primary = "# Replication\r\nrole:master\r\nmaster_repl_offset:77\r\n";
        assert_eq!(parse_told(primary), Some(Told { is_replica: false, offset: 77, id: None }));
        let replica = "role:slave\r\nslave_repl_offset:80\r\nmaster_repl_offset:77\r\n";
        assert_eq!(parse_told(replica), Some(Told { is_replica: true, offset: 80, id: None }));
        assert_eq!(parse_told("role:master\r\n"), None);
    }
}
