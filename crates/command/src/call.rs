//! One command at work: what it was asked, what it may touch, where its reply goes.

use crate::args::Args;
use crate::instance::Instance;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::spec::{Categories, CommandSpec, Flags, Group};
use crate::statistics::WorkerStatistics;
use crate::table;
use base::{KeyspaceId, Millis, PositionHash};
use smallvec::SmallVec;
use store::{Access, Key, OwnedArgs, ShardSet, ThreadContext};
use wire::Reply;

/// `Ok` when one reply was written; a refusal becomes the reply instead.
pub type Outcome = Result<(), Unanswered>;

/// Why a handler wrote no reply.
#[derive(Debug)]
pub enum Unanswered {
    /// The refusal is the reply.
    Refused(Refusal),
    /// The client waits for keys, and is answered later.
    Waits,
}

impl<E: Into<Refusal>> From<E> for Unanswered {
    fn from(error: E) -> Unanswered {
        Unanswered::Refused(error.into())
    }
}

/// Does the command: reads arguments, works on the store, writes one reply.
pub type Handler = fn(&mut Call<'_>) -> Outcome;

/// What a family's table says about a command.
pub type Command = CommandSpec<Handler>;

/// A command with its number.
pub type Row = table::Row<Handler>;

/// All commands.
pub type Table = table::Table<Handler>;

/// Keys of one command; most have few.
pub type Keys<'c> = SmallVec<[Key<'c>; 4]>;

/// See the module page.
pub struct Call<'c> {
    /// What all clients share.
    pub instance: &'c Instance,
    /// This thread's way to the store.
    pub thread: &'c mut ThreadContext,
    /// What is known of the client.
    pub session: &'c mut Session,
    /// This worker's counts.
    pub statistics: &'c WorkerStatistics,
    /// The request.
    pub args: Args<'c>,
    /// Where the reply goes.
    pub reply: Reply<'c>,
    /// The moment of the command.
    pub now: Millis,
    /// The row that was found; of the subcommand, if there is one.
    pub row: &'static Row,
    /// Hash of the first key, if a look ahead has computed it.
    pub first_hash: Option<PositionHash>,
    /// Whether the command waits for its keys already, and only looks at them once more.
    pub is_again: bool,
}

impl<'c> Call<'c> {
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

    /// Not inlined, since the handlers that lock a key are many and the hash of one is long.
    #[inline(never)]
    fn hash(&self, bytes: &[u8]) -> PositionHash {
        self.instance.store.hash(bytes)
    }

    /// Locks the key at `at`: the access, the key, and where the reply goes.
    #[inline(always)]
    pub fn on_key(&mut self, at: usize) -> (Access<'_>, Key<'c>, &mut Reply<'c>) {
        let key = self.key(at);
        let access = self.instance.store.lock(self.thread, &key, self.now);
        (begun(access, self.session, self.args, key.keyspace), key, &mut self.reply)
    }

    /// Locks the keys at `positions`, all at once; the keys come in the same order.
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
        let mut shards = ShardSet::new();
        keys.iter().for_each(|key| shards.add(key.hash));
        self.lock_shards(shards)
    }

    /// Locks every shard, for a command that learns its keys as it goes.
    pub fn lock_everything(&mut self) -> (Access<'_>, &mut Reply<'c>) {
        self.lock_shards(ShardSet::all())
    }

    fn lock_shards(&mut self, shards: ShardSet) -> (Access<'_>, &mut Reply<'c>) {
        let keyspace = self.keyspace();
        let access = self.instance.store.lock_all(self.thread, shards, self.now);
        (begun(access, self.session, self.args, keyspace), &mut self.reply)
    }

    /// Makes sure that `bytes` beyond those of the arguments can be written without waiting. For
    /// before the locks, when a command will need more than it was sent.
    ///
    /// # Errors
    /// When memory is used up.
    pub fn reserve(&mut self, bytes: usize) -> Result<(), Refusal> {
        Ok(self.instance.store.reserve(self.thread, bytes, self.now)?)
    }

    /// The moment by which keys that have expired are told apart when many are visited: none has
    /// for a client that fills a server in import mode.
    pub fn visited_at(&self) -> Millis {
        let sees_all = self.session.import_source && self.instance.store.keeps_expired();
        if sees_all { Millis(0) } else { self.now }
    }

    /// Whether a key that gets this deadline is gone at once.
    pub fn is_over(&self, deadline: Millis) -> bool {
        deadline <= self.now && !self.instance.store.keeps_expired()
    }

    /// The refusal of a request with a wrong number of arguments.
    pub fn wrong_arity(&self) -> Refusal {
        wrong_arity(self.row)
    }
}

/// The refusal of a request that has not as many arguments as its command takes.
#[cold]
pub fn wrong_arity(row: &Row) -> Refusal {
    Refusal::new(format!("ERR wrong number of arguments for '{}' command", row.full_name))
}

impl Command {
    /// A row that only has subcommands. A request without a known one is refused before it runs.
    pub const fn parent(
        group: Group,
        name: &'static str,
        since: &'static str,
        subcommands: &'static [Command],
    ) -> Command {
        Command {
            subcommands,
            categories: Categories::empty(),
            ..Command::plain(
                group,
                name,
                -2,
                Flags::empty(),
                since,
                |_| Err(Refusal::SYNTAX.into()),
            )
        }
    }
}

/// An access that knows how the client sees keys, and what its command says unless told otherwise.
#[inline(always)]
fn begun<'a>(
    mut access: Access<'a>,
    session: &Session,
    args: Args<'_>,
    keyspace: KeyspaceId,
) -> Access<'a> {
    if session.no_touch | session.import_source {
        session.mark(&mut access);
    }
    access.speak_for(|| (owned(args), keyspace));
    access
}

/// The arguments of a request, for those who listen.
#[cold]
fn owned(args: Args<'_>) -> OwnedArgs {
    args.from(0).map(<[u8]>::to_vec).collect()
}
