//! Rows of the command table, which hold every fact about a command, and the calls that their
//! handlers get.
//!
//! A row has a handler, a handler gets a call, and a call knows its row: types that name one
//! another stand in one file. What a call can do stands in `call.rs`, how rows are found in
//! `table.rs`.

use crate::argument_fact::ArgumentFacts;
use crate::flags::{
    Categories, Flags, Group, LetsIn, Locks, NamesChannels, ReachesDatabases, Wakes,
};
use crate::key_spec::{self, FindKeys, KeySpec};
use crate::secrets::{FindSecrets, no_secrets};
use crate::simple_rights::SimpleRights;
use crate::tips::Tips;
use base::{Millis, PositionHash};
use script::FunctionFlags;
use session::{Args, Instance, Needs, Refusal, Session, WorkerStatistics};
use std::ops::RangeInclusive;
use std::sync::LazyLock;
use store::ThreadContext;
use wire::Reply;

/// Row of the command table.
#[derive(Debug)]
pub struct Command {
    /// Name in upper case; of a subcommand, without the name of its parent.
    pub name: &'static str,
    /// Number of arguments, the name included; a negative number is a minimum.
    pub arity: i16,
    /// Flags, as COMMAND INFO shows them.
    pub flags: Flags,
    /// Key specifications: places and use of the keys.
    pub keys: &'static [KeySpec],
    /// Function that finds the keys of a request.
    pub find_keys: FindKeys,
    /// What is to be known of the script of a request, if the command runs one.
    pub runs_script: Option<RunsScript>,
    /// Function that finds arguments that logs must not show.
    pub secrets: FindSecrets,
    /// Position of the first argument that names a field of the hash at the first key, so that
    /// fields can be prefetched; zero for none.
    pub field_at: usize,
    /// Position of the argument that becomes a value as it is, and may be received into the store
    /// before the command runs (`Session::take_staged`); zero for none, [`LAST_WORD`] for the last
    /// one of a line.
    pub value_apart: usize,
    /// Channels among its arguments that its user needs the right to use.
    pub channels: NamesChannels,
    /// Databases that it reaches, each of which its user needs the right to.
    pub databases: ReachesDatabases,
    /// Clients that settings let run it.
    pub lets_in: LetsIn,
    /// Locks that it takes.
    pub locks: Locks,
    /// Waiters that it wakes, if it writes.
    pub wakes: Wakes,
    /// Its family.
    pub group: Group,
    /// ACL categories, except those that follow from its flags.
    pub categories: Categories,
    /// Tips for clients that route commands in a cluster.
    pub tips: Tips,
    /// Version of the reference server that introduced it, or that this server names to clients
    /// when it adds one of its own.
    pub since: &'static str,
    /// Description in one sentence.
    pub summary: &'static str,
    /// How its time grows, as COMMAND DOCS shows it; empty where nothing is told.
    pub complexity: &'static str,
    /// Its arguments as the manual writes them: `key value [NX | XX] [GET] [EX seconds | ...]`.
    pub syntax: &'static str,
    /// Facts about its arguments that the syntax does not tell.
    pub arguments: ArgumentFacts,
    /// Versions that changed it, oldest first, each with what changed.
    pub history: &'static [(&'static str, &'static str)],
    /// Handler; of a command with subcommands, for requests without one.
    pub run: Handler,
    /// Rows of its subcommands.
    pub subcommands: &'static [Command],
    /// Full name of the command whose right it needs, if it has none of its own: it is then in no
    /// list of commands.
    pub right_of: &'static str,
    /// Name of the command in whose place it is executed where files and replicas are told of
    /// attributes: the text of the note stands before the name.
    pub noted: &'static str,
}

