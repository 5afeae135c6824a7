//! The stack of a Lua function that is written in Rust, as safe as it can be made.
//!
//! ```text
//! Lua ──▶ entry (lua_functions!) ──▶ body(&mut Stack) ──▶ values, or an error that is raised last
//! ```
//!
//! Lua raises errors by jumping over our frames, at each call that allocates too. So no value with
//! a destructor lives in a body while it calls the stack: what grows lies in [`Core`], which the
//! interpreter owns, and which the next call finds as the jump left it.

use std::ffi::c_void;
use std::fmt::{self, Write as _};
use std::marker::PhantomData;
use std::os::raw::{c_char, c_int};
use std::ptr;

use mlua_sys::{
    LUA_TBOOLEAN, LUA_TFUNCTION, LUA_TLIGHTUSERDATA, LUA_TNIL, LUA_TNUMBER, LUA_TSTRING,
    LUA_TTABLE, lua_State, lua_checkstack, lua_createtable, lua_error, lua_getallocf, lua_gettop,
    lua_isnumber, lua_next, lua_objlen, lua_pushboolean, lua_pushlightuserdata, lua_pushlstring_,
    lua_pushnil, lua_pushnumber, lua_pushvalue, lua_rawget_, lua_rawgeti_, lua_rawset,
    lua_rawseti_, lua_replace, lua_settop, lua_toboolean, lua_tolstring, lua_tonumber,
    lua_touserdata, lua_type, lua_typename, luaL_argerror, luaL_where,
};

use crate::core::Core;
use crate::failure::Failure;
use crate::guard::guard_poll;

/// Stack of one call. Its arguments stay on it until it ends, so their text can be borrowed.
pub struct Stack<'call> {
    state: *mut lua_State,
    core: *mut Core,
    arguments: c_int,
    call: PhantomData<&'call ()>,
}

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No value at this index.
    None,
    /// `nil`
    Nil,
    /// `true` or `false`
    Boolean,
    /// A pointer that is a value, such as `cjson.null`.
    Light,
    /// A double.
    Number,
    /// Bytes.
    Text,
    /// A table.
    Table,
    /// A function, of Lua or of ours.
    Function,
    /// Userdata or a thread.
    Other,
}

impl<'call> Stack<'call> {
    /// Returns the stack of the function that Lua calls.
    ///
    /// # Safety
    /// * `state` is what Lua gave to the function, which has not changed its stack yet.
    /// * It belongs to an [`Interpreter`](crate::Interpreter), whose core is used by nobody else.
    /// * The stack is not used after the function has returned.
    pub unsafe fn of(state: *mut lua_State) -> Self {
        // SAFETY: the state is alive, and belongs to an interpreter.
        let (arguments, core) = unsafe { (lua_gettop(state), core_of(state)) };
        Stack { state, core, arguments, call: PhantomData }
    }

    /// Returns the stack of a run whose function has left its result on the top.
    ///
    /// # Safety
    /// As for [`Stack::of`], but that a value lies on the top.
    pub unsafe fn with_result(state: *mut lua_State) -> Self {
        // SAFETY: the caller promises the same.
        let mut stack = unsafe { Self::of(state) };
        stack.arguments -= 1;
        stack
    }

    /// Returns the state, for calls that are not here.
    pub fn state(&self) -> *mut lua_State {
        self.state
    }

    /// Returns the number of arguments.
    pub fn arguments(&self) -> c_int {
        self.arguments
    }

    /// Returns what the interpreter keeps beside Lua.
    pub fn core(&mut self) -> &mut Core {
        // SAFETY: `of` was promised that nobody else uses it; the stack is borrowed meanwhile.
        unsafe { &mut *self.core }
    }

