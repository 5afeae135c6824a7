//! One execution of a command: its request, the state that it may use, and its reply.

use crate::flags::Flags;
use crate::key_spec::FoundKeys;
use crate::row::{Call, Row, Table, Turn};
use base::{KeyspaceId, Millis, PositionHash};
use session::{AccessModes, Args, Instance, Refusal, Session, WorkerStatistics, begin_of};
use settings::limits::PROTO_MAX_BULK_LEN;
use smallvec::SmallVec;
use store::{Access, Key, ShardSet, ThreadContext, WINDOW};
use wire::Reply;

/// Keys of one command for which it does not pay to look ahead.
const FEW: usize = 4;

/// Keys of one command; most have few.
pub type Keys<'c> = SmallVec<[Key<'c>; 4]>;

/// The keys of one command in windows, each with the next one: while the keys of a window are
/// worked on, those of the next come into the cache.
pub fn windows<'k, 'c>(
    keys: &'k [Key<'c>],
) -> impl Iterator<Item = (&'k [Key<'c>], &'k [Key<'c>])> {
    let next = keys.chunks(WINDOW).skip(1).chain(std::iter::once(&[][..]));
    keys.chunks(WINDOW).zip(next)
}

/// What the calls of a worker have in common.
#[derive(Clone, Copy, Debug)]
pub struct Environment<'c> {
    /// State shared by all clients.
    pub instance: &'c Instance,
    /// The table of all commands.
    pub table: &'static Table,
    /// Counts of this worker.
    pub statistics: &'c WorkerStatistics,
    /// Time of the commands.
    pub now: Millis,
}

/// A command and its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'c> {
    /// Row of the command, or of the subcommand if there is one.
    pub row: &'static Row,
    /// The request.
    pub args: Args<'c>,
    /// Position hash of the first key, if it is known.
    pub first_hash: Option<PositionHash>,
    /// Whether the client may wait.
    pub turn: Turn,
}

