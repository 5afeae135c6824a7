//! Whole sets, written at once.

use super::SetLimit;
use super::build::{UNKNOWN, put_members};
use super::limit::{Added, Growth};
use crate::access::Access;
use crate::fault::NoSpace;
use crate::key::{Encoding, Key};
use packed::Element;

/// Replaces the value of a key by a set of these distinct members, without a deadline. A set of
/// integers is known to clients as an intset, unless `was_listpack`.
///
/// # Errors
/// When there is no room; nothing has changed then.
pub fn replace<'t>(
    access: &mut Access<'_>,
    key: &Key<'_>,
    members: impl Iterator<Item = &'t [u8]>,
    was_listpack: bool,
    limit: SetLimit,
) -> Result<(), NoSpace> {
    let begun = if was_listpack { Encoding::Listpack } else { Encoding::Intset };
    let mut growth = Growth::new(begun);
    let tagged = |text| {
        let element = Element::of(text);
        let is_integer = matches!(element, Element::Integer(_));
        growth.add(limit, Added { is_integer, bytes: text.len() });
        (UNKNOWN, element)
    };
    let mut members: Vec<_> = members.map(tagged).collect();
    put_members(&mut access.open_to_replace(key), growth.encoding, &mut members)
}
