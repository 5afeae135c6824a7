//! Replicas of this server, and the stream that they follow, as clients see them. The thread that
//! serves replicas keeps it up to date.
//!
//! ```text
//! REPLCONF ──▶ Session::reader ··· PSYNC ──▶ Session::wants_stream ──▶ the connection leaves its
//!                                              worker, and becomes a Replica of the list
//! REPLCONF ACK ──▶ Replica::acknowledge ──▶ WAIT, WAITAOF, INFO, min-replicas-to-write
//! ```

use crate::client::Client;
use crate::failover::Failover;
use crate::upstream::{Primary, Upstream};
use base::Steady;
use base::mutex::{Mutex, MutexGuard};
use replication::{History, Reader, ReplicationId};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize};
use std::sync::{Arc, OnceLock};
use store::{Store, ThreadContext};

/// What a client has asked for with PSYNC or SYNC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamRequest {
    /// The stream of an id from an offset on, the first byte of which is 1.
    From(Vec<u8>, i64),
    /// The same, of a primary that hands over to this server, and of whose stream some is on its
    /// way still.
    HandsOver(Vec<u8>, i64),
    /// A snapshot and the stream behind it, in the words of SYNC: without a line before.
    Old,
}

/// How far a replica has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// It waits for the cut of its snapshot.
    Waits,
    /// Its snapshot is sent.
    Loads,
    /// It follows the stream.
    Online,
}

/// When a replica will have caught up, if its rate and that of writing stay as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outlook {
    /// Nobody knows yet.
    #[default]
    Unknown,
    /// In so many seconds.
    Seconds(u64),
    /// Never.
    Never,
}

/// How a synchronization with a snapshot goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncFacts {
    /// Bytes that were sent, of the snapshot and of the stream.
    pub sent: u64,
    /// Bytes to come, of both; `None` while the snapshot is made.
    pub left: Option<u64>,
    /// Bytes a second that are sent.
    pub rate: u64,
    /// Bytes a second that are put into the stream.
    pub write_rate: u64,
    /// When the replica will have caught up.
    pub outlook: Outlook,
}

/// A connection that follows the stream, or takes a snapshot of it.
#[derive(Debug)]
pub struct Replica {
    /// Its client.
    pub client: Arc<Client>,
    /// What it has told of itself.
    pub about: Reader,
    phase: AtomicU8,
    acknowledged: AtomicU64,
    /// Offset up to which its files have the stream, plus one; zero if it has told none.
    synced: AtomicU64,
    /// When it was heard of last.
    heard_at: AtomicU64,
    /// Its synchronization with a snapshot, while it is at work.
    sync: Mutex<Option<SyncFacts>>,
}

impl Replica {
    /// One that waits for a snapshot.
    pub fn new(client: Arc<Client>, about: Reader, now: Steady) -> Replica {
        Replica {
            client,
            about,
            phase: AtomicU8::new(Phase::Waits as u8),
            acknowledged: AtomicU64::new(0),
            synced: AtomicU64::new(0),
            heard_at: AtomicU64::new(now.0),
            sync: Mutex::default(),
        }
    }

