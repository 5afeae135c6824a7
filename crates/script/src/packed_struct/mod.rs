//! `struct`: values in the forms of C.

mod format;
mod pack;
mod unpack;

use std::ffi::CStr;

use crate::field::Field;
use crate::stack::lua_functions;

/// Fields of the library.
pub const FIELDS: &[(&CStr, Field)] = &[
    (c"pack", Field::Function(pack_entry)),
    (c"unpack", Field::Function(unpack_entry)),
    (c"size", Field::Function(size_entry)),
];

lua_functions! {
    pack_entry = pack::pack;
    unpack_entry = unpack::unpack;
    size_entry = unpack::size;
}