/// Function that executes a command: reads arguments, works on the store, writes one reply.
pub type Handler = fn(&mut Call<'_>) -> Outcome;

/// How is found out what is to be known of the script of a request before it runs.
#[derive(Clone, Copy, Debug)]
pub struct RunsScript {
    /// What the script says of itself; nothing if it says nothing, or there is no such script.
    pub declares: fn(&Instance, &Args<'_>) -> Option<FunctionFlags>,
    /// Returns true if it may call a command that closes the gate.
    pub closes_gate: fn(&Call<'_>, &Args<'_>) -> bool,
    /// Returns true if it is known to reach the shards of its keys alone.
    pub reaches_only_keys: fn(&Call<'_>, &Args<'_>) -> bool,
}

/// Position of the last word of a line, of which lines differ in the number of words.
pub const LAST_WORD: usize = usize::MAX;

/// Outcome of a handler: `Ok` if one reply was written; a refusal becomes the reply instead.
pub type Outcome = Result<(), Unanswered>;

/// Reason why a handler wrote no reply.
#[derive(Debug)]
pub enum Unanswered {
    /// The refusal is the reply.
    Refused(Refusal),
    /// The command is done, and its reply comes as mail: behind messages that are on their way.
    ByMail,
    /// The client waits, for keys or for another thread, and is answered later.
    Waits,
    /// A part of a line is answered, which is counted with the others as one command.
    Part,
    /// A part of the reply is written, and the request is to be executed once more for the next
    /// one, behind what others want and the client's output has room for.
    GoesOn,
}

impl<E: Into<Refusal>> From<E> for Unanswered {
    fn from(error: E) -> Unanswered {
        Unanswered::Refused(error.into())
    }
}

/// Turn of a command, by which it waits if it finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The first: the client may wait.
    First,
    /// Another: the client waits already, and the command is run again for it.
    Again,
    /// The only one, as in a transaction: the client never waits.
    Only,
}

/// One execution of a command, as its handler gets it.
pub struct Call<'c> {
    /// State shared by all clients.
    pub instance: &'c Instance,
    /// Thread context, through which this thread uses the store.
    pub thread: &'c mut ThreadContext,
    /// Session of the client.
    pub session: &'c mut Session,
    /// Counts of this worker.
    pub statistics: &'c WorkerStatistics,
    /// The request.
    pub args: Args<'c>,
    /// Writer of the reply.
    pub reply: Reply<'c>,
    /// Time of the command.
    pub now: Millis,
    /// Row of the command, or of the subcommand if there is one.
    pub row: &'static Row,
    /// Position hash of the first key, if prefetching has computed it.
    pub first_hash: Option<PositionHash>,
    /// Whether the client may wait.
    pub turn: Turn,
}

/// Command or subcommand with its id.
pub struct Row {
    /// Description in the family's table.
    pub spec: &'static Command,
    /// Index among all rows, and among counts of commands.
    pub id: usize,
    /// Id of the row whose right it needs: its own, but for commands that are in no list.
    pub right: usize,
    /// Needs of the command.
    pub needs: Needs,
    /// Position of its first key, if that is the same in every request; zero if not.
    pub first_key: usize,
    /// Position at which its first key mostly stands, to be prefetched; zero if it may be anywhere.
    pub key_ahead: usize,
    /// True if every request has that key and no other.
    pub has_one_key: bool,
    /// What most of its requests ask of their user's rights; `None` where they ask for more.
    pub simple_rights: Option<SimpleRights>,
    /// Command of which it is a subcommand.
    pub parent: Option<&'static Command>,
    /// Full name as INFO and COMMAND write it, such as `config|get`.
    pub full_name: String,
    /// Id of the first subcommand's row, if there are subcommands.
    pub(crate) first_child: usize,
    pub(crate) table: &'static LazyLock<Table>,
}

/// All rows, and a hash table of names.
pub struct Table {
    pub(crate) rows: Vec<Row>,
    /// Number of those that are listed, which come first.
    pub(crate) listed: usize,
    /// Number of those that requests of RESP may name, which come before the others.
    pub(crate) found: usize,
    /// Row of requests that name no command or have a wrong number of arguments.
    pub(crate) nameless: Row,
    /// Names of commands, folded, with id plus one, by hash of the name; zero for an empty place.
    pub(crate) places: Box<[(u128, u16)]>,
    /// Names of the commands that close the gate and may be called from scripts.
    pub(crate) closing: Vec<&'static str>,
    /// From the length of the shortest of them to that of the longest.
    pub(crate) closing_lengths: RangeInclusive<usize>,
}

impl Command {
    /// Creates a row without keys, subcommands, summary and syntax, on which a family's own rows
    /// are based.
    pub const fn plain(
        group: Group,
        name: &'static str,
        arity: i16,
        flags: Flags,
        since: &'static str,
        run: Handler,
    ) -> Command {
        Command {
            name,
            arity,
            flags,
            keys: &[],
            find_keys: key_spec::find,
            runs_script: None,
            secrets: no_secrets,
            field_at: 0,
            value_apart: 0,
            channels: NamesChannels::No,
            databases: ReachesDatabases::Selected,
            lets_in: LetsIn::Everybody,
            locks: Locks::ItsKeys,
            wakes: Wakes::ItsKeys,
            group,
            categories: group.category(),
            tips: &[],
            since,
            summary: "",
            complexity: "",
            syntax: "",
            arguments: &[],
            history: &[],
            run,
            subcommands: &[],
            right_of: "",
            noted: "",
        }
    }

