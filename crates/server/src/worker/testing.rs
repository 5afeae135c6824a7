//! Test worker whose poller follows a script, and its clients at the other ends of socket pairs.

use crate::balance::Balance;
use crate::event_loop::{FIRST_CONNECTION, MAILBOX, Seat};
use crate::journal::Journal;
use crate::mail::{Mail, Mailbox};
use crate::poller::{Poller, Ready};
use crate::stream::Stream;
use crate::worker::{Worker, WorkerParts};
use base::meanwhile::Others as _;
use base::{Clock, KeyHasher, Millis, Steady, Stopwatch};
use command::rights::catalog_of;
use mio::Token;
use session::{Client, Identity, Instance, NoDataFiles, Notice};
use settings::Settings;
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use store::{Store, StoreConfig};

/// Moment at which every world begins.
pub const BEGIN: Millis = Millis(1_700_000_000_000);
/// A mebibyte.
pub const MIB: usize = 1 << 20;
const ADDRESS_SPACE: usize = 256 * MIB;

/// Poller that returns the events given by a test, and records its calls.
#[derive(Default)]
pub struct Script {
    next: Vec<Ready>,
    /// Action to run while the worker waits.
    during: Option<Box<dyn FnOnce()>>,
    /// Longest time that the last wait might have taken.
    pub waited: Duration,
    /// Tokens of the sockets that are registered.
    pub registered: Vec<Token>,
    /// Tokens of the sockets of which is reported that they take bytes.
    pub watched: Vec<Token>,
}

impl Script {
    /// Sets the events of the next wait. That a socket takes bytes is left out where the worker has
    /// not asked for it.
    pub fn set_ready(&mut self, ready: &[Ready]) {
        let as_watched = |it: &Ready| Ready {
            is_writable: it.is_writable && self.watched.contains(&it.token),
            ..*it
        };
        self.next = ready.iter().map(as_watched).collect();
    }
}

impl Poller for Script {
    type Events = Vec<Ready>;

    fn room(_: usize) -> Vec<Ready> {
        Vec::new()
    }

    fn wait(&mut self, events: &mut Vec<Ready>, most: Duration) -> io::Result<()> {
        self.waited = most;
        *events = mem::take(&mut self.next);
        if let Some(during) = self.during.take() {
            during();
        }
        Ok(())
    }

    fn ready(events: &Vec<Ready>) -> impl Iterator<Item = Ready> {
        events.iter().copied()
    }

    fn register(&mut self, _: &mut Stream, token: Token) -> io::Result<()> {
        self.registered.push(token);
        self.watched.retain(|it| *it != token);
        Ok(())
    }

    fn watch_writes(&mut self, _: &mut Stream, token: Token, watches: bool) -> io::Result<()> {
        assert_ne!(self.watched.contains(&token), watches, "a change that is none");
        self.watched.retain(|it| *it != token);
        self.watched.extend(watches.then_some(token));
        Ok(())
    }

    fn deregister(&mut self, _: &mut Stream) {}
}

/// Test server with one worker.
pub struct World {
    pub instance: Arc<Instance>,
    pub journal: Arc<Journal>,
    pub worker: Worker<Script>,
    pub mailbox: Mailbox,
    /// Calls of the waker.
    pub wakes: Arc<AtomicU64>,
}

/// Client, with its token at the worker.
pub struct Peer {
    pub socket: UnixStream,
    pub client: Arc<Client>,
    token: Token,
}

/// A server without threads, whose clock stands still.
pub fn instance() -> Arc<Instance> {
    let config = StoreConfig {
        databases: 16,
        hasher: KeyHasher::from_seed(1),
        address_space: Some(ADDRESS_SPACE),
    };
    let store = Store::new(config).expect("address space");
    let identity = Identity {
        run_id: "0".repeat(40),
        started: Steady(BEGIN.0),
        config_file: None,
        executable: "varve".into(),
        threads: 1,
        allocator: "test",
        supervised: "no",
    };
    let (settings, clock) = (Arc::new(Settings::new()), Clock::still(BEGIN));
    let commands = (families::table().ids(), catalog_of(families::table()));
    Arc::new(Instance::new(
        store,
        settings,
        identity,
        (clock, Stopwatch::still()),
        commands,
        Box::new(|| ()),
        Box::new(NoDataFiles),
    ))
}

