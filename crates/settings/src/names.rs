//! Lookup of settings by name.

use crate::row::Row;
use crate::rows::{all, row_at};

/// Returns the setting with this name or alias, regardless of case.
pub fn find(name: &[u8]) -> Option<&'static Row> {
    index_of(name).map(row_at)
}

/// Returns true if the value of this setting is a secret that logs and monitors must not show.
pub fn is_sensitive(name: &[u8]) -> bool {
    find(name).is_some_and(|row| row.sensitive)
}

pub(crate) fn index_of(name: &[u8]) -> Option<usize> {
    lookup(name).map(|(index, _)| index)
}

/// Returns the index, and the name or alias that matched.
pub(crate) fn lookup(name: &[u8]) -> Option<(usize, &'static str)> {
    names()
        .find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes()))
        .map(|(known, index)| (index, known))
}

/// Returns every name and alias, each with its index.
pub(crate) fn names() -> impl Iterator<Item = (&'static str, usize)> {
    all()
        .enumerate()
        .flat_map(|(index, row)| [(row.name, index), (row.alias, index)])
        .filter(|(name, _)| !name.is_empty())
}
