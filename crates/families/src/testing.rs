//! A server without sockets, for tests of commands.
//!
//! `World::new().answer("SET k v EX 10")` gives the bytes that a client would read.

use crate::commands::table;
use base::{Clock, KeyHasher, Millis, Steady, Stopwatch};
use command::rights::catalog_of;
use command::{Call, Environment, Execution, Invocation, RowMemo, execute, granted_for_batch};
use session::{
    Args, DataFiles, Endpoint, Identity, Instance, Letter, MessageBytes, NoDataFiles, Notice,
    Owner, Post, Session, WorkerStatistics,
};
use settings::Settings;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use store::{Store, StoreConfig, ThreadContext};
use wire::{Protocol, Reply, Span};

/// Server whose clock stands still, with one client.
pub struct World {
    pub instance: Arc<Instance>,
    pub session: Session,
    pub thread: ThreadContext,
    pub statistics: Arc<WorkerStatistics>,
}

/// Address of the client.
pub fn here() -> Endpoint {
    Endpoint {
        address: "127.0.0.1:1".to_owned(),
        local_address: "127.0.0.1:2".to_owned(),
        fd: 3,
        is_unix: false,
    }
}

/// Mailbox of a worker that sleeps.
#[derive(Default)]
pub struct Mailbox {
    letters: Mutex<Vec<Letter>>,
    /// Clients that are to be closed, as they were sent too much.
    flooded: Mutex<Vec<u64>>,
    /// How often it was woken.
    pub wakes: AtomicUsize,
    /// True while it is to say that it has far too much mail.
    pub is_flooded: AtomicBool,
}

impl Post for Mailbox {
    fn leave(&self, notice: Notice) -> bool {
        match notice {
            Notice::Letter(letter) => self.letters.lock().expect("no panic").push(letter),
            Notice::Flooded(client) => self.flooded.lock().expect("no panic").push(client),
            other => panic!("it is not sent here: {other:?}"),
        }
        true
    }

    fn is_flooded(&self) -> bool {
        self.is_flooded.load(Relaxed)
    }

    fn wake(&self) {
        self.wakes.fetch_add(1, Relaxed);
    }

    fn is_behind(&self) -> bool {
        false
    }
}

impl Mailbox {
    /// Returns the number of letters that wait.
    pub fn letters(&self) -> usize {
        self.letters.lock().expect("no panic").len()
    }

    /// Returns the clients that are to be closed, as they were sent too much.
    pub fn take_flooded(&self) -> Vec<u64> {
        std::mem::take(&mut *self.flooded.lock().expect("no panic"))
    }

    /// Removes the letters and returns what they bring, as client and text, in order.
    pub fn take(&self) -> Vec<(u64, String)> {
        let given = self.given();
        self.letters.lock().expect("no panic").clear();
        given
    }

    /// Returns what the letters bring, as client and text, in order.
    pub fn given(&self) -> Vec<(u64, String)> {
        let letters = self.letters.lock().expect("no panic");
        let given = letters.iter().flat_map(Letter::messages).flat_map(|(message, receivers)| {
            let MessageBytes { head, payload } = message.bytes(Protocol::Resp3);
            let bytes = [&head[..], payload.map_or(&[][..], |payload| payload)].concat();
            let text = String::from_utf8_lossy(&bytes).replace("\r\n", " ");
            receivers.iter().map(move |receiver| (receiver.client, text.clone()))
        });
        given.collect()
    }
}

/// Mailbox that keeps the answers to clients that have waited.
#[derive(Default)]
pub struct Answers(Mutex<Vec<String>>);

impl Post for Answers {
    fn leave(&self, notice: Notice) -> bool {
        let answer = match notice {
            Notice::Answer(_, answer) => answer,
            Notice::Deadline(_) => return false,
            _ => panic!("only those who wait are told here"),
        };
        let text = String::from_utf8(answer.reply).expect("text").replace("\r\n", " ");
        self.0.lock().expect("no panic").push(text.trim_end().to_owned());
        false
    }

    fn wake(&self) {}

    fn is_behind(&self) -> bool {
        false
    }
}

impl Answers {
    /// Returns those that have come, their lines joined by blanks.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("no panic"))
    }
}

/// Time at which every world begins.
pub const BEGIN: Millis = Millis(1_700_000_000_000);
/// The same moment by the time that passes.
pub const STARTED: Steady = Steady(BEGIN.0);
const ADDRESS_SPACE: usize = 256 << 20;

impl World {
    pub fn new() -> World {
        World::with_files(Box::new(NoDataFiles))
    }

    /// As `new`, with what keeps its files.
    pub fn with_files(data_files: Box<dyn DataFiles>) -> World {
        let config = StoreConfig {
            databases: 16,
            hasher: KeyHasher::from_seed(1),
            address_space: Some(ADDRESS_SPACE),
        };
        let store = Store::new(config).expect("address space");
        let thread = store.thread_context().expect("the first thread");
        let clock = Clock::still(BEGIN);
        let settings = Arc::new(Settings::new());
        let instance = Instance::new(
            store,
            settings,
            identity(),
            (clock, Stopwatch::still()),
            (table().ids(), catalog_of(table())),
            Box::new(|| ()),
            data_files,
        );
        assert!(instance.clients.admit(1));
        World::on(Arc::new(instance), thread)
    }

