//! Varve and the reference server, with the same requests.

use super::corpus::{Entry, Recording};
use super::generate::{CLIENTS, settings};
use super::step::{Request, request};
use crate::client::{Client, Reply, encoded};
use anyhow::{Context, Result, ensure};
use bench::servers::{Launch, Program, Server};
use std::time::{Duration, Instant};

/// One of the two servers.
pub struct Side {
    /// Name in reports.
    pub name: &'static str,
    program: Program,
    launch: Launch,
    server: Option<Server>,
    clients: Vec<Client>,
}

/// Failure of a server that does not answer.
#[derive(Debug)]
pub struct Broken {
    /// Name of the server.
    pub side: &'static str,
    /// Error on the connection, or the reason why the server ended.
    pub error: String,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.side, self.error)
    }
}

impl std::error::Error for Broken {}

impl Side {
    /// Creates a server that is started when it is first needed.
    pub fn new(name: &'static str, program: Program, launch: Launch) -> Side {
        Side { name, program, launch, server: None, clients: Vec::new() }
    }

    /// Ends the server; it is started again when it is next needed.
    pub fn stop(&mut self) {
        self.clients.clear();
        self.server = None;
    }

    /// Restores empty databases, the settings of the start and new connections: those of rounds,
    /// and one for queries.
    ///
    /// # Errors
    /// If the server cannot be started.
    pub fn renew(&mut self) -> Result<()> {
        self.clients.clear();
        if self.prepare().is_err() {
            self.server = None;
            self.server = Some(self.program.start(&self.launch)?);
            self.prepare()?;
        }
        Ok(())
    }

    fn prepare(&mut self) -> Result<()> {
        let port = self.server.as_ref().context("not started")?.port;
        let mut client = Client::open(port, PATIENCE)?;
        for request in [settings::defaults(), request(&["FLUSHALL"])] {
            let reply = client.ask(&request)?;
            ensure!(reply == Reply::Simple(b"OK".to_vec()), "{}: {reply:?}", self.name);
        }
        let clients = (0..=CLIENTS).map(|_| Client::open(port, PATIENCE));
        self.clients = clients.collect::<Result<_>>()?;
        Ok(())
    }

    /// Sends encoded requests.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn send(&mut self, client: usize, bytes: &[u8]) -> Result<(), Broken> {
        let sent = self.clients[client].send(bytes);
        sent.map_err(|error| self.broken(&error))
    }

    /// Waits for one reply.
    ///
    /// # Errors
    /// If the connection breaks, or no reply comes for long.
    pub fn receive(&mut self, client: usize) -> Result<Reply, Broken> {
        let received = self.clients[client].receive();
        received.map_err(|error| self.broken(&error))
    }

    fn wait_until_blocked(&mut self, number: usize) -> Result<(), Broken> {
        let wanted = format!("blocked_clients:{number}\r");
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            self.send(CLIENTS, &encoded(&["INFO", "clients"]))?;
            if let Reply::Bulk(text) | Reply::Verbatim(text) = self.receive(CLIENTS)?
                && String::from_utf8_lossy(&text).contains(&wanted)
            {
                return Ok(());
            }
        }
        Err(Broken { side: self.name, error: format!("no {number} clients wait") })
    }

    /// Returns the failure of a connection; if the server has ended, with its reason.
    fn broken(&mut self, error: &anyhow::Error) -> Broken {
        let mut error = format!("{error:#}");
        let port = self.server.as_ref().map(|server| server.port);
        let answers = port.is_some_and(|port| {
            let pong = Client::open(port, PATIENCE).and_then(|mut it| it.ask(&["PING"]));
            pong.is_ok()
        });
        if !answers {
            self.server = None;
            error += &format!("; {}", self.program.ended().join("; "));
        }
        Broken { side: self.name, error }
    }
}

/// Varve and the reference server.
pub struct Pair {
    /// Varve.
    pub varve: Side,
    /// Reference server.
    pub valkey: Side,
    /// Recording of the reference's requests and replies, if there is one.
    pub recording: Option<Recording>,
}

/// Replies of both to one request.
pub struct Answers {
    /// Reply of Varve.
    pub varve: Reply,
    /// Reply of the reference.
    pub valkey: Reply,
}

impl Pair {
    /// Restores the initial state of both, but for their memory use.
    ///
    /// # Errors
    /// If one cannot be started.
    pub fn renew(&mut self) -> Result<()> {
        self.note(|| Entry::Fresh);
        self.varve.renew()?;
        self.valkey.renew()
    }

    /// Sends requests to both, in one piece, and waits for all replies.
    ///
    /// # Errors
    /// If a connection breaks.
    pub fn exchange(
        &mut self,
        client: usize,
        requests: &[Request],
    ) -> Result<Vec<Answers>, Broken> {
        let bytes: Vec<u8> = requests.iter().flat_map(|request| encoded(request)).collect();
        self.varve.send(client, &bytes)?;
        self.valkey.send(client, &bytes)?;
        let mut answers = Vec::with_capacity(requests.len());
        for request in requests {
            let valkey = self.valkey.receive(client)?;
            self.note(|| Entry::Ask {
                client,
                request: request.clone(),
                reply: Some(valkey.clone()),
            });
            let varve = self.varve.receive(client)?;
            answers.push(Answers { varve, valkey });
        }
        Ok(answers)
    }

    /// Sends a blocking request and waits until so many clients (`number`) wait on both servers.
    ///
    /// # Errors
    /// If a connection breaks, or the client does not wait.
    pub fn start_waiting(
        &mut self,
        client: usize,
        request: &Request,
        number: usize,
    ) -> Result<(), Broken> {
        for side in [&mut self.varve, &mut self.valkey] {
            side.send(client, &encoded(request))?;
            side.wait_until_blocked(number)?;
        }
        Ok(())
    }

    /// Waits for one reply of each.
    ///
    /// # Errors
    /// If a connection breaks.
    pub fn receive(&mut self, client: usize) -> Result<Answers, Broken> {
        Ok(Answers { varve: self.varve.receive(client)?, valkey: self.valkey.receive(client)? })
    }

    /// Asks both until a key is gone.
    ///
    /// # Errors
    /// If a connection breaks, or the key stays.
    pub fn wait_until_gone(&mut self, client: usize, key: &[u8]) -> Result<(), Broken> {
        self.note(|| Entry::Gone { client, key: key.to_vec() });
        wait_until_gone(&mut self.valkey, client, key)?;
        wait_until_gone(&mut self.varve, client, key)
    }

    fn note(&mut self, entry: impl FnOnce() -> Entry) {
        if let Some(recording) = &mut self.recording {
            recording.add(&entry());
        }
    }
}

/// Asks one server until a key is gone.
///
/// # Errors
/// If the connection breaks, or the key stays.
pub fn wait_until_gone(side: &mut Side, client: usize, key: &[u8]) -> Result<(), Broken> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        side.send(client, &encoded(&[b"EXISTS", key]))?;
        if side.receive(client)? != Reply::Integer(1) {
            return Ok(());
        }
    }
    Err(Broken { side: side.name, error: "a key does not expire".to_owned() })
}

const PATIENCE: Duration = Duration::from_secs(20);
