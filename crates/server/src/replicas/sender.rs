//! The thread that serves replicas.
//!
//! ```text
//! round   mail, cuts ─▶ what they say ─▶ what there is, to each in turn ─▶ who waits ─▶ rest
//! ```
//! It rests for a millisecond while there are changes, so that many leave in one write; who waits
//! in WAIT ends that rest. Without replicas it sleeps.

use super::backlog::Backlog;
use super::link::{Gone, Link, State, TURN_BYTES, name};
use super::pace::Throttle;
use super::parcel::Parcel;
use super::sync::Cut;
use crate::door::Door;
use crate::event_loop::MAILBOX;
use crate::journal::Journal;
use crate::limits;
use crate::mail::{Inbox, Mail, Mailbox};
use crate::saver::Saver;
use crate::stream_in_files::StreamInFiles;
use base::Steady;
use base::mutex::Mutex;
use command::forget_all;
use crossbeam_channel::Receiver;
use journal::Lane;
use mio::event::Source;
use mio::{Events, Poll, Waker};
use replication::spoken::GETACK;
use replication::{ReplicationId, Said};
use session::{Instance, Notice, Owner, Phase, Post};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::fence;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use store::ThreadContext;

/// Rest while there are changes.
const SHORT_REST: Duration = Duration::from_millis(1);
/// Rest while there are replicas.
const LONG_REST: Duration = Duration::from_millis(100);
/// Sleep without replicas.
const SLEEP: Duration = Duration::from_secs(1);
/// Rounds without anything to send before the rests are long.
const QUIET_ROUNDS: u32 = 50;
/// Milliseconds between two looks at what changes slowly.
const LOOK_MILLIS: u64 = 1000;
/// Rest of a replica for which there was no snapshot.
const UNSERVED_MILLIS: u64 = 10_000;
/// Most events of one round.
const EVENTS: usize = 256;

/// The thread, and what it owns.
pub struct SenderThread {
    pub(super) instance: Arc<Instance>,
    pub(super) journal: Arc<Journal>,
    pub(super) saver: Arc<Saver>,
    pub(super) thread: ThreadContext,
    pub(super) lane: Arc<Mutex<Lane>>,
    pub(super) door: Arc<Door>,
    inbox: Inbox,
    pub(super) poll: Poll,
    pub(super) links: BTreeMap<usize, Link>,
    pub(super) next_token: usize,
    pub(super) backlog: Option<Backlog>,
    /// How many of them may be primaries that hand over to this server.
    pub(super) handovers: usize,
    /// The snapshot at work, and who is to get it.
    pub(super) sync: Option<Sync>,
    /// Replicas whose connections were lost, which keep their places for a while.
    pub(super) lost: Vec<Lost>,
    /// The stream from before the start, for replicas that lack some of it.
    pub(super) in_files: Option<BeforeStart>,
    /// Replicas for which there was no snapshot, and until when each rests: it asks again at once.
    pub(super) unserved: HashMap<String, Steady>,
    pub(super) throttle: Throttle,
    room: Vec<u8>,
    ciphertext: Vec<u8>,
    quiet_rounds: u32,
    /// Tail of the stream when it was last sent.
    tail_seen: u64,
    looked_at: Steady,
    pub(super) pinged_at: Steady,
    /// Since when there is no replica.
    pub(super) alone_since: Option<Steady>,
    is_stopping: bool,
}

/// What came of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    /// There was nothing to send, or nobody takes it.
    Nothing,
    /// All was sent that there was.
    Sent,
    /// Somebody takes more at once.
    More,
}

/// The place of a replica whose connection was lost.
pub struct Lost {
    /// The replica, as logs name it.
    pub(super) who: String,
    /// Position up to which it was sent the stream.
    pub(super) position: u64,
    /// When the place is given up.
    pub(super) until: Steady,
}

