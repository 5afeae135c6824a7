//! What a script finds: libraries of Lua without files and printing, ours, and nothing to write.

use std::ffi::CStr;
use std::os::raw::c_int;

use mlua_sys::{
    LUA_GLOBALSINDEX, LUA_REGISTRYINDEX, lua_CFunction, lua_State, lua_call, lua_createtable,
    lua_getfield_, lua_getmetatable, lua_newtable, lua_pop, lua_pushcclosure, lua_pushnil,
    lua_pushstring_, lua_pushvalue, lua_rawgeti_, lua_setfield, lua_setmetatable, lua_touserdata,
    lua_type, luaL_ref, luaL_unref, luaopen_base, luaopen_math, luaopen_os, luaopen_string,
    luaopen_table,
};

use crate::core::GIVEN;
use crate::failure::{Answer, Failure};
use crate::field::{Field, set_fields};
use crate::guard::guard_setreadonly;
use crate::library::open_environment;
use crate::run::{describe_error, on_error, run_entry};
use crate::stack::{Kind, Stack, core_of, lua_functions};
use crate::{api, bits, json, math, message_pack, packed_struct, protect};

/// How an interpreter is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes that all values of its scripts may take together.
    pub memory_limit: usize,
    /// True to have `newproxy`, `getfenv` and `setfenv`.
    pub insecure: bool,
    /// True for an interpreter that loads libraries and runs their functions: there are no `KEYS`
    /// and `ARGV`.
    pub for_libraries: bool,
    /// What scripts read as versions.
    pub versions: Versions,
}

/// Names and numbers of versions that scripts read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// `SERVER_NAME`
    pub server_name: &'static str,
    /// `VALKEY_VERSION`, three numbers with points between them.
    pub valkey: &'static str,
    /// `REDIS_VERSION`, the same.
    pub redis: &'static str,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            memory_limit: 1 << 30,
            insecure: false,
            for_libraries: false,
            versions: Versions::default(),
        }
    }
}

impl Default for Versions {
    fn default() -> Self {
        Versions { server_name: "valkey", valkey: "9.1.2", redis: "7.2.4" }
    }
}

