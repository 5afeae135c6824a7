//! The hook: Lua calls it from time to time, so that the host can look after others, or end a run.

use mlua_sys::{lua_Debug, lua_State};

use crate::core::Core;
use crate::guard::guard_kill;
use crate::host::Verdict;
use crate::run::note_place;
use crate::stack::core_of;

/// Instructions of Lua between two calls of the hook: some hundred microseconds.
pub const INSTRUCTIONS: i32 = 10_000;

/// Asks the host whether the run goes on.
///
/// # Safety
/// Lua calls it, in a state of an interpreter, while no function of ours uses the core.
pub unsafe extern "C-unwind" fn on_count(state: *mut lua_State, _: *mut lua_Debug) {
    // SAFETY: the state is an interpreter's, whose host is there while it runs.
    unsafe {
        if let Some(text) = end_of(&mut *core_of(state)) {
            (*core_of(state)).end_text = Some(text);
            note_place(state, 0);
            guard_kill(state);
        }
    }
}

/// Returns the error that the run ends with: that of the first time, however often it is caught.
fn end_of(core: &mut Core) -> Option<&'static str> {
    if core.end_text.is_some() {
        return core.end_text;
    }
    // SAFETY: the host is borrowed by the run, which waits for this call.
    match unsafe { core.host?.as_mut() }.poll() {
        Verdict::Continue => None,
        Verdict::End(text) => Some(text),
    }
}
