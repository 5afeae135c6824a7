//! `cjson`: texts of JSON from values, and back.
//!
//! A set of functions shares its settings: scripts that change those of `cjson` change them for all
//! later scripts, those of `cjson.new()` for its own functions alone.

mod decode;
mod encode;
mod options;
mod settings;
mod strtod;

use std::ffi::CStr;
use std::os::raw::c_int;

use mlua_sys::{
    lua_CFunction, lua_createtable, lua_newuserdata, lua_pop, lua_pushcclosure,
    lua_pushlightuserdata, lua_pushstring_, lua_pushvalue, lua_setfield,
};

use settings::Settings;

use crate::failure::Answer;
use crate::stack::{Stack, lua_functions};

/// Pushes a set of functions with settings of its own. May raise.
pub fn push_library(stack: &mut Stack<'_>) {
    let state = stack.state();
    // SAFETY: there is room for four values; the settings are plain memory of Lua, written before
    // any function can read them, and aligned as all userdata are.
    unsafe {
        lua_createtable(state, 0, FUNCTIONS.len() as c_int + 3);
        lua_newuserdata(state, size_of::<Settings>()).cast::<Settings>().write(Settings::default());
        for (name, function) in FUNCTIONS {
            lua_pushvalue(state, -1);
            lua_pushcclosure(state, *function, 1);
            lua_setfield(state, -3, name.as_ptr());
        }
        lua_pop(state, 1);
        lua_pushlightuserdata(state, std::ptr::null_mut());
        lua_setfield(state, -2, c"null".as_ptr());
        for (name, text) in [(c"_NAME", c"cjson"), (c"_VERSION", c"2.1.0")] {
            lua_pushstring_(state, text.as_ptr());
            lua_setfield(state, -2, name.as_ptr());
        }
    }
}

lua_functions! {
    encode_entry = encode::encode;
    decode_entry = decode::decode;
    new_entry = new;
    sparse_array_entry = options::sparse_array;
    encode_max_depth_entry = options::encode_max_depth;
    decode_max_depth_entry = options::decode_max_depth;
    precision_entry = options::precision;
    keep_buffer_entry = options::keep_buffer;
    encode_invalid_numbers_entry = options::encode_invalid_numbers;
    decode_invalid_numbers_entry = options::decode_invalid_numbers;
}

fn new(stack: &mut Stack<'_>) -> Answer {
    push_library(stack);
    Ok(1)
}

const FUNCTIONS: &[(&CStr, lua_CFunction)] = &[
    (c"encode", encode_entry),
    (c"decode", decode_entry),
    (c"encode_sparse_array", sparse_array_entry),
    (c"encode_max_depth", encode_max_depth_entry),
    (c"decode_max_depth", decode_max_depth_entry),
    (c"encode_number_precision", precision_entry),
    (c"encode_keep_buffer", keep_buffer_entry),
    (c"encode_invalid_numbers", encode_invalid_numbers_entry),
    (c"decode_invalid_numbers", decode_invalid_numbers_entry),
    (c"new", new_entry),
];
