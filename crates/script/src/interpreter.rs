//! An interpreter: made once, then it compiles and runs one function after the other.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::os::raw::{c_int, c_void};
use std::ptr::{self, NonNull};

use mlua_sys::{
    LUA_MASKCOUNT, LUA_OK, LUA_REGISTRYINDEX, lua_State, lua_close, lua_cpcall, lua_dump_, lua_gc,
    lua_newstate, lua_pcall, lua_pushlightuserdata, lua_rawgeti_, lua_sethook, lua_settop,
    luaL_loadbuffer, luaL_ref, luaL_unref,
};

use crate::core::Core;
use crate::guard::{guard_endrun, guard_setmemorylimit};
use crate::hook;
use crate::host::{Host, Protocol};
use crate::library::{Load, load_entry, set_environment};
use crate::memory::reallocate;
use crate::proof::{self, CallSite, Source, call_sites};
use crate::registered::{FunctionFlags, Registered};
use crate::run::{Ending, Input, Run};
use crate::sandbox::{self, Options};

/// Lua with the libraries and bounds of scripts. Whatever runs in it, it is as before afterwards,
/// but for garbage, the generator of random numbers and what functions keep in their upvalues.
pub struct Interpreter {
    state: NonNull<lua_State>,
    core: NonNull<Core>,
    owned: PhantomData<Core>,
}

/// Function that an interpreter has compiled; another interpreter does not know it.
#[derive(Debug, PartialEq, Eq)]
pub struct Function(pub(crate) c_int);

/// Function of a library.
#[derive(Debug)]
pub struct LibraryFunction {
    /// Name as the source has it: any bytes.
    pub name: Vec<u8>,
    /// The function, to be run with keys and arguments.
    pub function: Function,
    /// What it says of itself.
    pub flags: FunctionFlags,
    /// What it is for.
    pub description: Option<Vec<u8>>,
}

/// Why a library cannot be loaded, as a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// The source is no Lua.
    Compile(Vec<u8>),
    /// The source ended with an error, which begins with its code.
    Register(Vec<u8>),
}

/// The interpreter could not be made: there is less memory than its libraries need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

// SAFETY: the state and its core belong to the interpreter alone, and Lua keeps nothing by thread.
unsafe impl Send for Interpreter {}

impl Interpreter {
    /// Makes an interpreter.
    ///
    /// # Errors
    /// Where the memory limit is too low for the libraries.
    pub fn new(options: &Options) -> Result<Self, OutOfMemory> {
        let core = Box::into_raw(Box::new(Core::new(options.memory_limit)));
        // SAFETY: the account is the first field of the core, which outlives the state.
        let state = unsafe { lua_newstate(reallocate, core.cast()) };
        let core = NonNull::new(core).ok_or(OutOfMemory)?;
        let Some(state) = NonNull::new(state) else {
            // SAFETY: the core came from a box, and no state knows it.
            drop(unsafe { Box::from_raw(core.as_ptr()) });
            return Err(OutOfMemory);
        };
        let mut interpreter = Interpreter { state, core, owned: PhantomData };
        let raw = state.as_ptr();
        // SAFETY: the entry is made for this call, and gets the options that it expects.
        let status = unsafe {
            guard_setmemorylimit(raw, options.memory_limit);
            lua_cpcall(raw, sandbox::open_entry, ptr::from_ref(options).cast_mut().cast())
        };
        if status != LUA_OK {
            return Err(OutOfMemory);
        }
        interpreter.rest();
        Ok(interpreter)
    }

    /// Compiles a source: a script's, or a library's in an interpreter for libraries.
    ///
    /// # Errors
    /// The error text of Lua, with chunk and line.
    pub fn compile(&mut self, source: &[u8]) -> Result<Function, Vec<u8>> {
        let is_library = self.core().environment.is_some();
        let name = if is_library { c"@user_function" } else { c"@user_script" };
        let mut work = Compile { source, name, reference: 0 };
        let state = self.state.as_ptr();
        // SAFETY: the entry is made for this call, and gets the work that it expects.
        let status = unsafe { lua_cpcall(state, compile_entry, (&raw mut work).cast()) };
        let result = match status {
            LUA_OK => Ok(Function(work.reference)),
            _ => Err(self.error_text()),
        };
        // SAFETY: nothing on the stack is needed any more.
        unsafe { lua_settop(state, 0) };
        result
    }

