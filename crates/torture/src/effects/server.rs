//! A server without sockets, for several clients, whose effects are recorded.

use base::mutex::Mutex;
use base::{Clock, KeyHasher, Millis, Steady, Stopwatch};
use command::rights::catalog_of;
use command::{Environment, Execution, Invocation, RowMemo, execute, granted_for_batch};
use families::table;
use session::{
    Args, Client, Endpoint, Identity, Instance, NoDataFiles, Owner, Session, WorkerStatistics,
};
use settings::{Settings, Sources, load_text};
use std::sync::Arc;
use store::{
    Author, EvictionPolicy, Interests, Limits, Listener, ScanFilter, Scanned, Store, StoreConfig,
    ThreadContext, Unit,
};
use wire::{Reply, Span};

const DATABASES: usize = 16;
const ADDRESS_SPACE: usize = 1 << 30;

/// Listener that keeps the units it gets.
#[derive(Debug, Default)]
pub struct Recorder(Mutex<Vec<Unit>>);

impl Listener for Recorder {
    fn unit(&self, unit: &Unit, _: Author) {
        self.0.lock().push(unit.clone());
    }
}

impl Recorder {
    /// Takes the units that came since the last call.
    pub fn take(&self) -> Vec<Unit> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// Server whose clock moves only when it is told to.
pub struct Server {
    pub instance: Instance,
    pub thread: ThreadContext,
    statistics: Arc<WorkerStatistics>,
    sessions: Vec<Session>,
}

impl Server {
    /// Starts a server with so many clients.
    pub fn new(clients: usize, now: Millis) -> Server {
        let hasher = KeyHasher::from_seed(1);
        let config =
            StoreConfig { databases: DATABASES, hasher, address_space: Some(ADDRESS_SPACE) };
        let store = Store::new(config).expect("address space");
        let thread = store.thread_context().expect("the first thread");
        let settings = Arc::new(Settings::new());
        load_text(&settings, "test", b"enable-debug-command yes", Sources::Nowhere)
            .expect("a setting");
        let clock = Clock::still(now);
        let commands = (table().ids(), catalog_of(table()));
        let instance = Instance::new(
            store,
            settings,
            identity(),
            (clock, Stopwatch::still()),
            commands,
            Box::new(|| ()),
            Box::new(NoDataFiles),
        );
        let statistics = instance.statistics.worker();
        let sessions = (0..clients).map(|_| Session::new(client(&instance), true)).collect();
        Server { instance, thread, statistics, sessions }
    }

    /// Records the effects from now on.
    pub fn record(&self) -> Arc<Recorder> {
        let recorder = Arc::new(Recorder::default());
        let listener: Arc<dyn Listener> = recorder.clone();
        self.instance.store.add_listener(&listener);
        self.instance.store.set_interest(Interests::EFFECTS, true);
        recorder
    }

    /// Limits the memory; keys are evicted for it.
    pub fn limit_memory(&self, maxmemory: u64) {
        self.instance.store.set_limits(&Limits {
            maxmemory,
            other_bytes: 0,
            workers: 1,
            eviction: EvictionPolicy::AllKeysRandom,
            reclaim: Default::default(),
            lfu_log_factor: 10,
            lfu_decay_minutes: 1,
        });
    }

    /// A client that is connected to the server, apart from those that send requests.
    pub fn another_client(&self) -> Arc<Client> {
        client(&self.instance)
    }

    /// Sends a request; returns the reply, empty if the client waits.
    pub fn send(&mut self, client: usize, words: &[Vec<u8>]) -> Vec<u8> {
        let session = &mut self.sessions[client];
        // A client that is about to send has given up waiting.
        self.instance.waiters.forget(&session.client);
        let (spans, request) = (Span::of_joined(words), words.concat());
        let args = Args::new(&request, &spans);
        let mut out = Vec::new();
        let row = RowMemo::new(table()).find(&args);
        self.instance.store.enter(&self.thread);
        let (instance, statistics) = (&self.instance, &*self.statistics);
        let environment =
            Environment { instance, table: table(), statistics, now: instance.clock.now() };
        let reply = Reply::new(&mut out, session.protocol);
        let sent = Invocation::new(row, args);
        let mut call = command::Call::new(environment, &mut self.thread, session, sent, reply);
        let execution = execute(&mut call, granted_for_batch(&self.instance));
        self.instance.store.leave(&self.thread);
        debug_assert!(execution != Execution::Postponed, "nothing pauses the server");
        if self.sessions[client].close_after_reply {
            self.sessions[client] = Session::new(self.another_client(), true);
        }
        out
    }

    /// Removes what is past its deadline.
    pub fn sweep(&mut self) {
        self.instance.store.sweep_deadlines(&mut self.thread, self.instance.clock.now());
    }

    /// Returns the keys of a database, those past their deadline too.
    pub fn keys(&mut self, database: usize) -> Vec<Vec<u8>> {
        let store = &self.instance.store;
        store.enter(&self.thread);
        let keyspace = store.keyspace(database).expect("a database");
        let scanned = Scanned { keyspace, now: Millis(0), filter: ScanFilter::default() };
        let (mut keys, mut cursor) = (Vec::new(), 0);
        loop {
            let add = |key: &[u8]| keys.push(key.to_vec());
            cursor = store.scan(&mut self.thread, scanned, cursor, 1000, add);
            if cursor == 0 {
                store.leave(&self.thread);
                return keys;
            }
        }
    }

    /// Number of databases.
    pub fn databases(&self) -> usize {
        self.instance.store.databases()
    }
}

fn client(instance: &Instance) -> Arc<Client> {
    let here = Endpoint {
        address: "127.0.0.1:1".to_owned(),
        local_address: "127.0.0.1:2".to_owned(),
        fd: 3,
        is_unix: false,
    };
    instance.clients.add(here, Owner::default(), instance.clock.steady())
}

fn identity() -> Identity {
    Identity {
        run_id: "0".repeat(40),
        started: Steady(0),
        config_file: None,
        executable: "varve-server".into(),
        threads: 1,
        allocator: "segments",
        supervised: "no",
    }
}
