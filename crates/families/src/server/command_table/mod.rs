//! COMMAND: everything is derived from the rows of the table.
//!
//! | file | derived part |
//! |---|---|
//! | `info.rs` | description of a row in COMMAND INFO |
//! | `docs.rs` | description of a row in COMMAND DOCS |
//! | `arguments.rs` | the arguments of COMMAND DOCS, from the tree of its syntax |

mod arguments;
mod docs;
mod info;

use command::{Call, Categories, Flags, FoundKeys, KeySpec, Outcome, Row, Table};
use session::{Args, Refusal, begin_of};

/// COMMAND alone. A further argument is an unknown subcommand.
pub(super) fn command(call: &mut Call<'_>) -> Outcome {
    if call.args.len() > 1 {
        let word = begin_of(call.args.get(1));
        let text = "ERR unknown subcommand '{}'. Try COMMAND HELP.";
        return Err(Refusal::naming(text, &[word]).into());
    }
    all_info(call);
    Ok(())
}

/// Returns the table, through the row of the running command.
fn table(call: &Call<'_>) -> &'static Table {
    call.row.table()
}

fn top_level(call: &Call<'_>) -> impl Iterator<Item = &'static Row> + use<> {
    table(call).rows().iter().filter(|row| row.parent.is_none())
}

/// Finds the row of a name such as `get` or `config|get`.
fn find(table: &'static Table, name: &[u8]) -> Option<&'static Row> {
    match name.iter().position(|byte| *byte == b'|') {
        Some(at) => table.find(&name[..at])?.find_child(&name[at + 1..]),
        None => table.find(name),
    }
}

pub(super) fn count(call: &mut Call<'_>) -> Outcome {
    call.reply.integer(top_level(call).count() as i64);
    Ok(())
}

fn all_info(call: &mut Call<'_>) {
    call.reply.array(top_level(call).count());
    top_level(call).for_each(|row| info::write(&mut call.reply, row));
}

pub(super) fn info(call: &mut Call<'_>) -> Outcome {
    let names = call.args.from(2);
    if names.len() == 0 {
        all_info(call);
        return Ok(());
    }
    let table = table(call);
    call.reply.array(names.len());
    for name in names {
        match find(table, name) {
            Some(row) => info::write(&mut call.reply, row),
            None => call.reply.null(),
        }
    }
    Ok(())
}

pub(super) fn docs(call: &mut Call<'_>) -> Outcome {
    let (table, names) = (table(call), call.args.from(2));
    let rows: Vec<&'static Row> = if names.len() == 0 {
        top_level(call).collect()
    } else {
        names.filter_map(|name| find(table, name)).collect()
    };
    call.reply.map(rows.len());
    for row in rows {
        call.reply.bulk(row.full_name.as_bytes());
        docs::write(&mut call.reply, row);
    }
    Ok(())
}

pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    let filter = list_filter(call.args)?;
    let mark = call.reply.deferred_array();
    let rows = table(call).rows().iter().filter(|row| filter.admits(row));
    let count = rows.map(|row| call.reply.bulk(row.full_name.as_bytes())).count();
    call.reply.close_array(mark, count);
    Ok(())
}

/// Filter of COMMAND LIST.
enum Filter<'c> {
    All,
    /// Commands of a module, of which there are none.
    None,
    Category(&'c [u8]),
    Pattern(&'c [u8]),
}

impl Filter<'_> {
    fn admits(&self, row: &Row) -> bool {
        match self {
            Filter::All => true,
            Filter::None => false,
            Filter::Category(name) => {
                let wanted = std::str::from_utf8(name).ok();
                let of_name = |name: &str| Categories::from_name(&name.to_ascii_uppercase());
                let wanted = wanted.and_then(of_name).unwrap_or(Categories::empty());
                row.spec.all_categories().intersects(wanted)
            }
            Filter::Pattern(pattern) => text::glob_match(pattern, row.full_name.as_bytes(), true),
        }
    }
}

fn list_filter<'c>(args: Args<'c>) -> Result<Filter<'c>, Refusal> {
    match args.len() {
        2 => Ok(Filter::All),
        5 if args.is(2, "FILTERBY") => {
            let word = args.get(4);
            match () {
                () if args.is(3, "MODULE") => Ok(Filter::None),
                () if args.is(3, "ACLCAT") => Ok(Filter::Category(word)),
                () if args.is(3, "PATTERN") => Ok(Filter::Pattern(word)),
                () => Err(Refusal::SYNTAX),
            }
        }
        _ => Err(Refusal::SYNTAX),
    }
}

pub(super) fn getkeys(call: &mut Call<'_>) -> Outcome {
    let found = keys_of_request(call)?;
    call.reply.array(found.len());
    found.iter().for_each(|(key, _)| call.reply.bulk(key));
    Ok(())
}

pub(super) fn getkeysandflags(call: &mut Call<'_>) -> Outcome {
    let found = keys_of_request(call)?;
    call.reply.array(found.len());
    for (key, flags) in found {
        call.reply.array(2);
        call.reply.bulk(key);
        info::write_key_flags(&mut call.reply, flags);
    }
    Ok(())
}

/// Finds the keys in the request that follows COMMAND GETKEYS.
fn keys_of_request<'c>(call: &Call<'c>) -> Result<FoundKeys<'c>, Refusal> {
    let request: Vec<&'c [u8]> = call.args.from(2).collect();
    let invalid = Refusal::of("ERR Invalid command specified");
    let row = table(call).find(request[0]).ok_or(invalid.clone())?;
    let row = match request.get(1) {
        Some(word) if !row.spec.subcommands.is_empty() => row.find_child(word).ok_or(invalid)?,
        _ => row,
    };
    if !row.spec.keys.iter().any(KeySpec::is_key) {
        return Err(Refusal::of("ERR The command has no key arguments"));
    }
    if !row.spec.accepts(request.len()) {
        return Err(Refusal::of("ERR Invalid number of arguments specified for command"));
    }
    let found = (row.spec.find_keys)(row.spec.keys, &request);
    if found.is_none() && row.spec.flags.contains(Flags::NO_MANDATORY_KEYS) {
        return Ok(FoundKeys::new());
    }
    found.ok_or(Refusal::of("ERR Invalid arguments specified for command"))
}
