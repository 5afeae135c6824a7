//! A journal that records all units, the data that they make, and snapshots, of a store whose
//! values are strings.

use base::Millis;
use base::mutex::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{
    Access, Copies, Key, OwnedArgs, ScanFilter, Scanned, Store, ThreadContext, Unit, UnitLog,
};

/// Value and deadline of each key of a database.
pub type Database = BTreeMap<Vec<u8>, (Vec<u8>, Option<Millis>)>;

/// Units of all threads, in the order of their places.
#[derive(Debug, Default)]
pub struct Journal(Mutex<Recorded>);

#[derive(Debug, Default)]
struct Recorded {
    /// Number of commands that were taken.
    taken: u64,
    commands: Vec<(usize, OwnedArgs)>,
}

/// A thread's way into the journal.
#[derive(Debug)]
struct Lane(Arc<Journal>);

impl UnitLog for Lane {
    fn put(&mut self, unit: &Unit) -> u64 {
        self.0.recorded().commands.extend(unit.commands());
        self.0.position()
    }

    fn put_aside(&mut self, _: &[u8]) -> u64 {
        self.0.position()
    }
}

impl Journal {
    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock()
    }

    /// Records the units of a thread from now on.
    pub fn join(self: &Arc<Journal>, thread: &mut ThreadContext) {
        thread.set_unit_log(Box::new(Lane(Arc::clone(self))));
    }

    /// Number of commands recorded so far.
    pub fn position(&self) -> u64 {
        let recorded = self.recorded();
        recorded.taken + recorded.commands.len() as u64
    }

    /// Takes the commands before a position that were not taken yet.
    fn take(&self, to: u64) -> Vec<(usize, OwnedArgs)> {
        let mut recorded = self.recorded();
        let count = (to - recorded.taken) as usize;
        recorded.taken = to;
        recorded.commands.drain(..count).collect()
    }
}

/// The data that the units of a journal make. Their execution ignores deadlines: a key is there
/// until its removal comes.
#[derive(Debug)]
pub struct Follower(pub Vec<Database>);

impl Follower {
    /// Without any data.
    pub fn new(databases: usize) -> Follower {
        Follower(vec![Database::new(); databases])
    }

    /// Executes what stands before a position.
    pub fn follow(&mut self, journal: &Journal, to: u64) {
        for (database, args) in journal.take(to) {
            self.execute(database, args);
        }
    }

    fn execute(&mut self, database: usize, mut args: OwnedArgs) {
        let number = |word: &[u8]| -> u64 {
            std::str::from_utf8(word).expect("digits").parse().expect("a number")
        };
        match &args[0][..] {
            b"SET" => {
                let deadline = args.get(4).map(|at| Millis(number(at)));
                let (value, key) = (args.swap_remove(2), args.swap_remove(1));
                self.0[database].insert(key, (value, deadline));
            }
            b"DEL" | b"UNLINK" => {
                args[1..].iter().for_each(|key| drop(self.0[database].remove(key)))
            }
            b"FLUSHDB" => self.0[database].clear(),
            b"SWAPDB" => {
                self.0.swap(number(&args[1]) as usize, number(&args[2]) as usize);
            }
            other => panic!("{:?} is no effect of strings", String::from_utf8_lossy(other)),
        }
    }
}

/// Reports what a key holds after it was changed, or that it is gone. Of a key that was not changed
/// nothing may be reported: one past its deadline may still be there, and is in snapshots.
pub fn report(access: &mut Access<'_>, key: &Key<'_>) {
    if access.is_recording() {
        let found = access.lookup_string_without_touch(key).expect("all are strings");
        let mut args = vec![b"DEL".to_vec(), key.bytes.to_vec()];
        if let Some(string) = found {
            args[0] = b"SET".to_vec();
            args.push(string.to_vec());
            let deadline = string.deadline.map(|at| [b"PXAT".to_vec(), at.0.to_string().into()]);
            args.extend(deadline.into_iter().flatten());
        }
        access.record_effect(key.keyspace, args);
    }
    access.report_changes_silently(1);
}

/// Reads all keys, those past their deadline too. Nobody else uses the store.
pub fn read(store: &Store, thread: &mut ThreadContext) -> Vec<Database> {
    let now = Millis(0);
    let databases = (0..store.databases()).map(|database| {
        let keyspace = store.keyspace(database).expect("a database");
        let scanned = Scanned { keyspace, now, filter: ScanFilter::default() };
        let (mut data, mut cursor) = (Database::new(), 0);
        loop {
            let mut names = Vec::new();
            let keep = |name: &[u8], _| names.push(name.to_vec());
            cursor = store.scan_with_expired(thread, scanned, cursor, 1_000, keep);
            for name in names {
                let key = store.key(keyspace, &name);
                let access = store.lock(thread, &key, now);
                let string = access.lookup_string_without_touch(&key).expect("all are strings");
                let string = string.expect("it was found");
                let held = (string.to_vec(), string.deadline);
                drop(access);
                data.insert(name, held);
            }
            if cursor == 0 {
                return data;
            }
        }
    });
    databases.collect()
}

/// Takes a snapshot, while `meanwhile` runs between its steps; `at_cut` runs at the cut. Returns
/// nothing if it was given up. The thread is outside of the gate.
pub fn save(
    store: &Store,
    thread: &mut ThreadContext,
    now: Millis,
    at_cut: impl FnOnce(),
    mut meanwhile: impl FnMut(),
) -> Option<Vec<Database>> {
    let mut cut = store.cut(thread, now, at_cut).expect("there is no other snapshot");
    let mut saved = vec![Database::new(); store.databases()];
    let mut copies = Copies::default();
    while cut.take(&mut copies) {
        for copied in copies.iter() {
            meanwhile();
            if copied.is_large() && cut.is_given_up() {
                return None;
            }
            let read = |value: store::ValueRef<'_>| value.string().expect("a string").to_vec();
            let held = (cut.read(&copied, read), copied.deadline());
            let before = saved[cut.database_of(&copied)].insert(copied.key().to_vec(), held);
            assert!(before.is_none(), "{:?} was saved twice", copied.key());
            cut.let_go(&copied);
        }
    }
    (!cut.is_given_up()).then_some(saved)
}

/// Holds data against what is expected, and names the first key that differs.
#[track_caller]
pub fn assert_same(found: &[Database], expected: &[Database], what: &str) {
    for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
        let mut keys = expected.keys().chain(found.keys());
        let differing = keys.find(|key| found.get(*key) != expected.get(*key));
        let shown = |it: Option<&(Vec<u8>, Option<Millis>)>| {
            it.map(|(value, at)| {
                (value.len(), value.iter().take(30).copied().collect::<Vec<_>>(), *at)
            })
        };
        if let Some(key) = differing {
            let (found, expected) = (shown(found.get(key)), shown(expected.get(key)));
            panic!("{what}, database {number}, {key:?}: {found:?} and not {expected:?}");
        }
    }
}
