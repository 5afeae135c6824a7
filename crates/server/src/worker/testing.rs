//! A worker whose poller follows a script, and its clients at the other ends of socket pairs.

use crate::event_loop::{FIRST_CONNECTION, MAILBOX};
use crate::executor::Executor;
use crate::mail::{Mail, Mailbox};
use crate::pipeline::Pipeline;
use crate::poller::{Poller, Ready};
use crate::stream::Stream;
use crate::worker::{Worker, WorkerParts};
use base::{Clock, KeyHasher, Millis, Stopwatch};
use command::{Client, Identity, Instance, Notice};
use mio::Token;
use settings::Settings;
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use store::{Store, StoreConfig};

/// The moment at which every world begins.
pub const BEGIN: Millis = Millis(1_700_000_000_000);
const ADDRESS_SPACE: usize = 256 << 20;

/// Tells what a test says, and remembers what it was asked.
#[derive(Default)]
pub struct Script {
    next: Vec<Ready>,
    /// What happens while the worker waits.
    during: Option<Box<dyn FnOnce()>>,
    /// How long the last wait might have been.
    pub waited: Duration,
    /// The sockets that are registered.
    pub registered: Vec<Token>,
}

impl Script {
    /// Has the next wait bring these events.
    pub fn tell(&mut self, ready: &[Ready]) {
        self.next = ready.to_vec();
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
        Ok(())
    }

    fn deregister(&mut self, _: &mut Stream) {}
}

/// See the module page.
pub struct World {
    pub instance: Arc<Instance>,
    pub worker: Worker<Script>,
    pub mailbox: Mailbox,
    /// Calls of the waker.
    pub wakes: Arc<AtomicU64>,
    stopwatch: Stopwatch,
}

/// A client, and where its worker keeps it.
pub struct Peer {
    pub socket: UnixStream,
    pub client: Arc<Client>,
    token: Token,
}

fn instance() -> Arc<Instance> {
    let config = StoreConfig {
        databases: 16,
        hasher: KeyHasher::from_seed(1),
        address_space: Some(ADDRESS_SPACE),
    };
    let store = Store::new(config).expect("address space");
    let identity = Identity {
        run_id: "0".repeat(40),
        started: BEGIN,
        config_file: None,
        executable: "varve".into(),
        threads: 1,
        allocator: "test",
    };
    let (settings, clock) = (Arc::new(Settings::new()), Clock::still(BEGIN));
    let commands = command::table().ids();
    Arc::new(Instance::new(store, settings, identity, clock, commands, Box::new(|| ())))
}

impl World {
    /// A server with one worker, which waits for nobody yet. No command takes it time, so that no
    /// connection has to give way to others.
    pub fn new() -> World {
        World::timed_by(Stopwatch::still())
    }

    /// The same, with another stopwatch.
    pub fn timed_by(stopwatch: Stopwatch) -> World {
        let (instance, wakes) = (instance(), Arc::new(AtomicU64::new(0)));
        let counter = Arc::clone(&wakes);
        let wake = move || {
            counter.fetch_add(1, SeqCst);
        };
        let (mailbox, inbox) = Mailbox::new(wake, instance.clients.mail_bytes());
        let worker = Worker::new(WorkerParts {
            instance: Arc::clone(&instance),
            thread: instance.store.thread_context().expect("a thread is left"),
            stopwatch: stopwatch.clone(),
            poller: Script::default(),
            mailbox: mailbox.clone(),
            inbox,
            acceptor: None,
        });
        let mut world = World { instance, worker, mailbox, wakes, stopwatch };
        world.iterate(&[]);
        world
    }

    /// A second pipeline, for use while the first is in the middle of a command.
    pub fn second_pipeline(&self) -> Pipeline {
        let thread = self.instance.store.thread_context().expect("a thread is left");
        Pipeline::new(Executor::new(Arc::clone(&self.instance), thread, self.stopwatch.clone()))
    }

