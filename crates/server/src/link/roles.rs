//! The role of the server: which primary it follows, if it follows one.

use crate::journal::Journal;
use crate::limits;
use crate::oom_score::OomScoreFile;
use crate::replicas::new_id;
use base::mutex::Mutex;
use crossbeam_channel::{Receiver, Sender, unbounded};
use journal::Lane;
use replication::ReplicationId;
use session::{Holder, Instance, Primary, Stream};
use settings::replication::REPLICAOF;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, Weak};

/// What commands and the link know of each other.
#[derive(Debug)]
pub struct Roles {
    journal: Arc<Journal>,
    /// For what a change of the role puts into the stream.
    lane: Mutex<Option<Lane>>,
    oom_score: Arc<OomScoreFile>,
    wake: Sender<()>,
    pub(super) woken: Receiver<()>,
    /// The socket of the link, while there is one, and of which change of the role it is.
    pub(super) socket: Mutex<Option<(u64, TcpStream)>>,
    /// True if the data is all of the stream up to its end, so that a primary may go on with it.
    pub(super) has_history: AtomicBool,
    pub(super) is_stopping: AtomicBool,
    /// True once the role of the settings is taken: later ones are those that clients ask for.
    pub(super) has_begun: AtomicBool,
    /// True from when a client has named the primary until its data is there.
    pub(super) was_asked_for: AtomicBool,
}

impl Roles {
    /// A server that follows nobody.
    pub fn new(journal: &Arc<Journal>, oom_score: &Arc<OomScoreFile>) -> Arc<Roles> {
        let (wake, woken) = unbounded();
        Arc::new(Roles {
            journal: Arc::clone(journal),
            lane: Mutex::new(journal.take_lane()),
            oom_score: Arc::clone(oom_score),
            wake,
            woken,
            socket: Mutex::default(),
            has_history: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            has_begun: AtomicBool::new(false),
            was_asked_for: AtomicBool::new(false),
        })
    }

    /// Has the stream of a new primary begin with its selected database. The primary that there was
    /// goes on with the stream as well, and Valkey and Redis begin in database 0 then.
    fn select_again(&self) {
        if let Some(lane) = &mut *self.lane.lock() {
            let database = self.journal.ring().selected_database();
            lane.select_again(database);
            lane.withdraw();
        }
    }

    /// Notes that the data is all of the stream up to its end.
    pub fn note_history(&self) {
        self.has_history.store(true, Release);
    }

    /// Ends a link that is of an earlier role than this change of it, and has the thread look what
    /// it is to do.
    fn look_again(&self, change: u64) {
        if let Some((_, socket)) = self.socket.lock().take_if(|(of, _)| *of < change) {
            // Fails only for a socket that is at its end already.
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.look();
    }

    /// Has the thread of the link look what it is to do, and close a link of an earlier role by
    /// itself, when it sees that. Returns false if there is none.
    fn look_at_leisure(&self, change: u64) -> bool {
        let is_there = self.socket.lock().as_ref().is_some_and(|(of, _)| *of < change);
        if is_there {
            self.look();
        }
        is_there
    }

    /// Has the thread of the link look what it is to do.
    pub(super) fn look(&self) {
        let _ = self.wake.send(());
    }

    /// Has the thread of the link end.
    pub fn stop(&self) {
        self.is_stopping.store(true, Release);
        self.look_again(u64::MAX);
    }
}

/// Roles, as commands see them.
pub struct Shared(pub Arc<Roles>, pub Weak<Instance>);

impl Stream for Shared {
    fn offset(&self) -> u64 {
        self.0.journal.offset()
    }

    fn shift(&self) -> u64 {
        self.0.journal.shift()
    }

    fn database(&self) -> Option<usize> {
        let journal = &self.0.journal;
        let is_known = match journal.reasons.follows() {
            true => self.0.has_history.load(Acquire),
            false => !journal.reasons.all().is_empty(),
        };
        is_known.then(|| journal.ring().selected_database())
    }

    fn ask_for_acknowledgements(&self) {
        if let Some(door) = self.0.journal.door() {
            // What is acknowledged has to be written first.
            self.0.journal.write_soon();
            door.ask_for_acknowledgements();
        }
    }

    fn change_role(&self, primary: Option<Primary>) {
        let Some(instance) = self.1.upgrade() else { return };
        let (roles, journal) = (&self.0, &self.0.journal);
        let (was_replica, follows) = (instance.upstream.is_replica(), primary.is_some());
        match &primary {
            Some(primary) if !was_replica => {
                // Without a reader nothing of what has changed is in the stream, but at the start.
                let is_known = !journal.reasons.all().is_empty()
                    || instance.upstream.changes() == 0 && roles.has_history.load(Acquire);
                roles.has_history.store(is_known, Release);
                tracing::info!("REPLICAOF {}:{} enabled", primary.host, primary.port);
            }
            Some(primary) => tracing::info!("REPLICAOF {}:{}", primary.host, primary.port),
            None => {
                // Others may follow the same primary: what comes from here on is another history.
                if let (Ok(id), Some(mut history)) = (new_id(), instance.replicas.history()) {
                    history.rename(id, journal.offset());
                    instance.replicas.set_history(history);
                }
                // They come back by the id that was, so they must get nothing behind its end.
                if let Some(door) = journal.door() {
                    door.let_go();
                }
                tracing::info!("MASTER MODE enabled");
            }
        }
        roles.was_asked_for.store(follows && roles.has_begun.load(Acquire), Release);
        journal.reasons.follow(&instance.store, follows);
        if was_replica && !follows && !journal.reasons.all().is_empty() {
            roles.select_again();
        }
        instance.upstream.set(primary, instance.clock.steady());
        // No write is admitted by the role that there was.
        instance.follow_role();
    }

    fn follow_role(&self) {
        let Some(instance) = self.1.upgrade() else { return };
        limits::apply(&instance);
        limits::grant_writes(&instance);
        let facts = instance.upstream.facts();
        let primary = facts.map(|facts| (facts.primary.host, facts.primary.port.to_string()));
        match &primary {
            Some((host, port)) => instance.settings.note(REPLICAOF.name(), &[host, port]),
            None => instance.settings.note(REPLICAOF.name(), &[]),
        }
        // The error has been logged; the server runs with the score that it has.
        let _ = self.0.oom_score.follow(&instance.settings);
        // A failover that does not succeed disturbs nobody who waits.
        let failover = &instance.replicas.failover;
        if instance.upstream.is_replica() && !failover.is_active() {
            instance.unblock_for_role();
        }
        // Where it was ended within a transaction, the role is the one that it was only now.
        failover.without_one(|| instance.clients.let_writes_flow(Holder::Failover));
        instance.keep_expired();
        let (changes, closes_late) = (instance.upstream.changes(), &instance.upstream.closes_late);
        if closes_late.load(Relaxed) && self.0.look_at_leisure(changes) {
            return closes_late.store(false, Relaxed);
        }
        self.0.look_again(changes);
    }

    fn draw_id(&self) -> Option<ReplicationId> {
        new_id().ok()
    }

    fn look_at_failover(&self) {
        if let Some(door) = self.0.journal.door() {
            door.wake();
        }
    }
}
