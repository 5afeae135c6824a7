//! Connection of one client: its socket, its input that was not served yet, and its output that was
//! not written yet.

use crate::front::Front;
use crate::output::Output;
use crate::query::Query;
use crate::stream::Stream;
use base::Steady;
use bitflags::bitflags;
use command::Outstanding;
use session::{Session, SharedBytes};
use settings::{OutputLimit, OutputLimits};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use wire::Lent;

/// Milliseconds of silence after which a client needs no free room in its query buffer.
const SILENT_MILLIS: u64 = 2000;
/// Bytes of replies that may wait for a client before its requests are deferred. While it sends
/// more than that they are still read, and served until as many bytes of replies wait: so a client
/// that sends all requests before it reads a reply gets all replies.
const BACKLOG_MAX: usize = 1 << 20;
/// Most bytes that are read ahead from a client while it waits for keys.
const READ_AHEAD_MAX: usize = 1 << 20;
/// Largest capacity that a worker's buffer for replies keeps.
const REPLIES_KEPT: usize = 1 << 20;

/// What becomes of the requests of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// They are served as they come.
    Serving,
    /// Its slice ended before its requests did: those in `query` are served in its next one.
    SliceOver,
    /// Its last command waits for keys, or for another thread, and has no answer yet.
    Waiting,
    /// They are postponed.
    Postponed {
        /// By CLIENT PAUSE; otherwise since the disk is behind, or put off in the middle of
        /// something long.
        by_pause: bool,
        /// Place in the line of those that are postponed; zero until it has one.
        place: u64,
    },
}

bitflags! {
    /// Lists of a worker in which a connection stands at most once.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Lists: u8 {
        /// Those that the worker looks at in the next loop iteration.
        const UNREAD = 1 << 0;
        /// Those to which it writes at the end of the loop iteration.
        const UNWRITTEN = 1 << 1;
        /// Those whose output waits for a position.
        const MARKED = 1 << 2;
        /// Those of whose sockets events tell that they take bytes, which is while output waits
        /// for that.
        const WATCHED = 1 << 3;
    }
}

/// Connection of one client, owned by one worker.
#[derive(Debug)]
pub struct Connection {
    /// Its socket.
    pub stream: Stream,
    /// Protocol state of the client.
    pub session: Session,
    /// What it speaks, with the state of an incomplete request.
    pub front: Front,
    /// Bytes that were received and not served: the beginning of a request, or deferred requests.
    pub query: Query,
    /// Its own messages, while the reply of EXEC that they follow goes by mail.
    own: Output,
    /// Replies that the socket did not take, messages, and bytes that may not leave yet.
    output: Output,
    /// Bytes of replies that may wait however little the client has sent.
    backlog_max: usize,
    /// What becomes of the requests that it sends.
    pub life: Life,
    /// Nanoseconds that the command which waits has run.
    pub ran_nanos: u64,
    /// The command that waits, if it waits for another thread and not for keys.
    pub outstanding: Option<Box<Outstanding>>,
    /// How often the mail had been read when a request last caused what comes before its next one.
    pub yielded_at: u64,
    /// Lists of its worker in which it stands.
    pub lists: Lists,
    /// True if the counts last published say that its buffers take memory.
    is_shown_with_buffers: bool,
    /// Moment at which it gives up waiting for keys.
    pub gives_up_at: Option<Steady>,
    /// Moment since which the output is above its soft limit.
    pub over_soft_limit_since: Option<Steady>,
}

impl Connection {
    /// Returns a connection that has sent nothing yet.
    pub fn new(stream: Stream, mut session: Session) -> Connection {
        session.memory_changed |= stream.is_encrypted();
        Connection {
            front: Front::new(stream.dialect),
            stream,
            session,
            query: Query::default(),
            own: Output::default(),
            output: Output::default(),
            backlog_max: BACKLOG_MAX,
            life: Life::Serving,
            ran_nanos: 0,
            outstanding: None,
            yielded_at: 0,
            lists: Lists::empty(),
            is_shown_with_buffers: false,
            gives_up_at: None,
            over_soft_limit_since: None,
        }
    }

