//! Packed lists of elements, compact in bytes: the form of small collections, and of the leaves of
//! large ones.
//!
//! ```text
//! | head 8 | gap | element 0 | element 1 | ... | gap | code 0 | code 1 | ... |
//!                  bytes of elements, nothing else     one byte for each
//! ```
//! A code tells the kind and the length of an element, so that a packed list is walked from either
//! end by reading one byte per short element, and an element is searched among the codes before any
//! bytes are compared. Removing an element at the front leaves a gap, and moves nothing.
//!
//! Codes that repeat are stored once: one code where all elements have the same, two where all rows
//! of two have the same pair, if elements take four bytes or more on average. Examples are texts of
//! one length, and fields and values of two lengths. The place of an element is a multiplication
//! then. The first element with another code gives each element a code of its own.
//!
//! Owner: the owner of the bytes; a packed list is a view of them.
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