    /// Returns where a function that was compiled calls commands; `None` if that cannot be told.
    pub fn call_sites(&mut self, function: &Function) -> Option<Vec<CallSite>> {
        let is_library = self.core().environment.is_some();
        let source = if is_library { Source::Library } else { Source::Script };
        call_sites(&self.dump(function)?, source)
    }

    /// Returns the bytecode of a function; `None` if it is too long for a proof.
    pub(crate) fn dump(&mut self, function: &Function) -> Option<Vec<u8>> {
        let (mut code, state) = (Vec::new(), self.state.as_ptr());
        // SAFETY: the reference is one of the registry; neither call takes memory of Lua.
        let status = unsafe {
            lua_rawgeti_(state, LUA_REGISTRYINDEX, function.0);
            let status = lua_dump_(state, append_code, (&raw mut code).cast());
            lua_settop(state, 0);
            status
        };
        (status == 0).then_some(code)
    }

    /// Loads a library, and returns the functions that it registers. Their names are not looked at.
    ///
    /// # Errors
    /// Where the source is no Lua or ends with an error; nothing of it stays.
    pub fn load(
        &mut self,
        source: &[u8],
        host: &mut dyn Host,
    ) -> Result<Vec<LibraryFunction>, LoadError> {
        let function = self.compile(source).map_err(LoadError::Compile)?;
        let mut error = Vec::new();
        let mut load = Load { function: function.0, error: &mut error };
        self.attend(host);
        self.core().is_loading = true;
        // SAFETY: the entry is made for this call, and gets the work that it expects.
        let status = unsafe { lua_cpcall(self.state.as_ptr(), load_entry, (&raw mut load).cast()) };
        if status != LUA_OK {
            error = self.error_text();
            error.splice(..0, *b"ERR ");
        }
        self.core().is_loading = false;
        let functions: Vec<_> = self.core().registered.drain(..).map(LibraryFunction::of).collect();
        self.rest();
        self.release(function);
        if error.is_empty() {
            return Ok(functions);
        }
        functions.into_iter().for_each(|registered| self.release(registered.function));
        Err(LoadError::Register(error))
    }

    /// Forgets a function.
    pub fn release(&mut self, function: Function) {
        // SAFETY: the reference was made by `luaL_ref` in this registry.
        unsafe { luaL_unref(self.state.as_ptr(), LUA_REGISTRYINDEX, function.0) }
    }

    /// Runs a function for a host, and appends what it returns, or its error, as a reply in RESP.
    pub fn run(
        &mut self,
        function: &Function,
        input: Input<'_>,
        host: &mut dyn Host,
        reply: &mut Vec<u8>,
    ) -> Ending {
        let start = reply.len();
        let mut run = Run { function: function.0, input, reply, ending: Ending::Returned };
        let (raw, runner) = (self.state.as_ptr(), self.core().runner);
        self.attend(host);
        // SAFETY: the runner is made for this call, and gets the run that it expects. The empty
        // stack has room for both, so nothing outside the protected call takes memory.
        let status = unsafe {
            lua_rawgeti_(raw, LUA_REGISTRYINDEX, runner);
            lua_pushlightuserdata(raw, (&raw mut run).cast());
            lua_pcall(raw, 1, 0, 0)
        };
        let mut ending = run.ending;
        if status != LUA_OK {
            reply.truncate(start);
            reply.extend_from_slice(b"-ERR ");
            reply.extend_from_slice(&self.error_text());
            host.reply_error(&reply[start + 1..], false);
            reply.extend_from_slice(b"\r\n");
            ending = Ending::Failed { is_counted: false };
        }
        self.rest();
        ending
    }

    /// Returns the bytes that it uses now, garbage included.
    pub fn memory_bytes(&self) -> usize {
        // SAFETY: the core lives as long as the interpreter.
        let core = unsafe { self.core.as_ref() };
        core.memory.used() + core.buffer_bytes() + size_of::<Core>()
    }

