//! Writing of collection elements to replies.

use base::meanwhile::Breaks;
use store::Element;
use wire::Reply;

/// Writes an element as a bulk string.
#[inline]
pub fn bulk(reply: &mut Reply<'_>, element: Element<'_>) {
    match element {
        Element::Bytes(bytes) => reply.bulk(bytes),
        Element::Integer(value) => reply.bulk_integer(value),
        Element::Far(_) => debug_assert!(false, "a long element is looked up before it is shown"),
    }
}

/// Writes elements as bulk strings until the reply reaches its limit, and serves others while that
/// takes long.
#[inline]
pub fn bulks<'x>(reply: &mut Reply<'_>, mut elements: impl Iterator<Item = Element<'x>>) {
    let mut breaks = Breaks::from(reply.written().len());
    elements.all(|element| {
        bulk(reply, element);
        breaks.reach(reply.written().len());
        !reply.is_over_limit()
    });
}

/// Writes an element as a bulk string, or null if there is none.
#[inline]
pub fn bulk_or_null(reply: &mut Reply<'_>, element: Option<Element<'_>>) {
    match element {
        Some(element) => bulk(reply, element),
        None => reply.null(),
    }
}