    /// A client that was accepted elsewhere, as all are but those of the first worker.
    pub fn connect(&mut self) -> Peer {
        let (stream, socket) = self.accepted();
        self.mailbox.send(Mail::Accepted(stream));
        self.iterate(&[]);
        self.peer(socket)
    }

    /// Both ends of a connection that was admitted.
    pub fn accepted(&self) -> (Stream, UnixStream) {
        let (near, far) = UnixStream::pair().expect("sockets are to be had");
        for end in [&near, &far] {
            end.set_nonblocking(true).expect("the system can");
        }
        assert!(self.instance.clients.admit(100));
        (mio::net::UnixStream::from_std(near).into(), far)
    }

    /// The client that was added last.
    pub fn peer(&self, socket: UnixStream) -> Peer {
        let client = self.instance.clients.list().pop().expect("it was added");
        let registered = &self.worker.event_loop.poller.registered;
        Peer { socket, client, token: *registered.last().expect("it was registered") }
    }

    /// An iteration that hears of these sockets.
    pub fn iterate(&mut self, ready: &[Ready]) {
        self.worker.event_loop.poller.tell(ready);
        self.worker.iterate(&mut Vec::new()).expect("a script does not break");
    }

    /// An iteration while whose wait something else happens.
    pub fn turn_during(&mut self, during: impl FnOnce() + 'static) {
        self.worker.event_loop.poller.during = Some(Box::new(during));
        self.iterate(&[]);
    }

    /// Serves those who are ready by a second pipeline, in the middle of a command of the first.
    pub fn turn_meanwhile(&mut self, second: &mut Pipeline, ready: &[Ready]) {
        let event_loop = &mut self.worker.event_loop;
        event_loop.poller.tell(ready);
        event_loop.serve_meanwhile(second, &mut Vec::new()).expect("a script does not break");
    }

    /// How long the worker might have slept before the last loop iteration.
    pub fn waited(&self) -> u64 {
        self.worker.event_loop.poller.waited.as_millis() as u64
    }

    /// Turns without events until the worker would sleep.
    pub fn settle(&mut self) {
        loop {
            self.iterate(&[]);
            if self.waited() > 0 {
                return;
            }
        }
    }

    /// What a client reads after it has sent requests, each a line of words.
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

    /// All that has come, with line ends as spaces.
    pub fn read(&self) -> String {
        self.read_bytes().replace("\r\n", " ").trim_end().to_owned()
    }

    /// All that has come.
    pub fn read_bytes(&self) -> String {
        let mut bytes = Vec::new();
        match (&self.socket).read_to_end(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            outcome => drop(outcome.expect("the worker's end is there")),
        }
        String::from_utf8(bytes).expect("tests send text")
    }

    /// At most `most` bytes of what has come.
    pub fn read_some(&self, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; most];
        let read = (&self.socket).read(&mut bytes).unwrap_or(0);
        bytes.truncate(read);
        bytes
    }

    /// Whether the worker has closed its end.
    pub fn is_closed(&self) -> bool {
        matches!((&self.socket).read(&mut [0]), Ok(0))
    }

    /// Sends nothing any more.
    pub fn end(&self) {
        self.socket.shutdown(Shutdown::Write).expect("it was open");
    }

    /// The event that bytes have come from it.
    pub fn readable(&self) -> Ready {
        Ready { token: self.token, is_writable: false, is_ending: false }
    }

    /// The event that it takes bytes again.
    pub fn writable(&self) -> Ready {
        Ready { is_writable: true, ..self.readable() }
    }

    /// The event that it has sent all that it will.
    pub fn ending(&self) -> Ready {
        Ready { is_ending: true, ..self.readable() }
    }

    /// A notice of a message to it.
    pub fn message(&self, text: &str) -> Mail {
        Mail::Notice(Notice::Message(self.client.id, text.as_bytes().into()))
    }

    /// The number of its connection, as its worker counts them.
    pub fn at(&self) -> usize {
        self.token.0 - FIRST_CONNECTION
    }
}

/// The event of a waker.
pub fn woken() -> Ready {
    Ready { token: MAILBOX, is_writable: false, is_ending: false }
}
