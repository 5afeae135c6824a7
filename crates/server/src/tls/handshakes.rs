//! Threads that establish connections.
//!
//! ```text
//! acceptor ──▶ tasks ──▶ half open ──▶ ready ──▶ step ──▶ mailbox of a worker
//!                            └──▶ deadline: closed
//! ```
//! A handshake costs as much as hundreds of commands, so no worker does any, and these threads
//! have a lower priority. Each takes one step of one connection at a time, and the newest that is
//! ready comes first: where more come than can be served, clients that have waited for long have
//! given up. None is kept beyond its deadline, and where there are too many the oldest is closed.

use super::Tls;
use crate::balance::Balance;
use crate::front::Dialect;
use crate::mail::Mail;
use crate::stream::Stream;
use crate::tls_stream::TlsStream;
use base::{Steady, process};
use crossbeam_channel::{Receiver, Sender, TryRecvError, unbounded};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token, Waker};
use session::Instance;
use settings::tls::{TLS_AUTH_CLIENTS_USER, TLS_HANDSHAKE_TIMEOUT, TLS_MAX_HALF_OPEN};
use settings::{CertificateUser, general};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;
use tls::{Channel, Handshake};

/// Token of the waker; a connection's is its number.
const WAKER: Token = Token(0);
/// Most events that are taken at a time.
const EVENTS: usize = 256;
/// Most bytes that are read at a time: no client sends more before it is answered.
const READ_BYTES: usize = 16 << 10;
/// Milliseconds between two lines of the log about connections that cannot be established.
const LOG_GAP: u64 = 1000;

/// What a thread is to do.
#[derive(Debug)]
enum Task {
    /// Establish a connection.
    Begin(TcpStream, Dialect),
    /// Close the oldest for another client, who takes its place among those admitted.
    GiveWay,
}

/// Way to a thread.
#[derive(Debug)]
struct Way {
    tasks: Option<Sender<Task>>,
    waker: Waker,
    /// Connections that can still give their places. One that was asked for is taken off at once,
    /// so that none gives its place twice; below zero while one is asked for that is not half open
    /// any more.
    claimable: Arc<AtomicI64>,
}

/// Threads that establish connections, half as many as there are processors. They are started by
/// the first connection.
#[derive(Debug)]
pub struct Handshakes {
    instance: Arc<Instance>,
    tls: Arc<Tls>,
    balance: Arc<Balance>,
    ways: OnceLock<Vec<Way>>,
    /// Which thread gets the next connection: each in turn, so it has the oldest one too.
    next: AtomicUsize,
}

impl Handshakes {
    /// Returns what starts the threads when there is something to do. Their connections go to the
    /// workers as `balance` says.
    pub fn new(instance: &Arc<Instance>, tls: &Arc<Tls>, balance: &Arc<Balance>) -> Handshakes {
        Handshakes {
            instance: Arc::clone(instance),
            tls: Arc::clone(tls),
            balance: Arc::clone(balance),
            ways: OnceLock::new(),
            next: AtomicUsize::new(0),
        }
    }

    fn start(&self) -> io::Result<Vec<Way>> {
        let threads = (process::processors() / 2).max(1);
        let ways = (0..threads).map(|number| {
            let poll = Poll::new()?;
            let waker = Waker::new(poll.registry(), WAKER)?;
            let (sender, tasks) = unbounded();
            let parts =
                (Arc::clone(&self.instance), Arc::clone(&self.tls), Arc::clone(&self.balance));
            let claimable = Arc::new(AtomicI64::new(0));
            let thread = Thread::new(parts, (poll, tasks), (threads, Arc::clone(&claimable)));
            let name = format!("handshakes {number}");
            thread::Builder::new().name(name).spawn(move || thread.run())?;
            Ok(Way { tasks: Some(sender), waker, claimable })
        });
        ways.collect()
    }

    /// Has a connection established that was admitted. Only the worker that accepts calls this.
    pub fn begin(&self, socket: TcpStream, dialect: Dialect) {
        if self.ways.get().is_none() {
            match self.start() {
                Ok(ways) => drop(self.ways.set(ways)),
                Err(error) => {
                    tracing::error!("starting threads for connections with TLS: {error}");
                    return self.instance.clients.dismiss();
                }
            }
        }
        let Some(ways) = self.ways.get() else { return };
        self.instance.tls.waiting.fetch_add(1, Relaxed);
        let next = self.next.fetch_add(1, Relaxed) % ways.len();
        ways[next].claimable.fetch_add(1, Relaxed);
        ways[next].send(Task::Begin(socket, dialect));
    }

    /// Has a connection that is not established give its place among those admitted to another
    /// client. Returns false if there is none.
    pub fn give_way(&self) -> bool {
        let Some(ways) = self.ways.get() else { return false };
        let next = self.next.load(Relaxed);
        let claims = |way: &&Way| {
            let one_less = |it| (it > 0).then_some(it - 1);
            way.claimable.fetch_update(Relaxed, Relaxed, one_less).is_ok()
        };
        let of_oldest = (0..ways.len()).map(|at| &ways[(next + at) % ways.len()]).find(claims);
        of_oldest.inspect(|way| way.send(Task::GiveWay)).is_some()
    }
}