    /// Creates a row that only has subcommands. A request without a known one is refused before it
    /// runs.
    pub const fn parent(
        group: Group,
        name: &'static str,
        since: &'static str,
        subcommands: &'static [Command],
    ) -> Command {
        Command {
            subcommands,
            categories: Categories::empty(),
            complexity: "That of the subcommand",
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

    /// Returns true if a request of `len` arguments has a valid number of them.
    #[inline]
    pub fn accepts(&self, len: usize) -> bool {
        let arity = usize::from(self.arity.unsigned_abs());
        if self.arity >= 0 { len == arity } else { len >= arity }
    }

    /// Returns true if its replies are pushes, as those of SUBSCRIBE.
    pub fn replies_by_push(&self) -> bool {
        self.flags.contains(Flags::PUBSUB.union(Flags::WHILE_SUBSCRIBED))
    }

    /// All its ACL categories.
    pub fn all_categories(&self) -> Categories {
        let has = |flag| self.flags.contains(flag);
        let is_script = self.categories.contains(Categories::SCRIPTING);
        let mut all = self.categories;
        all.set(Categories::READ, has(Flags::READONLY) && !is_script);
        all.set(Categories::WRITE, has(Flags::WRITE));
        all.set(Categories::PUBSUB, has(Flags::PUBSUB));
        all.set(Categories::FAST, has(Flags::FAST));
        all.set(Categories::SLOW, !has(Flags::FAST));
        all.set(Categories::BLOCKING, has(Flags::BLOCKING));
        if has(Flags::ADMIN) {
            all |= Categories::ADMIN | Categories::DANGEROUS;
        }
        all
    }

    /// Returns true for a command that reaches the selected database, unless it names others.
    pub fn reaches_selected(&self) -> bool {
        let of_keys = Categories::KEYSPACE | Categories::READ | Categories::WRITE;
        self.keys.iter().any(KeySpec::is_key) || self.all_categories().intersects(of_keys)
    }

    /// Returns the needs of the command, from its flags and keys.
    pub fn needs(&self) -> Needs {
        let has = |flags| self.flags.intersects(flags);
        let writes = has(Flags::WRITE);
        // Any command may be one that the user may not run, or that is queued or postponed.
        let mut needs = Needs::PERMITTED | Needs::UNPAUSED;
        needs.set(Needs::NO_TRANSACTION, !has(Flags::ENDS_MULTI));
        needs.set(Needs::QUEUE, has(Flags::RUNS_QUEUE));
        needs.set(Needs::AUTHENTICATED, !has(Flags::NO_AUTH));
        needs.set(Needs::SLOT, !self.keys.is_empty());
        needs.set(Needs::DIRECT, writes || has(Flags::READONLY));
        needs.set(Needs::MEMORY, has(Flags::DENYOOM));
        needs.set(Needs::REPLICAS | Needs::PRIMARY, writes);
        needs.set(Needs::DISK, writes || has(Flags::TELLS_TROUBLE));
        needs.set(Needs::UNSUBSCRIBED, !has(Flags::WHILE_SUBSCRIBED));
        needs.set(Needs::FRESH, !has(Flags::STALE));
        needs.set(Needs::LOADED, !has(Flags::LOADING));
        needs.set(Needs::UNREPLACED, has(Flags::NO_ASYNC_LOADING));
        needs.set(Needs::LET_IN, self.lets_in != LetsIn::Everybody);
        needs.set(Needs::IDLE, !has(Flags::ALLOW_BUSY));
        let may_write = writes || has(Flags::MAY_REPLICATE);
        needs.set(Needs::WRITES_FLOW, may_write);
        // What is published is no change of data.
        needs.set(Needs::JOURNAL_ROOM, may_write && !has(Flags::PUBSUB));
        needs.set(Needs::EVENT_ROOM, writes || !self.keys.is_empty());
        needs.set(Needs::MAIL_ROOM, has(Flags::PUBSUB) && may_write);
        let is_shown = !has(Flags::SKIP_MONITOR.union(Flags::ADMIN));
        needs.set(Needs::UNMONITORED, is_shown);
        needs.set(Needs::LINE_ROOM, is_shown || self.runs_script.is_some());
        needs.set(Needs::DECLARED, self.runs_script.is_some());
        needs.insert(Needs::UNTRACKED | Needs::MAY_WAIT);
        needs.set(Needs::NO_MONITOR, may_write || has(Flags::READONLY));
        needs
    }
}
