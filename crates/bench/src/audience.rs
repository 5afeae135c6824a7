//! Clients beside a load, which send something once and then only read what comes, or do not even
//! that: subscribers, clients that watch keys or wait for them.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::address::{Address, Stream};
use crate::control::{Control, encode};
use crate::process;
use crate::protocol::Protocol;
use crate::servers::Server;
use crate::socket::{Poller, Socket};

/// What a file says of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seats {
    /// Number of clients.
    pub clients: usize,
    /// How far their connections with TLS go; without it they are plain.
    pub tls: Option<Far>,
    /// Requests that each sends; `{client}` is its number. Those of Memcached's clients are none.
    pub sends: Vec<String>,
    /// False if the last request is not answered, as BLPOP of an empty list.
    #[serde(default = "yes")]
    pub answered: bool,
    /// False if they do not read what comes later.
    #[serde(default = "yes")]
    pub reads: bool,
}

/// How far a connection with TLS goes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Far {
    /// It is established.
    Established,
    /// The client has sent nothing.
    Silent,
    /// The client has sent half of its first message.
    Half,
}

fn yes() -> bool {
    true
}

/// Connected clients; dropped, they leave.
pub struct Audience {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Audience {
    /// Connects the clients to a server and has them send their requests.
    pub fn join(server: &Server, seats: &Seats) -> Result<Self> {
        let protocol = server.protocol_of_loads();
        let protocol = if seats.sends.is_empty() { protocol } else { Protocol::Resp };
        let address = server.address_for(protocol, seats.tls.is_some())?;
        let join = |client| seats.join(&address, client).context("a client beside the load");
        let sockets = (0..seats.clients).map(join).collect::<Result<Vec<_>>>()?;
        let (is_over, reads) = (Arc::new(AtomicBool::new(false)), seats.reads);
        let told = Arc::clone(&is_over);
        let thread = Some(thread::spawn(move || stay(sockets, reads, &told)));
        Ok(Self { is_over, thread })
    }
}

impl Drop for Audience {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        // It fails with its server, which the load tells.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Seats {
    /// Connects one client. What it asked for has happened when it is answered.
    fn join(&self, address: &Address, client: usize) -> Result<Socket> {
        if let Some(Far::Silent | Far::Half) = self.tls {
            let mut stream = address.connect_plain()?;
            if self.tls == Some(Far::Half) {
                stream.write_all(&address.first_message()?)?;
            }
            return Ok(Socket::new(Stream::Plain(stream))?);
        }
        let mut control = Control::open(address, Protocol::Resp)?;
        for request in &self.sends {
            let request = request.replace("{client}", &client.to_string());
            match self.answered {
                true => control.run(request.split(' '))?,
                false => control.stream.write_all(encode(request.split(' ')).as_bytes())?,
            }
        }
        Ok(Socket::new(control.stream)?)
    }
}

/// Stays until it is over, and reads what comes on all connections or nothing.
fn stay(sockets: Vec<Socket>, reads: bool, is_over: &AtomicBool) -> Result<()> {
    process::pin_this_thread(process::cores() - 1);
    let poller = Poller::new()?;
    for (number, socket) in sockets.iter().enumerate().filter(|_| reads) {
        poller.add(socket, number)?;
    }
    let mut sockets: Vec<_> = sockets.into_iter().map(Some).collect();
    let (mut events, mut buffer) = (Vec::with_capacity(256), vec![0; 256 << 10]);
    while !is_over.load(Relaxed) {
        poller.wait(&mut events, Some(Duration::from_millis(50)))?;
        for event in &events {
            let socket = &mut sockets[event.data.u64() as usize];
            if socket.as_mut().is_some_and(|it| it.read(&mut buffer).is_err()) {
                *socket = None;
            }
        }
    }
    Ok(())
}