    /// Returns the type of the value at an index.
    pub fn kind(&self, index: c_int) -> Kind {
        // SAFETY: Lua answers for each index that a function may name.
        match unsafe { lua_type(self.state, self.valid(index)) } {
            LUA_TNIL => Kind::Nil,
            LUA_TBOOLEAN => Kind::Boolean,
            LUA_TLIGHTUSERDATA => Kind::Light,
            LUA_TNUMBER => Kind::Number,
            LUA_TSTRING => Kind::Text,
            LUA_TTABLE => Kind::Table,
            LUA_TFUNCTION => Kind::Function,
            kind if kind < 0 => Kind::None,
            _ => Kind::Other,
        }
    }

    /// Returns the name of the value's type, as Lua's error texts have it.
    pub fn type_name(&self, index: c_int) -> &'static str {
        // SAFETY: the names are constants of Lua, in ASCII.
        let name = unsafe {
            std::ffi::CStr::from_ptr(lua_typename(
                self.state,
                lua_type(self.state, self.valid(index)),
            ))
        };
        name.to_str().unwrap_or("value")
    }

    /// Returns true for every value but `nil` and `false`.
    pub fn is_true(&self, index: c_int) -> bool {
        // SAFETY: as in `kind`.
        unsafe { lua_toboolean(self.state, self.valid(index)) != 0 }
    }

    /// Returns the number, also that of a text that looks like one; 0 for other values.
    pub fn number(&self, index: c_int) -> f64 {
        // SAFETY: as in `kind`.
        unsafe { lua_tonumber(self.state, self.valid(index)) }
    }

    /// Returns true for a number, and for a text that looks like one.
    pub fn is_number(&self, index: c_int) -> bool {
        // SAFETY: as in `kind`.
        unsafe { lua_isnumber(self.state, self.valid(index)) != 0 }
    }

    /// Returns a light value's pointer.
    pub fn light(&self, index: c_int) -> *mut c_void {
        // SAFETY: as in `kind`.
        unsafe { lua_touserdata(self.state, self.valid(index)) }
    }

    /// Returns the text of an argument; a number becomes one. `None` for other values.
    pub fn argument(&mut self, index: c_int) -> Option<&'call [u8]> {
        assert!(0 < index && index <= self.arguments, "not an argument");
        // SAFETY: arguments stay on the stack, so the text lives as long as the call.
        unsafe { self.text_at(index) }
    }

    /// Returns an argument that is a number, or a text that looks like one.
    pub fn number_argument(&mut self, index: c_int) -> Result<f64, Failure> {
        if !self.is_number(index) {
            return Err(Failure::Type(index, "number"));
        }
        Ok(self.number(index))
    }

    /// Returns an argument that is a text or a number.
    pub fn text_argument(&mut self, index: c_int) -> Result<&'call [u8], Failure> {
        if index > self.arguments {
            return Err(Failure::Type(index, "string"));
        }
        self.argument(index).ok_or(Failure::Type(index, "string"))
    }

    /// Hands the text at an index, or that of a number there, to `read`, with the core.
    /// A number in a table's key must not be read so: it would become a text in its place.
    pub fn read_text<T>(&mut self, index: c_int, read: impl FnOnce(&[u8], &mut Core) -> T) -> T {
        // SAFETY: `read` has no way to Lua, so the value stays where it is.
        let text = unsafe { self.text_at(index) }.unwrap_or_default();
        read(text, self.core())
    }

    /// # Safety
    /// The value stays on the stack while the text is used.
    unsafe fn text_at<'text>(&mut self, index: c_int) -> Option<&'text [u8]> {
        let mut length = 0;
        // SAFETY: Lua answers for each index that a function may name.
        let text = unsafe { lua_tolstring(self.state, self.valid(index), &raw mut length) };
        // SAFETY: Lua says how long the text is, and the caller keeps it.
        (!text.is_null()).then(|| unsafe { std::slice::from_raw_parts(text.cast(), length) })
    }

    /// Returns the length of a text, or a border of a table.
    pub fn length(&self, index: c_int) -> usize {
        // SAFETY: as in `kind`.
        unsafe { lua_objlen(self.state, self.valid(index)) }
    }

    /// Returns the index of the topmost value: their number.
    pub fn top(&self) -> c_int {
        // SAFETY: the state is alive.
        unsafe { lua_gettop(self.state) }
    }

    /// Removes the topmost `count` values.
    pub fn pop(&mut self, count: c_int) {
        let top = self.top() - count;
        assert!(count >= 0 && top >= self.arguments, "arguments stay");
        // SAFETY: so many values are there.
        unsafe { lua_settop(self.state, top) };
    }

    /// Makes room for `count` values more; false if the stack would become too long.
    pub fn reserve(&mut self, count: c_int) -> bool {
        // SAFETY: Lua takes any number.
        unsafe { lua_checkstack(self.state, count) != 0 }
    }

    /// Pushes `nil`.
    pub fn push_nil(&mut self) {
        // SAFETY: each function has room for twenty values, and reserves more.
        unsafe { lua_pushnil(self.state) }
    }

    /// Pushes a boolean.
    pub fn push_boolean(&mut self, value: bool) {
        // SAFETY: as in `push_nil`.
        unsafe { lua_pushboolean(self.state, c_int::from(value)) }
    }

    /// Pushes a number.
    pub fn push_number(&mut self, value: f64) {
        // SAFETY: as in `push_nil`.
        unsafe { lua_pushnumber(self.state, value) }
    }

    /// Pushes the light value that stands for null in JSON.
    pub fn push_null(&mut self) {
        // SAFETY: as in `push_nil`.
        unsafe { lua_pushlightuserdata(self.state, ptr::null_mut()) }
    }

    /// Pushes a text. May raise.
    pub fn push_text(&mut self, text: &[u8]) {
        // SAFETY: as in `push_nil`; Lua copies the bytes.
        unsafe { lua_pushlstring_(self.state, text.as_ptr().cast::<c_char>(), text.len()) }
    }

    /// Pushes what was put together in the scratch buffer, from `start` on. May raise.
    pub fn push_scratch(&mut self, start: usize) {
        let text = &self.core().scratch[start..];
        let (text, length) = (text.as_ptr(), text.len());
        // SAFETY: as in `push_text`; nobody changes the buffer while Lua copies it.
        unsafe { lua_pushlstring_(self.state, text.cast::<c_char>(), length) }
    }

    /// Pushes a part of the reply in the core. May raise.
    pub fn push_reply(&mut self, start: usize, end: usize) {
        let text = &self.core().reply[start..end];
        let (text, length) = (text.as_ptr(), text.len());
        // SAFETY: as in `push_scratch`.
        unsafe { lua_pushlstring_(self.state, text.cast::<c_char>(), length) }
    }

    /// Pushes the value at an index once more.
    pub fn push_copy(&mut self, index: c_int) {
        // SAFETY: as in `push_nil` and `kind`.
        unsafe { lua_pushvalue(self.state, self.valid(index)) }
    }

    /// Pushes a table with room. May raise.
    pub fn push_table(&mut self, elements: usize, fields: usize) {
        let bound = |count: usize| c_int::try_from(count.min(ROOM_MAX)).unwrap_or(0);
        // SAFETY: as in `push_nil`; the numbers are small.
        unsafe { lua_createtable(self.state, bound(elements), bound(fields)) }
    }

    /// Pops a value, which takes the place of one above the arguments.
    pub fn replace(&mut self, index: c_int) {
        assert!(index > self.arguments && index < self.top(), "arguments stay");
        // SAFETY: the index is one of a value.
        unsafe { lua_replace(self.state, index) }
    }

    /// Returns the index from the bottom, which stays that of the value.
    pub fn absolute(&self, index: c_int) -> c_int {
        if index > 0 { index } else { self.top() + index + 1 }
    }

    /// Pops a key, and pushes the table's field of it. Metatables do not run.
    pub fn raw_get(&mut self, table: c_int) {
        self.assert_table(table);
        // SAFETY: it is a table.
        unsafe { lua_rawget_(self.state, table) }
    }

    /// Pushes the table's field of this name, and returns its type. May raise.
    pub fn raw_field(&mut self, table: c_int, name: &str) -> Kind {
        let table = self.absolute(table);
        self.push_text(name.as_bytes());
        self.raw_get(table);
        self.kind(-1)
    }

    /// Pushes an element of a table, and returns its type.
    pub fn raw_element(&mut self, table: c_int, place: c_int) -> Kind {
        self.assert_table(table);
        // SAFETY: it is a table.
        unsafe { lua_rawgeti_(self.state, table, place) }
        self.kind(-1)
    }

    /// Pops a key and a value, which become a field. May raise.
    pub fn raw_set(&mut self, table: c_int) {
        self.assert_table(table);
        // SAFETY: it is a table.
        unsafe { lua_rawset(self.state, table) }
    }

    /// Pops a value, which becomes an element. May raise.
    pub fn raw_set_element(&mut self, table: c_int, place: c_int) {
        self.assert_table(table);
        // SAFETY: it is a table.
        unsafe { lua_rawseti_(self.state, table, place) }
    }

    /// Pops a key, and pushes the next key and its value, or nothing behind the last.
    pub fn next(&mut self, table: c_int) -> bool {
        self.assert_table(table);
        // SAFETY: it is a table; Lua refuses a key that is none of it.
        unsafe { lua_next(self.state, table) != 0 }
    }

    /// Counts one value as some instructions, so that a long work can be ended. May raise.
    pub fn count_value(&mut self) {
        // SAFETY: the hook uses nothing of the core that a body has borrowed.
        unsafe { guard_poll(self.state, VALUE_INSTRUCTIONS) }
    }

    /// Counts a work that was done as so many instructions. May raise.
    pub fn count_work(&mut self, instructions: u32) {
        let instructions = c_int::try_from(instructions).unwrap_or(c_int::MAX);
        // SAFETY: as above.
        unsafe { guard_poll(self.state, instructions) }
    }

    /// Returns a failure with this text, for the caller to end with.
    pub fn fail(&mut self, text: fmt::Arguments<'_>) -> Failure {
        self.message(text);
        Failure::Placed
    }

    /// Returns a failure with this text in a table, as functions of `redis` end.
    pub fn fail_with_table(&mut self, text: fmt::Arguments<'_>) -> Failure {
        self.message(text);
        Failure::Table
    }

    /// Returns a failure of an argument, with a text that is put together.
    pub fn fail_argument(&mut self, index: c_int, text: fmt::Arguments<'_>) -> Failure {
        self.message(text);
        Failure::ArgumentMessage(index)
    }

    /// Returns a failure of an argument that is none of some words.
    pub fn fail_argument_option(&mut self, index: c_int, word: &[u8]) -> Failure {
        let message = &mut self.core().message;
        message.clear();
        message.append(b"invalid option '");
        message.append(word);
        message.append(b"'");
        Failure::ArgumentMessage(index)
    }

    /// Makes room in the scratch buffer, for which the memory limit of Lua holds too.
    pub fn reserve_scratch(&mut self, bytes: usize) -> Result<(), Failure> {
        let core = self.core();
        let wanted = core.scratch.len().saturating_add(bytes);
        if wanted > core.memory.limit().saturating_sub(core.memory.used()) {
            return Err(self.fail(format_args!("not enough memory")));
        }
        Ok(())
    }

    fn message(&mut self, text: fmt::Arguments<'_>) {
        let message = &mut self.core().message;
        message.clear();
        let _ = message.write_fmt(text);
    }

    /// Raises an error: the last thing that a function does.
    pub fn raise(mut self, failure: Failure) -> ! {
        if !matches!(failure, Failure::Top) {
            // The stack may be full, which may be the reason.
            // SAFETY: the arguments are there; each function has room for twenty values more.
            unsafe { lua_settop(self.state, self.arguments) };
        }
        match failure {
            Failure::Top => {}
            Failure::Placed => {
                // SAFETY: there is room for two values, and the place is a text like the message.
                unsafe { luaL_where(self.state, 1) };
                self.push_message();
                // SAFETY: both texts were pushed.
                unsafe { mlua_sys::lua_concat(self.state, 2) };
            }
            Failure::Table => self.push_failure_table(),
            Failure::Argument(index, text) => {
                self.message(format_args!("{text}"));
                self.raise_argument(index);
            }
            Failure::ArgumentMessage(index) => self.raise_argument(index),
            Failure::Type(index, expected) => {
                let actual = match self.kind(index) {
                    Kind::None => "no value",
                    _ => self.type_name(index),
                };
                self.message(format_args!("{expected} expected, got {actual}"));
                self.raise_argument(index);
            }
        }
        // SAFETY: the error value is on the top, and no frame up to Lua's holds anything.
        unsafe { lua_error(self.state) }
    }

    /// Pushes the table of an error that was made by [`Stack::fail_with_table`].
    pub fn push_failure_table(&mut self) {
        self.push_table(0, 1);
        self.push_text(b"err");
        self.push_message();
        let table = self.top() - 2;
        self.raw_set(table);
    }

    fn raise_argument(&mut self, index: c_int) {
        self.core().message.end();
        let text = self.core().message.as_ptr();
        // SAFETY: the text ends with a zero byte; Lua copies it before it jumps.
        unsafe { luaL_argerror(self.state, index, text) };
    }

    fn push_message(&mut self) {
        let text = self.core().message.text();
        let (text, length) = (text.as_ptr(), text.len());
        // SAFETY: nobody changes the buffer while Lua copies it.
        unsafe { lua_pushlstring_(self.state, text.cast::<c_char>(), length) }
    }

    /// Returns the index if it is one that a function may name.
    #[inline]
    fn valid(&self, index: c_int) -> c_int {
        assert!(index != 0 && index.abs() <= INDEX_MAX, "not an index of the stack");
        debug_assert!(index > 0 || -index <= self.top(), "not an index of the stack");
        index
    }

    #[inline]
    fn assert_table(&self, index: c_int) {
        // SAFETY: as in `kind`.
        let kind = unsafe { lua_type(self.state, self.valid(index)) };
        assert!(kind == LUA_TTABLE, "not a table");
    }
}