impl World {
    /// Returns a server with one worker, which has no clients yet. Its commands take no time, so
    /// that no connection has to yield to others.
    pub fn new() -> World {
        World::timed_by(Stopwatch::still())
    }

    /// Returns such a server with another stopwatch.
    pub fn timed_by(stopwatch: Stopwatch) -> World {
        let [world] = World::workers(stopwatch);
        world
    }

    /// Returns the two workers of one server. Neither is ever busy, so that connections stay where
    /// they are.
    pub fn pair() -> [World; 2] {
        World::workers(Stopwatch::still())
    }

    fn workers<const N: usize>(stopwatch: Stopwatch) -> [World; N] {
        let instance = instance();
        let journal = Journal::new().expect("address space");
        let ends = [(); N].map(|()| {
            let wakes = Arc::new(AtomicU64::new(0));
            let counter = Arc::clone(&wakes);
            let wake = move || {
                counter.fetch_add(1, SeqCst);
            };
            (Mailbox::new(wake, instance.clients.mail_bytes()), wakes)
        });
        let mailboxes = ends.iter().map(|((mailbox, _), _)| mailbox.clone()).collect();
        let (balance, mut number) = (Arc::new(Balance::new(mailboxes)), 0);
        ends.map(|((mailbox, inbox), wakes)| {
            let worker = Worker::new(WorkerParts {
                instance: Arc::clone(&instance),
                journal: Arc::clone(&journal),
                table: families::table(),
                thread: instance.store.thread_context().expect("a thread is left"),
                stopwatch: stopwatch.clone(),
                poller: Script::default(),
                mailbox: mailbox.clone(),
                inbox,
                acceptor: None,
                seat: Seat::new(Arc::clone(&balance), number),
            });
            number += 1;
            let (instance, journal) = (Arc::clone(&instance), Arc::clone(&journal));
            let mut world = World { instance, journal, worker, mailbox, wakes };
            world.iterate(&[]);
            world
        })
    }

    /// Makes positions up to this one safe, and tells the worker.
    pub fn mark_safe(&mut self, position: u64) {
        self.journal.set_safe(position);
        self.mailbox.send(Mail::Notice(Notice::Safe));
        self.iterate(&[]);
    }

    /// Connects a client that is accepted elsewhere and handed over by mail, as for all workers but
    /// the first.
    pub fn connect(&mut self) -> Peer {
        let (stream, socket) = self.accepted();
        self.mailbox.send(Mail::Accepted(stream));
        self.iterate(&[]);
        self.peer(socket)
    }

    /// Returns both ends of a connection that was admitted.
    pub fn accepted(&self) -> (Stream, UnixStream) {
        let (near, far) = UnixStream::pair().expect("sockets are to be had");
        for end in [&near, &far] {
            end.set_nonblocking(true).expect("the system can");
        }
        assert!(self.instance.clients.admit(100));
        (mio::net::UnixStream::from_std(near).into(), far)
    }

    /// Returns the client that was added last.
    pub fn peer(&self, socket: UnixStream) -> Peer {
        let client = self.instance.clients.list().pop().expect("it was added");
        self.peer_of(socket, client)
    }

    /// Returns a client whose connection was the last to be registered here.
    pub fn peer_of(&self, socket: UnixStream, client: Arc<Client>) -> Peer {
        let registered = &self.worker.event_loop.poller.registered;
        Peer { socket, client, token: *registered.last().expect("it was registered") }
    }

    /// Runs a loop iteration with events of these sockets.
    pub fn iterate(&mut self, ready: &[Ready]) {
        self.worker.event_loop.poller.set_ready(ready);
        self.worker.iterate(&mut Vec::new()).expect("a script does not break");
    }