    /// Removes all garbage.
    pub fn collect(&mut self) {
        // SAFETY: no function of the script runs now, nor while collecting.
        unsafe { lua_gc(self.state.as_ptr(), mlua_sys::LUA_GCCOLLECT, 0) };
    }

    /// Gives a run its host, until it rests.
    fn attend(&mut self, host: &mut dyn Host) {
        let host: NonNull<dyn Host + '_> = NonNull::from(host);
        // SAFETY: only the lifetime is forgotten, and the host with it when the run is over.
        let host =
            unsafe { std::mem::transmute::<NonNull<dyn Host + '_>, NonNull<dyn Host>>(host) };
        self.core().host = Some(host);
    }

    /// Leaves everything as a run finds it: no host, an empty stack, a hook, a collector that runs.
    fn rest(&mut self) {
        let raw = self.state.as_ptr();
        // SAFETY: no function runs now.
        unsafe {
            lua_settop(raw, 0);
            guard_endrun(raw);
            lua_sethook(raw, Some(hook::on_count), LUA_MASKCOUNT, hook::INSTRUCTIONS);
        }
        if self.core().memory.is_half_used() {
            // Garbage of this run must not be what the next one lacks.
            self.collect();
        }
        let core = self.core();
        core.host = None;
        core.protocol = Protocol::Resp2;
        core.end_text = None;
        core.place.source.clear();
        core.trim_buffers();
    }

    /// Returns the text of the error on the top of the stack.
    fn error_text(&mut self) -> Vec<u8> {
        let mut length = 0;
        // SAFETY: a protected call has left its error there.
        unsafe {
            if mlua_sys::lua_type(self.state.as_ptr(), -1) != mlua_sys::LUA_TSTRING {
                return b"unknown error".to_vec();
            }
            let text = mlua_sys::lua_tolstring(self.state.as_ptr(), -1, &raw mut length);
            std::slice::from_raw_parts(text.cast::<u8>(), length).to_vec()
        }
    }

    fn core(&mut self) -> &mut Core {
        // SAFETY: the core is the interpreter's alone, and no function of ours runs now.
        unsafe { self.core.as_mut() }
    }
}

impl LibraryFunction {
    fn of(registered: Registered) -> Self {
        let Registered { name, function, flags, description } = registered;
        LibraryFunction { name, function: Function(function), flags, description }
    }
}

impl Drop for Interpreter {
    fn drop(&mut self) {
        // SAFETY: nobody uses the state afterwards; the core goes behind it.
        unsafe {
            lua_close(self.state.as_ptr());
            drop(Box::from_raw(self.core.as_ptr()));
        }
    }
}

/// Appends a part of the bytecode of a function; ends it where it is too long for a proof.
///
/// # Safety
/// `lua_dump` calls it with bytes to read and the vector that it was given.
unsafe extern "C-unwind" fn append_code(
    _: *mut lua_State,
    part: *const c_void,
    length: usize,
    code: *mut c_void,
) -> c_int {
    // SAFETY: the caller says so.
    let (code, part) = unsafe {
        (&mut *code.cast::<Vec<u8>>(), std::slice::from_raw_parts(part.cast::<u8>(), length))
    };
    if code.len() + length > proof::BYTES_MAX {
        return 1;
    }
    code.extend_from_slice(part);
    0
}

/// Work of `compile_entry`.
struct Compile<'work> {
    source: &'work [u8],
    name: &'static CStr,
    reference: c_int,
}

/// Compiles in a protected call, since names and numbers of the source take memory.
///
/// # Safety
/// `lua_cpcall` calls it with a [`Compile`].
unsafe extern "C-unwind" fn compile_entry(state: *mut lua_State) -> c_int {
    // SAFETY: the work is the caller's, who waits for this call.
    unsafe {
        let work = &mut *mlua_sys::lua_touserdata(state, 1).cast::<Compile<'_>>();
        let (text, length) = (work.source.as_ptr().cast(), work.source.len());
        if luaL_loadbuffer(state, text, length, work.name.as_ptr()) != LUA_OK {
            mlua_sys::lua_error(state);
        }
        set_environment(state);
        work.reference = luaL_ref(state, LUA_REGISTRYINDEX);
    }
    0
}
