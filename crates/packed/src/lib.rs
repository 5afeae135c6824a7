//! Byte-compact packed lists of elements: what small collections are kept in, and the leaves of
//! large ones.
//!
//! ```text
//! | head 8 | gap | element 0 | element 1 | ... | gap | code 0 | code 1 | ... |
//!                  bytes of elements, nothing else     one byte for each
//! ```
//! A code says what an element is and how many bytes it takes, so that a packed list is walked from
//! either end with one byte per short element, and a wanted one is looked for among codes before
//! any bytes are compared. What leaves at the front leaves a gap, and moves nothing.
//!
//! Elements of four bytes and more that all have the same code have it written down once, and rows
//! of two that all have the same two have these: texts of one length, fields and values of two.
//! Where one of them stands is a multiplication then. The first one that differs gives each its own
//! code.
//!
//! Owner: whoever owns the bytes; a packed list is a view of them.
//! Not here: what elements mean (`store::value`), where the bytes are (`heap`).
//! Start at: `element.rs`, then `packed_list.rs`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod edit;
mod element;
mod head;
mod packed_list;

pub use edit::{Full, PackedListMut, push, push_row};
pub use element::{Element, Far, SHORT_BYTES_MAX};
pub use head::{EMPTY, PACKED_BYTES_MAX};
pub use packed_list::{Damaged, Iter, PackedList, Place, concat};
