//! MIGRATE's way to other servers: threads that connect, send and wait, while workers go on.
//!
//! ```text
//! worker: MIGRATE ─▶ Migration ─▶ channel ─▶ courier ─▶ AUTH, SELECT, RESTORE ... ─▶ target
//!                                               └─▶ finish: keys that arrived leave ─▶ answer
//! ```
//! A connection that leads to this server itself, where who sends a key would be who has it, is
//! refused before anything is sent. A key that changed on its way is sent again, a few times; one
//! that still changes stays here, and the client is told. Sockets are kept for ten seconds.

mod effects;

use crate::journal::Journal;
use crate::services::Services;
use base::Millis;
use base::mutex::Mutex;
use command::{ArrivalOutcome, Environment, Table};
use crossbeam_channel::{Receiver, Sender, unbounded};
use session::{Carrier, Instance, Migration, Pause, Refusal, WorkerStatistics};
use settings::network::PORT;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};
use store::ThreadContext;

/// Time for which a socket is kept.
const KEPT: Duration = Duration::from_secs(10);
/// Time between two looks for sockets that were kept for long enough.
const LOOK_WAIT: Duration = Duration::from_secs(2);
/// Sockets that are kept.
const SOCKETS_KEPT: usize = 8;
/// Threads that carry at the same time.
const COURIERS_MAX: usize = 4;
/// Most sockets, those in use included: as many file descriptors are kept back for them.
pub const SOCKETS_MAX: usize = SOCKETS_KEPT + COURIERS_MAX;
/// How often keys that have changed are sent again.
const ROUNDS_MAX: usize = 5;
/// Longest line of a reply.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// Time between two looks whether writes are still postponed.
const PAUSE_LOOK: Duration = Duration::from_millis(10);
/// Bytes that are written at once.
const PIECE_BYTES: usize = 64 << 10;

const CONNECTING: &str = "IOERR error or timeout connecting to the client";
const WRITING: &str = "IOERR error or timeout writing to target instance";
const READING: &str = "IOERR error or timeout reading to target instance";
/// Begin of what a server says that knows no attributes.
const UNKNOWN: &str = "ERR unknown command";
const CHANGING: &str =
    "ERR keys changed again and again while they were sent: they are in both instances";

/// Reason why keys have not arrived.
#[derive(Clone, Debug)]
enum Failure {
    /// The connection did not work; `true` if it may with a fresh one.
    Connection(&'static str, bool),
    /// The target has said so.
    Target(String),
}

impl Failure {
    fn refusal(&self) -> Refusal {
        match self {
            Failure::Connection(text, _) => Refusal::of(text),
            Failure::Target(text) => {
                Refusal::new(format!("ERR Target instance replied with error: {text}"))
            }
        }
    }
}

/// A connection, and what the other side knows of it.
#[derive(Debug)]
struct Socket {
    stream: BufReader<TcpStream>,
    /// Number of the selected database; -1 if it is not known.
    database: i64,
    used: Instant,
}

type Place = (String, String);

/// Carrier of the server; couriers are started when there is something to carry.
#[derive(Debug)]
pub struct Couriers {
    instance: Weak<Instance>,
    journal: Arc<Journal>,
    table: &'static Table,
    jobs: Sender<Migration>,
    line: Receiver<Migration>,
    started: AtomicUsize,
    /// Jobs that are in line or being done.
    open: Arc<AtomicUsize>,
    sockets: Arc<Mutex<HashMap<Place, Socket>>>,
}

impl Couriers {
    /// The carrier of a server, without any thread yet.
    pub fn new(instance: &Arc<Instance>, services: &Services) -> Couriers {
        let (jobs, line) = unbounded();
        Couriers {
            instance: Arc::downgrade(instance),
            journal: Arc::clone(&services.journal),
            table: services.table,
            jobs,
            line,
            started: AtomicUsize::new(0),
            open: Arc::default(),
            sockets: Arc::default(),
        }
    }

