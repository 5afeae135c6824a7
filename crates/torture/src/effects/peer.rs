//! A live server that executes the effects of another one.

use crate::client::{Client, Reply, encoded};
use crate::differential::step::{Request, line, request};
use anyhow::{Result, bail, ensure};
use std::time::Duration;
use store::Unit;

/// Commands for deadlines of fields.
const OF_FIELDS: [&[u8]; 2] = [b"HPEXPIREAT", b"HPERSIST"];
/// Most replies that may be on their way.
const PIPELINE: usize = 200;

/// A live server.
#[derive(Debug)]
pub struct Peer {
    port: u16,
    client: Client,
    database: usize,
    knows_fields: bool,
}

impl Peer {
    /// Connects to a server on this machine, and flushes it.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub fn open(port: u16, knows_fields: bool) -> Result<Peer> {
        let client = Client::open(port, Duration::from_secs(60))?;
        let mut peer = Peer { port, client, database: 0, knows_fields };
        peer.flush()?;
        Ok(peer)
    }

    /// Removes all data.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn flush(&mut self) -> Result<()> {
        let answer = self.client.ask(&["FLUSHALL"])?;
        ensure!(answer == Reply::Simple(b"OK".to_vec()), "{} is flushed", self.name());
        Ok(())
    }

    /// Name for messages.
    pub fn name(&self) -> String {
        format!("the server at port {}", self.port)
    }

    /// Executes units.
    ///
    /// # Errors
    /// When one is refused, or the connection breaks.
    pub fn apply(&mut self, units: &[Unit]) -> Result<()> {
        let mut sent: Vec<Request> = Vec::new();
        for (database, args) in units.iter().flat_map(Unit::commands) {
            if !self.knows_fields && OF_FIELDS.contains(&&args[0][..]) {
                continue;
            }
            if database != self.database {
                self.database = database;
                sent.push(request(&["SELECT", &database.to_string()]));
            }
            sent.push(args);
        }
        sent.chunks(PIPELINE).try_for_each(|requests| self.exchange(requests))
    }

    /// Sends a request, whatever the reply.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn send(&mut self, request: &Request) -> Result<()> {
        self.client.ask(request).map(drop)
    }

    fn exchange(&mut self, requests: &[Request]) -> Result<()> {
        let bytes: Vec<u8> = requests.iter().flat_map(|it| encoded(it)).collect();
        self.client.send(&bytes)?;
        for request in requests {
            if let Reply::Error(text) = self.client.receive()? {
                let (name, text) = (self.name(), String::from_utf8_lossy(&text).into_owned());
                let request: String = line(request).chars().take(500).collect();
                bail!("{name} refuses {request}: {text}");
            }
        }
        Ok(())
    }

    /// Request for the fingerprint of all data, or of a key's value.
    pub fn question(key: Option<&[u8]>) -> Request {
        match key {
            None => request(&["DEBUG", "DIGEST"]),
            Some(key) => vec![b"DEBUG".to_vec(), b"DIGEST-VALUE".to_vec(), key.to_vec()],
        }
    }

    /// Returns the fingerprint of all data, or of the value of a key in a database, as a reply.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn digest(&mut self, of: Option<(usize, &[u8])>) -> Result<Vec<u8>> {
        if let Some((database, _)) = of {
            self.database = database;
            self.client.ask(&["SELECT", &database.to_string()])?;
        }
        match self.client.ask(&Peer::question(of.map(|(_, key)| key)))? {
            Reply::Simple(text) => Ok([b"+", &text[..], b"\r\n"].concat()),
            Reply::Array(values) => match values.as_slice() {
                [Reply::Simple(text)] => Ok([b"*1\r\n+", &text[..], b"\r\n"].concat()),
                other => bail!("{} has no fingerprint: {other:?}", self.name()),
            },
            other => bail!("{} has no fingerprint: {other:?}", self.name()),
        }
    }
}
