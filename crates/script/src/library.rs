//! Libraries of functions: what their source sees while it is loaded, and what it registers.
//!
//! The environment of their code is an empty table. What it does not have is looked up in a few
//! fields while the source is loaded, and in the globals once its functions run.

use std::ffi::CStr;
use std::os::raw::c_int;

use mlua_sys::{
    LUA_GLOBALSINDEX, LUA_OK, LUA_REGISTRYINDEX, lua_State, lua_newtable, lua_pcall, lua_pop,
    lua_pushstring_, lua_pushvalue, lua_rawgeti_, lua_rawset, lua_setfenv, lua_setfield,
    lua_setmetatable, lua_touserdata, luaL_ref,
};

use crate::api::LOG_FIELDS;
use crate::failure::{Answer, Failure};
use crate::field::{Field, set_fields};
use crate::guard::guard_setreadonly;
use crate::registered::{Environment, FunctionFlags, Registered};
use crate::run::write_error_text;
use crate::stack::{Kind, Stack, core_of, lua_functions};

lua_functions! {
    register_entry = register;
}

/// Makes the environment, inside a protected call. The fields of versions are the caller's;
/// `missing` ends the reading of what is not there.
///
/// # Safety
/// The state is an interpreter's whose globals are complete, and errors are caught above.
pub unsafe fn open_environment(
    state: *mut lua_State,
    versions: &[(&CStr, Field)],
    missing: mlua_sys::lua_CFunction,
) {
    // SAFETY: what is pushed is popped or becomes a field; nobody else uses the core.
    unsafe {
        lua_newtable(state);
        lua_newtable(state);
        set_fields(state, &[(c"register_function", Field::Function(register_entry))]);
        set_fields(state, LOG_FIELDS);
        set_fields(state, versions);
        close(state, missing);
        lua_pushvalue(state, -1);
        lua_setfield(state, -3, c"redis".as_ptr());
        lua_setfield(state, -2, c"server".as_ptr());
        close(state, missing);
        let loading = luaL_ref(state, LUA_REGISTRYINDEX);
        lua_newtable(state);
        lua_newtable(state);
        lua_pushvalue(state, LUA_GLOBALSINDEX);
        lua_setfield(state, -2, c"__index".as_ptr());
        lua_pushvalue(state, -1);
        lua_setmetatable(state, -3);
        let metatable = luaL_ref(state, LUA_REGISTRYINDEX);
        guard_setreadonly(state, -1, 1);
        let table = luaL_ref(state, LUA_REGISTRYINDEX);
        (*core_of(state)).environment = Some(Environment { table, metatable, loading });
    }
}

/// Makes the table on the top read-only, and the reading of what it lacks an error.
///
/// # Safety
/// As for `open_environment`.
unsafe fn close(state: *mut lua_State, missing: mlua_sys::lua_CFunction) {
    // SAFETY: the metatable is pushed and set.
    unsafe {
        lua_newtable(state);
        set_fields(state, &[(c"__index", Field::Function(missing))]);
        lua_setmetatable(state, -2);
        guard_setreadonly(state, -1, 1);
    }
}

/// Gives the function on the top the environment of libraries, where there is one.
///
/// # Safety
/// The state is an interpreter's, and nobody uses the core.
pub unsafe fn set_environment(state: *mut lua_State) {
    // SAFETY: the reference is one of the registry.
    unsafe {
        if let Some(environment) = (*core_of(state)).environment {
            lua_rawgeti_(state, LUA_REGISTRYINDEX, environment.table);
            lua_setfenv(state, -2);
        }
    }
}

/// Work of [`load_entry`].
pub struct Load<'load> {
    /// Reference of the compiled source.
    pub function: c_int,
    /// Text of the error, empty for none.
    pub error: &'load mut Vec<u8>,
}

/// Runs a source, which registers functions, inside a protected call.
///
/// # Safety
/// `lua_cpcall` calls it with a [`Load`].
pub unsafe extern "C-unwind" fn load_entry(state: *mut lua_State) -> c_int {
    // SAFETY: the work is the caller's, who waits for this call; the state is an interpreter's.
    unsafe {
        let load = &mut *lua_touserdata(state, 1).cast::<Load<'_>>();
        show_loading(state, true);
        lua_rawgeti_(state, LUA_REGISTRYINDEX, load.function);
        let status = lua_pcall(state, 0, 0, 0);
        show_loading(state, false);
        if status != LUA_OK {
            let mut stack = Stack::with_result(state);
            match stack.core().end_text {
                Some(text) => load.error.extend_from_slice(format!("ERR {text}").as_bytes()),
                None => write_error_text(&mut stack, load.error),
            }
        }
    }
    0
}

/// Lets code of libraries see the few fields for loading, or the globals.
///
/// # Safety
/// The state is an interpreter's. The field is there, so no memory is needed.
unsafe fn show_loading(state: *mut lua_State, is_loading: bool) {
    // SAFETY: what is pushed is popped.
    unsafe {
        let Some(environment) = (*core_of(state)).environment else { return };
        lua_rawgeti_(state, LUA_REGISTRYINDEX, environment.metatable);
        lua_pushstring_(state, c"__index".as_ptr());
        if is_loading {
            lua_rawgeti_(state, LUA_REGISTRYINDEX, environment.loading);
        } else {
            lua_pushvalue(state, LUA_GLOBALSINDEX);
        }
        lua_rawset(state, -3);
        lua_pop(state, 1);
    }
}