    /// Returns the bytes of replies and messages that wait for the client.
    #[inline]
    pub fn backlog(&self) -> usize {
        self.output.len()
    }

    /// Returns the bytes of memory of its output, which its limits count: all that is allocated.
    #[inline]
    pub fn output_memory(&self) -> u64 {
        (self.output.room() + self.own.room() + self.stream.output_room()) as u64
    }

    /// Returns true if there is neither output nor anything to be put behind it.
    #[inline]
    pub fn is_output_empty(&self) -> bool {
        !self.output.has_any() && !self.own.has_any()
    }

    /// Returns the least memory of its output since this was last asked.
    pub fn take_lowest_output_memory(&mut self) -> u64 {
        self.output.take_lowest() as u64
    }

    /// Begins or ends a wait, and has the memory of its request counted anew.
    pub fn set_life(&mut self, life: Life) {
        self.life = life;
        self.session.memory_changed = true;
    }

    /// Enters it in one of the lists of its worker under its place in the table, unless it stands
    /// there.
    #[inline]
    pub fn enter(&mut self, list: Lists, at: usize, entries: &mut Vec<usize>) {
        if !self.lists.contains(list) {
            self.lists.insert(list);
            entries.push(at);
        }
    }

    /// Returns true while its last command waits for keys, or for another thread.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        self.life == Life::Waiting
    }

    /// Returns true while its requests are postponed by CLIENT PAUSE or the disk.
    #[inline]
    pub fn is_postponed(&self) -> bool {
        matches!(self.life, Life::Postponed { .. })
    }

    /// Returns true if it is closed once its replies are written: nothing more is served.
    #[inline]
    pub fn is_closing(&self) -> bool {
        self.session.close_after_reply || self.session.client.is_doomed()
    }

    /// Returns true while an argument of its next request is received into the store.
    #[inline]
    pub fn is_receiving_apart(&self) -> bool {
        self.session.apart.as_ref().is_some_and(|apart| apart.missing() > 0)
    }

    /// Returns true if no request of it waits or is deferred, so that it may join a group.
    #[inline]
    pub fn is_simple(&self) -> bool {
        self.life == Life::Serving && self.query.is_empty() && !self.is_deferred(0)
    }

    /// Returns true if its worker has nothing of it but its place in the table, so that another one
    /// can take it over.
    pub fn can_move(&self) -> bool {
        let is_listed = self.lists.intersects(Lists::all().difference(Lists::WATCHED));
        let is_owed = self.has_output() || self.own.has_any() || self.outstanding.is_some();
        let is_leaving = self.stream.is_ending() || self.session.client.is_doomed();
        self.is_simple()
            && !(is_listed || is_owed || is_leaving)
            && self.gives_up_at.is_none()
            && self.over_soft_limit_since.is_none()
    }

    /// Returns true if the requests that wait in its query buffer are deferred.
    pub fn is_query_deferred(&self) -> bool {
        self.is_deferred(self.query.len())
    }

    /// Returns true if its requests are deferred, given that `unserved` bytes of them wait.
    #[inline]
    pub fn is_deferred(&self, unserved: usize) -> bool {
        let backlog = self.backlog();
        !matches!(self.life, Life::Serving | Life::SliceOver)
            || self.session.close_after_reply
            || (backlog > self.backlog_max && backlog > unserved)
    }

    /// Returns true if its socket is to be read, even if only to queue requests behind others that
    /// are deferred.
    pub fn is_to_be_read(&self) -> bool {
        let is_wanted = match self.life {
            Life::Serving | Life::SliceOver => true,
            // If the client is gone, the end of its stream is to be found, behind what its socket
            // holds.
            Life::Waiting => self.stream.is_ending() || self.query.len() <= READ_AHEAD_MAX,
            // A pause may be long, and a client that gave up meanwhile wants nothing to run behind
            // it. What is postponed for the disk runs all the same.
            Life::Postponed { by_pause, .. } => by_pause && self.stream.is_ending(),
        };
        is_wanted && !self.session.close_after_reply
    }

    /// Returns true if its socket may take more of the output than was written at a time.
    #[inline]
    pub fn may_write_more(&self) -> bool {
        self.output.may_write_more()
    }

    /// Returns true if whether events are to report that the socket takes bytes has changed: they
    /// do from when it is full until nothing waits. At other times they would come whenever the
    /// client reads, and what it sends next would be served before what others sent earlier.
    #[inline]
    pub fn is_watch_to_change(&self) -> bool {
        if self.lists.contains(Lists::WATCHED) {
            !self.has_output()
        } else {
            self.output.is_blocked()
        }
    }

    /// Returns true if bytes wait for the client, or marks stand before those to come.
    #[inline]
    pub fn has_output(&self) -> bool {
        self.output.has_any()
    }

    /// Returns true if some of the output waits for a position.
    #[inline]
    pub fn is_marked(&self) -> bool {
        self.output.is_marked()
    }

    /// Holds back the replies behind the next `ahead` bytes until `position` is safe.
    pub fn mark(&mut self, ahead: usize, position: u64) {
        self.output.mark(ahead, position);
    }

    /// Adds a message that other clients get too to the output, and its payload if that is a part
    /// of its own; the next write sends it.
    pub fn share(&mut self, head: SharedBytes, payload: Option<SharedBytes>) {
        self.output.share(head, payload);
    }

    /// Adds replies to the output up to the last bytes that they leave out, and these.
    pub fn put_lent(&mut self, replies: &mut Vec<u8>, lent: &mut Lent) {
        if !lent.is_empty() {
            self.output.lend(replies, lent);
        }
    }

    /// Copies up to `most` bytes of the output that were lent, if they are lent for long. Returns
    /// the number of bytes copied.
    pub fn copy_lent(&mut self, most: usize) -> usize {
        self.output.copy_lent(most)
    }

    /// Keeps a message of its own until the reply that it follows is there.
    pub fn keep_own(&mut self, head: SharedBytes, payload: Option<SharedBytes>) {
        self.own.share(head, payload);
        self.session.memory_changed = true;
    }

    /// Puts its own messages behind the output.
    pub fn put_own(&mut self) {
        let own = std::mem::take(&mut self.own);
        self.output.append(own);
    }

    /// Writes what waits and then `replies`, as far as positions up to `safe` allow, and keeps what
    /// the socket does not take, large replies without a copy. Leaves `replies` empty. Returns the
    /// number of bytes written.
    ///
    /// # Errors
    /// When the connection is broken.
    #[inline]
    pub fn send(&mut self, replies: &mut Vec<u8>, safe: u64) -> io::Result<usize> {
        let sent = self.output.send(replies, &mut self.stream, safe);
        // Also when the connection is broken: the next client must not get them.
        replies.clear();
        if replies.capacity() > REPLIES_KEPT {
            *replies = Vec::new();
        }
        sent
    }

    /// Returns the limit of its output: that of its class.
    #[inline]
    pub fn output_limit<'l>(&self, limits: &'l OutputLimits) -> &'l OutputLimit {
        if self.session.is_subscriber() { &limits.pubsub } else { &limits.normal }
    }

    /// Returns how many bytes of replies may gather before the client is over the limit of its
    /// output.
    #[inline]
    pub fn reply_bytes_left(&self, limits: &OutputLimits) -> usize {
        self.output_limit(limits).hard_output().map_or(usize::MAX, |hard| {
            let left = hard.saturating_sub(self.output_memory()).max(1);
            usize::try_from(left).unwrap_or(usize::MAX)
        })
    }

    /// Lets the backlog grow to the size at which a limit, of its output or of the memory of all
    /// clients, closes the connection: it could not reach it otherwise.
    pub fn follow_limits(&mut self, limits: &OutputLimits, memory_max: Option<u64>) {
        let limit = &limits.normal;
        let closed_at = limit.hard_output().max(limit.soft_output()).max(memory_max).unwrap_or(0);
        self.backlog_max = BACKLOG_MAX.max(usize::try_from(closed_at).unwrap_or(usize::MAX));
    }

    /// Drops its output and has it closed.
    pub fn give_up(&mut self) {
        self.output.clear();
        self.own.clear();
        self.session.close_after_reply = true;
    }

    /// Writes what waits, as far as the socket takes it and positions up to `safe` allow, but no
    /// more than `most`. Returns the number of bytes written.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn flush(&mut self, safe: u64, most: usize) -> io::Result<usize> {
        self.output.write_to(&mut self.stream, safe, most)
    }

    /// Makes room for the argument that the client is sending.
    #[inline]
    pub fn expect_announced(&mut self) {
        self.query.expect(self.front.announced(self.query.len()));
    }

    /// Returns the milliseconds since the last interaction with the client.
    pub fn silent_for(&self, now: Steady) -> u64 {
        now.since(Steady(self.session.client.last_interaction.load(Relaxed)))
    }

    /// Returns true if it may be closed for its silence: not while the client waits for the server,
    /// and not one that only listens, as a subscriber or by MONITOR.
    pub fn may_time_out(&self) -> bool {
        let listens = self.session.is_subscriber() || self.session.is_monitor();
        !self.is_waiting() && !self.is_postponed() && !listens
    }

    /// Frees memory that the query buffer did not need lately; its client has been silent for
    /// `silent` milliseconds.
    pub fn trim(&mut self, silent: u64) {
        if self.query.trim(silent > SILENT_MILLIS) {
            self.publish_memory();
        }
    }

    /// Publishes the time and the memory of the connection for other threads.
    #[inline]
    pub fn publish(&mut self, now: Steady) {
        self.session.client.last_interaction.store(now.0, Relaxed);
        self.publish_buffers();
    }

    /// Publishes the memory of the connection for other threads, if that may have changed.
    #[inline]
    pub fn publish_buffers(&mut self) {
        if self.has_buffers() | self.is_shown_with_buffers | self.session.memory_changed {
            self.publish_memory();
        }
    }

    #[inline]
    fn has_buffers(&self) -> bool {
        self.query.room() > 0 || !self.is_output_empty()
    }

    /// Counts bytes that came from the client.
    #[inline]
    pub fn note_received(&self, bytes: usize) {
        add(&self.session.client.received, bytes);
    }

    /// Counts bytes that went to the client.
    #[inline]
    pub fn note_sent(&self, bytes: usize) {
        add(&self.session.client.sent, bytes);
    }

    #[inline(never)]
    fn publish_memory(&mut self) {
        self.is_shown_with_buffers = self.has_buffers();
        self.session.memory_changed = false;
        let client = &self.session.client;
        let taken = self.front.taken().min(self.query.len());
        let waiting = if self.is_waiting() { client.waiter_bytes() } else { 0 };
        let apart = self.session.apart.as_ref().map_or(0, |apart| apart.received());
        let arguments = (taken + self.front.heap_bytes() + apart) as u64 + waiting;
        client.argument_bytes.store(arguments, Relaxed);
        client.query_bytes.store((self.query.len() - taken) as u64, Relaxed);
        client.query_free.store((self.query.room() - self.query.len()) as u64, Relaxed);
        client.output_bytes.store(self.backlog() as u64, Relaxed);
        client.output_room.store(self.output_memory(), Relaxed);
        client.encryption_bytes.store(self.stream.encryption_memory() as u64, Relaxed);
        client.count_memory();
    }
}

/// Adds to a count that only this thread writes.
#[inline]
fn add(count: &AtomicU64, by: usize) {
    count.store(count.load(Relaxed) + by as u64, Relaxed);
}
