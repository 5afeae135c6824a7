//! XADD, XTRIM, XDEL, XSETID, XLEN.

use super::effects::{record_entry_effect, record_trim_effect};
use super::id;
use command::{Call, Outcome};
use session::{Args, Refusal};
use settings::values::{STREAM_NODE_MAX_BYTES, STREAM_NODE_MAX_ENTRIES};
use smallvec::SmallVec;
use store::Event;
use store::value::stream::{self, Add, Bound, Id, NewId, NodeLimit, SetId, Trim};

const XADD: Event = Event::stream("xadd");
const XTRIM: Event = Event::stream("xtrim");
const XDEL: Event = Event::stream("xdel");
const XSETID: Event = Event::stream("xsetid");

/// Number of nodes whose entries a trimming with `~` removes at most, unless LIMIT is given.
const TRIMMED_NODES: u64 = 100;
/// Maximum entries that it removes if the entries of a node have no limit.
const TRIMMED_DEFAULT: u64 = 10_000;
/// Maximum entries that it removes in any other case without LIMIT.
const TRIMMED_MAX: u64 = 1_000_000;

/// Options of XADD and XTRIM.
struct Options {
    trim: Option<Trim>,
    only_existing: bool,
    /// Id of XADD, with its position.
    id: Option<(NewId, usize)>,
}

impl Options {
    fn parse(call: &Call<'_>, is_add: bool) -> Result<Options, Refusal> {
        let args = call.args;
        let mut options = Parser { bound: None, is_approximate: false, limit: None };
        let (mut at, mut only_existing, mut id) = (2, false, None);
        while at < args.len() {
            let has_more = at + 1 < args.len();
            if is_add && args.get(at) == b"*" {
                id = Some((NewId::Now, at));
                break;
            } else if args.is(at, "MAXLEN") && has_more {
                at = options.length(args, at)?;
            } else if args.is(at, "MINID") && has_more {
                at = options.id(args, at)?;
            } else if args.is(at, "LIMIT") && has_more {
                at = options.limit(args, at)?;
            } else if is_add && args.is(at, "NOMKSTREAM") {
                only_existing = true;
                at += 1;
            } else if is_add {
                id = Some((id::parse_new(args.get(at))?, at));
                break;
            } else {
                return Err(Refusal::SYNTAX);
            }
        }
        let most = if call.is_obeyed() { Most::Unlimited } else { Most::of(node_limit(call)) };
        Ok(Options { trim: options.finish(is_add, most)?, only_existing, id })
    }
}

/// Trimming options that have been read so far.
struct Parser {
    bound: Option<Bound>,
    is_approximate: bool,
    limit: Option<u64>,
}

impl Parser {
    fn length(&mut self, args: Args<'_>, at: usize) -> Result<usize, Refusal> {
        let at = self.begin(args, at)?;
        let len = u64::try_from(args.integer(at)?)
            .map_err(|_| Refusal::of("ERR The MAXLEN argument must be >= 0."))?;
        self.bound = Some(Bound::Length(len));
        Ok(at + 1)
    }

    fn id(&mut self, args: Args<'_>, at: usize) -> Result<usize, Refusal> {
        let at = self.begin(args, at)?;
        self.bound = Some(Bound::Id(id::parse(args.get(at), 0)?));
        Ok(at + 1)
    }

    /// Reads `~` or `=`, if given; returns the position of the bound itself.
    fn begin(&mut self, args: Args<'_>, at: usize) -> Result<usize, Refusal> {
        if self.bound.is_some() {
            return Err(Refusal::of(
                "ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
            ));
        }
        let has_two = at + 2 < args.len();
        self.is_approximate = has_two && args.get(at + 1) == b"~";
        Ok(if self.is_approximate || has_two && args.get(at + 1) == b"=" { at + 2 } else { at + 1 })
    }

    fn limit(&mut self, args: Args<'_>, at: usize) -> Result<usize, Refusal> {
        let limit = u64::try_from(args.integer(at + 1)?)
            .map_err(|_| Refusal::of("ERR The LIMIT argument must be >= 0."))?;
        self.limit = Some(limit);
        Ok(at + 2)
    }

    fn finish(self, is_add: bool, most: Most) -> Result<Option<Trim>, Refusal> {
        if self.bound.is_none() && self.limit.is_some_and(|limit| limit > 0) {
            return Err(Refusal::of(
                "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy",
            ));
        }
        if self.bound.is_none() && !is_add {
            return Err(Refusal::of(
                "ERR syntax error, XTRIM must be called with a trimming strategy",
            ));
        }
        let whole_nodes = match most {
            Most::Unlimited => self.is_approximate.then_some(0),
            Most::Entries(_) if self.limit.is_some() && !self.is_approximate => {
                return Err(Refusal::of(
                    "ERR syntax error, LIMIT cannot be used without the special ~ option",
                ));
            }
            Most::Entries(most) => self.is_approximate.then(|| self.limit.unwrap_or(most)),
        };
        Ok(self.bound.map(|to| Trim { to, whole_nodes }))
    }
}