    /// Starts another courier, if all are busy. Returns false if there is none at all.
    fn start_another(&self) -> bool {
        let started = self.started.load(SeqCst);
        if started >= COURIERS_MAX || self.open.load(SeqCst) < started {
            return started > 0;
        }
        let Some(instance) = self.instance.upgrade() else { return started > 0 };
        let Some(mut thread) = instance.store.thread_context() else { return started > 0 };
        self.journal.join(&mut thread);
        let courier = Courier {
            statistics: instance.statistics.worker(),
            instance: self.instance.clone(),
            journal: Arc::clone(&self.journal),
            table: self.table,
            thread,
            sockets: Arc::clone(&self.sockets),
        };
        let (line, open) = (self.line.clone(), Arc::clone(&self.open));
        let name = format!("courier {started}");
        let spawned = thread::Builder::new().name(name).spawn(move || courier.run(&line, &open));
        self.started.fetch_add(usize::from(spawned.is_ok()), SeqCst);
        spawned.is_ok() || started > 0
    }
}

impl Carrier for Couriers {
    fn carry(&self, migration: Migration) {
        let has_courier = self.start_another();
        if !has_courier && let Some(instance) = self.instance.upgrade() {
            return command::answer_migration(
                &migration,
                &instance,
                0,
                Err(Refusal::of(CONNECTING)),
            );
        }
        self.open.fetch_add(1, SeqCst);
        // The receiving end is held here.
        let _ = self.jobs.send(migration);
    }

    fn sockets(&self) -> usize {
        self.sockets.lock().len()
    }
}

/// One thread that carries.
struct Courier {
    instance: Weak<Instance>,
    journal: Arc<Journal>,
    table: &'static Table,
    thread: ThreadContext,
    statistics: Arc<WorkerStatistics>,
    sockets: Arc<Mutex<HashMap<Place, Socket>>>,
}

impl Courier {
    fn run(mut self, line: &Receiver<Migration>, open: &AtomicUsize) {
        loop {
            let migration = line.recv_timeout(LOOK_WAIT);
            self.close_old();
            match migration {
                Ok(migration) => {
                    self.carry(migration);
                    open.fetch_sub(1, SeqCst);
                }
                Err(error) if error.is_disconnected() => return,
                Err(_) => {}
            }
        }
    }

    fn carry(&mut self, mut migration: Migration) {
        let outcome = self.deliver(&mut migration);
        if let Some(instance) = self.instance.upgrade() {
            self.journal.after_batch(&instance);
            command::answer_migration(
                &migration,
                &instance,
                self.thread.journal_position(),
                outcome,
            );
        }
    }

    /// Sends keys, removes those that have arrived, and sends those again that have changed.
    fn deliver(&mut self, migration: &mut Migration) -> Result<(), Refusal> {
        let mut open: Vec<usize> = (0..migration.parcels.len()).collect();
        let mut replaces = migration.replaces;
        for _ in 0..ROUNDS_MAX {
            let sent = self.send(migration, &open, replaces);
            let outcomes = if migration.copies {
                vec![ArrivalOutcome::Left; sent.arrived.len()]
            } else {
                self.finish_arrived(migration, &sent.arrived)
            };
            let with = |wanted: ArrivalOutcome| -> Vec<usize> {
                let pairs = sent.arrived.iter().zip(&outcomes);
                pairs.filter(|(_, it)| **it == wanted).map(|(at, _)| *at).collect()
            };
            let (changed, gone) = (with(ArrivalOutcome::Changed), with(ArrivalOutcome::Gone));
            if !gone.is_empty() {
                self.forget(migration, &gone).map_err(|failure| failure.refusal())?;
            }
            if let Some(failure) = sent.failure {
                return Err(failure.refusal());
            }
            if changed.is_empty() {
                return Ok(());
            }
            // What is there now is what was sent before.
            (open, replaces) = (changed, true);
        }
        Err(Refusal::of(CHANGING))
    }

    /// Removes keys that have arrived, and serves waiters that the loss of a key concerns. While
    /// writes are postponed it waits: the keys stay here, and are sent again if they have changed
    /// by then.
    fn finish_arrived(
        &mut self,
        migration: &mut Migration,
        arrived: &[usize],
    ) -> Vec<ArrivalOutcome> {
        if arrived.is_empty() {
            return Vec::new();
        }
        while self.postpones_writes() {
            thread::sleep(PAUSE_LOOK);
        }
        let Some(instance) = self.instance.upgrade() else { return Vec::new() };
        instance.store.enter(&self.thread);
        let outcomes = command::finish_arrived(migration, &instance, &mut self.thread, arrived);
        let now = instance.clock.now();
        if instance.waiters.count() > 0 {
            let statistics = &*self.statistics;
            let environment =
                Environment { instance: &instance, table: self.table, statistics, now };
            command::serve_losses(environment, &mut self.thread);
        }
        instance.store.upkeep(&mut self.thread, now);
        instance.store.leave(&self.thread);
        instance.send_pending_messages();
        outcomes
    }