impl Way {
    fn send(&self, task: Task) {
        // A thread that is gone is one of a server that ends.
        let sent = self.tasks.as_ref().is_some_and(|tasks| tasks.send(task).is_ok());
        if sent {
            let _ = self.waker.wake();
        }
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.tasks = None;
        let _ = self.waker.wake();
    }
}

/// A connection that is not established.
struct HalfOpen {
    socket: TcpStream,
    dialect: Dialect,
    handshake: Handshake,
    /// Moment at which it is closed.
    ends: Steady,
    /// True if the poll reports that the socket takes bytes.
    is_watched: bool,
}

/// How a step has ended.
enum Step {
    /// More is to come from the client.
    Goes,
    /// It is established.
    Done,
    /// It cannot be, and why.
    Failed(String),
}

impl Step {
    fn gone() -> Step {
        Step::Failed("the client has gone".to_owned())
    }
}

/// One of the threads.
struct Thread {
    instance: Arc<Instance>,
    tls: Arc<Tls>,
    balance: Arc<Balance>,
    poll: Poll,
    tasks: Receiver<Task>,
    /// Number of such threads.
    threads: usize,
    /// See `Way`.
    claimable: Arc<AtomicI64>,
    /// Connections by number; the newest has the highest.
    half_open: BTreeMap<usize, HalfOpen>,
    newest: usize,
    /// Of these, those whose sockets may have something.
    ready: BTreeSet<usize>,
    buffer: Vec<u8>,
    /// Moment from which on another line may be logged.
    logs_from: Steady,
}

impl Thread {
    fn new(
        (instance, tls, balance): (Arc<Instance>, Arc<Tls>, Arc<Balance>),
        (poll, tasks): (Poll, Receiver<Task>),
        (threads, claimable): (usize, Arc<AtomicI64>),
    ) -> Thread {
        Thread {
            instance,
            tls,
            balance,
            poll,
            tasks,
            threads,
            claimable,
            half_open: BTreeMap::new(),
            newest: 0,
            ready: BTreeSet::new(),
            buffer: vec![0; READ_BYTES],
            logs_from: Steady(0),
        }
    }

    /// Establishes connections as long as there is a server.
    fn run(mut self) {
        process::lower_priority();
        let mut events = Events::with_capacity(EVENTS);
        loop {
            if let Err(error) = self.poll.poll(&mut events, self.time_to_wait())
                && error.kind() != io::ErrorKind::Interrupted
            {
                tracing::error!("the event loop of a thread for handshakes failed: {error}");
                return;
            }
            for event in &events {
                if event.token() != WAKER {
                    self.ready.insert(event.token().0);
                }
            }
            if !self.take_tasks() {
                return;
            }
            self.close_expired();
            if let Some(number) = self.ready.pop_last() {
                self.step(number);
            }
        }
    }

    fn now(&self) -> Steady {
        self.instance.clock.steady()
    }

    fn time_to_wait(&self) -> Option<Duration> {
        if !self.ready.is_empty() {
            return Some(Duration::ZERO);
        }
        let (_, oldest) = self.half_open.first_key_value()?;
        Some(Duration::from_millis(oldest.ends.since(self.now()) + 1))
    }

