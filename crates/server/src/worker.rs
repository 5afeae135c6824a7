//! A worker: a thread with an event loop that owns connections and runs their commands.

use crate::accept::Acceptor;
use crate::batch::Batch;
use crate::connection::Connection;
use crate::group::{Group, READ_BYTES};
use crate::look_over::LOOK_OVER_MILLIS;
use crate::mail::{Inbox, Mail, Mailbox};
use crate::serve::Fate;
use crate::stream::Stream;
use base::{Millis, Stopwatch};
use command::{ClientFlags, Instance, Notice, Post, Session, WorkerStatistics};
use mio::{Events, Interest, Poll, Token};
use settings::{OutputLimit, limits, network};
use std::collections::{BTreeSet, HashMap};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use store::Lane;

/// The token of the mailbox; those of listeners follow, and then those of connections.
pub const MAILBOX: Token = Token(0);
/// Tokens below this are not connections.
pub const FIRST_CONNECTION: usize = 64;
/// Events that one turn handles.
const EVENTS: usize = 256;
/// Bytes that one read may return, when a large request is on its way.
const READ_BYTES_LARGE: usize = 64 << 10;
/// Reads of a large request before others have their turn.
const READS_PER_TURN: usize = 4;
/// A reply buffer that grew beyond this is given back.
const REPLIES_KEPT: usize = 1 << 20;

/// See the module page.
pub struct Worker {
    pub(crate) instance: Arc<Instance>,
    pub(crate) lane: Lane,
    pub(crate) statistics: Arc<WorkerStatistics>,
    pub(crate) stopwatch: Stopwatch,
    /// The moment, as read for the batch at work.
    pub(crate) now: Millis,
    /// When the command at work began.
    pub(crate) command_began: u64,
    /// What is left of the time of the connection being served.
    pub(crate) slice_nanos: u64,
    pub(crate) batch: Batch,
    /// Replies to the connection being served.
    pub(crate) replies: Vec<u8>,
    /// Bytes that `replies` may grow to before the client is over its limit.
    pub(crate) replies_max: usize,
    input: Vec<u8>,
    pub(crate) group: Group,
    poll: Poll,
    /// Tells this worker something from any thread.
    post: Post,
    inbox: Inbox,
    pub(crate) connections: Vec<Option<Box<Connection>>>,
    free: Vec<usize>,
    pub(crate) by_client: HashMap<u64, usize>,
    /// Connections with requests that were not served, or sockets that may hold more.
    unread: Vec<usize>,
    acceptor: Option<Acceptor>,
    pub(crate) next_look: Millis,
    /// The generation of settings that was read last.
    settings_read: u64,
    /// What may wait for a client, by the settings.
    pub(crate) output_limit: OutputLimit,
    /// When clients that wait for keys give up.
    pub(crate) waits: BTreeSet<(Millis, u64)>,
    /// CLIENT PAUSE holds some connections back, and the next look is when it ends.
    pub(crate) is_any_paused: bool,
    is_stopping: bool,
}

/// What a worker is made of.
pub struct WorkerParts {
    pub instance: Arc<Instance>,
    pub lane: Lane,
    pub stopwatch: Stopwatch,
    pub poll: Poll,
    pub mailbox: Mailbox,
    pub inbox: Inbox,
    pub acceptor: Option<Acceptor>,
}

impl Worker {
    /// A worker without connections.
    pub fn new(parts: WorkerParts) -> Worker {
        let statistics = parts.instance.statistics.worker();
        let mailbox = parts.mailbox;
        let post: Post = Arc::new(move |notice| mailbox.send(Mail::Notice(notice)));
        parts.instance.clients.add_worker(Arc::clone(&post));
        Worker {
            statistics,
            instance: parts.instance,
            lane: parts.lane,
            stopwatch: parts.stopwatch,
            now: Millis::default(),
            command_began: 0,
            slice_nanos: 0,
            batch: Batch::default(),
            replies: Vec::new(),
            replies_max: usize::MAX,
            input: vec![0; READ_BYTES_LARGE],
            group: Group::default(),
            poll: parts.poll,
            post,
            inbox: parts.inbox,
            connections: Vec::new(),
            free: Vec::new(),
            by_client: HashMap::new(),
            unread: Vec::new(),
            acceptor: parts.acceptor,
            next_look: Millis::default(),
            settings_read: u64::MAX,
            output_limit: OutputLimit::default(),
            waits: BTreeSet::new(),
            is_any_paused: false,
            is_stopping: false,
        }
    }