/// The stream from before the start.
pub struct BeforeStart {
    pub(super) files: StreamInFiles,
    /// Position up to which they have it.
    pub(super) end: u64,
    /// When they are given up.
    pub(super) until: Steady,
}

/// A snapshot at work.
pub struct Sync {
    pub(super) parcel: Arc<Parcel>,
    /// Tokens of the replicas that share it.
    pub(super) members: Vec<usize>,
    pub(super) cut: Receiver<Cut>,
    /// True once its cut is made.
    pub(super) is_cut: bool,
}

/// The thread, as the server that starts it has it.
pub struct ReplicaSender {
    mailbox: Mailbox,
    thread: JoinHandle<()>,
}

impl ReplicaSender {
    /// Starts the thread, and opens the door to it.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn start(
        instance: &Arc<Instance>,
        journal: &Arc<Journal>,
        saver: &Arc<Saver>,
    ) -> io::Result<ReplicaSender> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), MAILBOX)?;
        let wake = move || drop(waker.wake());
        let (mailbox, inbox) = Mailbox::new(wake, instance.clients.mail_bytes());
        let post: Arc<dyn Post> = Arc::new(mailbox.clone());
        let sum = instance.clients.add_worker(Arc::clone(&post));
        let door = Arc::new(Door::new(mailbox.clone(), Owner { post, sum, entry: 0 }));
        let thread = instance.store.thread_context();
        let (thread, lane) = thread.zip(journal.take_lane()).ok_or(io::ErrorKind::OutOfMemory)?;
        journal.open_door(Arc::clone(&door));
        instance.replicas.end_history(new_id()?);
        let now = instance.clock.steady();
        let sender = SenderThread {
            instance: Arc::clone(instance),
            journal: Arc::clone(journal),
            saver: Arc::clone(saver),
            thread,
            lane: Arc::new(Mutex::new(lane)),
            door,
            inbox,
            poll,
            links: BTreeMap::new(),
            handovers: 0,
            next_token: MAILBOX.0 + 1,
            backlog: None,
            sync: None,
            lost: Vec::new(),
            in_files: None,
            unserved: HashMap::new(),
            throttle: Throttle::default(),
            room: vec![0; TURN_BYTES],
            ciphertext: Vec::new(),
            quiet_rounds: 0,
            tail_seen: 0,
            looked_at: now,
            pinged_at: now,
            alone_since: None,
            is_stopping: false,
        };
        let run = move || sender.run();
        let thread = thread::Builder::new().name("sender".to_owned()).spawn(run)?;
        Ok(ReplicaSender { mailbox, thread })
    }

    /// Has it send what there is, as far as sockets take it, and end. Waits for that.
    pub fn stop(self) {
        self.mailbox.send(Mail::Stop);
        // A panic of it was reported when it happened.
        let _ = self.thread.join();
    }
}

