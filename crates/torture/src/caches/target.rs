//! Connections to which what is told of another client's keys is redirected.

use super::rest::PATIENCE;
use crate::client::{Client, Reply, encoded};
use anyhow::{Result, bail, ensure};
use bench::Address;

/// Channel on which a client of RESP2 is told of invalid keys.
const CHANNEL: &str = "__redis__:invalidate";

/// Connection that is told in the place of another.
pub(super) struct Target {
    client: Client,
    id: i64,
}

impl Target {
    /// Connects one that takes pushes of RESP3, or, in RESP2, subscribes to the channel.
    pub fn open(address: Address, has_pushes: bool) -> Result<Target> {
        let mut client = Client::open(address, PATIENCE)?;
        let Reply::Integer(id) = client.ask(&["CLIENT", "ID"])? else { bail!("no id") };
        let (request, is_array) =
            if has_pushes { (["HELLO", "3"], false) } else { (["SUBSCRIBE", CHANNEL], true) };
        let reply = client.ask(&request)?;
        ensure!(matches!(reply, Reply::Array(_)) == is_array, "{request:?}: {reply:?}");
        Ok(Target { client, id })
    }

    /// Returns the id of its client.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// Returns the messages that have come, each as RESP3 has it: a word, and what is invalid.
    pub fn messages(&mut self) -> Result<Vec<Vec<Reply>>> {
        self.client.send(&encoded(&["PING"]))?;
        let mut messages = Vec::new();
        loop {
            match self.client.receive()? {
                Reply::Push(words) => messages.push(words),
                Reply::Array(words) if words.first() == Some(&Reply::Bulk(b"message".to_vec())) => {
                    messages.push(words.into_iter().skip(1).map(of_resp3).collect());
                }
                Reply::Simple(_) | Reply::Array(_) => return Ok(messages),
                other => bail!("an unknown message: {other:?}"),
            }
        }
    }
}

/// Returns the word of RESP3 for one of a message on the channel.
fn of_resp3(word: Reply) -> Reply {
    match word {
        Reply::Bulk(name) if name == CHANNEL.as_bytes() => Reply::Bulk(b"invalidate".to_vec()),
        Reply::NilBulk => Reply::Null,
        other => other,
    }
}
