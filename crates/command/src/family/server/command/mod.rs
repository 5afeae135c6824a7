//! COMMAND: everything is derived from the rows of the table.
//!
//! | file | what it derives |
//! |---|---|
//! | `categories.rs` | ACL categories, from flags and group |
//! | `keys.rs` | key specifications, and the keys in a request |
//! | `info.rs` | what COMMAND INFO tells of a row |
//! | `syntax.rs` | the tree that a row's syntax describes |
//! | `arguments.rs` | the arguments of COMMAND DOCS, from that tree |
//! | `tips.rs` | what routing clients have to know and rows do not tell |

mod arguments;
mod categories;
mod info;
mod tips;

use crate::args::Args;
use crate::call::{Call, Outcome};
use crate::key_positions as keys;
use crate::refusal::{Refusal, begin_of};
use crate::spec::KeyFlags;
use crate::table::{Row, Table};

/// COMMAND alone. Any further word is the name of no subcommand.
pub(super) fn command(call: &mut Call<'_>) -> Outcome {
    if call.args.len() > 1 {
        let word = begin_of(call.args.get(1));
        let text = "ERR unknown subcommand '{}'. Try COMMAND HELP.";
        return Err(Refusal::naming(text, &[word]));
    }
    all_info(call);
    Ok(())
}

fn top_level() -> impl Iterator<Item = &'static Row> {
    Table::get().rows().iter().filter(|row| row.parent.is_none())
}

/// The row of `get` or `config|get`.
fn find(name: &[u8]) -> Option<&'static Row> {
    let table = Table::get();
    match name.iter().position(|byte| *byte == b'|') {
        Some(at) => table.find_child(table.find(&name[..at])?, &name[at + 1..]),
        None => table.find(name),
    }
}

/// Rows of the subcommands of a row.
fn children(row: &'static Row) -> &'static [Row] {
    let first = row.id + 1;
    &Table::get().rows()[first..first + row.spec.subcommands.len()]
}

pub(super) fn count(call: &mut Call<'_>) -> Outcome {
    call.reply.integer(top_level().count() as i64);
    Ok(())
}

fn all_info(call: &mut Call<'_>) {
    call.reply.array(top_level().count());
    top_level().for_each(|row| info::write(&mut call.reply, row));
}

pub(super) fn info(call: &mut Call<'_>) -> Outcome {
    let names = call.args.from(2);
    if names.len() == 0 {
        all_info(call);
        return Ok(());
    }
    call.reply.array(names.len());
    for name in names {
        match find(name) {
            Some(row) => info::write(&mut call.reply, row),
            None => call.reply.null(),
        }
    }
    Ok(())
}

pub(super) fn docs(call: &mut Call<'_>) -> Outcome {
    let names = call.args.from(2);
    let rows: Vec<&'static Row> =
        if names.len() == 0 { top_level().collect() } else { names.filter_map(find).collect() };
    call.reply.map(rows.len());
    for row in rows {
        call.reply.bulk(row.full_name.as_bytes());
        arguments::write_docs(&mut call.reply, row);
    }
    Ok(())
}

pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    let filter = list_filter(call.args)?;
    let mark = call.reply.deferred_array();
    let rows = Table::get().rows().iter().filter(|row| filter.admits(row));
    let count = rows.map(|row| call.reply.bulk(row.full_name.as_bytes())).count();
    call.reply.close_array(mark, count);
    Ok(())
}

/// Which commands COMMAND LIST names.
enum Filter<'c> {
    All,
    /// Of a module, of which there are none.
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
                let names = categories::names(row);
                names.iter().any(|it| it.as_bytes()[1..].eq_ignore_ascii_case(name))
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

/// The keys in the request that follows COMMAND GETKEYS.
fn keys_of_request<'c>(call: &Call<'c>) -> Result<Vec<(&'c [u8], KeyFlags)>, Refusal> {
    let request: Vec<&'c [u8]> = call.args.from(2).collect();
    let table = Table::get();
    let invalid = Refusal::of("ERR Invalid command specified");
    let row = table.find(request[0]).ok_or(invalid.clone())?;
    let row = match request.get(1) {
        Some(word) if !row.spec.subcommands.is_empty() => {
            table.find_child(row, word).ok_or(invalid)?
        }
        _ => row,
    };
    let specs = keys::specs(row);
    if specs.is_empty() {
        return Err(Refusal::of("ERR The command has no key arguments"));
    }
    if !row.spec.accepts(request.len()) {
        return Err(Refusal::of("ERR Invalid number of arguments specified for command"));
    }
    keys::find(row, &specs, &request)
        .ok_or(Refusal::of("ERR Invalid arguments specified for command"))
}