impl Versions {
    /// Returns the fields that scripts read.
    fn fields(&self) -> [(&'static CStr, Field); 5] {
        [
            (c"REDIS_VERSION_NUM", Field::Number(Versions::number(self.redis))),
            (c"REDIS_VERSION", Field::Text(self.redis)),
            (c"SERVER_NAME", Field::Text(self.server_name)),
            (c"VALKEY_VERSION_NUM", Field::Number(Versions::number(self.valkey))),
            (c"VALKEY_VERSION", Field::Text(self.valkey)),
        ]
    }

    /// Returns a version as one number: three bytes.
    fn number(version: &str) -> f64 {
        let mut parts = version.split('.').map(|part| part.parse::<u8>().unwrap_or(0));
        let mut part = || u32::from(parts.next().unwrap_or(0));
        f64::from(part() << 16 | part() << 8 | part())
    }
}

/// Opens everything, inside a protected call.
///
/// # Safety
/// `lua_cpcall` calls it with [`Options`].
pub unsafe extern "C-unwind" fn open_entry(state: *mut lua_State) -> c_int {
    // SAFETY: the options are the caller's, who waits for this call.
    unsafe {
        let options = &*lua_touserdata(state, 1).cast::<Options>();
        open_libraries(state);
        for (name, fields) in [
            (c"cmsgpack", message_pack::FIELDS),
            (c"struct", packed_struct::FIELDS),
            (c"bit", bits::FIELDS),
        ] {
            lua_createtable(state, 0, c_int::try_from(fields.len()).unwrap_or(0));
            set_fields(state, fields);
            lua_setfield(state, LUA_GLOBALSINDEX, name.as_ptr());
        }
        json::push_library(&mut Stack::of(state));
        lua_setfield(state, LUA_GLOBALSINDEX, c"cjson".as_ptr());
        open_api(state, options);
        for name in [c"__redis__err__handler", c"__server__err__handler"] {
            set_function(state, LUA_GLOBALSINDEX, name, describe_error_entry);
        }
        for (name, function) in protect::REPLACED {
            set_function(state, LUA_GLOBALSINDEX, name, *function);
        }
        if !options.insecure {
            for name in INSECURE {
                lua_pushnil(state);
                lua_setfield(state, LUA_GLOBALSINDEX, name.as_ptr());
            }
        }
        // Both globals are written in runs, for which no memory is needed from now on; so is the
        // registry, as functions are released.
        if !options.for_libraries {
            for (place, name) in GIVEN.into_iter().enumerate() {
                lua_newtable(state);
                lua_pushvalue(state, -1);
                lua_setfield(state, LUA_GLOBALSINDEX, name.as_ptr());
                (*core_of(state)).given[place] = luaL_ref(state, LUA_REGISTRYINDEX);
            }
        }
        lua_newtable(state);
        let reference = luaL_ref(state, LUA_REGISTRYINDEX);
        luaL_unref(state, LUA_REGISTRYINDEX, reference);
        lua_pushcclosure(state, run_entry, 0);
        (*core_of(state)).runner = luaL_ref(state, LUA_REGISTRYINDEX);
        lua_pushcclosure(state, on_error, 0);
        (*core_of(state)).error_handler = luaL_ref(state, LUA_REGISTRYINDEX);
        lock(state);
        if options.for_libraries {
            open_environment(state, &options.versions.fields(), missing_entry);
        } else {
            for reference in (*core_of(state)).given {
                lua_rawgeti_(state, LUA_REGISTRYINDEX, reference);
                guard_setreadonly(state, -1, 0);
                lua_pop(state, 1);
            }
        }
    }
    0
}

/// # Safety
/// The state is alive, and errors are caught above.
unsafe fn open_libraries(state: *mut lua_State) {
    let libraries: [(lua_CFunction, &CStr); 5] = [
        (luaopen_base, c""),
        (luaopen_table, c"table"),
        (luaopen_string, c"string"),
        (luaopen_math, c"math"),
        (luaopen_os, c"os"),
    ];
    // SAFETY: these are the functions that open libraries, called as they want to be.
    unsafe {
        for (open, name) in libraries {
            lua_pushcclosure(state, open, 0);
            lua_pushstring_(state, name.as_ptr());
            lua_call(state, 1, 0);
        }
        lua_getfield_(state, LUA_GLOBALSINDEX, c"math".as_ptr());
        for (name, function) in math::REPLACED {
            set_function(state, -2, name, *function);
        }
        lua_pop(state, 1);
    }
}

/// Makes `redis`, which is `server` too.
///
/// # Safety
/// As for `open_libraries`.
unsafe fn open_api(state: *mut lua_State, options: &Options) {
    let versions = &options.versions;
    // SAFETY: a table and its fields are pushed and set.
    unsafe {
        lua_newtable(state);
        set_fields(state, api::FIELDS);
        set_fields(state, api::LOG_FIELDS);
        set_fields(state, &versions.fields());
        set_fields(state, api::MORE_FIELDS);
        if !options.for_libraries {
            set_fields(state, api::SCRIPT_FIELDS);
        }
        lua_pushvalue(state, -1);
        lua_setfield(state, LUA_GLOBALSINDEX, c"redis".as_ptr());
        lua_setfield(state, LUA_GLOBALSINDEX, c"server".as_ptr());
    }
}

/// # Safety
/// As for `open_libraries`; `table` is the index of a table once a value is pushed.
unsafe fn set_function(state: *mut lua_State, table: c_int, name: &CStr, function: lua_CFunction) {
    // SAFETY: the caller says where the table is.
    unsafe {
        lua_pushcclosure(state, function, 0);
        lua_setfield(state, table, name.as_ptr());
    }
}

/// Makes globals, libraries and the metatables of basic types read-only.
///
/// # Safety
/// As for `open_libraries`.
unsafe fn lock(state: *mut lua_State) {
    // SAFETY: what is pushed is popped; `guard_setreadonly` leaves other values than tables alone.
    unsafe {
        lua_pushstring_(state, c"".as_ptr());
        if lua_getmetatable(state, -1) != 0 {
            guard_setreadonly(state, -1, 1);
            lua_pop(state, 1);
        }
        lua_pop(state, 1);
        lua_pushvalue(state, LUA_GLOBALSINDEX);
        lua_createtable(state, 0, 1);
        set_function(state, -2, c"__index", missing_entry);
        guard_setreadonly(state, -1, 1);
        lua_setmetatable(state, -2);
        // Among the globals are the globals themselves, as `_G`.
        lua_pushnil(state);
        while mlua_sys::lua_next(state, -2) != 0 {
            if lua_type(state, -1) == mlua_sys::LUA_TTABLE {
                guard_setreadonly(state, -1, 1);
            }
            lua_pop(state, 1);
        }
        lua_pop(state, 1);
    }
}

lua_functions! {
    missing_entry = missing;
    describe_error_entry = describe_error;
}

/// Ends the reading of a global that is not there.
fn missing(stack: &mut Stack<'_>) -> Answer {
    if !matches!(stack.kind(2), Kind::Text | Kind::Number) {
        return Err(stack.fail(format_args!(
            "Second argument to luaProtectedTableError must be a string or number"
        )));
    }
    stack.push_copy(2);
    stack.read_text(-1, |name, core| {
        core.message.clear();
        core.message.append(b"Script attempted to access nonexistent global variable '");
        core.message.append(name);
        core.message.append(b"'");
    });
    Err(Failure::Placed)
}

/// Globals that let a script change what other functions see.
const INSECURE: [&CStr; 3] = [c"newproxy", c"getfenv", c"setfenv"];