    /// Takes what others have left. Returns false if the server ends.
    fn take_tasks(&mut self) -> bool {
        loop {
            match self.tasks.try_recv() {
                Ok(Task::Begin(socket, dialect)) => self.begin(socket, dialect),
                Ok(Task::GiveWay) => self.give_way(),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn begin(&mut self, mut socket: TcpStream, dialect: Dialect) {
        let settings = &self.instance.settings;
        let seconds = u64::from(TLS_HANDSHAKE_TIMEOUT.get(settings));
        let most = (TLS_MAX_HALF_OPEN.get(settings) / self.threads).max(1);
        // Small messages go both ways.
        let _ = socket.set_nodelay(true);
        self.newest += 1;
        let number = self.newest;
        let registered =
            self.poll.registry().register(&mut socket, Token(number), Interest::READABLE);
        if registered.is_err() {
            return self.forget();
        }
        while self.half_open.len() >= most {
            self.close_oldest();
        }
        let ends = Steady(self.now().0 + seconds * 1000);
        let handshake = Handshake::default();
        let begun = HalfOpen { socket, dialect, handshake, ends, is_watched: false };
        self.half_open.insert(number, begun);
    }

    /// Closes the oldest connection, whose place among those admitted is taken already.
    fn give_way(&mut self) {
        if let Some((number, oldest)) = self.half_open.pop_first() {
            self.ready.remove(&number);
            self.instance.tls.waiting.fetch_sub(1, Relaxed);
            self.note_failure(&oldest, "closed for a new client");
        } else {
            // It was established meanwhile, or is gone.
            self.claimable.fetch_add(1, Relaxed);
            self.instance.clients.admit(u64::MAX);
        }
    }

    fn close_oldest(&mut self) {
        if let Some((number, oldest)) = self.half_open.pop_first() {
            self.ready.remove(&number);
            self.forget();
            self.note_failure(&oldest, "closed as there are too many (`tls-max-half-open`)");
        }
    }

    fn close_expired(&mut self) {
        let now = self.now();
        while self.half_open.first_key_value().is_some_and(|(_, it)| it.ends <= now) {
            if let Some((number, expired)) = self.half_open.pop_first() {
                self.ready.remove(&number);
                self.forget();
                let said = if expired.handshake.is_silent() { "nothing" } else { "too little" };
                let why = format!("the client sent {said} in time (`tls-handshake-timeout`)");
                self.note_failure(&expired, &why);
            }
        }
    }

    /// Counts a connection as gone.
    fn forget(&self) {
        self.instance.tls.waiting.fetch_sub(1, Relaxed);
        self.claimable.fetch_sub(1, Relaxed);
        self.instance.clients.dismiss();
    }

    fn note_failure(&mut self, of: &HalfOpen, why: &str) {
        let facts = &self.instance.tls;
        facts.failed.fetch_add(1, Relaxed);
        let mut newest = facts.newest_failure.lock();
        if *newest != why {
            why.clone_into(&mut newest);
        }
        drop(newest);
        let now = self.now();
        if now >= self.logs_from {
            self.logs_from = Steady(now.0 + LOG_GAP);
            let client = of.socket.peer_addr().map_or_else(|_| "?".to_owned(), |it| it.to_string());
            tracing::warn!("A connection with TLS was not established: {why}, client={client}");
        }
    }

    /// Goes on with a connection.
    fn step(&mut self, number: usize) {
        let Some(half_open) = self.half_open.get_mut(&number) else { return };
        let step = match self.tls.rules() {
            Some(rules) => half_open.advance(&rules, &mut self.buffer),
            // The port is closed by now.
            None => Step::Failed("the port was closed".to_owned()),
        };
        match step {
            Step::Goes => {
                if half_open.watch(&self.poll, number).is_err() {
                    self.half_open.remove(&number);
                    self.forget();
                }
            }
            Step::Failed(why) => {
                let Some(failed) = self.half_open.remove(&number) else { return };
                self.forget();
                self.note_failure(&failed, &why);
            }
            Step::Done => {
                if let Some(done) = self.half_open.remove(&number) {
                    self.hand_over(done);
                }
            }
        }
    }

    /// Gives an established connection to a worker.
    fn hand_over(&self, done: HalfOpen) {
        let HalfOpen { mut socket, dialect, handshake, .. } = done;
        let facts = &self.instance.tls;
        facts.waiting.fetch_sub(1, Relaxed);
        self.claimable.fetch_sub(1, Relaxed);
        // Fails only for a socket that the poll has forgotten already.
        let _ = self.poll.registry().deregister(&mut socket);
        let Some(channel) = handshake.finish() else { return self.instance.clients.dismiss() };
        facts.done.fetch_add(1, Relaxed);
        facts.resumed.fetch_add(u64::from(channel.is_resumed()), Relaxed);
        self.instance.statistics.connections.fetch_add(1, Relaxed);
        let settings = &self.instance.settings;
        let names = names(&channel, TLS_AUTH_CLIENTS_USER.get(settings));
        let refuses_writes = Arc::clone(&facts.refuses_writes);
        let stream = TlsStream::new((socket, channel), names, refuses_writes);
        let stream = Stream::from(stream).speaking(dialect);
        let worker = self.balance.deal(general::THREADS_FIXED.get(settings));
        self.balance.mailbox(worker).send(Mail::Accepted(stream));
    }
}

/// Returns the names by which the client of a certificate may be logged in, in order.
fn names(channel: &Channel, field: CertificateUser) -> Vec<Vec<u8>> {
    let Some(certificate) = channel.peer_certificate() else { return Vec::new() };
    match field {
        CertificateUser::Off => Vec::new(),
        CertificateUser::CommonName => tls::common_name(certificate).into_iter().collect(),
        CertificateUser::Uri => tls::uris(certificate),
    }
}

impl HalfOpen {
    /// Takes what has come, and answers.
    fn advance(&mut self, rules: &tls::ServerRules, buffer: &mut [u8]) -> Step {
        while !self.handshake.is_done() {
            let read = match self.socket.read(buffer) {
                Ok(0) => return Step::gone(),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Step::gone(),
            };
            let received = self.handshake.receive(&buffer[..read], rules);
            if let Err(error) = received {
                // It says why, as far as the socket takes that.
                let _ = self.handshake.write_to(&mut self.socket);
                return Step::Failed(error.to_string());
            }
        }
        match self.handshake.write_to(&mut self.socket) {
            Err(_) => Step::gone(),
            Ok(true) if self.handshake.is_done() => Step::Done,
            Ok(is_all) => {
                self.is_watched |= !is_all;
                Step::Goes
            }
        }
    }

    /// Has the poll report when the socket takes more, if something is left to be written.
    fn watch(&mut self, poll: &Poll, number: usize) -> io::Result<()> {
        if !self.is_watched {
            return Ok(());
        }
        let both = Interest::READABLE | Interest::WRITABLE;
        poll.registry().reregister(&mut self.socket, Token(number), both)
    }
}