/// Registers a function, of a name and a function or of named arguments.
fn register(stack: &mut Stack<'_>) -> Answer {
    if !stack.core().is_loading {
        return Err(fail(stack, "can only be called on FUNCTION LOAD command"));
    }
    let (name, callback, flags, description) = match stack.arguments() {
        1 if stack.kind(1) == Kind::Table => named_arguments(stack)?,
        1 => {
            return Err(stack.fail_with_table(format_args!(
                "ERR calling server.register_function with a single argument is only applicable \
                 to Lua table (representing named arguments)."
            )));
        }
        2 => {
            if !matches!(stack.kind(1), Kind::Text | Kind::Number) {
                return Err(stack.fail_with_table(format_args!(
                    "ERR first argument to server.register_function must be a string"
                )));
            }
            if stack.kind(2) != Kind::Function {
                return Err(stack.fail_with_table(format_args!(
                    "ERR second argument to server.register_function must be a function"
                )));
            }
            (1, 2, FunctionFlags::default(), 0)
        }
        _ => {
            return Err(stack.fail_with_table(format_args!(
                "ERR wrong number of arguments to server.register_function"
            )));
        }
    };
    stack.push_copy(callback);
    // SAFETY: the function was pushed.
    let function = unsafe { luaL_ref(stack.state(), LUA_REGISTRYINDEX) };
    stack.read_text(name, |name, core| {
        let name = name.to_vec();
        core.registered.push(Registered { name, function, flags, description: None });
    });
    if description > 0 {
        stack.read_text(description, |text, core| {
            if let Some(registered) = core.registered.last_mut() {
                registered.description = Some(text.to_vec());
            }
        });
    }
    Ok(0)
}

/// Returns where name and function lie on the stack, the flags, and where the description lies, if
/// there is one.
fn named_arguments(stack: &mut Stack<'_>) -> Result<(c_int, c_int, FunctionFlags, c_int), Failure> {
    let (mut name, mut callback, mut flags) = (0, 0, FunctionFlags::default());
    let mut description = 0;
    // Each gets a place of its own, since the table's fields come in any order.
    stack.push_nil();
    stack.push_nil();
    stack.push_nil();
    let place = stack.top();
    stack.push_nil();
    while stack.next(1) {
        match (field(stack), stack.kind(-1)) {
            (Named::Name, Kind::Text | Kind::Number) => {
                name = place - 1;
                stack.push_copy(-1);
                stack.replace(name);
            }
            (Named::Name, _) => return Err(wrong(stack, "function_name", "a string")),
            (Named::Callback, Kind::Function) => {
                callback = place;
                stack.push_copy(-1);
                stack.replace(callback);
            }
            (Named::Callback, _) => return Err(wrong(stack, "callback", "a function")),
            (Named::Flags, Kind::Table) => read_flags(stack, &mut flags)?,
            (Named::Flags, _) => {
                return Err(stack.fail_with_table(format_args!(
                    "ERR flags argument to server.register_function must be a table representing \
                     function flags"
                )));
            }
            (Named::Description, Kind::Text | Kind::Number) => {
                description = place - 2;
                stack.push_copy(-1);
                stack.replace(description);
            }
            (Named::Description, _) => return Err(wrong(stack, "description", "a string")),
            (Named::NoName, _) => {
                return Err(stack.fail_with_table(format_args!(
                    "ERR named argument key given to server.register_function is not a string"
                )));
            }
            (Named::Unknown, _) => {
                return Err(stack.fail_with_table(format_args!(
                    "ERR unknown argument given to server.register_function"
                )));
            }
        }
        stack.pop(1);
    }
    match (name, callback) {
        (0, _) => Err(fail(stack, "must get a function name argument")),
        (_, 0) => Err(fail(stack, "must get a callback argument")),
        _ => Ok((name, callback, flags, description)),
    }
}

/// Named argument.
enum Named {
    Name,
    Callback,
    Flags,
    Description,
    Unknown,
    /// Its key is no name.
    NoName,
}

/// Returns which argument the key below the value on the top is.
fn field(stack: &mut Stack<'_>) -> Named {
    match stack.kind(-2) {
        Kind::Text => {}
        Kind::Number => return Named::Unknown,
        _ => return Named::NoName,
    }
    stack.read_text(-2, |key, _| {
        let is = |name: &str| key.eq_ignore_ascii_case(name.as_bytes());
        match () {
            () if is("function_name") => Named::Name,
            () if is("callback") => Named::Callback,
            () if is("flags") => Named::Flags,
            () if is("description") => Named::Description,
            () => Named::Unknown,
        }
    })
}

/// Reads the flags in the table on the top, up to its first nil.
fn read_flags(stack: &mut Stack<'_>, flags: &mut FunctionFlags) -> Result<(), Failure> {
    let table = stack.top();
    for place in 1.. {
        let kind = stack.raw_element(table, place);
        let is_known =
            kind == Kind::Text && stack.read_text(-1, |name, _| flags.set_in_any_case(name));
        stack.pop(1);
        if kind == Kind::Nil {
            break;
        }
        if !is_known {
            return Err(stack.fail_with_table(format_args!("ERR unknown flag given")));
        }
    }
    Ok(())
}

fn wrong(stack: &mut Stack<'_>, name: &str, expected: &str) -> Failure {
    stack.fail_with_table(format_args!(
        "ERR {name} argument given to server.register_function must be {expected}"
    ))
}

fn fail(stack: &mut Stack<'_>, text: &str) -> Failure {
    stack.fail_with_table(format_args!("ERR server.register_function {text}"))
}