/// Entries that a trimming with `~` removes at most.
enum Most {
    /// So many, unless LIMIT gives another number.
    Entries(u64),
    /// Any number, whatever LIMIT says: it was asked where the bound was found that stands in the
    /// command now, behind `=` and with the LIMIT of the request.
    Unlimited,
}

impl Most {
    fn of(nodes: NodeLimit) -> Most {
        Most::Entries(match nodes.entries.saturating_mul(TRIMMED_NODES) {
            0 => TRIMMED_DEFAULT,
            entries => entries.min(TRIMMED_MAX),
        })
    }
}

fn node_limit(call: &Call<'_>) -> NodeLimit {
    NodeLimit {
        entries: STREAM_NODE_MAX_ENTRIES.get(&call.instance.settings),
        bytes: STREAM_NODE_MAX_BYTES.get(&call.instance.settings),
    }
}

pub fn xadd(call: &mut Call<'_>) -> Outcome {
    let (args, limit) = (call.args, node_limit(call));
    let Options { trim, only_existing, id } = Options::parse(call, true)?;
    let (id, at) = id.unwrap_or((NewId::Now, args.len()));
    let texts = args.from(at + 1);
    if texts.len() == 0 || texts.len() % 2 == 1 {
        return Err(Refusal::of("ERR wrong number of arguments for 'xadd' command").into());
    }
    if id == NewId::Given(Id::MIN) {
        return Err(Refusal::of("ERR The ID specified in XADD must be greater than 0-0").into());
    }
    let (mut access, key, reply) = call.on_key(1);
    match stream::add(&mut access, &key, Add { id, only_existing, trim, limit }, texts)? {
        Some(added) => {
            access.report_changes(1, XADD, &key);
            if added.trimmed > 0 {
                access.record_event(XTRIM, &key);
            }
            if !matches!(id, NewId::Given(_)) || trim.is_some_and(|trim| trim.is_approximate()) {
                record_entry_effect(&mut access, &key, added.id, added.trimmed, args.from(at + 1));
            }
            id::write(reply, added.id);
        }
        None => reply.null(),
    }
    Ok(())
}

pub fn xtrim(call: &mut Call<'_>) -> Outcome {
    let options = Options::parse(call, false)?;
    let (mut access, key, reply) = call.on_key(1);
    let count = match options.trim {
        Some(trim) => stream::trim(&mut access, &key, trim)?,
        None => 0,
    };
    access.report_changes(count, XTRIM, &key);
    if count > 0 && options.trim.is_some_and(|trim| trim.is_approximate()) {
        record_trim_effect(&mut access, &key);
    }
    reply.integer(count as i64);
    Ok(())
}

/// Ids of one command; most have few.
pub type Ids = SmallVec<[Id; 8]>;

/// Reads the arguments from `at` on as ids.
pub fn ids(args: Args<'_>, at: usize) -> Result<Ids, Refusal> {
    args.from(at).map(|word| id::parse(word, 0)).collect()
}

pub fn xdel(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let (mut access, key, reply) = call.on_key(1);
    if stream::lookup_without_touch(&access, &key)?.is_none() {
        access.drop_expired(&key);
        reply.integer(0);
        return Ok(());
    }
    let count = stream::delete(&mut access, &key, ids(args, 2)?.into_iter())?;
    access.report_changes(count, XDEL, &key);
    reply.integer(count as i64);
    Ok(())
}

pub fn xsetid(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let mut to = SetId { last: id::parse(args.get(2), 0)?, added: None, max_deleted: Id::MIN };
    let mut at = 3;
    while at < args.len() {
        let has_more = at + 1 < args.len();
        if args.is(at, "ENTRIESADDED") && has_more {
            let added = u64::try_from(args.integer(at + 1)?)
                .map_err(|_| Refusal::of("ERR entries_added must be positive"))?;
            to.added = Some(added);
        } else if args.is(at, "MAXDELETEDID") && has_more {
            to.max_deleted = id::parse(args.get(at + 1), 0)?;
            if to.last < to.max_deleted {
                return Err(Refusal::of(
                    "ERR The ID specified in XSETID is smaller than the provided \
                     max_deleted_entry_id",
                )
                .into());
            }
        } else {
            return Err(Refusal::SYNTAX.into());
        }
        at += 2;
    }
    let (mut access, key, reply) = call.on_key(1);
    stream::set_id(&mut access, &key, to)?;
    access.report_changes(1, XSETID, &key);
    reply.ok();
    Ok(())
}

pub fn xlen(call: &mut Call<'_>) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    let len = stream::read(&mut access, &key)?.map_or(0, |stream| stream.len());
    reply.integer(len as i64);
    Ok(())
}
