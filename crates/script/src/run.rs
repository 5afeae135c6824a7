//! One run: the function is called with its keys and arguments, and its result becomes a reply.

use std::fmt::Write as _;
use std::mem::zeroed;
use std::os::raw::c_int;

use mlua_sys::{
    LUA_ERRMEM, LUA_GLOBALSINDEX, LUA_OK, LUA_REGISTRYINDEX, lua_Debug, lua_State, lua_createtable,
    lua_getinfo, lua_getstack, lua_pcall, lua_pop, lua_pushlstring_, lua_pushstring_,
    lua_pushvalue, lua_rawgeti_, lua_rawset, lua_rawseti_, lua_remove, lua_topointer,
    lua_touserdata,
};

use crate::call::host;
use crate::core::{Core, GIVEN, Place};
use crate::counted::is_counted;
use crate::encode::{Encoder, push_line};
use crate::failure::Answer;
use crate::guard::{guard_iskilled, guard_refill, guard_setreadonly};
use crate::host::Protocol;
use crate::stack::{Kind, Stack, core_of};

/// How a function is given keys and arguments.
#[derive(Clone, Copy, Debug)]
pub struct Input<'run> {
    /// `KEYS` of a script, the first argument of a library's function.
    pub keys: &'run [&'run [u8]],
    /// `ARGV` of a script, the second argument of a library's function.
    pub arguments: &'run [&'run [u8]],
    /// Form of the reply that the client wants.
    pub protocol: Protocol,
}

/// Work of [`run_entry`].
pub struct Run<'run> {
    /// Reference of the function in the registry.
    pub function: c_int,
    pub input: Input<'run>,
    pub reply: &'run mut Vec<u8>,
    pub ending: Ending,
}

/// How a run ended. The reply tells the value or the error in each case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The function returned a value, which may be an error as a value.
    Returned,
    /// An error ended the function.
    Failed {
        /// True if it is the error of a command, which the host counted as it happened.
        is_counted: bool,
    },
}

/// Runs a function inside a protected call, since keys and arguments take memory of Lua.
///
/// # Safety
/// [`Interpreter::run`](crate::Interpreter::run) calls it with a [`Run`].
pub unsafe extern "C-unwind" fn run_entry(state: *mut lua_State) -> c_int {
    // SAFETY: the run is the caller's, who waits for this call; the state is an interpreter's.
    unsafe {
        let run = &mut *lua_touserdata(state, 1).cast::<Run<'_>>();
        lua_rawgeti_(state, LUA_REGISTRYINDEX, (*core_of(state)).error_handler);
        lua_rawgeti_(state, LUA_REGISTRYINDEX, run.function);
        let is_passed = (*core_of(state)).environment.is_some();
        if is_passed {
            push_texts(state, run.input.keys);
            push_texts(state, run.input.arguments);
        } else {
            give(state, 0, run.input.keys);
            give(state, 1, run.input.arguments);
        }
        let count = if is_passed { 2 } else { 0 };
        let status = lua_pcall(state, count, 1, HANDLER);
        // The run itself is not among the values, so a result nests as deep as in Valkey.
        lua_remove(state, 1);
        let mut stack = Stack::with_result(state);

        if status == LUA_OK {
            let (script, start) = (stack.core().protocol, run.reply.len());
            let mut encoder = Encoder::new(&mut stack, run.reply, run.input.protocol, script);
            if encoder.encode().is_err() {
                run.reply.truncate(start);
                run.reply.extend_from_slice(b"-ERR not enough memory\r\n");
                if let Some((host, _)) = host(&mut stack) {
                    host.reply_error(b"ERR not enough memory", false);
                }
                run.ending = Ending::Failed { is_counted: false };
            }
        } else {
            let is_counted = is_counted(&mut stack, -1);
            run.ending = Ending::Failed { is_counted };
            if guard_iskilled(state) == 0 {
                stack.core().end_text = None;
            }
            let start = run.reply.len() + 1;
            write_error(&mut stack, status, run.reply);
            if let Some((host, _)) = host(&mut stack) {
                host.reply_error(run.reply[start..].trim_ascii_end(), is_counted);
            }
        }
    }
    0
}

/// Pushes a table of texts.
///
/// # Safety
/// The state is alive, and errors are caught above.
unsafe fn push_texts(state: *mut lua_State, texts: &[&[u8]]) {
    // SAFETY: a few slots are always there; the table has as many elements as it is given.
    unsafe {
        lua_createtable(state, count_of(texts), 0);
        fill(state, texts);
    }
}

/// Makes a table of texts one of the globals that scripts are given. The table is that of the run
/// before, of which nothing else has lasted, unless it is more than a list by now.
///
/// # Safety
/// As for `push_texts`.
unsafe fn give(state: *mut lua_State, place: usize, texts: &[&[u8]]) {
    // SAFETY: the reference is that of a table.
    unsafe {
        let reference = (*core_of(state)).given[place];
        lua_rawgeti_(state, LUA_REGISTRYINDEX, reference);
        if guard_refill(state, -1, count_of(texts)) == 0 {
            lua_pop(state, 1);
            lua_createtable(state, count_of(texts), 0);
            lua_pushvalue(state, -1);
            lua_rawseti_(state, LUA_REGISTRYINDEX, reference);
            set_global(state, GIVEN[place]);
        }
        fill(state, texts);
        lua_pop(state, 1);
    }
}

