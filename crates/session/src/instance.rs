//! State shared by all clients of one server: handles to the parts, each of which guards its own
//! state.

use crate::access_control::AccessControl;
use crate::acknowledged::Acknowledged;
use crate::carrier::Carrier;
use crate::clients::Clients;
use crate::data_files::{Reload, Rewrite};
use crate::departures::Departures;
use crate::identity::Identity;
use crate::journal_state::JournalState;
use crate::libraries::Libraries;
use crate::loading::Loading;
use crate::local_deadlines::LocalDeadlines;
use crate::memory_facts::MemoryFacts;
use crate::monitors::Monitors;
use crate::needs::Needs;
use crate::notifications::Notifications;
use crate::observing::{CommandLog, LatencyEvents};
use crate::pause::Pause;
use crate::pending_flush::PendingFlush;
use crate::pubsub::PubSub;
use crate::refusal::Refusal;
use crate::replicas::Replicas;
use crate::saving::{Asker, Begun, Cancelled, SavingFacts, When};
use crate::scripts::Scripts;
use crate::shutdown::ShutdownRequests;
use crate::statistics::Statistics;
use crate::tls_facts::TlsFacts;
use crate::tracking::Tracking;
use crate::transaction::Watches;
use crate::troubles::WriteTroubles;
use crate::upstream::Upstream;
use crate::waiters::Waiters;
use base::{Clock, Stopwatch};
use settings::general::IMPORT_MODE;
use settings::observing::LATENCY_MONITOR_THRESHOLD;
use settings::replication::REPLICA_READ_ONLY;
use settings::{MaxmemoryPolicy, Settings};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::{Interests, Listener, Store, ThreadContext};
use users::Catalog;

mod role;

/// State shared by all clients of one server.
pub struct Instance {
    /// Keys and values.
    pub store: Store,
    /// Settings and their values.
    pub settings: Arc<Settings>,
    /// Connected clients.
    pub clients: Clients,
    /// Users.
    pub access: AccessControl,
    /// Clients that wait for keys.
    pub waiters: Waiters,
    /// Clients that wait for the journal.
    pub acknowledged: Acknowledged,
    /// Keys that clients watch.
    pub watches: Arc<Watches>,
    /// Keys on their way to other servers.
    pub departures: Arc<Departures>,
    /// Subscriptions to messages.
    pub pubsub: Arc<PubSub>,
    /// Clients that are told when keys change, and of which.
    pub tracking: Arc<Tracking>,
    /// Keyspace notifications.
    pub notifications: Arc<Notifications>,
    /// Clients that run MONITOR.
    pub monitors: Monitors,
    /// Commands that took long or were large.
    pub command_log: CommandLog,
    /// What took longer than `latency-monitor-threshold`.
    pub latency: LatencyEvents,
    /// Counters.
    pub statistics: Statistics,
    /// Certificates and handshakes of TLS.
    pub tls: TlsFacts,
    /// Identity of the server.
    pub identity: Identity,
    /// Clock of the server.
    pub clock: Clock,
    /// Stopwatch for commands.
    pub stopwatch: Stopwatch,
    /// True while the background jobs remove keys whose deadline has passed (DEBUG
    /// SET-ACTIVE-EXPIRE).
    pub active_expire: AtomicBool,
    /// True while the background jobs are paused (DEBUG PAUSE-CRON).
    pub background_jobs_paused: AtomicBool,
    /// True while connections move between workers at random (DEBUG MOVE-CONNECTIONS).
    pub moves_connections: AtomicBool,
    /// True if checksums of payloads are not compared, as DEBUG asks for.
    pub skips_checksums: AtomicBool,
    /// What was measured of the memory of the process.
    pub memory: MemoryFacts,
    /// Loading of data.
    pub loading: Loading,
    /// Scripts that clients have sent.
    pub scripts: Scripts,
    /// Libraries of functions.
    pub libraries: Libraries,
    /// State of the journal.
    pub journal: JournalState,
    /// Replicas, and the stream that they follow.
    pub replicas: Replicas,
    /// The primary that it follows, if it follows one.
    pub upstream: Upstream,
    /// Deadlines that clients of a writable replica have set.
    pub local_deadlines: Arc<LocalDeadlines>,
    /// The flush that a client of Memcached's protocol has asked for with a delay.
    pub pending_flush: PendingFlush,
    /// Reasons why writes are refused.
    pub troubles: WriteTroubles,
    /// Requests to end the server.
    pub shutdown: ShutdownRequests,
    /// Files of data.
    pub data_files: Box<dyn DataFiles>,
    /// Wakes who removes expired keys; none in a server where nobody does by itself.
    pub sweep_waker: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// Carrier of keys to other servers; none in a server without sockets.
    pub carrier: OnceLock<Box<dyn Carrier>>,
}

