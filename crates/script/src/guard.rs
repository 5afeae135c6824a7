//! What the sources of Lua in this repository have besides Lua 5.1: `lguard.h`.

use std::os::raw::c_int;

use mlua_sys::lua_State;

unsafe extern "C-unwind" {
    /// Makes the table at an index read-only, or writable again.
    pub fn guard_setreadonly(state: *mut lua_State, index: c_int, readonly: c_int);
    /// Makes the table at an index one of so many elements, which are to be set; 0 if it has had
    /// fields or has a metatable. May raise.
    pub fn guard_refill(state: *mut lua_State, index: c_int, count: c_int) -> c_int;
    /// Makes the collector run before so many bytes are in use; 0 is no limit.
    pub fn guard_setmemorylimit(state: *mut lua_State, bytes: usize);
    /// Ends what runs: nothing in the script catches this. Does not return.
    pub fn guard_kill(state: *mut lua_State);
    /// Returns 1 from a kill on until `guard_endrun`.
    pub fn guard_iskilled(state: *mut lua_State) -> c_int;
    /// Undoes what a run did to the collector, and ends a kill.
    pub fn guard_endrun(state: *mut lua_State);
    /// Counts work of a function as instructions: the hook may be called, and end the run.
    pub fn guard_poll(state: *mut lua_State, instructions: c_int);
    /// Goes on unwinding if the script was killed; the error is on the top.
    pub fn guard_passkill(state: *mut lua_State);
}