impl<'c> Call<'c> {
    /// Puts a call together.
    #[inline(always)]
    pub fn new(
        Environment { instance, statistics, now, .. }: Environment<'c>,
        thread: &'c mut ThreadContext,
        session: &'c mut Session,
        Invocation { row, args, first_hash, turn }: Invocation<'c>,
        reply: Reply<'c>,
    ) -> Call<'c> {
        Call { instance, thread, session, statistics, args, reply, now, row, first_hash, turn }
    }

    /// What it has in common with other calls of its worker.
    #[inline]
    pub fn environment(&self) -> Environment<'c> {
        let Call { instance, statistics, now, row, .. } = *self;
        Environment { instance, table: row.table(), statistics, now }
    }

    /// Parts the thread context from the rest of the call, within which other calls can run while
    /// the thread holds locks.
    #[inline]
    pub fn split(&mut self) -> (&mut ThreadContext, Outer<'_, 'c>) {
        let Call { row, args, first_hash, turn, .. } = *self;
        let outer = Outer {
            environment: self.environment(),
            invocation: Invocation { row, args, first_hash, turn },
            session: self.session,
            reply: &mut self.reply,
        };
        (self.thread, outer)
    }

    /// Runs another command for the same client, whose reply is a part of this one's.
    #[inline(always)]
    pub fn nested<T>(
        &mut self,
        invocation: Invocation<'_>,
        run: impl FnOnce(&mut Call<'_>) -> T,
    ) -> T {
        let (thread, mut outer) = self.split();
        outer.nested(thread, invocation, run)
    }

    /// The keyspace of the client's database.
    ///
    /// # Panics
    /// Never, as SELECT refuses a database that does not exist.
    #[inline]
    pub fn keyspace(&self) -> KeyspaceId {
        let selected = self.instance.store.keyspace(self.session.database);
        selected.expect("a selected database exists")
    }

    /// The keyspace of a database.
    ///
    /// # Errors
    /// When there is no such database.
    #[inline]
    pub fn keyspace_of(&self, database: usize) -> Result<KeyspaceId, Refusal> {
        self.instance.store.keyspace(database).ok_or(Refusal::DB_INDEX)
    }

    /// The argument at `at` as a key of the client's database.
    #[inline(always)]
    pub fn key(&self, at: usize) -> Key<'c> {
        let bytes = self.args.get(at);
        let keyspace = self.keyspace();
        let ahead = self.first_hash.filter(|_| at == self.row.first_key);
        let hash = ahead.unwrap_or_else(|| self.hash(bytes));
        Key { bytes, hash, keyspace }
    }

    /// Computes the position hash of a key. Not inlined, since many handlers lock a key and the
    /// code of a hash is long.
    #[inline(never)]
    fn hash(&self, bytes: &[u8]) -> PositionHash {
        self.instance.store.hash(bytes)
    }

    /// Locks the key at `at`. Returns the access, the key, and the writer of the reply.
    #[inline(always)]
    pub fn on_key(&mut self, at: usize) -> (Access<'_>, Key<'c>, &mut Reply<'c>) {
        let key = self.key(at);
        let (access, reply) = self.on(key);
        (access, key, reply)
    }

    /// Locks a key that was hashed before. Returns the access, and the writer of the reply.
    #[inline(always)]
    pub fn on(&mut self, key: Key<'c>) -> (Access<'_>, &mut Reply<'c>) {
        let mut access = self.instance.store.lock(self.thread, &key, self.now);
        let (request, keys) = ((self.row, self.args), (key.keyspace, &[key][..]));
        begin(&mut access, self.instance, self.session, request, keys);
        (access, &mut self.reply)
    }

    /// Locks the keys at `positions`, all at once. Returns the access, the keys in the same order,
    /// and the writer of the reply.
    pub fn on_keys(
        &mut self,
        positions: impl IntoIterator<Item = usize>,
    ) -> (Access<'_>, Keys<'c>, &mut Reply<'c>) {
        let keys: Keys<'c> = positions.into_iter().map(|at| self.key(at)).collect();
        let (access, reply) = self.lock(&keys);
        (access, keys, reply)
    }

    /// Locks keys, which may be of several databases, all at once.
    pub fn lock(&mut self, keys: &[Key<'_>]) -> (Access<'_>, &mut Reply<'c>) {
        if keys.len() > FEW {
            self.instance.store.prefetch_window(keys);
        }
        let mut shards = ShardSet::new();
        keys.iter().for_each(|key| shards.add(key.hash));
        let writes = self.row.spec.flags.contains(Flags::WRITE);
        let (mut access, reply) = self.lock_shards(shards, keys);
        if writes && access.is_recording() {
            // What it does to one key may depend on the absence of another.
            keys.iter().for_each(|key| access.drop_expired_for_write(key));
        }
        (access, reply)
    }

    /// Locks every shard, for a command whose keys become known only while it runs.
    pub fn lock_everything(&mut self) -> (Access<'_>, &mut Reply<'c>) {
        let words: SmallVec<[&[u8]; 8]> = self.args.from(0).collect();
        let (find_keys, specs) = (self.row.spec.find_keys, self.row.spec.keys);
        let named = match self.session.modes.contains(AccessModes::ENTERS_READS) {
            true => find_keys(specs, &words).unwrap_or_default(),
            false => FoundKeys::default(),
        };
        let (store, keyspace) = (&self.instance.store, self.keyspace());
        let keys: Keys<'_> = named.iter().map(|(bytes, _)| store.key(keyspace, bytes)).collect();
        self.lock_shards(ShardSet::all(), &keys)
    }

    /// Locks shards, those of some keys among them.
    fn lock_shards(&mut self, shards: ShardSet, keys: &[Key<'_>]) -> (Access<'_>, &mut Reply<'c>) {
        let keyspace = self.keyspace();
        let mut access = self.instance.store.lock_all(self.thread, shards, self.now);
        let (request, keys) = ((self.row, self.args), (keyspace, keys));
        begin(&mut access, self.instance, self.session, request, keys);
        (access, &mut self.reply)
    }

    /// Makes sure that `bytes` can be appended without waiting. To be called before locks are
    /// taken, by commands that write more than the bytes of their arguments.
    ///
    /// # Errors
    /// When memory is used up.
    #[inline]
    pub fn reserve(&mut self, bytes: usize) -> Result<(), Refusal> {
        if self.instance.store.reserve_at_once(self.thread, bytes, self.now) {
            Ok(())
        } else {
            self.reserve_slowly(bytes)
        }
    }

    #[cold]
    #[inline(never)]
    fn reserve_slowly(&mut self, bytes: usize) -> Result<(), Refusal> {
        let (store, now) = (&self.instance.store, self.now);
        let reserve = |thread: &mut ThreadContext| store.reserve(thread, bytes, now);
        Ok(self.instance.note_eviction(self.thread, reserve)?)
    }

    /// Returns the time by which commands that visit many keys judge expiry: zero, so that no key
    /// has expired, for a client that fills the server in import mode.
    pub fn visited_at(&self) -> Millis {
        let is_source = self.session.modes.contains(AccessModes::IMPORT_SOURCE);
        let sees_all = is_source && self.instance.store.keeps_expired();
        if sees_all { Millis(0) } else { self.now }
    }

    /// Returns the moment from which a time to live counts, and notes that the request has one.
    pub fn lives_from(&self) -> Millis {
        self.session.counts_from_now.set(true);
        self.now
    }

    /// Returns the deadline that a key gets: one that has passed counts as now, unless what has
    /// expired stays.
    pub fn kept(&self, deadline: Millis) -> Millis {
        if self.instance.store.keeps_expired() { deadline } else { deadline.max(self.now) }
    }

    /// Returns true if a key that gets this deadline is removed at once.
    pub fn is_over(&self, deadline: Millis) -> bool {
        deadline <= self.now && !self.instance.store.keeps_expired()
    }

    /// True if it was executed elsewhere, and comes from a file or from a primary.
    pub fn is_obeyed(&self) -> bool {
        self.session.modes.contains(AccessModes::OBEYED)
    }

    /// Bytes of the longest string that it may make. A file may have been written under another
    /// setting.
    pub fn bulk_bytes_max(&self) -> u64 {
        let settings = &self.instance.settings;
        if self.is_obeyed() { u64::MAX } else { PROTO_MAX_BULK_LEN.get(settings) }
    }

    /// The client as a tracker of its keys, for a command that reads and may change them: it enters
    /// them itself, while their locks are held, so that its own change is none to the client.
    pub fn late_tracker(&self) -> LateTracker<'c> {
        let enters = self.session.modes.contains(AccessModes::ENTERS_READS);
        LateTracker { instance: self.instance, client: enters.then_some(self.session.client.id) }
    }

    /// The refusal of a request with a wrong number of arguments.
    pub fn wrong_arity(&self) -> Refusal {
        wrong_arity(self.row)
    }

    /// The refusal of a subcommand with arguments that it does not have.
    #[cold]
    pub fn wrong_subcommand(&self) -> Refusal {
        let word = begin_of(self.args.get(1));
        let name = self.row.parent.map_or("", |parent| parent.name);
        Refusal::naming(
            "ERR unknown subcommand or wrong number of arguments for '{}'. Try {} HELP.",
            &[word, name.as_bytes()],
        )
    }
}

