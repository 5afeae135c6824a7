//! Values of keys, written as RDB.
//!
//! Small values are written in the form in which Valkey keeps them, so that it takes them as they
//! are; large ones element by element.

use crate::list::{listpack_of, write_list};
use crate::stream::write_stream;
use rdb::{Dialect, Listpack, Output, ValueType, Version, intset};
use store::value::{hash, set, sorted_set};
use store::{Access, Element, Encoding, Key, Kind, Value};

/// A value that was found, and the type in which it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The type.
    pub value_type: ValueType,
    /// Lowest version whose readers know the type.
    pub version: Version,
}

/// Chooses the form for the value of a key: of the common version if all of the value fits it,
/// otherwise that of `timed`, which knows deadlines of fields. `None` if there is no value.
pub fn form_of(access: &Access<'_>, key: &Key<'_>, timed: Version) -> Option<Form> {
    let value = access.lookup_without_touch(key)?;
    let common = |value_type| Some(Form { value_type, version: Version::COMMON });
    let is_small = !value.is_large();
    match value.kind {
        Kind::String => common(ValueType::String),
        Kind::List => common(ValueType::ListListpacks),
        Kind::Set => common(match value.encoding {
            Encoding::Intset if is_small => ValueType::SetIntset,
            Encoding::Listpack if is_small => ValueType::SetListpack,
            _ => ValueType::Set,
        }),
        Kind::SortedSet if is_small && value.encoding == Encoding::Listpack => {
            common(ValueType::SortedSetListpack)
        }
        Kind::SortedSet => common(ValueType::SortedSet),
        Kind::Hash => hash_form(access, key, &value, timed),
        Kind::Stream => common(ValueType::Stream3),
    }
}

fn hash_form(
    access: &Access<'_>,
    key: &Key<'_>,
    value: &Value<'_>,
    timed: Version,
) -> Option<Form> {
    let hash = hash::lookup_without_touch(access, key).ok()??;
    if hash.has_deadlines() && hash.iter().any(|pair| pair.deadline.is_some()) {
        let value_type = match timed.dialect() {
            Dialect::Valkey => ValueType::HashTimed,
            Dialect::Redis => ValueType::HashSpans { has_earliest: true },
        };
        return Some(Form { value_type, version: timed });
    }
    // Fields that have all expired are no hash.
    hash.iter().next()?;
    let is_listpack = !value.is_large() && value.encoding == Encoding::Listpack;
    let value_type = if is_listpack { ValueType::HashListpack } else { ValueType::Hash };
    Some(Form { value_type, version: Version::COMMON })
}

/// Writes the value of a key in a form that was chosen for it under the same locks.
pub fn write_value(access: &Access<'_>, key: &Key<'_>, form: Form, to: &mut Output) {
    match form.value_type.kind() {
        rdb::Kind::String => write_string(access, key, to),
        rdb::Kind::List => write_list(access, key, to),
        rdb::Kind::Set => write_set(access, key, form.value_type, to),
        rdb::Kind::SortedSet => write_sorted_set(access, key, form.value_type, to),
        rdb::Kind::Hash => write_hash(access, key, form.value_type, to),
        rdb::Kind::Stream => write_stream(access, key, to),
        rdb::Kind::Module => {}
    }
}

fn write_string(access: &Access<'_>, key: &Key<'_>, to: &mut Output) {
    if let Ok(Some(string)) = access.lookup_string_without_touch(key) {
        match string.as_slice() {
            Some(text) => to.text(text),
            None => to.text(&string.to_vec()),
        }
    }
}

fn write_set(access: &Access<'_>, key: &Key<'_>, form: ValueType, to: &mut Output) {
    let Ok(Some(set)) = set::lookup_without_touch(access, key) else { return };
    match form {
        ValueType::SetIntset => {
            let integer = |element| match element {
                Element::Integer(value) => Some(value),
                _ => None,
            };
            to.blob(&intset(&set.members().filter_map(integer).collect::<Vec<_>>()));
        }
        ValueType::SetListpack => to.blob(&listpack_of(set.members())),
        _ => {
            to.length(set.len());
            set.members().for_each(|member| to.element(member));
        }
    }
}

fn write_sorted_set(access: &Access<'_>, key: &Key<'_>, form: ValueType, to: &mut Output) {
    let Ok(Some(set)) = sorted_set::lookup_without_touch(access, key) else { return };
    if form == ValueType::SortedSetListpack {
        let mut listpack = Listpack::default();
        for (member, score) in set.iter_from(0) {
            listpack.push(member);
            listpack.push(Element::of(text::format_f64(score).as_bytes()));
        }
        return to.blob(&listpack.into_bytes());
    }
    to.length(set.len());
    // Highest first: whoever inserts them one by one inserts each in front.
    for (member, score) in set.iter_back_from(set.len().saturating_sub(1)) {
        to.element(member);
        to.raw(&score.to_le_bytes());
    }
}

fn write_hash(access: &Access<'_>, key: &Key<'_>, form: ValueType, to: &mut Output) {
    let Ok(Some(hash)) = hash::lookup_without_touch(access, key) else { return };
    if form == ValueType::HashListpack {
        let texts = hash.iter().flat_map(|pair| [pair.field, pair.value]);
        return to.blob(&listpack_of(texts));
    }
    let deadlines = || hash.iter().filter_map(|pair| pair.deadline).map(|deadline| deadline.0);
    let earliest = deadlines().min().unwrap_or(0);
    if let ValueType::HashSpans { has_earliest: true } = form {
        to.raw(&earliest.to_le_bytes());
    }
    // The length counts fields that have expired too.
    to.length(hash.iter().count() as u64);
    for pair in hash.iter() {
        let deadline = pair.deadline.map(|deadline| deadline.0);
        if let ValueType::HashSpans { .. } = form {
            to.length(deadline.map_or(0, |deadline| deadline - earliest + 1));
        }
        to.element(pair.field);
        to.element(pair.value);
        if form == ValueType::HashTimed {
            to.raw(&deadline.unwrap_or(u64::MAX).to_le_bytes());
        }
    }
}