/// Returns the core of the interpreter that a state belongs to.
///
/// # Safety
/// The state belongs to an interpreter.
pub unsafe fn core_of(state: *mut lua_State) -> *mut Core {
    let mut account: *mut c_void = ptr::null_mut();
    // SAFETY: the state is alive; the account of its memory is the core's first field.
    unsafe { lua_getallocf(state, &raw mut account) };
    account.cast()
}

/// Declares functions that Lua can call, each with a body of type `fn(&mut Stack) -> Answer`.
macro_rules! lua_functions {
    ($($name:ident = $body:path;)+) => {$(
        /// Entry of the function for Lua.
        ///
        /// # Safety
        /// Lua calls it, with a state of an interpreter.
        pub unsafe extern "C-unwind" fn $name(
            state: *mut mlua_sys::lua_State,
        ) -> std::os::raw::c_int {
            // SAFETY: Lua gives the state of a call that has just begun.
            let mut stack = unsafe { $crate::stack::Stack::of(state) };
            match $body(&mut stack) {
                Ok(count) => count,
                Err(failure) => stack.raise(failure),
            }
        }
    )+};
}
pub(crate) use lua_functions;

/// Instructions that the work on one value counts as.
const VALUE_INSTRUCTIONS: c_int = 4;

/// Largest room that a table gets at once; it grows beyond as it is filled.
const ROOM_MAX: usize = 1 << 16;

/// Largest distance of an index: Lua's own limit for the stack of one function, and some.
const INDEX_MAX: c_int = 9000;