/// A call without its thread context.
pub struct Outer<'o, 'c> {
    /// What it has in common with the calls within it.
    pub environment: Environment<'c>,
    /// Its own command.
    pub invocation: Invocation<'c>,
    session: &'o mut Session,
    reply: &'o mut Reply<'c>,
}

impl Outer<'_, '_> {
    /// Runs a command within the call and for its client. Its reply is a part of the reply of the
    /// call, which is over its limit if the part was, and goes on in the same protocol.
    #[inline(always)]
    pub fn nested<T>(
        &mut self,
        thread: &mut ThreadContext,
        invocation: Invocation<'_>,
        run: impl FnOnce(&mut Call<'_>) -> T,
    ) -> T {
        let (session, reply) = (&mut *self.session, self.reply.reborrow());
        let mut inner = Call::new(self.environment, thread, session, invocation, reply);
        let outcome = run(&mut inner);
        let (is_over_limit, protocol) = (inner.reply.is_over_limit(), inner.reply.protocol());
        self.reply.take_over(is_over_limit, protocol);
        outcome
    }

    /// Runs a command whose reply is written to `out` and is no part of the reply of the call.
    pub fn beside<T>(
        &mut self,
        thread: &mut ThreadContext,
        invocation: Invocation<'_>,
        out: &mut Vec<u8>,
        run: impl FnOnce(&mut Call<'_>) -> T,
    ) -> T {
        let reply = Reply::new(out, self.session.protocol);
        run(&mut Call::new(self.environment, thread, self.session, invocation, reply))
    }
}

/// A client whose command enters the keys that it has read.
#[derive(Debug)]
pub struct LateTracker<'c> {
    instance: &'c Instance,
    /// Its id; `None` if it is not notified of changes.
    client: Option<u64>,
}

impl LateTracker<'_> {
    /// Enters keys, whose locks are held.
    pub fn enter(&self, keys: &[Key<'_>]) {
        if let Some(client) = self.client {
            enter_all(self.instance, client, keys);
        }
    }
}

/// The refusal of a request whose number of arguments its command does not accept.
#[cold]
pub fn wrong_arity(row: &Row) -> Refusal {
    Refusal::new(format!("ERR wrong number of arguments for '{}' command", row.full_name))
}

impl<'c> Invocation<'c> {
    /// A command that its client has sent, of which no hash is known.
    pub fn new(row: &'static Row, args: Args<'c>) -> Invocation<'c> {
        Invocation { row, args, first_hash: None, turn: Turn::First }
    }

