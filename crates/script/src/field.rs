//! Fields of tables that are made for scripts.

use std::ffi::CStr;

use mlua_sys::{
    lua_CFunction, lua_State, lua_pushcclosure, lua_pushlstring_, lua_pushnumber, lua_setfield,
};

/// Value of a field.
#[derive(Clone, Copy)]
pub enum Field {
    Function(lua_CFunction),
    Number(f64),
    Text(&'static str),
}

/// Sets fields of the table on the top.
///
/// # Safety
/// The table is there, and errors are caught above.
pub unsafe fn set_fields(state: *mut lua_State, fields: &[(&CStr, Field)]) {
    // SAFETY: the caller has pushed the table.
    unsafe {
        for (name, field) in fields {
            match *field {
                Field::Function(function) => lua_pushcclosure(state, function, 0),
                Field::Number(number) => lua_pushnumber(state, number),
                Field::Text(text) => lua_pushlstring_(state, text.as_ptr().cast(), text.len()),
            }
            lua_setfield(state, -2, name.as_ptr());
        }
    }
}