    /// Returns true while clients may not write, in a pause or as the server is about to end.
    fn postpones_writes(&self) -> bool {
        let is_paused = |it: Arc<Instance>| it.paused() != Pause::Nothing;
        self.instance.upgrade().is_some_and(is_paused)
    }

    fn now(&self) -> Millis {
        self.instance.upgrade().map_or(Millis(0), |instance| instance.clock.now())
    }

    /// Sends keys, of which a server that is no Varve gets the values and no more.
    fn send(&mut self, migration: &Migration, open: &[usize], replaces: bool) -> Sent {
        let mut sent = Sent::default();
        let unknown = self.send_as(migration, open, (replaces, true), &mut sent);
        if !unknown.is_empty() && !matches!(sent.failure, Some(Failure::Connection(..))) {
            self.send_as(migration, &unknown, (replaces, false), &mut sent);
        }
        sent
    }

    /// Sends keys. Returns those of which the target does not know what was noted.
    fn send_as(
        &mut self,
        migration: &Migration,
        open: &[usize],
        (replaces, is_noted): (bool, bool),
        sent: &mut Sent,
    ) -> Vec<usize> {
        let now = self.now();
        let (mut requests, mut numbers) = (Vec::new(), Vec::new());
        for at in open {
            let parcel = &migration.parcels[*at];
            if let Some(request) = effects::restore(parcel, replaces, is_noted, now) {
                requests.push(request);
                numbers.push(*at);
            }
        }
        let (replies, failure) = self.exchange(migration, &requests);
        sent.failure = sent.failure.take().or(failure);
        let mut unknown = Vec::new();
        for (at, reply) in numbers.into_iter().zip(replies) {
            let has_note = is_noted && !migration.parcels[at].attributes.is_empty();
            match reply {
                Ok(()) => sent.arrived.push(at),
                Err(text) if has_note && text.starts_with(UNKNOWN) => unknown.push(at),
                Err(text) => drop(sent.failure.get_or_insert(Failure::Target(text))),
            }
        }
        unknown
    }

    /// Removes keys from the target that are gone here meanwhile.
    fn forget(&mut self, migration: &Migration, gone: &[usize]) -> Result<(), Failure> {
        let names = gone.iter().map(|at| &migration.parcels[*at].name[..]);
        let (replies, failure) = self.exchange(migration, &[effects::del(names)]);
        let refused = replies.into_iter().find_map(Result::err).map(Failure::Target);
        failure.or(refused).map_or(Ok(()), Err)
    }

    /// Sends requests and reads their replies, each of one line: as many as came before a failure.
    /// A kept socket may have been closed by the other side, so one more is tried if nothing came.
    fn exchange(
        &mut self,
        migration: &Migration,
        requests: &[Vec<u8>],
    ) -> (Vec<Result<(), String>>, Option<Failure>) {
        let mut may_retry = true;
        loop {
            let mut replies = Vec::new();
            match self.try_exchange(migration, requests, &mut replies) {
                Ok(()) => return (replies, None),
                Err(Failure::Connection(_, true)) if may_retry && replies.is_empty() => {
                    may_retry = false;
                }
                Err(failure) => return (replies, Some(failure)),
            }
        }
    }

    fn try_exchange(
        &mut self,
        migration: &Migration,
        requests: &[Vec<u8>],
        replies: &mut Vec<Result<(), String>>,
    ) -> Result<(), Failure> {
        let (target, timeout) = (&migration.target, migration.timeout);
        let place = (target.host.clone(), target.port.clone());
        let mut socket = match self.take_socket(&place) {
            Some(socket) => socket,
            None => connect(target.host.as_str(), &target.port, timeout)?,
        };
        let mut front = Vec::new();
        if !target.credentials.is_empty() {
            front.push(effects::auth(&target.credentials));
        }
        if socket.database != target.database {
            front.push(effects::select(target.database));
        }
        socket.follow(timeout).map_err(writing)?;
        let mut error = None;
        if socket.database == -1 && self.may_lead_here(&socket) {
            socket.write(&front).map_err(writing)?;
            error = socket.error_of(front.len()).map_err(reading)?;
            // It was accepted before it answered.
            if self.leads_here(&socket) {
                return Err(Failure::Connection(READING, false));
            }
            front.clear();
        }
        socket.write(&front).and_then(|()| socket.write(requests)).map_err(writing)?;
        error = error.or(socket.error_of(front.len()).map_err(reading)?);
        for _ in requests {
            let reply = socket.reply().map_err(reading)?;
            replies.push(error.clone().map_or(reply, Err));
        }
        let is_fine = error.is_none() && replies.iter().all(Result::is_ok);
        socket.database = if is_fine { target.database } else { -1 };
        self.keep_socket(place, socket);
        Ok(())
    }