    /// Returns the same server with another client, which another thread serves.
    #[cfg(shuttle)]
    pub fn beside(&self) -> World {
        let thread = self.instance.store.thread_context().expect("one more thread");
        World::on(Arc::clone(&self.instance), thread)
    }

    fn on(instance: Arc<Instance>, thread: ThreadContext) -> World {
        let client = instance.clients.add(here(), Owner::default(), STARTED);
        let statistics = instance.statistics.worker();
        let session = Session::of_connection(client, &instance.access);
        World { instance, session, thread, statistics }
    }

    /// Executes a line, quoted as in an inline request; returns the reply.
    pub fn answer(&mut self, line: &str) -> String {
        let words = text::split_args(line.as_bytes()).expect("quotes are closed");
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        String::from_utf8_lossy(&self.answer_words(&words)).into_owned()
    }

    /// Executes a request; returns the reply.
    pub fn answer_words(&mut self, words: &[&[u8]]) -> Vec<u8> {
        let (execution, out) = self.execute(words);
        let is_answered =
            matches!(execution, Execution::Done | Execution::Counted | Execution::Aside);
        assert!(is_answered, "it is postponed");
        out
    }

    /// Executes a line, whatever becomes of it; returns that and what was written, its lines joined
    /// by blanks.
    #[cfg(shuttle)]
    pub fn attempt(&mut self, line: &str) -> (Execution, String) {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let (execution, out) = self.execute(&words);
        let text = String::from_utf8(out).expect("text").replace("\r\n", " ");
        (execution, text.trim_end().to_owned())
    }

    /// Executes a line; returns true if CLIENT PAUSE postpones it.
    pub fn is_postponed(&mut self, line: &str) -> bool {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        self.execute(&words).0 == Execution::Postponed
    }

    /// Executes a line; returns true if the client waits for its reply.
    pub fn waits(&mut self, line: &str) -> bool {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        matches!(self.execute(&words).0, Execution::ByMail | Execution::Waits)
    }

    /// Executes a line, and calls `seen` behind it.
    pub fn run(&mut self, line: &str, seen: impl FnOnce(&Call<'_>)) {
        let words = text::split_args(line.as_bytes()).expect("quotes are closed");
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let _ = self.execute_and(&words, seen);
    }

    /// Executes a request; returns its outcome and the reply.
    fn execute(&mut self, words: &[&[u8]]) -> (Execution, Vec<u8>) {
        self.execute_and(words, |_| ())
    }

    fn execute_and(
        &mut self,
        words: &[&[u8]],
        seen: impl FnOnce(&Call<'_>),
    ) -> (Execution, Vec<u8>) {
        let granted = granted_for_batch(&self.instance);
        self.with_call(words, |call| {
            let execution = execute(call, granted);
            if execution == Execution::Done {
                call.statistics.commands[call.row.id].calls.add(1);
            }
            seen(call);
            execution
        })
    }

    /// Does something with the call of a request; returns what came of it, and the reply.
    pub fn with_call<T>(
        &mut self,
        words: &[&[u8]],
        act: impl FnOnce(&mut Call<'_>) -> T,
    ) -> (T, Vec<u8>) {
        let (request, spans) = (words.concat(), Span::of_joined(words));
        let args = Args::new(&request, &spans);
        let mut out = Vec::new();
        let reply = Reply::new(&mut out, self.session.protocol);
        let sent = Invocation::new(RowMemo::new(table()).find(&args), args);
        self.instance.store.enter(&self.thread);
        self.thread.author.client = self.session.client.id;
        let (instance, statistics) = (&*self.instance, &*self.statistics);
        let environment =
            Environment { instance, table: table(), statistics, now: instance.clock.now() };
        let (thread, session) = (&mut self.thread, &mut self.session);
        let outcome = act(&mut Call::new(environment, thread, session, sent, reply));
        self.instance.store.leave(&self.thread);
        (outcome, out)
    }

    /// Number of counted changes of data.
    pub fn changes(&self) -> u64 {
        self.instance.store.totals().changes
    }
}

fn identity() -> Identity {
    Identity {
        run_id: "0".repeat(40),
        started: STARTED,
        config_file: None,
        executable: "varve-server".into(),
        threads: 1,
        allocator: "segments",
        supervised: "no",
    }
}

/// Plays a conversation: text behind `>` is sent, and text behind `<` must be the reply, with a
/// blank for every line end. Blank lines are skipped.
#[track_caller]
pub fn play(world: &mut World, conversation: &str) {
    let mut answer = None;
    let mut sent = "";
    for line in conversation.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (kind, rest) = line.split_at(1);
        match (kind, answer.take()) {
            (">", None) => {
                sent = rest.trim();
                answer = Some(world.answer(sent).replace("\r\n", " "));
            }
            ("<", Some(answer)) => assert_eq!(answer.trim_end(), rest.trim(), "{sent}"),
            _ => panic!("requests and replies take turns: {line}"),
        }
    }
}

/// Sends lines and compares the replies, whose lines are joined by blanks.
#[track_caller]
pub fn check(world: &mut World, rows: &[(&str, &str)]) {
    for (line, expected) in rows {
        assert_eq!(reply_to(world, line), *expected, "{line}");
    }
}

/// Executes a line; returns the reply, its lines joined by blanks.
pub fn reply_to(world: &mut World, line: &str) -> String {
    world.answer(line).replace("\r\n", " ").trim_end().to_owned()
}