/// Draws an id.
pub fn new_id() -> io::Result<ReplicationId> {
    let mut bytes = [0_u8; 20];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    ReplicationId::parse(digits.as_bytes()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

impl SenderThread {
    fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        while !self.is_stopping {
            let progress = self.round(&events);
            events.clear();
            self.rest(&mut events, progress);
        }
        // Nothing changes any more: what there is goes out, as far as sockets take it.
        self.send();
        let all: Vec<usize> = self.links.keys().copied().collect();
        all.into_iter().for_each(|token| self.close(token, &Gone::Done));
    }

    /// Waits until there is something to do.
    fn rest(&mut self, events: &mut Events, progress: Progress) {
        let is_quiet = progress == Progress::Nothing;
        self.quiet_rounds = if is_quiet { self.quiet_rounds.saturating_add(1) } else { 0 };
        let is_short = self.quiet_rounds < QUIET_ROUNDS;
        let may_sleep = !is_short && self.inbox.fall_asleep();
        // A worker that has put something either sees that this thread sleeps, or this sees that.
        fence(SeqCst);
        let has_news = self.backlog.is_some() && self.journal.tail() != self.tail_seen;
        let most = match () {
            () if progress == Progress::More => Duration::ZERO,
            () if is_short || self.handovers > 0 => SHORT_REST,
            () if self.instance.replicas.failover.is_active() => SHORT_REST,
            () if !may_sleep || has_news => Duration::ZERO,
            () if self.links.is_empty() => SLEEP,
            () => LONG_REST,
        };
        let outcome = self.poll.poll(events, Some(most));
        if may_sleep {
            self.inbox.wake();
        }
        if let Err(error) = outcome
            && error.kind() != io::ErrorKind::Interrupted
        {
            tracing::error!("the event loop of the sender failed: {error}");
            self.is_stopping = true;
        }
    }

    /// Does what there is to do.
    fn round(&mut self, events: &Events) -> Progress {
        if self.door.take_parting() {
            self.part();
            self.door.end_parting();
        }
        self.let_go();
        if self.door.take_keeping() {
            self.begin_backlog();
            self.door.end_keeping();
        }
        self.read_mail();
        self.follow_cut();
        let mut has_acknowledged = false;
        for event in events.iter().filter(|event| event.token() != MAILBOX) {
            let token = event.token().0;
            if event.is_writable()
                && let Some(link) = self.links.get_mut(&token)
            {
                link.unblock();
            }
            if event.is_readable() || event.is_read_closed() || event.is_error() {
                has_acknowledged |= self.read(token);
            }
        }
        self.ask_for_acknowledgements();
        let progress = self.send();
        if has_acknowledged {
            command::answer_acknowledged(&self.instance);
        }
        let now = self.instance.clock.steady();
        self.follow_failover(now);
        self.follow_handovers(now);
        self.begin_sync(now);
        self.pace_writers(now);
        if now.since(self.looked_at) >= LOOK_MILLIS {
            self.looked_at = now;
            self.look(now);
        }
        progress
    }

    fn read_mail(&mut self) {
        for _ in 0..self.inbox.arrived() {
            match self.inbox.next() {
                Some(Mail::Moved(connection)) => self.admit(connection),
                Some(Mail::Notice(Notice::Close(client) | Notice::Flooded(client))) => {
                    let is_meant = |link: &Link| link.connection.session.client.id == client;
                    let token = self.links.iter().find(|(_, link)| is_meant(link));
                    if let Some(token) = token.map(|(token, _)| *token) {
                        self.close(token, &Gone::Because("it was killed".to_owned()));
                    }
                }
                Some(Mail::Stop) => self.is_stopping = true,
                Some(Mail::Accepted(_) | Mail::Notice(_)) => {}
                None => break,
            }
        }
    }

    /// Reads what a replica says. Returns true if it has acknowledged something.
    pub(super) fn read(&mut self, token: usize) -> bool {
        let Some(link) = self.links.get_mut(&token) else { return false };
        let now = self.instance.clock.steady();
        let mut acknowledged = None;
        let outcome = link.read((&mut self.room, &mut self.ciphertext), now, |said| {
            if let Said::Acknowledged(offset, synced) = said {
                acknowledged = Some((offset, synced));
            }
        });
        if let Some((offset, synced)) = acknowledged {
            let is_new = matches!(link.state, State::Loads(_));
            if let State::Loads(at) = link.state {
                link.follow(at);
                tracing::info!("Synchronization with replica {} succeeded", name(link));
            }
            // Nobody has what was never sent.
            let shift = self.journal.shift();
            let sent = if let State::Follows(at) = link.state { at.wrapping_add(shift) } else { 0 };
            link.replica.acknowledge(offset.min(sent), synced.map(|it| it.min(sent)), now);
            if is_new {
                limits::grant_writes(&self.instance);
            }
        }
        if let Err(gone) = outcome {
            self.close(token, &gone);
        }
        acknowledged.is_some()
    }

    /// Asks replicas for acknowledgements, if somebody waits for some.
    fn ask_for_acknowledgements(&mut self) {
        // In the stream of a primary there is nothing of this server.
        let may_ask =
            !self.journal.reasons.follows() && !self.instance.replicas.failover.is_active();
        if may_ask && self.door.take_wish() && self.has_online() {
            self.lane.lock().put_aside(GETACK);
            // Replicas are sent what was written, and a client waits.
            self.journal.wait_until_written();
        }
    }

    pub(super) fn has_online(&self) -> bool {
        self.links.values().any(|link| link.replica.phase() == Phase::Online)
    }

    /// Sends to each replica what there is.
    fn send(&mut self) -> Progress {
        let mut progress = Progress::Nothing;
        self.tail_seen = self.journal.tail();
        let limit = match &mut self.backlog {
            Some(backlog) => self.journal.may_leave(backlog.whole()),
            None => 0,
        };
        if self.door.lets_go() {
            // What was put since is of another id.
            return Progress::More;
        }
        let (mut gone, mut total) = (Vec::new(), 0);
        let now = self.instance.clock.steady();
        for (token, link) in &mut self.links {
            match link.send(self.backlog.as_ref(), limit, &mut self.room) {
                Ok((bytes, has_more)) => {
                    total += bytes as u64;
                    progress = progress.max(match bytes {
                        _ if has_more => Progress::More,
                        0 => Progress::Nothing,
                        _ => Progress::Sent,
                    });
                    let is_following = matches!(link.state, State::Follows(_) | State::Loads(_));
                    if bytes > 0 && !is_following {
                        link.replica.hear(now);
                    }
                }
                Err(reason) => gone.push((*token, reason)),
            }
        }
        self.instance.replicas.syncs.output_bytes.fetch_add(total, Relaxed);
        gone.into_iter().for_each(|(token, reason)| self.close(token, &reason));
        self.let_parcel_go();
        self.trim();
        progress
    }

    /// Lets all replicas go, and ends the history: the data is not what the stream says any more.
    fn part(&mut self) {
        if let Ok(id) = new_id() {
            self.instance.replicas.end_history(id);
        }
        if self.sync.take().is_some() {
            self.saver.cancel_replicas(&self.instance);
        }
        self.close_all("the data was replaced");
        if self.backlog.is_some() {
            self.drop_backlog();
        }
    }

    /// Lets all replicas go, if that was asked for since the last time.
    pub(super) fn let_go(&mut self) {
        if self.door.take_letting_go() {
            self.close_all("its primary has another id now");
        }
    }

    fn close_all(&mut self, reason: &str) {
        let all: Vec<usize> = self.links.keys().copied().collect();
        let reason = Gone::Because(reason.to_owned());
        all.into_iter().for_each(|token| self.close(token, &reason));
    }

    pub(super) fn close(&mut self, token: usize, reason: &Gone) {
        let Some(link) = self.links.remove(&token) else { return };
        let who = name(&link);
        self.keep_place(&link, &who);
        match reason {
            Gone::Done => tracing::info!("Connection with replica {who} ended"),
            Gone::Because(reason) => tracing::info!("Connection with replica {who} lost: {reason}"),
            Gone::Unserved(reason) => {
                tracing::warn!("Connection with replica {who} lost: {reason}");
                let now = self.instance.clock.steady();
                self.unserved.retain(|_, until| *until > now);
                self.unserved.insert(who, now.after(UNSERVED_MILLIS));
            }
        }
        let mut connection = link.connection;
        // Fails only for a socket that the poll has forgotten already.
        let _ = connection.stream.deregister(self.poll.registry());
        connection.stream.end();
        let client = Arc::clone(&connection.session.client);
        self.instance.waiters.forget(&client);
        forget_all(&self.instance, &mut connection.session);
        self.instance.replicas.remove(client.id);
        self.instance.clients.remove(client.id);
        limits::grant_writes(&self.instance);
    }
}
