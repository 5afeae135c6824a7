//! Fields of tables that are made for scripts.

use mlua_sys::lua_CFunction;

/// Value of a field.
#[derive(Clone, Copy)]
pub enum Field {
    Function(lua_CFunction),
    Number(f64),
    Text(&'static str),
}