    /// Runs turns until the server stops.
    ///
    /// # Errors
    /// When the event loop itself fails.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        while !self.is_stopping {
            self.turn(&mut events)?;
        }
        for at in 0..self.connections.len() {
            self.close(at);
        }
        Ok(())
    }

    fn turn(&mut self, events: &mut Events) -> io::Result<()> {
        let wait = if self.unread.is_empty() { self.millis_to_wait() } else { 0 };
        match self.poll.poll(events, Some(Duration::from_millis(wait))) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        let began = self.stopwatch.read();
        self.instance.store.enter(&self.lane);
        self.follow_settings();
        if events.is_empty() {
            self.now = self.instance.clock.now();
        }
        let unread = std::mem::take(&mut self.unread);
        for event in events.iter() {
            self.on_event(event.token(), event.is_writable(), event.is_read_closed());
        }
        // Members of the group are not in the table.
        self.serve_group();
        for at in unread {
            if let Some(Some(connection)) = self.connections.get_mut(at) {
                connection.is_unread = false;
                self.join(at);
            }
        }
        self.serve_group();
        if !self.waits.is_empty() {
            self.now = self.instance.clock.now();
            self.end_waits();
        }
        self.look_over();
        self.instance.store.leave(&self.lane);
        let nanos = self.stopwatch.nanos_between(began, self.stopwatch.read());
        self.statistics.server.active_nanos.add(nanos);
        Ok(())
    }

    /// Reads settings whose values are not plain numbers, when any has changed.
    #[inline]
    fn follow_settings(&mut self) {
        let generation = self.instance.settings.generation();
        if self.settings_read != generation {
            self.settings_read = generation;
            let limits = limits::CLIENT_OUTPUT_BUFFER_LIMIT.get(&self.instance.settings);
            self.output_limit = limits.normal;
            self.replies_max = usize::MAX;
            let connections = self.connections.iter_mut().flatten();
            connections.for_each(|connection| connection.follow_limit(&limits.normal));
        }
    }

    /// Until something is due that no event tells.
    fn millis_to_wait(&self) -> u64 {
        let first = self.first_deadline();
        if !self.is_any_paused && first.is_none() {
            return LOOK_OVER_MILLIS;
        }
        let now = self.instance.clock.now();
        let wait = first.map_or(LOOK_OVER_MILLIS, |first| first.since(now).min(LOOK_OVER_MILLIS));
        if self.is_any_paused { wait.min(self.next_look.since(now)) } else { wait }
    }

    fn on_event(&mut self, token: Token, is_writable: bool, is_ending: bool) {
        if token.0 >= FIRST_CONNECTION {
            let at = token.0 - FIRST_CONNECTION;
            if is_ending && let Some(Some(connection)) = self.connections.get_mut(at) {
                connection.is_ending = true;
            }
            if is_writable {
                self.flush(at);
            }
            return self.join(at);
        }
        // Mail may be about a connection that is in the group.
        self.serve_group();
        if token == MAILBOX {
            while let Some(mail) = self.inbox.next() {
                self.on_mail(mail);
            }
        } else {
            self.accept(token);
        }
    }

    fn accept(&mut self, token: Token) {
        let Some(acceptor) = &mut self.acceptor else { return };
        let (accepted, own) = acceptor.accept(token, &self.instance);
        self.instance.statistics.connections.fetch_add(accepted, Relaxed);
        for stream in own {
            self.add(stream);
        }
    }

    fn on_mail(&mut self, mail: Mail) {
        match mail {
            Mail::Accepted(stream) => self.add(stream),
            Mail::Notice(Notice::Close(client)) => {
                if let Some(at) = self.by_client.get(&client) {
                    self.close(*at);
                }
            }
            Mail::Notice(Notice::Answer(client, reply)) => self.on_answer(client, reply),
            Mail::Notice(Notice::Unpaused) => self.resume_paused(),
            Mail::Stop => self.is_stopping = true,
        }
    }

    fn add(&mut self, mut stream: Stream) {
        let settings = &self.instance.settings;
        stream.tune(Duration::from_secs(network::TCP_KEEPALIVE.get(settings).into()));
        let at = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let token = Token(FIRST_CONNECTION + at);
        let interest = Interest::READABLE | Interest::WRITABLE;
        if self.poll.registry().register(&mut stream, token, interest).is_err() {
            self.free.push(at);
            self.instance.clients.dismiss();
            return;
        }
        let now = self.instance.clock.now();
        let client = self.instance.clients.add(stream.endpoint(), Arc::clone(&self.post), now);
        self.by_client.insert(client.id, at);
        let is_open = network::REQUIREPASS.get(settings).is_empty();
        let session = Session::new(client, is_open);
        let mut connection = Box::new(Connection::new(stream, session));
        connection.follow_limit(&self.output_limit);
        self.connections[at] = Some(connection);
    }

    pub(crate) fn close(&mut self, at: usize) {
        if let Some(connection) = self.connections[at].take() {
            self.drop_connection(at, *connection);
        }
    }

    pub(crate) fn drop_connection(&mut self, at: usize, mut connection: Connection) {
        // Deregistering fails only for a socket that the poll has forgotten already.
        let _ = self.poll.registry().deregister(&mut connection.stream);
        let id = connection.session.client.id;
        self.forget_wait(&mut connection);
        self.instance.waiters.forget(&connection.session.client);
        self.by_client.remove(&id);
        self.instance.clients.remove(id);
        self.free.push(at);
    }

    /// Goes on with a connection that has something waiting: serves it, or reads more of it.
    pub(crate) fn read(&mut self, at: usize) {
        let Some(mut connection) = self.connections.get_mut(at).and_then(Option::take) else {
            return;
        };
        if connection.is_query_held() {
            return self.read_ahead(at, connection);
        }
        if connection.is_cut {
            return self.serve_on(at, connection);
        }
        let mut outcome = Ok(Fate::Keep);
        let mut may_hold_more = true;
        let is_large = connection.query.len() > READ_BYTES;
        let (reads, most) =
            if is_large { (READS_PER_TURN, READ_BYTES_LARGE) } else { (1, READ_BYTES) };
        for _ in 0..reads {
            if connection.is_query_held() {
                break;
            }
            match self.read_once(&mut connection, most) {
                Ok(Some((fate, was_full))) => {
                    outcome = Ok(fate);
                    may_hold_more = was_full;
                }
                Ok(None) => may_hold_more = false,
                Err(error) => outcome = Err(error),
            }
            let is_over = connection.is_cut || !may_hold_more;
            if is_over || !matches!(outcome, Ok(Fate::Keep)) {
                break;
            }
        }
        self.settle(at, connection, outcome, may_hold_more);
    }

    /// Reads what a client sends whose requests are held back: because it waits for keys, mostly
    /// to learn that it is gone, or because it does not read its replies. The latter is served on
    /// when it has sent as much as waits for it.
    fn read_ahead(&mut self, at: usize, mut connection: Box<Connection>) {
        let mut input = std::mem::take(&mut self.input);
        let (mut outcome, mut may_hold_more) = (Ok(Fate::Keep), true);
        for _ in 0..READS_PER_TURN {
            let is_wanted = connection.is_to_be_read() && connection.is_query_held();
            if !is_wanted || !may_hold_more {
                break;
            }
            match self.receive(&mut connection, &mut input) {
                Ok(Some(bytes)) => {
                    connection.query.keep(&input[..bytes]);
                    connection.publish(self.instance.clock.now());
                    may_hold_more = bytes == input.len();
                }
                Ok(None) => may_hold_more = false,
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        self.input = input;
        if outcome.is_ok() && !connection.is_query_held() {
            return self.serve_on(at, connection);
        }
        self.settle(at, connection, outcome, may_hold_more);
    }

    /// Puts a connection back that was read from, or closes it.
    pub(crate) fn settle(
        &mut self,
        at: usize,
        mut connection: Box<Connection>,
        outcome: io::Result<Fate>,
        may_hold_more: bool,
    ) {
        let is_done = connection.session.close_after_reply && connection.backlog() == 0;
        if outcome.is_err() || is_done || self.is_over_limits(&connection) {
            self.drop_connection(at, *connection);
            return;
        }
        // The end behind what was read is told by no further event.
        let may_hold_more = may_hold_more || connection.is_ending;
        let is_unread = (may_hold_more && connection.is_to_be_read())
            || (connection.is_cut && !connection.is_query_held());
        if is_unread && !connection.is_unread {
            connection.is_unread = true;
            self.unread.push(at);
        }
        if connection.is_paused {
            self.is_any_paused = true;
            self.next_look = self.next_look.min(self.instance.clients.paused_until());
        }
        self.connections[at] = Some(connection);
        self.instance.store.pass(&self.lane);
    }

    /// One read of `most` bytes, and serving what waits with them; `None` when there was nothing
    /// to read. Tells too whether there may be more.
    fn read_once(
        &mut self,
        connection: &mut Connection,
        most: usize,
    ) -> io::Result<Option<(Fate, bool)>> {
        let mut input = std::mem::take(&mut self.input);
        let received = self.receive(connection, &mut input[..most]);
        if let Ok(Some(bytes)) = received {
            connection.query.keep(&input[..bytes]);
        }
        self.input = input;
        let Some(bytes) = received? else { return Ok(None) };
        self.now = self.instance.clock.now();
        let fate = self.serve_waiting(connection);
        self.finish_serving(connection)?;
        Ok(Some((fate, bytes == most)))
    }

    /// Reads and counts.
    pub(crate) fn receive(
        &self,
        connection: &mut Connection,
        room: &mut [u8],
    ) -> io::Result<Option<usize>> {
        let received = read_some(connection, room)?;
        if let Some(bytes) = received {
            self.statistics.server.input_bytes.add(bytes as u64);
            self.statistics.server.reads.add(1);
            connection.note_received(bytes);
        }
        Ok(received)
    }

    /// Sends the replies to what was served.
    pub(crate) fn finish_serving(&mut self, connection: &mut Connection) -> io::Result<()> {
        connection.expect_announced();
        self.send_replies(connection)?;
        connection.publish(self.now);
        Ok(())
    }

    /// Serves what waits in the query buffer.
    fn serve_waiting(&mut self, connection: &mut Connection) -> Fate {
        let query = std::mem::take(&mut connection.query);
        let (served, fate) = self.serve(connection, query.waiting());
        connection.query = query;
        connection.query.drop_served(served);
        fate
    }

    /// Writes the replies that have gathered.
    #[inline(always)]
    pub(crate) fn send_replies(&mut self, connection: &mut Connection) -> io::Result<()> {
        if self.replies.is_empty() {
            return Ok(());
        }
        let sent = connection.send(&mut self.replies);
        // They are nobody else's when the connection is broken.
        self.replies.clear();
        if self.replies.capacity() > REPLIES_KEPT {
            self.replies = Vec::new();
        }
        self.note_sent(connection, sent?);
        self.statistics.server.writes.add(1);
        Ok(())
    }

    /// Counts bytes that were sent.
    #[inline]
    pub(crate) fn note_sent(&self, connection: &mut Connection, sent: usize) {
        connection.note_sent(sent);
        self.statistics.server.output_bytes.add(sent as u64);
    }

    /// Writes what a socket did not take before, and serves on if the connection waited for that.
    fn flush(&mut self, at: usize) {
        let has_backlog = |connection: &mut Box<Connection>| connection.backlog() > 0;
        let slot = self.connections.get_mut(at).and_then(|slot| slot.take_if(has_backlog));
        let Some(mut connection) = slot else { return };
        match connection.flush() {
            Ok(sent) => self.note_sent(&mut connection, sent),
            Err(_) => return self.drop_connection(at, *connection),
        }
        connection.publish(self.instance.clock.now());
        if !connection.is_query_held() && !connection.query.is_empty() {
            return self.serve_on(at, connection);
        }
        self.settle(at, connection, Ok(Fate::Keep), false);
    }

    /// Serves requests that were held back.
    pub(crate) fn serve_on(&mut self, at: usize, mut connection: Box<Connection>) {
        self.now = self.instance.clock.now();
        if std::mem::take(&mut connection.is_paused) {
            connection.session.client.set_flag(ClientFlags::PAUSED, false);
        }
        let fate = self.serve_waiting(&mut connection);
        let outcome = self.finish_serving(&mut connection).map(|()| fate);
        self.settle(at, connection, outcome, true);
    }
}

/// Reads once; `None` when there is nothing at present.
fn read_some(connection: &mut Connection, input: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match connection.stream.read(input) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => return Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
