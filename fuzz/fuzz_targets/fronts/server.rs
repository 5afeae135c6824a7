//! A server without sockets, for one client of each front.

use crate::ops::PIECE_MAX;
use base::{Clock, KeyHasher, Millis, Steady, Stopwatch};
use command::rights::catalog_of;
use command::{
    Call, Environment, Execution, Invocation, LAST_WORD, Row, RowMemo, execute, granted_for_batch,
};
use families::table;
use heap::HEAD_BYTES_MIN;
use memcached::base64::{KEY_ROOM, decode};
use memcached::{Command, Limits, Progress, Request, RequestParser};
use session::{
    Apart, Args, Client, Endpoint, Identity, Instance, Line, NoDataFiles, Owner, Session,
    WorkerStatistics,
};
use settings::Settings;
use std::sync::Arc;
use store::{Flush, Store, StoreConfig, ThreadContext};
use wire::{Reply, Span};

/// Server whose clock moves when it is told to.
pub struct Server {
    pub instance: Arc<Instance>,
    thread: ThreadContext,
    /// Of snapshots, once there was one.
    pub saver: Option<ThreadContext>,
    statistics: Arc<WorkerStatistics>,
    session: Session,
    pub now: Millis,
    /// True if long values are received into the store, apart from their requests.
    pub receives_apart: bool,
}

impl Server {
    pub fn new(now: Millis) -> Server {
        let store = Store::new(StoreConfig {
            databases: 1,
            hasher: KeyHasher::from_seed(7),
            address_space: Some(8 << 30),
        });
        let store = store.expect("address space");
        // So little has to be written before records are moved.
        store.heap().set_budget(u64::MAX, HEAD_BYTES_MIN);
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
        let instance = Arc::new(instance);
        let statistics = instance.statistics.worker();
        let session = Session::new(client(&instance), true);
        let (saver, receives_apart) = (None, false);
        Server { instance, thread, saver, statistics, session, now, receives_apart }
    }

    /// Sends a request of RESP.
    pub fn ask(&mut self, words: &[&[u8]]) -> Vec<u8> {
        self.session.line.forget();
        let (request, spans) = (words.concat(), Span::of_joined(words));
        let row = RowMemo::new(table()).find(&Args::new(&request, &spans));
        self.execute(row, words)
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
        self.session.line.set(Line { request, refusal: None });
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        self.execute(row(request.command, &words), &words)
    }

    fn execute(&mut self, row: &'static Row, words: &[&[u8]]) -> Vec<u8> {
        let (mut out, mut words) = (Vec::new(), words.to_vec());
        self.instance.store.enter(&self.thread);
        self.set_apart(row, &mut words);
        let (request, spans) = (words.concat(), Span::of_joined(&words));
        let args = Args::new(&request, &spans);
        let (instance, statistics) = (&self.instance, &*self.statistics);
        let environment = Environment { instance, table: table(), statistics, now: self.now };
        let reply = Reply::new(&mut out, self.session.protocol);
        let sent = Invocation::new(row, args);
        let mut call = Call::new(environment, &mut self.thread, &mut self.session, sent, reply);
        let execution = execute(&mut call, granted_for_batch(&self.instance));
        self.session.apart = None;
        self.instance.store.leave(&self.thread);
        assert!(execution != Execution::Postponed);
        out
    }

    /// Puts a long value into the store, as one that is received apart is, and leaves an empty word
    /// in its place.
    fn set_apart(&mut self, row: &'static Row, words: &mut [&[u8]]) {
        let at = match row.spec.value_apart {
            LAST_WORD => words.len() - 1,
            at => at,
        };
        if !self.receives_apart || at == 0 || words.get(at).is_none_or(|it| it.len() <= PIECE_MAX) {
            return;
        }
        let (store, value) = (&self.instance.store, std::mem::take(&mut words[at]));
        let hash = store.hash(words[1]);
        let mut access = store.lock_hash(&mut self.thread, hash, self.now);
        let mut staged = access.stage(hash).expect("room");
        access.add_staged(&mut staged, value).expect("room");
        drop(access);
        let apart = Apart::new(at, value.len(), 0, staged);
        self.session.apart = Some(Box::new(apart));
    }

    /// Moves records: those of all that was written last are sealed behind others that go.
    pub fn clean(&mut self) {
        let filler = vec![b'f'; HEAD_BYTES_MIN as usize / 8];
        let names: Vec<Vec<u8>> = (0..24).map(|it| format!("filler:{it}").into_bytes()).collect();
        names.iter().for_each(|name| drop(self.ask(&[b"SET", name, &filler])));
        names.iter().for_each(|name| drop(self.ask(&[b"DEL", name])));
        self.instance.store.enter(&self.thread);
        self.instance.store.clean_at_rest(&mut self.thread, 1 << 20, self.now);
        self.instance.store.leave(&self.thread);
    }

    /// Removes all keys, and has long values come with their requests. A store that is dropped
    /// would keep its tables of nodes.
    pub fn close(&mut self) {
        self.receives_apart = false;
        let (store, thread) = (&self.instance.store, &mut self.thread);
        store.enter(thread);
        store.flush(thread, Flush::All);
        while store.free_some(thread, usize::MAX) {}
        while store.heap().return_some(0) {}
        store.leave(thread);
    }

    pub fn sweep(&mut self) {
        self.instance.store.sweep_deadlines(&mut self.thread, self.now);
    }
}

/// Returns the row of a command: mg has another one where it may write.
fn row(command: Command, words: &[&[u8]]) -> &'static Row {
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