/// Reading and writing of data files.
pub trait DataFiles: Send + Sync {
    /// Saves all data, empties the databases, and loads the data again, as far as `how` says.
    /// Commands of other clients that need data are refused meanwhile. The thread is inside the
    /// gate.
    ///
    /// # Errors
    /// What went wrong, for the client.
    fn reload(
        &self,
        instance: &Instance,
        thread: &mut ThreadContext,
        how: Reload,
    ) -> Result<(), String>;

    /// Begins to write the base of the append-only file anew, or has it written soon: if that is to
    /// be `later`, as within a transaction, and behind a snapshot at work.
    fn rewrite_journal(&self, instance: &Instance, later: bool) -> Rewrite;

    /// Empties the databases, and loads the append-only files. Commands of other clients that need
    /// data are refused meanwhile. The thread is inside the gate.
    ///
    /// # Errors
    /// What went wrong, for the client.
    fn load_aof(&self, instance: &Instance, thread: &mut ThreadContext) -> Result<(), String>;

    /// Makes a snapshot in the background. If it begins at once, the asker is answered at its cut:
    /// what is changed behind the answer is not in it.
    ///
    /// # Errors
    /// When other work on files is going on.
    fn save_in_background(
        &self,
        instance: &Instance,
        when: When,
        asker: Option<Asker>,
    ) -> Result<Begun, Refusal>;

    /// Makes a snapshot, and answers at its end.
    ///
    /// # Errors
    /// When a snapshot is being made; the asker gets no answer then.
    fn save(&self, instance: &Instance, asker: Asker) -> Result<(), Refusal>;

    /// Ends a snapshot in the background, since FLUSHALL has removed all keys. If the settings ask
    /// for snapshots, makes one at once, answers the asker at its end and returns true.
    fn emptied(&self, instance: &Instance, thread: &ThreadContext, asker: Asker) -> bool;

    /// Ends a snapshot in the background, or one that waits; `None` if there is none.
    fn cancel_saving(&self) -> Option<Cancelled>;

    /// The state of saving.
    fn saving(&self) -> SavingFacts;

    /// Restarts the counts of saving from zero.
    fn reset_counts(&self);
}

/// Stand-in of a server that has no files.
#[derive(Debug)]
pub struct NoDataFiles;

impl DataFiles for NoDataFiles {
    fn reload(&self, _: &Instance, _: &mut ThreadContext, _: Reload) -> Result<(), String> {
        Err("ERR this server has no data files".to_owned())
    }

    fn rewrite_journal(&self, _: &Instance, _: bool) -> Rewrite {
        Rewrite::GoesOn
    }

    fn load_aof(&self, _: &Instance, _: &mut ThreadContext) -> Result<(), String> {
        Err("ERR this server has no data files".to_owned())
    }

    fn save_in_background(
        &self,
        _: &Instance,
        _: When,
        _: Option<Asker>,
    ) -> Result<Begun, Refusal> {
        Err(Refusal::SAVE_FAILED)
    }

    fn save(&self, _: &Instance, _: Asker) -> Result<(), Refusal> {
        Err(Refusal::SAVE_FAILED)
    }

    fn emptied(&self, _: &Instance, _: &ThreadContext, _: Asker) -> bool {
        false
    }

    fn cancel_saving(&self) -> Option<Cancelled> {
        None
    }

    fn saving(&self) -> SavingFacts {
        SavingFacts::default()
    }

