//! Commands that close the gate, as far as a script can be seen to call them.

use crate::row::{Call, Table};
use session::Args;
use std::sync::atomic::Ordering::Relaxed;

/// Returns true if a script may call a command that closes the gate: its source has the word, in
/// any case, or one of its arguments is it. A script that puts the word together is refused.
pub fn closes_gate(call: &Call<'_>, args: &Args<'_>, is_in_source: bool) -> bool {
    is_in_source
        || call.instance.scripts.may_debug.load(Relaxed)
        || args.from(1).any(|word| call.row.table().closes_gate(word))
}

/// Returns true if the name of a command that closes the gate stands in a source.
pub fn has_gate_word(table: &Table, source: &[u8]) -> bool {
    table.closing_gate().any(|name| has(source, name))
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
