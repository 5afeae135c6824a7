//! Errors of commands: the host has counted them, which their tables say.

use std::os::raw::c_int;

use crate::stack::{Kind, Stack};

/// Returns true if an error is one of a command: its table says so.
pub fn is_counted(stack: &mut Stack<'_>, index: c_int) -> bool {
    stack.kind(index) == Kind::Table && {
        let kind = stack.raw_field(index, COUNTED_FIELD);
        let is_counted = kind == Kind::Boolean && stack.is_true(-1);
        stack.pop(1);
        is_counted
    }
}

/// Field of an error's table that says that the command's error was counted as it happened.
pub const COUNTED_FIELD: &str = "ignore_error_stats_update";