    fn reset_counts(&self) {}
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Instance {
    /// Puts the parts together. `catalog` has the commands by the ids of
    /// their rows; `wake_main` is called when a
    /// client asks for a shutdown.
    pub fn new(
        store: Store,
        settings: Arc<Settings>,
        identity: Identity,
        (clock, stopwatch): (Clock, Stopwatch),
        (ids, catalog): (usize, Catalog),
        wake_main: Box<dyn Fn() + Send + Sync>,
        data_files: Box<dyn DataFiles>,
    ) -> Instance {
        let watches = Arc::new(Watches::marking(Arc::clone(store.marked_keys())));
        let departures = Arc::new(Departures::marking(Arc::clone(store.marked_keys())));
        let pubsub = Arc::new(PubSub::default());
        let notifications = Arc::new(Notifications::of(Arc::clone(&pubsub)));
        let tracking = Arc::new(Tracking::new(store.hasher().clone(), Arc::clone(&settings)));
        let listeners: [Arc<dyn Listener>; 4] =
            [watches.clone(), departures.clone(), tracking.clone(), notifications.clone()];
        listeners.iter().for_each(|listener| store.add_listener(listener));
        let local_deadlines = LocalDeadlines::listening(&store);
        let statistics = Statistics::new(ids);
        let access = AccessControl::new(catalog, &settings);
        Instance {
            store,
            settings,
            clients: Clients::default(),
            access,
            waiters: Waiters::default(),
            acknowledged: Acknowledged::default(),
            watches,
            departures,
            pubsub,
            tracking,
            notifications,
            monitors: Monitors::default(),
            command_log: CommandLog::default(),
            latency: LatencyEvents::default(),
            statistics,
            tls: TlsFacts::default(),
            identity,
            clock,
            stopwatch,
            active_expire: AtomicBool::new(true),
            background_jobs_paused: AtomicBool::new(false),
            moves_connections: AtomicBool::new(false),
            skips_checksums: AtomicBool::new(false),
            memory: MemoryFacts::default(),
            loading: Loading::default(),
            scripts: Scripts::default(),
            libraries: Libraries::default(),
            journal: JournalState::default(),
            replicas: Replicas::default(),
            upstream: Upstream::default(),
            local_deadlines,
            pending_flush: PendingFlush::default(),
            troubles: WriteTroubles::default(),
            shutdown: ShutdownRequests::new(wake_main),
            data_files,
            sweep_waker: OnceLock::new(),
            carrier: OnceLock::new(),
        }
    }

    /// Notes that something took so long, if that is as long as `latency-monitor-threshold`.
    pub fn note_latency(&self, event: &'static str, took: Duration) {
        let least = LATENCY_MONITOR_THRESHOLD.get(&self.settings);
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        if least > 0 && millis >= least {
            self.latency.add(event, millis, self.clock.now());
        }
    }

    /// Does what may evict keys, and notes how long that took if it has evicted some.
    #[cold]
    #[inline(never)]
    pub fn note_eviction<T>(
        &self,
        thread: &mut ThreadContext,
        act: impl FnOnce(&mut ThreadContext) -> T,
    ) -> T {
        let (evicted, began) = (thread.evicted(), self.stopwatch.read());
        let outcome = act(thread);
        if thread.evicted() != evicted {
            let nanos = self.stopwatch.nanos_between(began, self.stopwatch.read());
            self.note_latency("eviction-cycle", Duration::from_nanos(nanos));
        }
        outcome
    }

    /// Begins to load data: commands that need it are refused until `end_loading`.
    /// Returns false, and does nothing, while data is loaded already.
    pub fn begin_loading(&self, total_bytes: u64) -> bool {
        self.begin_to_load((total_bytes, false), Needs::LOADED)
    }

    /// Does the same, but clients go on with what there is: only what cannot stand beside it is
    /// refused.
    pub fn begin_loading_beside(&self, total_bytes: u64) -> bool {
        self.begin_to_load((total_bytes, true), Needs::UNREPLACED)
    }

    fn begin_to_load(&self, what: (u64, bool), withdrawn: Needs) -> bool {
        let has_begun = self.loading.begin(what, (self.clock.now(), self.clock.steady()));
        if has_begun {
            self.clients.grants.withdraw(withdrawn);
        }
        has_begun
    }

    /// Ends loading.
    pub fn end_loading(&self) {
        self.loading.end();
        self.clients.grants.restore(Needs::LOADED | Needs::UNREPLACED);
    }

    /// Lets commands go on that were postponed until a worker has read its mail, unless another one
    /// has not.
    pub fn resume_messages(&self) {
        let rooms = Needs::MAIL_ROOM | Needs::EVENT_ROOM | Needs::LINE_ROOM;
        if !self.clients.grants.get().contains(rooms) && !self.clients.is_any_behind() {
            self.pubsub.end_flood();
            self.clients.grants.restore(rooms);
            self.clients.look_again();
        }
    }

    /// Returns true while a script is slow, and others are told BUSY.
    pub fn is_busy(&self) -> bool {
        !self.clients.grants.get().contains(Needs::IDLE)
    }

    /// Returns true if commands are to be noted for clients that run MONITOR.
    pub fn is_monitored(&self) -> bool {
        !self.clients.grants.get().contains(Needs::UNMONITORED)
    }

    /// Does what changes have left for a thread without locks: sends invalidations that are
    /// pending, wakes workers that have mail and the thread that removes expired keys, and holds
    /// commands back where there is too much mail.
    #[inline]
    pub fn send_pending_messages(&self) {
        let by_events = self.notifications.has_left() && self.notifications.wake_workers();
        let by_keys = self.tracking.has_work() && self.tracking.send_pending(&self.clients);
        if by_events | by_keys {
            self.clients.grants.withdraw(Needs::MAIL_ROOM | Needs::EVENT_ROOM);
        }
        if self.store.deadlines().oversleeps() {
            self.wake_sweep();
        }
    }

    /// Wakes who removes expired keys: a deadline was set that passes before it would look.
    #[cold]
    fn wake_sweep(&self) {
        if self.store.deadlines().call()
            && let Some(waker) = self.sweep_waker.get()
        {
            waker();
        }
    }

    /// Has listeners told which keys change, from now on, or which of those that they mark. To be
    /// called before the locks of the first key that somebody wants to know of.
    pub fn add_interest(&self, keys: Interests) {
        if !self.store.wants_any(keys) {
            self.store.set_interest(keys, true);
        }
    }

    /// Removes what is left of clients that were told of keys, and spares changes the look at who
    /// wants to know of them once there is nobody. The thread is outside the gate.
    pub fn look_after_keys(&self, thread: &ThreadContext) {
        self.tracking.sweep();
        let is_idle = || self.tracking.is_idle() && self.local_deadlines.is_idle();
        self.drop_interest(thread, Interests::KEYS, is_idle);
        let is_idle = || self.departures.is_empty() && self.watches.is_empty();
        self.drop_interest(thread, Interests::MARKED_KEYS, is_idle);
    }

    fn drop_interest(&self, thread: &ThreadContext, keys: Interests, is_idle: impl Fn() -> bool) {
        if self.store.wants_any(keys) && is_idle() {
            // Threads that make a listener want a key are inside the gate.
            self.store.exclusively_at_once(thread, |store| {
                if is_idle() {
                    store.set_interest(keys, false);
                }
            });
        }
    }

    /// Follows the setting of keyspace notifications.
    pub fn follow_event_classes(&self) {
        let classes = settings::observing::NOTIFY_KEYSPACE_EVENTS.get(&self.settings);
        self.store.set_interest(Interests::EVENTS, self.notifications.follow(classes));
    }

    /// Keeps keys past their deadline while nothing may be removed: while data is loaded or
    /// imported, while writes are postponed, and while removals could not be written to files.
    pub fn keep_expired(&self) {
        self.clients.with_pause(self.clock.steady(), |pause| {
            let keeps = self.loading.is_active()
                || IMPORT_MODE.get(&self.settings)
                || pause != Pause::Nothing
                || self.upstream.is_replica()
                || self.journal.failure().is_some();
            self.store.keep_expired(keeps);
        });
        self.follow_local_deadlines();
    }

    /// Has the deadlines noted that clients of a writable replica set: its primary ends others.
    fn follow_local_deadlines(&self) {
        let notes = self.upstream.is_replica()
            && !REPLICA_READ_ONLY.get(&self.settings)
            && !self.loading.is_active();
        self.local_deadlines.note_changes(notes);
        if notes {
            self.add_interest(Interests::KEYS);
        }
    }

    /// Returns true if a change of data may be made now that no client waits for: one of a client
    /// would neither be refused nor postponed.
    pub fn lets_changes_in(&self) -> bool {
        const ASKED: Needs = Needs::REPLICAS
            .union(Needs::PRIMARY)
            .union(Needs::LOADED)
            .union(Needs::UNREPLACED)
            .union(Needs::IDLE)
            .union(Needs::JOURNAL_ROOM)
            .union(Needs::EVENT_ROOM);
        let granted = self.clients.grants.get();
        granted.contains(ASKED)
            && self.paused() == Pause::Nothing
            && (granted.contains(Needs::DISK) || self.troubles.refusal(&self.journal).is_none())
    }

    /// Returns the pause in force.
    pub fn paused(&self) -> Pause {
        self.clients.paused(self.clock.steady())
    }

    /// Returns true if there is memory for more data.
    pub fn has_memory(&self) -> bool {
        let most = settings::memory::MAXMEMORY.get(&self.settings);
        let policy = settings::memory::MAXMEMORY_POLICY.get(&self.settings);
        // With a policy that evicts, the cleaner makes room when it is needed.
        most == 0
            || policy != MaxmemoryPolicy::NoEviction
            || self.used_memory() <= most
            || self.used_memory().saturating_sub(self.store.retained_in_records()) <= most
    }

    /// Returns `used_memory`: the present bytes of keys, their index and everything else.
    pub fn used_memory(&self) -> u64 {
        self.store.used_bytes() + self.memory.other_bytes.load(Relaxed)
    }
}