    /// The same with the hash of its first key.
    pub fn with_hash(self, first_hash: Option<PositionHash>) -> Invocation<'c> {
        Invocation { first_hash, ..self }
    }

    /// The same with another turn.
    pub fn with_turn(self, turn: Turn) -> Invocation<'c> {
        Invocation { turn, ..self }
    }
}

/// Enters the keys that a command reads, which are locked, into the table of those whose changes
/// the client is notified of. One that may change them does so behind its change.
#[cold]
#[inline(never)]
fn enter_reads(
    access: &mut Access<'_>,
    instance: &Instance,
    session: &Session,
    (row, keys): (&Row, &[Key<'_>]),
) {
    let flags = row.spec.flags;
    if flags.contains(Flags::READONLY) && !flags.contains(Flags::MAY_REPLICATE) {
        // Removed behind its entry, an expired key would take the client out again.
        keys.iter().for_each(|key| access.drop_expired(key));
        enter_all(instance, session.client.id, keys);
    }
}

fn enter_all(instance: &Instance, client: u64, keys: &[Key<'_>]) {
    keys.iter().for_each(|key| instance.tracking.note_read(key.hash, key.bytes, client));
}

/// Prepares an access: applies the client's modes, and takes the request as the effect of its
/// changes unless the command names another.
#[inline(always)]
fn begin(
    access: &mut Access<'_>,
    instance: &Instance,
    session: &mut Session,
    (row, args): (&Row, Args<'_>),
    (keyspace, keys): (KeyspaceId, &[Key<'_>]),
) {
    if !session.modes.is_empty() {
        session.mark(access);
        if session.modes.contains(AccessModes::ENTERS_READS) {
            enter_reads(access, instance, session, (row, keys));
        }
    }
    if access.is_recording() {
        session.yield_if_subscriber();
        if row.spec.flags.intersects(Flags::WRITE.union(Flags::MAY_REPLICATE)) {
            access.record_request(keyspace, |to| args.write_request(to));
        }
    }
}
