//! `pcall` as scripts know it: an error of a command comes as its text.

use std::ffi::CStr;
use std::os::raw::c_int;

use mlua_sys::{
    LUA_ERRRUN, LUA_MULTRET, LUA_OK, LUA_TTABLE, lua_CFunction, lua_State, lua_checkstack,
    lua_getfield_, lua_gettop, lua_insert, lua_isstring, lua_pcall, lua_pop, lua_pushboolean,
    lua_pushstring_, lua_remove, lua_settop, lua_type,
};

use crate::guard::guard_passkill;

/// Globals that stand in place of Lua's.
pub const REPLACED: &[(&CStr, lua_CFunction)] = &[(c"pcall", pcall_entry)];

/// Calls a function, and catches its error. Of a table with a text `err` that text is returned.
///
/// # Safety
/// Lua calls it, with a state of an interpreter.
unsafe extern "C-unwind" fn pcall_entry(state: *mut lua_State) -> c_int {
    // SAFETY: indices are those of arguments and results; the frame holds nothing to be dropped.
    unsafe {
        if lua_gettop(state) == 0 {
            // As in Valkey, whose error text names a boolean.
            lua_pushboolean(state, 1);
        }
        let mut status = lua_pcall(state, lua_gettop(state) - 1, LUA_MULTRET, 0);
        // As many results as it likes may lie there.
        if lua_checkstack(state, 1) == 0 {
            lua_settop(state, 0);
            lua_pushstring_(state, c"stack overflow".as_ptr());
            status = LUA_ERRRUN;
        }
        if status != LUA_OK {
            guard_passkill(state);
            replace_table_by_text(state);
        }
        lua_pushboolean(state, c_int::from(status == LUA_OK));
        lua_insert(state, 1);
        lua_gettop(state)
    }
}

/// # Safety
/// An error lies on the top.
unsafe fn replace_table_by_text(state: *mut lua_State) {
    // SAFETY: what is pushed is popped.
    unsafe {
        if lua_type(state, -1) != LUA_TTABLE {
            return;
        }
        lua_getfield_(state, -1, c"err".as_ptr());
        if lua_isstring(state, -1) != 0 {
            lua_remove(state, -2);
        } else {
            lua_pop(state, 1);
        }
    }
}