    /// Runs a loop iteration with events of these sockets that calls `during` while it waits.
    pub fn turn_during(&mut self, ready: &[Ready], during: impl FnOnce() + 'static) {
        self.worker.event_loop.poller.during = Some(Box::new(during));
        self.iterate(ready);
    }

    /// Serves the clients that are ready as in the middle of something long.
    pub fn turn_meanwhile(&mut self, ready: &[Ready]) {
        let event_loop = &mut self.worker.event_loop;
        event_loop.poller.set_ready(ready);
        event_loop.serve();
    }

    /// Returns the longest time in milliseconds that the worker might have slept before the last
    /// loop iteration.
    pub fn waited(&self) -> u64 {
        self.worker.event_loop.poller.waited.as_millis() as u64
    }

    /// Runs loop iterations without events until the worker would sleep.
    pub fn run_until_idle(&mut self) {
        loop {
            self.iterate(&[]);
            if self.waited() > 0 {
                return;
            }
        }
    }

    /// Sends requests of a client, each a line of words, and returns what it reads then.
    pub fn ask(&mut self, peer: &Peer, requests: &str) -> String {
        peer.send(requests);
        self.iterate(&[peer.readable()]);
        peer.read()
    }
}

impl Peer {
    /// Sends bytes.
    pub fn send(&self, text: &str) {
        (&self.socket).write_all(text.as_bytes()).expect("the worker's end takes it");
    }

    /// Sends as many bytes as the socket takes, and returns their number.
    pub fn send_some(&self, bytes: &[u8]) -> usize {
        (&self.socket).write(bytes).unwrap_or(0)
    }

    /// Returns all bytes received, with line ends as spaces.
    pub fn read(&self) -> String {
        self.read_bytes().replace("\r\n", " ").trim_end().to_owned()
    }

    /// Returns all bytes received.
    pub fn read_bytes(&self) -> String {
        let mut bytes = Vec::new();
        match (&self.socket).read_to_end(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            outcome => drop(outcome.expect("the worker's end is there")),
        }
        String::from_utf8(bytes).expect("tests send text")
    }

    /// Returns at most `most` of the bytes received.
    pub fn read_some(&self, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; most];
        let read = (&self.socket).read(&mut bytes).unwrap_or(0);
        bytes.truncate(read);
        bytes
    }

    /// Returns true if the worker has closed its end.
    pub fn is_closed(&self) -> bool {
        matches!((&self.socket).read(&mut [0]), Ok(0))
    }

    /// Ends the sending side of the connection.
    pub fn end(&self) {
        self.socket.shutdown(Shutdown::Write).expect("it was open");
    }

    /// Returns the event that bytes have come from the client.
    pub fn readable(&self) -> Ready {
        Ready { token: self.token, is_writable: false, is_ending: false }
    }

    /// Returns the event that the client's socket takes bytes again.
    pub fn writable(&self) -> Ready {
        Ready { is_writable: true, ..self.readable() }
    }

    /// Returns the event that the client has ended its sending side.
    pub fn ending(&self) -> Ready {
        Ready { is_ending: true, ..self.readable() }
    }

    /// Returns mail with a message to the client.
    pub fn message(&self, text: &str) -> Mail {
        Mail::Notice(Notice::Message(self.client.id, Arc::new(text.as_bytes().to_vec())))
    }

    /// Returns true if the worker is told when the client's socket takes bytes.
    pub fn is_watched(&self, world: &World) -> bool {
        world.worker.event_loop.poller.watched.contains(&self.token)
    }

    /// Returns the entry of its connection in its worker's table.
    pub fn at(&self) -> usize {
        self.token.0 - FIRST_CONNECTION
    }
}

/// Returns a string as a client reads it.
pub fn bulk(value: &str) -> String {
    format!("${}\r\n{value}\r\n", value.len())
}

/// Returns the event of the waker.
pub fn woken() -> Ready {
    Ready { token: MAILBOX, is_writable: false, is_ending: false }
}