    /// How far it has come.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Acquire) {
            0 => Phase::Waits,
            1 => Phase::Loads,
            _ => Phase::Online,
        }
    }

    /// Takes note of how far it has come.
    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Release);
    }

    /// Takes note of how its synchronization goes on; `None` when it has ended.
    pub fn set_sync(&self, facts: Option<SyncFacts>) {
        *self.sync.lock() = facts;
    }

    /// How its synchronization goes on, while one is at work.
    pub fn sync(&self) -> Option<SyncFacts> {
        *self.sync.lock()
    }

    /// Takes note of what it has: all up to an offset, and of that all up to another one in its
    /// files if it tells that. Neither goes back.
    pub fn acknowledge(&self, offset: u64, synced: Option<u64>, now: Steady) {
        self.acknowledged.fetch_max(offset, Release);
        self.synced.fetch_max(synced.map_or(0, |synced| synced.saturating_add(1)), Release);
        self.hear(now);
    }

    /// Takes note of a sign of life.
    pub fn hear(&self, now: Steady) {
        self.heard_at.store(now.0, Relaxed);
    }

    /// Offset up to which it has the stream.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Acquire)
    }

    /// Milliseconds since it was heard of.
    pub fn silent_for(&self, now: Steady) -> u64 {
        now.since(Steady(self.heard_at.load(Relaxed)))
    }

    /// Returns true if its files have all up to an offset.
    fn has_synced(&self, offset: u64) -> bool {
        self.synced.load(Acquire) > offset
    }

    /// Returns true for one that counts as a replica: not one that takes a snapshot and leaves.
    pub fn follows(&self) -> bool {
        !self.about.only_snapshot
    }

    /// Address at which it can be reached: the one that it tells, or else that of its connection.
    pub fn address(&self) -> String {
        if !self.about.address.is_empty() {
            return String::from_utf8_lossy(&self.about.address).into_owned();
        }
        let address = &self.client.address;
        let host = address.rsplit_once(':').map_or(&**address, |(host, _)| host);
        host.trim_start_matches('[').trim_end_matches(']').to_owned()
    }
}

/// What of the stream is kept for replicas that come back.
#[derive(Debug, Default)]
pub struct BacklogFacts {
    /// True while some is.
    pub is_kept: AtomicBool,
    /// Offset from which on it is.
    pub first: AtomicU64,
    /// Bytes of it that are in files.
    pub bytes_in_files: AtomicU64,
    /// Bytes of it that are in memory.
    pub bytes_in_memory: AtomicU64,
    /// Bytes of a snapshot on its way that are in memory.
    pub snapshot_bytes: AtomicU64,
}

/// Counts of synchronizations.
#[derive(Debug, Default)]
pub struct SyncCounts {
    /// Those with a snapshot.
    pub full: AtomicU64,
    /// Those that went on with what was kept.
    pub partial: AtomicU64,
    /// Those that could not, though they were asked for.
    pub partial_refused: AtomicU64,
    /// Bytes that were sent to replicas, of snapshots and of the stream.
    pub output_bytes: AtomicU64,
}

impl SyncCounts {
    /// Begins anew.
    pub fn reset(&self) {
        let counts = [&self.full, &self.partial, &self.partial_refused, &self.output_bytes];
        counts.into_iter().for_each(|count| count.store(0, Relaxed));
    }
}

/// The stream, and who serves those that follow it.
pub trait Stream: Send + Sync {
    /// Offset behind all that was put into the stream.
    fn offset(&self) -> u64;

    /// Offset of position zero.
    fn shift(&self) -> u64;

    /// Database that is selected at the end of the stream; `None` while changes are not put.
    fn database(&self) -> Option<usize>;

    /// Asks all replicas for an acknowledgement, without delay.
    fn ask_for_acknowledgements(&self);

    /// Has the server follow a primary, or be one. Called while the gate is closed.
    fn change_role(&self, primary: Option<Primary>);

    /// Has others follow a change of the role, once the gate is open.
    fn follow_role(&self);

    /// Wakes who looks after a failover: one has begun, or has ended.
    fn look_at_failover(&self);

    /// Draws an id that nobody knows; `None` if the system has no chance to give.
    fn draw_id(&self) -> Option<ReplicationId>;
}

/// Replicas of this server.
#[derive(Default)]
pub struct Replicas {
    history: Mutex<Option<History>>,
    list: Mutex<Vec<Arc<Replica>>>,
    /// Number of entries in the list.
    count: AtomicUsize,
    /// What is kept of the stream.
    pub backlog: BacklogFacts,
    /// How replicas were synchronized.
    pub syncs: SyncCounts,
    /// The failover at work.
    pub failover: Failover,
    /// True while writers are slowed down for a replica.
    pub throttles_writers: AtomicBool,
    stream: OnceLock<Box<dyn Stream>>,
}

