//! From a request to a reply: the row is found, reasons to refuse are looked for, the handler runs.

use crate::call::{Call, Outcome};
use crate::instance::Instance;
use crate::refusal::{Refusal, begin_of, begin_of_all};
use crate::session::Session;
use crate::spec::{Flags, Needs};
use crate::table::{Row, Table};
use crate::waiting;
use settings::MaxmemoryPolicy;

/// A reason to refuse a command before it runs.
type Check = fn(&Call<'_>, Needs) -> Outcome;

/// In this order; the first that applies is told.
const ADMISSION: [Check; 2] = [authenticated, memory_allows];

/// Bytes that a record takes besides its key and value, at most.
const RECORD_OVERHEAD: usize = 32;

/// What holds at present for a client of `session`: to be asked once per batch.
pub fn grants(instance: &Instance, session: &Session) -> Needs {
    let mut grants = Needs::empty();
    grants.set(Needs::AUTHENTICATED, session.authenticated);
    grants.set(Needs::MEMORY, has_memory(instance));
    grants
}

fn has_memory(instance: &Instance) -> bool {
    let most = settings::memory::MAXMEMORY.get(&instance.settings);
    let policy = settings::memory::MAXMEMORY_POLICY.get(&instance.settings);
    // With a policy that evicts, the cleaner makes room when it is needed.
    most == 0 || policy != MaxmemoryPolicy::NoEviction || instance.used_memory() <= most
}

/// The row that was found last: a pipeline mostly asks for the same command again.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowMemo {
    name: u128,
    name_len: usize,
    words: usize,
    row: Option<&'static Row>,
}

impl RowMemo {
    /// The row of a request; `None` where `find_row` refuses.
    #[inline]
    pub fn find(&mut self, args: &crate::Args<'_>) -> Option<&'static Row> {
        let name = args.name_bytes();
        let name_len = args.get(0).len();
        if self.name == name && self.name_len == name_len && self.words == args.len() {
            return self.row;
        }
        let row = find_row(args).ok();
        // A name that goes on, or a word that may name a subcommand, is not told by these bytes.
        let is_told =
            row.is_some_and(|row| row.parent.is_none() && row.spec.subcommands.is_empty());
        if is_told && name_len <= size_of::<u128>() {
            *self = RowMemo { name, name_len, words: args.len(), row };
        }
        row
    }
}

/// The row of a request, and of its subcommand if it has one.
///
/// # Errors
/// When there is no such command, or it has a wrong number of words.
#[inline]
pub fn find_row(args: &crate::Args<'_>) -> Result<&'static Row, Refusal> {
    let table = Table::get();
    let row = table.find_named(args).ok_or_else(|| unknown_command(args))?;
    let row = if row.spec.subcommands.is_empty() { row } else { find_child(table, row, args)? };
    if row.spec.accepts(args.len()) { Ok(row) } else { Err(wrong_arity(row)) }
}

fn find_child(
    table: &'static Table,
    row: &'static Row,
    args: &crate::Args<'_>,
) -> Result<&'static Row, Refusal> {
    if args.len() < 2 {
        return Ok(row);
    }
    table.find_child(row, args.get(1)).map_or_else(
        || {
            if row.spec.accepts(args.len()) && row.spec.arity != -2 {
                Ok(row)
            } else {
                Err(unknown_child(row, args))
            }
        },
        Ok,
    )
}

/// Runs a call and writes one reply, which is the refusal if there is one.
pub fn execute(call: &mut Call<'_>, grants: Needs) {
    let counts = &call.statistics.commands[call.row.id];
    let (mark, written) = (call.reply.mark(), call.reply.written().len());
    let admitted = admit(call, grants);
    let rejected = admitted.is_err();
    if let Err(refusal) = admitted.and_then(|()| (call.row.spec.run)(call)) {
        call.reply.truncate(mark);
        call.reply.error(refusal.text());
        call.instance.statistics.count_error(refusal.code());
        if rejected { counts.rejected.add(1) } else { counts.failed.add(1) }
    }
    if !rejected {
        counts.calls.add(1);
    }
    if call.row.spec.flags.contains(Flags::BLOCKING) {
        // The reply comes when the waiting ends.
        call.session.is_waiting = call.reply.written().len() == written && !call.reply.is_cut();
    }
    if call.row.spec.flags.contains(Flags::WRITE) && call.instance.waiters.count() > 0 {
        waiting::serve(call);
    }
}

#[inline]
fn admit(call: &mut Call<'_>, grants: Needs) -> Outcome {
    if !grants.contains(call.row.needs) {
        ADMISSION.iter().try_for_each(|check| check(call, grants))?;
    }
    if call.row.spec.flags.contains(Flags::DENYOOM) {
        let bytes = call.args.bytes() + RECORD_OVERHEAD;
        call.instance.store.reserve(call.lane, bytes, call.now)?;
    }
    Ok(())
}

fn authenticated(call: &Call<'_>, grants: Needs) -> Outcome {
    let is_missing = call.row.needs.difference(grants).contains(Needs::AUTHENTICATED);
    if is_missing { Err(Refusal::NO_AUTH) } else { Ok(()) }
}

fn memory_allows(call: &Call<'_>, grants: Needs) -> Outcome {
    let is_missing = call.row.needs.difference(grants).contains(Needs::MEMORY);
    if is_missing && !has_memory(call.instance) { Err(Refusal::OUT_OF_MEMORY) } else { Ok(()) }
}

#[cold]
fn unknown_command(args: &crate::Args<'_>) -> Refusal {
    let (name, rest) = (begin_of(args.get(0)), begin_of_all(args.from(1)));
    let text = "ERR unknown command '{}', with args beginning with: {}";
    Refusal::naming(text, &[name, &rest])
}

#[cold]
fn unknown_child(row: &Row, args: &crate::Args<'_>) -> Refusal {
    let (word, name) = (begin_of(args.get(1)), row.spec.name.as_bytes());
    Refusal::naming("ERR unknown subcommand '{}'. Try {} HELP.", &[word, name])
}

#[cold]
pub(crate) fn wrong_arity(row: &Row) -> Refusal {
    Refusal::new(format!("ERR wrong number of arguments for '{}' command", row.full_name))
}

#[cfg(test)]
mod tests {
    use super::{RowMemo, find_row};
    use crate::args::Args;
    use wire::Span;

    #[test]
    fn a_remembered_row_is_the_one_that_would_be_found() {
        let requests: [&[&str]; 8] = [
            &["GET", "a"],
            &["get", "a"],
            &["GET", "a", "b"],
            &["COMMAND", "BAD"],
            &["COMMAND", "HELP"],
            &["COMMAND", "COUNT"],
            &["NOSUCH", "a"],
            &["GET", "b"],
        ];
        let mut memo = RowMemo::default();
        for words in requests {
            let request = words.concat();
            let mut start = 0;
            let spans = words.iter().map(|word| {
                let span = Span { start, len: word.len() as u32 };
                start += span.len;
                span
            });
            let spans: Vec<Span> = spans.collect();
            let args = Args::new(request.as_bytes(), &spans);
            let found = find_row(&args).ok().map(|row| row.id);
            assert_eq!(memo.find(&args).map(|row| row.id), found, "{words:?}");
        }
    }
}
