//! Which shards a script reaches: those of its keys alone, or any.
//!
//! A script whose call sites are known keeps to its keys if each command there does: at the places
//! of its keys stand keys of the script. A command that an argument names is looked at once the
//! argument is known.

use crate::flags::{Flags, LetsIn, Locks};
use crate::key_spec::{KeyFlags, KeySearch, KeySpec};
use crate::row::{Row, Table};
use script::proof::{CallSite, Word};
use session::Reach;
use settings::Settings;
use settings::scripting::LUA_ENABLE_INSECURE_API;

/// Returns what a script may reach that calls commands at these sites, if they are known.
pub fn reach_of(table: &'static Table, sites: Option<Vec<CallSite>>) -> Reach {
    let Some(sites) = sites else { return Reach::Anything };
    let (named, unnamed): (Vec<_>, Vec<_>) =
        sites.into_iter().partition(|site| matches!(site.words[..], [Word::Literal(_), ..]));
    let keeps = |site: &CallSite| match &site.words[0] {
        Word::Literal(name) => keeps_to_keys(table, name, site),
        _ => false,
    };
    if named.iter().all(keeps) { Reach::ItsKeys(unnamed.into()) } else { Reach::Anything }
}

/// Returns true if a run with these arguments reaches the shards of its keys alone. While
/// `lua-enable-insecure-api` is on none does: one script can change what another one finds.
pub fn reaches_only_keys(
    table: &'static Table,
    settings: &Settings,
    reach: &Reach,
    arguments: &[&[u8]],
) -> bool {
    if LUA_ENABLE_INSECURE_API.get(settings) {
        return false;
    }
    let keeps = |site: &CallSite| match site.words[0] {
        // Without the argument the call fails.
        Word::Argument(at) => arguments.get(at).is_none_or(|name| keeps_to_keys(table, name, site)),
        _ => false,
    };
    match reach {
        Reach::Anything => false,
        Reach::ItsKeys(named_by_arguments) => named_by_arguments.iter().all(keeps),
    }
}

/// Returns true if a call of this command locks shards of keys of the script at most.
fn keeps_to_keys(table: &'static Table, name: &[u8], site: &CallSite) -> bool {
    let Some(row) = table.find(name) else { return true };
    let Some(row) = child_of(row, site) else { return false };
    if row.spec.flags.contains(Flags::NOSCRIPT) && !may_be_opened(row) {
        return true;
    }
    row.spec.locks == Locks::ItsKeys
        && row.spec.keys.iter().filter(|spec| spec.is_key()).all(|spec| are_keys(spec, site))
}

/// Returns true for a command that is not for scripts, but that DEBUG SET-DISABLE-DENY-SCRIPTS has
/// them call: DEBUG, and subcommands that administer the server. Others begin or end what the
/// session of a script does not have.
pub fn may_be_opened(row: &Row) -> bool {
    let administers = row.parent.is_some() && row.spec.flags.contains(Flags::ADMIN);
    administers || row.spec.lets_in == LetsIn::Debuggers
}

/// Returns the row of the subcommand that a call names; `None` if it does not tell it.
fn child_of(row: &'static Row, site: &CallSite) -> Option<&'static Row> {
    if row.spec.subcommands.is_empty() {
        return Some(row);
    }
    match (site.words.get(1), &site.rest) {
        (Some(Word::Literal(name)), _) => Some(row.find_child(name).unwrap_or(row)),
        (None, None) => Some(row),
        _ => None,
    }
}

/// Returns true if keys of the script stand wherever a specification finds keys.
fn are_keys(spec: &KeySpec, site: &CallSite) -> bool {
    let size = |number: i16| usize::try_from(number).unwrap_or(0);
    match spec.search {
        _ if spec.flags.contains(KeyFlags::INCOMPLETE) => false,
        KeySearch::Range { first, last, step } => in_range(size(first), last, size(step), site),
        KeySearch::Counted { at, step } => counted(size(at), size(step), site),
        KeySearch::FirstHalf { word, from } => first_half(word, size(from), site),
        KeySearch::Keyword { .. } | KeySearch::Rest { .. } | KeySearch::Unknown => false,
    }
}

/// As `are_keys`, for those from one position to another, which a negative one counts from the end.
fn in_range(first: usize, last: i16, step: usize, site: &CallSite) -> bool {
    let (words, has_rest) = (site.words.len(), site.rest.is_some());
    let from_end = usize::from(last.unsigned_abs());
    let (end, reaches_rest) = match last {
        0.. => (from_end + 1, from_end >= words),
        // Which words are the last ones is not known if others may follow.
        _ if has_rest => (words, true),
        _ => ((words + 1).saturating_sub(from_end), false),
    };
    let mut fixed = words_between(site, first, end).iter().step_by(step);
    fixed.all(is_key) && (!reaches_rest || is_rest_keys(site))
}

/// As `are_keys`, for those behind a word that tells their number.
fn counted(at: usize, step: usize, site: &CallSite) -> bool {
    let behind = words_between(site, at + 1, site.words.len());
    let count = match site.words.get(at) {
        Some(Word::Literal(count)) => text::parse_i64(count),
        _ => None,
    };
    let Some(count) = count else { return behind.iter().all(is_key) && is_rest_keys(site) };
    // With a number that is none the call fails.
    let (count, mut fixed) = (usize::try_from(count).unwrap_or(0), behind.iter().step_by(step));
    let reaches_rest = fixed.len() < count;
    fixed.by_ref().take(count).all(is_key) && (!reaches_rest || is_rest_keys(site))
}

/// As `are_keys`, for the first half of those behind a keyword.
fn first_half(keyword: &str, from: usize, site: &CallSite) -> bool {
    let words = words_between(site, from, site.words.len());
    let literals = words.iter().map_while(|word| match word {
        Word::Literal(text) => Some(text),
        _ => None,
    });
    let is_keyword = |text: &[u8]| text.eq_ignore_ascii_case(keyword.as_bytes());
    let Some(place) = literals.into_iter().position(|text| is_keyword(text)) else {
        return false;
    };
    let behind = &words[place + 1..];
    site.rest.is_none() && behind[..behind.len() / 2].iter().all(is_key)
}

fn words_between(site: &CallSite, start: usize, end: usize) -> &[Word] {
    let end = end.min(site.words.len());
    &site.words[start.min(end)..end]
}

fn is_key(word: &Word) -> bool {
    *word == Word::Key
}

fn is_rest_keys(site: &CallSite) -> bool {
    site.rest.as_ref().is_none_or(is_key)
}
