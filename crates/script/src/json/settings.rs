//! Settings of the functions of JSON.

use std::os::raw::c_int;

use mlua_sys::{lua_touserdata, lua_upvalueindex};

use crate::stack::Stack;

/// Settings of a set of functions.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Sparse arrays become objects; otherwise they are refused.
    pub sparse_convert: bool,
    /// An array is sparse if its length is more than its elements times this; 0 for never.
    pub sparse_ratio: c_int,
    /// Length up to which no array is sparse.
    pub sparse_safe: c_int,
    pub encode_max_depth: c_int,
    pub decode_max_depth: c_int,
    pub encode_invalid_numbers: InvalidNumbers,
    pub decode_invalid_numbers: bool,
    /// Digits of numbers.
    pub precision: c_int,
    pub keep_buffer: bool,
}

/// What becomes of numbers that JSON does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidNumbers {
    Refused,
    Written,
    Null,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            sparse_convert: false,
            sparse_ratio: 2,
            sparse_safe: 10,
            encode_max_depth: 1000,
            decode_max_depth: 1000,
            encode_invalid_numbers: InvalidNumbers::Refused,
            decode_invalid_numbers: true,
            precision: 14,
            keep_buffer: true,
        }
    }
}

/// Returns a copy of the settings of the function that runs.
pub fn settings(stack: &Stack<'_>) -> Settings {
    // SAFETY: each function of a set has its settings as its first upvalue.
    unsafe { *lua_touserdata(stack.state(), lua_upvalueindex(1)).cast::<Settings>() }
}

/// Changes the settings of the function that runs.
pub fn change(stack: &Stack<'_>, settings: Settings) {
    // SAFETY: as in `settings`; nobody holds a reference to them.
    unsafe { *lua_touserdata(stack.state(), lua_upvalueindex(1)).cast::<Settings>() = settings }
}

/// Levels that no setting can go beyond: as many fit on a thread's stack.
pub const LEVELS_MAX: c_int = 2000;