impl Replicas {
    /// Names who serves replicas. To be called once.
    pub fn serve_with(&self, stream: Box<dyn Stream>) {
        let _ = self.stream.set(stream);
    }

    /// What a snapshot of this moment tells of the stream behind it. To be called while the gate is
    /// closed.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let stream = self.stream.get().and_then(|stream| stream.database());
        let (Some(database), Some(history)) = (stream, self.history()) else { return Vec::new() };
        let mut fields = vec![
            ("repl-stream-db", database.to_string()),
            ("repl-id", history.id().as_str().to_owned()),
            ("repl-offset", self.offset().to_string()),
        ];
        if !history.earlier().is_empty() {
            fields.push(("repl-earlier-ids", history.earlier_text()));
        }
        fields
    }

    /// Offset behind all that was put into the stream; zero in a server without one.
    pub fn offset(&self) -> u64 {
        self.stream.get().map_or(0, |stream| stream.offset())
    }

    /// Offset of a position of the journal.
    pub fn offset_of(&self, position: u64) -> u64 {
        position.wrapping_add(self.stream.get().map_or(0, |stream| stream.shift()))
    }

    /// Changes the role of the server: it follows a primary, or is one. The thread is inside the
    /// gate, or has closed it.
    pub fn change_role(&self, store: &Store, thread: &ThreadContext, primary: Option<Primary>) {
        self.change_role_if(store, thread, primary, || true);
    }

    /// Changes the role as `change_role` does, if a condition holds while the gate is closed.
    /// Returns whether it did.
    pub fn change_role_if(
        &self,
        store: &Store,
        thread: &ThreadContext,
        primary: Option<Primary>,
        holds: impl FnOnce() -> bool,
    ) -> bool {
        let Some(stream) = self.stream.get() else { return false };
        // What was admitted by the role that there is has ended then.
        let changes = store.exclusively_last(thread, |_| {
            let changes = holds();
            if changes {
                stream.change_role(primary);
            }
            changes
        });
        if changes {
            stream.follow_role();
        }
        changes
    }

    /// Makes this server the primary, as its own one asks with PSYNC and this id and offset, when
    /// the role had changed so often. Returns false if it is another one since, or has not that
    /// stream.
    pub fn succeed(
        &self,
        (store, thread): (&Store, &ThreadContext),
        (upstream, changes): (&Upstream, u64),
        (id, first): (&[u8], i64),
    ) -> bool {
        let may = || {
            let is_same = upstream.is_replica() && upstream.changes() == changes;
            let may_be_asked = is_same && !self.failover.is_active();
            let has_stream = |it: History| it.lacks(id, first, self.offset()).is_some();
            may_be_asked && self.history().is_some_and(has_stream)
        };
        let succeeds = self.change_role_if(store, thread, None, may);
        if succeeds {
            tracing::info!("Failover request received for replid {}.", id.escape_ascii());
        }
        succeeds
    }

    /// Gives the stream an id that nobody knows, in place of all that it had: replicas that come
    /// back need a snapshot. Returns false if none could be drawn. The thread is inside the gate,
    /// or has closed it.
    pub fn forget_history(&self, store: &Store, thread: &ThreadContext) -> bool {
        let Some(id) = self.stream.get().and_then(|stream| stream.draw_id()) else { return false };
        store.exclusively(thread, |_| self.end_history(id));
        true
    }

    /// Returns true if what is put into the stream may reach a replica.
    pub fn may_be_reached(&self) -> bool {
        !self.is_empty() || self.backlog.is_kept.load(Relaxed)
    }

    /// Wakes who looks after a failover.
    pub fn look_at_failover(&self) {
        if let Some(stream) = self.stream.get() {
            stream.look_at_failover();
        }
    }

    /// Asks all replicas for an acknowledgement.
    pub fn ask_for_acknowledgements(&self) {
        if let Some(stream) = self.stream.get() {
            stream.ask_for_acknowledgements();
        }
    }

    /// The ids of the stream; `None` in a server that has drawn none.
    pub fn history(&self) -> Option<History> {
        self.history.lock().clone()
    }

    /// Gives the stream another history.
    pub fn set_history(&self, history: History) {
        *self.history.lock() = Some(history);
    }

    /// Ends the history of the stream: it is not the one of any earlier id.
    pub fn end_history(&self, id: ReplicationId) {
        self.set_history(History::new(id));
    }

    fn list(&self) -> MutexGuard<'_, Vec<Arc<Replica>>> {
        self.list.lock()
    }

    /// Adds one.
    pub fn add(&self, replica: Arc<Replica>) {
        let mut list = self.list();
        list.push(replica);
        self.count.store(list.len(), Release);
    }

    /// Removes the one of a client.
    pub fn remove(&self, client: u64) {
        let mut list = self.list();
        list.retain(|replica| replica.client.id != client);
        self.count.store(list.len(), Release);
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.count.load(Acquire) == 0
    }

    /// Those that count as replicas, in the order in which they came.
    pub fn all(&self) -> Vec<Arc<Replica>> {
        self.list().iter().filter(|replica| replica.follows()).map(Arc::clone).collect()
    }

    /// Number of those that have acknowledged all up to a position of the journal.
    pub fn count_acknowledged(&self, position: u64) -> usize {
        let offset = self.offset_of(position);
        self.count_online(|replica| replica.acknowledged() >= offset)
    }

    /// Number of those whose files have all up to a position of the journal.
    pub fn count_synced(&self, position: u64) -> usize {
        let offset = self.offset_of(position);
        self.count_online(|replica| replica.has_synced(offset))
    }

    /// Number of those that were heard of within so many milliseconds.
    pub fn count_near(&self, most_silent: u64, now: Steady) -> usize {
        self.count_online(|replica| replica.silent_for(now) <= most_silent)
    }

    fn count_online(&self, is_meant: impl Fn(&Replica) -> bool) -> usize {
        let list = self.list();
        let online = list.iter().filter(|it| it.follows() && it.phase() == Phase::Online);
        online.filter(|it| is_meant(it)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replica(replicas: &Replicas) -> Arc<Replica> {
        let client = Client::of_file("10.0.0.7:4711", Steady(0));
        let replica = Arc::new(Replica::new(client, Reader::default(), Steady(0)));
        replicas.add(Arc::clone(&replica));
        replica
    }

    #[test]
    fn only_replicas_that_are_online_count_and_only_for_what_they_have() {
        let replicas = Replicas::default();
        let (one, other) = (replica(&replicas), replica(&replicas));
        one.acknowledge(70, Some(60), Steady(1000));
        other.acknowledge(50, None, Steady(5000));
        assert_eq!(replicas.count_acknowledged(0), 0, "neither is online");
        one.set_phase(Phase::Online);
        other.set_phase(Phase::Online);
        let counts = [0, 50, 51, 70, 71].map(|offset| replicas.count_acknowledged(offset));
        assert_eq!(counts, [2, 2, 1, 1, 0]);
        assert_eq!([0, 60, 61].map(|offset| replicas.count_synced(offset)), [1, 1, 0]);
        assert_eq!([3999, 4000].map(|most| replicas.count_near(most, Steady(9000))), [0, 1]);
        one.acknowledge(10, Some(10), Steady(6000));
        assert_eq!((replicas.count_acknowledged(70), replicas.count_synced(60)), (1, 1));
    }

    #[test]
    fn the_address_is_the_one_that_it_tells_or_that_of_its_connection() {
        let replicas = Replicas::default();
        let known = replica(&replicas);
        assert_eq!(known.address(), "10.0.0.7");
        let mut about = Reader::default();
        about.tell(b"ip-address", b"fd00::1").expect("an address");
        let told = Replica::new(Arc::clone(&known.client), about, Steady(0));
        assert_eq!(told.address(), "fd00::1");
    }
}
