//! What a request asks of its user's rights, by the facts of its row.
//!
//! ```text
//! row, arguments, database of the client ──▶ users::Asked ──▶ decide ──▶ allowed, or why not
//! ```
//! Nothing else decides on rights: admission, EXEC, clients that waited, scripts, `acl_check_cmd`
//! and ACL DRYRUN come here.

use crate::flags::{Categories, Flags, NamesChannels, ReachesDatabases};
use crate::key_spec::{KeyFlags, KeySpec};
use crate::row::{Call, Row, Table};
use crate::simple_rights::access_of;
use session::Args;
use smallvec::SmallVec;
use std::sync::Arc;
use users::{
    Access, Asked, AskedChannel, AskedDatabases, AskedKey, Catalog, CommandFacts, Denied, User,
    decide, decide_on_all_keys,
};

/// Databases of a server, and the one that the client has selected.
#[derive(Clone, Copy, Debug)]
pub struct DatabasesNow {
    /// Number of the selected one.
    pub selected: u32,
    /// How many there are.
    pub count: u32,
}

/// Decides whether the user of a call may run it.
///
/// # Errors
/// Why not.
#[inline(never)]
pub fn permit_call(call: &Call<'_>) -> Result<(), Denied> {
    let user = call.session.user();
    user.map_or(Ok(()), |user| permit(user, call.row, call.args, databases_of(call)))
}

/// Returns true if the user of a call may run it, which most are found to by a short look.
#[inline(never)]
pub fn permits_call(call: &Call<'_>) -> bool {
    let may_simply = |user: &Arc<User>| permits_simply(user, call);
    call.session.user().is_none_or(may_simply) || permit_call(call).is_ok()
}

/// Returns true if a user may run a call that asks for no more than most do. Otherwise it is to be
/// looked at whole: why it may not is not found out here.
#[inline]
fn permits_simply(user: &User, call: &Call<'_>) -> bool {
    let Some(asked) = &call.row.simple_rights else { return false };
    if call.args.len() > asked.words_max {
        return false;
    }
    let database = asked.reaches_selected.then(|| narrow::to_u32(call.session.database_of_next()));
    let key = asked.key.map(|(at, access)| (call.args.get(at), access));
    user.may_simply(narrow::to_u16(call.row.right), database, key)
}

/// Returns the databases that a call sees.
pub fn databases_of(call: &Call<'_>) -> DatabasesNow {
    DatabasesNow {
        selected: narrow::to_u32(call.session.database_of_next()),
        count: narrow::to_u32(call.instance.store.databases()),
    }
}

/// Decides whether a user may run a request.
///
/// # Errors
/// Why not.
pub fn permit(
    user: &User,
    row: &Row,
    args: Args<'_>,
    databases: DatabasesNow,
) -> Result<(), Denied> {
    asking(user, row, args, databases, |asked| decide(user, asked))
}

/// Returns true if a user may run a request, and do this to any key besides.
pub fn permits_on_all_keys(
    user: &User,
    row: &Row,
    args: Args<'_>,
    databases: DatabasesNow,
    access: Access,
) -> bool {
    asking(user, row, args, databases, |asked| decide_on_all_keys(user, asked, access))
}

fn asking<T>(
    user: &User,
    row: &Row,
    args: Args<'_>,
    databases: DatabasesNow,
    decide: impl FnOnce(&Asked<'_>) -> T,
) -> T {
    let reached = reached_databases(row, args, databases);
    let keys = if user.looks_at_keys() { keys(row, args) } else { SmallVec::new() };
    let channels = if user.looks_at_channels() { channels(row, args) } else { SmallVec::new() };
    // A word of another protocol stands for a command, whatever its parent.
    let is_child = row.parent.is_some() && row.right == row.id;
    let argument_at = if is_child { 2 } else { 1 };
    decide(&Asked {
        command: narrow::to_u16(row.right),
        is_for_everybody: row.spec.flags.contains(Flags::NO_AUTH),
        first_argument: (argument_at < args.len()).then(|| args.get(argument_at)),
        databases: match row.spec.databases {
            ReachesDatabases::All => AskedDatabases::All(databases.count),
            _ => AskedDatabases::These(&reached),
        },
        keys: &keys,
        channels: &channels,
    })
}

/// Databases that a request reaches: those that it names, then the selected one.
fn reached_databases(
    row: &Row,
    args: Args<'_>,
    databases: DatabasesNow,
) -> SmallVec<[(usize, u32); 3]> {
    let mut reached = SmallVec::new();
    let reaches_selected = match row.spec.databases {
        ReachesDatabases::Selected => row.spec.reaches_selected(),
        ReachesDatabases::Named(find) => {
            let exists =
                |number: i64| u32::try_from(number).ok().filter(|it| *it < databases.count);
            let named = find(&args);
            let named = named.iter().map(|(at, number)| exists(*number).map(|it| (*at, it)));
            // A command that names one which does not exist is refused for that.
            reached.extend(named.collect::<Option<SmallVec<[_; 2]>>>().unwrap_or_default());
            row.spec.keys.iter().any(KeySpec::is_key)
        }
        ReachesDatabases::All => false,
    };
    if reaches_selected {
        reached.push((0, databases.selected));
    }
    reached
}

/// Keys of a request; none where it does not tell them.
fn keys<'a>(row: &Row, args: Args<'a>) -> SmallVec<[AskedKey<'a>; 4]> {
    let asked = |position, key, flags| AskedKey { position, key, access: access_of(flags) };
    if row.has_one_key
        && row.first_key < args.len()
        && let [spec] = row.spec.keys
        && !spec.flags.contains(KeyFlags::VARIABLE)
    {
        return [asked(row.first_key, args.get(row.first_key), spec.flags)].into_iter().collect();
    }
    if row.spec.keys.is_empty() {
        return SmallVec::new();
    }
    let words: SmallVec<[&[u8]; 8]> = args.from(0).collect();
    let found = (row.spec.find_keys)(row.spec.keys, &words).unwrap_or_default();
    // What is found lies in the request: the same bytes are the same argument.
    let place = |key: &[u8]| words.iter().position(|word| std::ptr::eq(*word, key)).unwrap_or(0);
    found.into_iter().map(|(key, flags)| asked(place(key), key, flags)).collect()
}

fn channels<'a>(row: &Row, args: Args<'a>) -> SmallVec<[AskedChannel<'a>; 4]> {
    let count = match row.spec.channels {
        NamesChannels::No => 0,
        NamesChannels::First => 1,
        NamesChannels::All | NamesChannels::Patterns => usize::MAX,
    };
    let is_pattern = row.spec.channels == NamesChannels::Patterns;
    let named = (1..).zip(args.from(1)).take(count);
    named.map(|(position, channel)| AskedChannel { position, channel, is_pattern }).collect()
}

/// Returns the numbers that stand at these places; none if one of them is none.
pub fn numbers_at(args: &Args<'_>, places: &[usize]) -> SmallVec<[(usize, i64); 2]> {
    let number = |at: &usize| text::parse_i64(args.get(*at)).map(|number| (*at, number));
    places.iter().map(number).collect::<Option<_>>().unwrap_or_default()
}

/// Returns what the rules of users may name.
pub fn catalog_of(table: &Table) -> Catalog {
    let mut parent = 0;
    let facts = table.rows().iter().map(|row| {
        if row.parent.is_none() {
            parent = narrow::to_u16(row.id);
        }
        CommandFacts {
            name: row.full_name.as_str().into(),
            categories: row.spec.all_categories().bits(),
            parent: row.parent.map(|_| parent),
        }
    });
    Catalog::new(facts.collect(), Categories::names().collect())
}
