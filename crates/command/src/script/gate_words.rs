//! Commands that close the gate, as far as a script can be seen to call them.

use crate::flags::{Flags, Locks};
use crate::row::{Call, Row, Table};
use session::Args;
use std::sync::atomic::Ordering::Relaxed;

/// Returns true if a script may call a command that closes the gate: its source has the word, in
/// any case, or one of its arguments is it. A script that puts the word together is refused.
pub fn closes_gate(call: &Call<'_>, args: &Args<'_>, source: &[u8]) -> bool {
    let is_argument = |name: &[u8]| args.from(1).any(|word| word.eq_ignore_ascii_case(name));
    call.instance.scripts.may_debug.load(Relaxed)
        || names(call.row.table()).any(|name| is_argument(name.as_bytes()) || has(source, name))
}

/// Names of the commands that close the gate and may be called from scripts.
fn names(table: &Table) -> impl Iterator<Item = &'static str> {
    let closing =
        |row: &&Row| row.spec.locks == Locks::Gate && !row.spec.flags.contains(Flags::NOSCRIPT);
    table.rows().iter().filter(closing).map(|row| row.spec.name)
}

/// Returns true if a name stands in a source, in any case.
fn has(source: &[u8], name: &str) -> bool {
    let name = name.as_bytes();
    let (first, length) = (name[0], name.len());
    let (upper, lower) = (first.to_ascii_uppercase(), first.to_ascii_lowercase());
    memchr::memchr2_iter(upper, lower, source)
        .filter_map(|at| source.get(at..at + length))
        .any(|word| word.eq_ignore_ascii_case(name))
}
