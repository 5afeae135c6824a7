//! A server without sockets, for one client of each front.

use base::{Clock, KeyHasher, Millis, Steady, Stopwatch};
use command::rights::catalog_of;
use command::{Call, Environment, Execution, Invocation, Row, RowMemo, execute, granted_for_batch};
use families::table;
use memcached::base64::{KEY_ROOM, decode};
use memcached::{Command, Limits, Progress, Request, RequestParser};
use session::{
    Args, Client, Endpoint, Identity, Instance, Line, NoDataFiles, Owner, Session, WorkerStatistics,
};
use settings::Settings;
use std::sync::Arc;
use store::{Store, StoreConfig, ThreadContext};
use wire::{Reply, Span};

/// Server whose clock moves when it is told to.
pub struct Server {
    instance: Instance,
    thread: ThreadContext,
    statistics: Arc<WorkerStatistics>,
    session: Session,
    pub now: Millis,
}

impl Server {
    pub fn new(now: Millis) -> Server {
        let store = Store::new(StoreConfig {
            databases: 1,
            hasher: KeyHasher::from_seed(7),
            address_space: Some(1 << 30),
        });
        let store = store.expect("address space");
        let thread = store.thread_context().expect("a thread");
        let instance = Instance::new(
            store,
            Arc::new(Settings::new()),
            identity(),
            (Clock::still(now), Stopwatch::still()),
            (table().ids(), catalog_of(table())),
            Box::new(|| ()),
            Box::new(NoDataFiles),
        );
        let statistics = instance.statistics.worker();
        let session = Session::new(client(&instance), true);
        Server { instance, thread, statistics, session, now }
    }

    /// Sends a request of RESP.
    pub fn ask(&mut self, words: &[&[u8]]) -> Vec<u8> {
        let spans = Span::of_joined(words);
        let request = words.concat();
        let args = Args::new(&request, &spans);
        let row = RowMemo::new(table()).find(&args);
        self.session.line = None;
        self.execute(row, args)
    }

    /// Sends lines of Memcached's protocol.
    pub fn send(&mut self, lines: &[u8]) -> Vec<u8> {
        let (mut parser, mut spans, mut out) = (RequestParser::new(), Vec::new(), Vec::new());
        let mut rest = lines;
        while !rest.is_empty() {
            spans.clear();
            match parser.parse(rest, &mut spans, &Limits::default()) {
                Progress::Request(request) => {
                    let mut words: Vec<_> = spans.iter().map(|it| it.of(rest).to_vec()).collect();
                    if request.is_base64 {
                        let mut room = KEY_ROOM;
                        words[1] = decode(&words[1], &mut room).expect("base64").to_vec();
                    }
                    out.extend(self.line(request, &words));
                    rest = &rest[request.consumed..];
                }
                Progress::Refused(refused) => {
                    out.extend_from_slice(refused.refusal.line());
                    rest = &rest[refused.consumed..];
                }
                Progress::Swallowed { consumed } => rest = &rest[consumed..],
                other => panic!("{other:?}"),
            }
        }
        out
    }

    fn line(&mut self, request: Request, words: &[Vec<u8>]) -> Vec<u8> {
        let bytes = words.concat();
        let spans = Span::of_joined(words);
        self.session.line = Some(Line { request, refusal: None });
        self.execute(row(request.command, words), Args::new(&bytes, &spans))
    }

    fn execute(&mut self, row: &'static Row, args: Args<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        self.instance.store.enter(&self.thread);
        let (instance, statistics) = (&self.instance, &*self.statistics);
        let environment = Environment { instance, table: table(), statistics, now: self.now };
        let reply = Reply::new(&mut out, self.session.protocol);
        let sent = Invocation::new(row, args);
        let mut call = Call::new(environment, &mut self.thread, &mut self.session, sent, reply);
        let execution = execute(&mut call, granted_for_batch(&self.instance));
        self.instance.store.leave(&self.thread);
        assert!(execution != Execution::Postponed);
        out
    }

    /// Moves records.
    pub fn clean(&mut self) {
        self.instance.store.enter(&self.thread);
        self.instance.store.clean_at_rest(&mut self.thread, 1 << 20, self.now);
        self.instance.store.leave(&self.thread);
    }

    pub fn sweep(&mut self) {
        self.instance.store.sweep_deadlines(&mut self.thread, self.now);
    }
}

/// Returns the row of a command: mg has another one where it may write.
fn row(command: Command, words: &[Vec<u8>]) -> &'static Row {
    let writes = words.iter().skip(2).any(|it| matches!(it.first(), Some(b'N' | b'T')));
    let unlisted = table().unlisted();
    let row = match command == Command::MetaGet && writes {
        true => unlisted.last(),
        false => unlisted.get(command as usize),
    };
    row.expect("a row of Memcached's protocol")
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
