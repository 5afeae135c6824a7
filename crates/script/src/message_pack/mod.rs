//! `cmsgpack`: values as MessagePack, and back.

mod pack;
mod unpack;

use std::ffi::CStr;

use crate::field::Field;
use crate::stack::lua_functions;

/// Fields of the library.
pub const FIELDS: &[(&CStr, Field)] = &[
    (c"pack", Field::Function(pack_entry)),
    (c"unpack", Field::Function(unpack_entry)),
    (c"unpack_one", Field::Function(unpack_one_entry)),
    (c"unpack_limit", Field::Function(unpack_limit_entry)),
    (c"_NAME", Field::Text("cmsgpack")),
    (c"_VERSION", Field::Text("lua-cmsgpack 0.4.0")),
    (c"_COPYRIGHT", Field::Text("Copyright (C) 2012, Redis Ltd.")),
    (c"_DESCRIPTION", Field::Text("MessagePack C implementation for Lua")),
];

lua_functions! {
    pack_entry = pack::pack;
    unpack_entry = unpack::unpack;
    unpack_one_entry = unpack::unpack_one;
    unpack_limit_entry = unpack::unpack_limit;
}