/// Makes the table on the top a global, which scripts themselves cannot.
///
/// # Safety
/// As for `push_texts`.
unsafe fn set_global(state: *mut lua_State, name: &std::ffi::CStr) {
    // SAFETY: the globals are a table; an error leaves them read-only but during the write, which
    // needs no memory: the names are there since the interpreter was made.
    unsafe {
        lua_pushvalue(state, LUA_GLOBALSINDEX);
        lua_pushstring_(state, name.as_ptr());
        lua_pushvalue(state, -3);
        guard_setreadonly(state, -3, 0);
        lua_rawset(state, -3);
        guard_setreadonly(state, -1, 1);
        lua_pop(state, 1);
    }
}

/// Sets the elements of the table on the top.
///
/// # Safety
/// As for `push_texts`; the table has room for them.
unsafe fn fill(state: *mut lua_State, texts: &[&[u8]]) {
    for (text, place) in texts.iter().zip(1..) {
        // SAFETY: a few slots are always there.
        unsafe {
            lua_pushlstring_(state, text.as_ptr().cast(), text.len());
            lua_rawseti_(state, -2, place);
        }
    }
}

fn count_of(texts: &[&[u8]]) -> c_int {
    c_int::try_from(texts.len()).unwrap_or(c_int::MAX)
}

/// Notes where an error was raised, and leaves the error as it is.
///
/// # Safety
/// Lua calls it with the error, before it leaves the function that raised it.
pub unsafe extern "C-unwind" fn on_error(state: *mut lua_State) -> c_int {
    // SAFETY: the state is an interpreter's.
    unsafe { note_place(state, 1) };
    1
}

/// Returns the error that it is given as a table that tells where it was raised, for scripts that
/// catch errors by it.
pub fn describe_error(stack: &mut Stack<'_>) -> Answer {
    // SAFETY: the state is an interpreter's, and nobody uses the core.
    unsafe { note_place(stack.state(), 1) };
    if stack.kind(1) != Kind::Table {
        let mut text = std::mem::take(&mut stack.core().scratch);
        text.clear();
        stack.push_copy(1);
        write_error_text(stack, &mut text);
        stack.core().scratch = text;
        stack.push_table(0, 3);
        stack.push_text(b"err");
        stack.push_scratch(0);
        let table = stack.top() - 2;
        stack.raw_set(table);
    } else {
        stack.push_copy(1);
    }
    let table = stack.top();
    let place = std::mem::take(&mut stack.core().place);
    let line = f64::from(place.line);
    if !place.source.is_empty() {
        stack.core().scratch.clear();
        stack.core().scratch.extend_from_slice(&place.source);
        stack.core().place = place;
        stack.push_text(b"source");
        stack.push_scratch(0);
        stack.raw_set(table);
        stack.push_text(b"line");
        stack.push_number(line);
        stack.raw_set(table);
    }
    Ok(1)
}

/// Notes the place of the function at a level, or of its caller where it is not one of Lua.
///
/// # Safety
/// The state is an interpreter's, and nobody uses the core.
pub unsafe fn note_place(state: *mut lua_State, level: c_int) {
    // SAFETY: Lua fills what it is asked for; its names live as long as the functions.
    unsafe {
        let core: &mut Core = &mut *core_of(state);
        core.place = Place { source: std::mem::take(&mut core.place.source), line: -1 };
        core.place.source.clear();
        let mut at: lua_Debug = zeroed();
        if lua_getstack(state, level, &raw mut at) == 0 {
            return;
        }
        lua_getinfo(state, c"Sl".as_ptr(), &raw mut at);
        let is_ours = *at.what.cast::<u8>() == b'C';
        if is_ours && lua_getstack(state, level + 1, &raw mut at) != 0 {
            lua_getinfo(state, c"Sl".as_ptr(), &raw mut at);
        }
        let source = std::ffi::CStr::from_ptr(at.source).to_bytes();
        core.place.source.extend_from_slice(source);
        core.place.line = at.currentline;
    }
}

/// Appends the error on the top as a reply: its text, and where it was raised.
fn write_error(stack: &mut Stack<'_>, status: c_int, reply: &mut Vec<u8>) {
    reply.push(b'-');
    if let Some(text) = stack.core().end_text {
        push_line(reply, b"ERR ");
        push_line(reply, text.as_bytes());
    } else {
        write_error_text(stack, reply);
    }
    let place = &stack.core().place;
    if status != LUA_ERRMEM && !place.source.is_empty() {
        push_line(reply, b" script: on ");
        push_line(reply, &place.source);
        let mut line = LineNumber(reply);
        let _ = write!(line, ":{}.", place.line);
    }
    reply.extend_from_slice(b"\r\n");
}

/// Appends the text of the error on the top.
pub fn write_error_text(stack: &mut Stack<'_>, reply: &mut Vec<u8>) {
    match stack.kind(-1) {
        Kind::Table => match stack.raw_field(-1, "err") {
            Kind::Text | Kind::Number => stack.read_text(-1, |text, _| push_line(reply, text)),
            _ => push_line(reply, b"ERR unknown error"),
        },
        Kind::Text | Kind::Number => {
            push_line(reply, b"ERR ");
            stack.read_text(-1, |text, _| push_line(reply, text));
        }
        Kind::Nil | Kind::None => push_line(reply, b"ERR nil"),
        Kind::Boolean => {
            push_line(reply, if stack.is_true(-1) { b"ERR true" } else { b"ERR false" });
        }
        _ => {
            push_line(reply, b"ERR ");
            push_line(reply, stack.type_name(-1).as_bytes());
            // SAFETY: a value is there.
            let at = unsafe { lua_topointer(stack.state(), -1) };
            let _ = write!(LineNumber(reply), ": {at:p}");
        }
    }
}

/// Bytes that numbers are written to.
struct LineNumber<'reply>(&'reply mut Vec<u8>);

impl std::fmt::Write for LineNumber<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Index of the function that notes where an error was raised: above the run itself.
const HANDLER: c_int = 2;