    /// Returns true if a connection may lead to this server itself.
    fn may_lead_here(&self, socket: &Socket) -> bool {
        let port = self.instance.upgrade().map(|instance| PORT.get(&instance.settings));
        let peer = socket.stream.get_ref().peer_addr();
        peer.is_ok_and(|peer| Some(peer.port()) == port)
    }

    /// Returns true if one of the clients has the other end of a connection. A target that is this
    /// server would be sent what it has, and take it for a key that has arrived.
    fn leads_here(&self, socket: &Socket) -> bool {
        let stream = socket.stream.get_ref();
        let (Ok(own), Ok(peer)) = (stream.local_addr(), stream.peer_addr()) else { return false };
        let clients = self.instance.upgrade().map(|it| it.clients.list()).unwrap_or_default();
        let is = |text: &str, address: SocketAddr| text.parse().is_ok_and(|it| same(it, address));
        clients.iter().any(|it| is(&it.address, own) && is(&it.local_address, peer))
    }

    fn take_socket(&self, place: &Place) -> Option<Socket> {
        let mut sockets = self.sockets.lock();
        sockets.remove(place).filter(|socket| socket.used.elapsed() < KEPT)
    }

    fn keep_socket(&self, place: Place, mut socket: Socket) {
        socket.used = Instant::now();
        let mut sockets = self.sockets.lock();
        if sockets.len() < SOCKETS_KEPT {
            sockets.insert(place, socket);
        }
    }

    fn close_old(&self) {
        let mut sockets = self.sockets.lock();
        sockets.retain(|_, socket| socket.used.elapsed() < KEPT);
    }
}

/// What has become of keys that were sent.
#[derive(Debug, Default)]
struct Sent {
    arrived: Vec<usize>,
    failure: Option<Failure>,
}

fn writing(error: io::Error) -> Failure {
    Failure::Connection(WRITING, !is_timeout(&error))
}

fn reading(error: io::Error) -> Failure {
    Failure::Connection(READING, !is_timeout(&error))
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Returns true if two addresses are the same, one of which may be IPv4 written as IPv6.
fn same(one: SocketAddr, other: SocketAddr) -> bool {
    one.port() == other.port() && one.ip().to_canonical() == other.ip().to_canonical()
}

/// Connects. A port that is no number is port zero, which refuses.
fn connect(host: &str, port: &str, timeout: Duration) -> Result<Socket, Failure> {
    let digits = port.len() - port.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let port = port[..digits].parse::<u16>().unwrap_or(0);
    let unknown = || Failure::Connection(CONNECTING, false);
    let addresses: Vec<SocketAddr> =
        (host, port).to_socket_addrs().map_err(|_| unknown())?.collect();
    let mut failure = unknown();
    for address in addresses {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => {
                let _ = stream.set_nodelay(true);
                let stream = BufReader::new(stream);
                return Ok(Socket { stream, database: -1, used: Instant::now() });
            }
            Err(error) if is_timeout(&error) => failure = unknown(),
            // Valkey's connection is there until it is written to.
            Err(error) => failure = writing(error),
        }
    }
    Err(failure)
}

impl Socket {
    fn follow(&self, timeout: Duration) -> io::Result<()> {
        self.stream.get_ref().set_read_timeout(Some(timeout))?;
        self.stream.get_ref().set_write_timeout(Some(timeout))
    }

    fn write<B: AsRef<[u8]>>(&mut self, requests: &[B]) -> io::Result<()> {
        let mut pieces = requests.iter().flat_map(|bytes| bytes.as_ref().chunks(PIECE_BYTES));
        pieces.try_for_each(|piece| self.stream.get_mut().write_all(piece))
    }

    /// Reads so many replies, and returns the first error among them.
    fn error_of(&mut self, replies: usize) -> io::Result<Option<String>> {
        let mut error = None;
        for _ in 0..replies {
            let reply = self.reply()?;
            error = error.or(reply.err());
        }
        Ok(error)
    }

    /// Reads a reply of one line: whether it is an error, and which.
    fn reply(&mut self) -> io::Result<Result<(), String>> {
        let mut line = Vec::new();
        self.stream.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\n") {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_ascii_end();
        Ok(match line.strip_prefix(b"-") {
            Some(text) => Err(String::from_utf8_lossy(text).into_owned()),
            None => Ok(()),
        })
    }
}
