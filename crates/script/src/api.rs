//! The table `redis`, which is `server` too: what a script may ask of its host.

use std::ffi::CStr;

use sha1::{Digest as _, Sha1};

use crate::call::{self, gather};
use crate::failure::Answer;
use crate::field::Field;
use crate::host::{LogLevel, Protocol, Replication};
use crate::number::to_i32;
use crate::stack::{Kind, Stack, lua_functions};

/// Fields that come before the versions. The order of all is that in which Valkey sets them, so
/// that `pairs` finds them in its order.
pub const FIELDS: &[(&CStr, Field)] =
    &[(c"call", Field::Function(call::call_entry)), (c"pcall", Field::Function(call::pcall_entry))];

/// Fields that come next, which libraries see while they are loaded, too.
pub const LOG_FIELDS: &[(&CStr, Field)] = &[
    (c"log", Field::Function(log_entry)),
    (c"LOG_DEBUG", Field::Number(0.0)),
    (c"LOG_VERBOSE", Field::Number(1.0)),
    (c"LOG_NOTICE", Field::Number(2.0)),
    (c"LOG_WARNING", Field::Number(3.0)),
];

/// Fields behind the versions.
pub const MORE_FIELDS: &[(&CStr, Field)] = &[
    (c"setresp", Field::Function(setresp_entry)),
    (c"sha1hex", Field::Function(sha1hex_entry)),
    (c"error_reply", Field::Function(error_reply_entry)),
    (c"status_reply", Field::Function(status_reply_entry)),
    (c"set_repl", Field::Function(set_repl_entry)),
    (c"REPL_NONE", Field::Number(0.0)),
    (c"REPL_AOF", Field::Number(1.0)),
    (c"REPL_SLAVE", Field::Number(2.0)),
    (c"REPL_REPLICA", Field::Number(2.0)),
    (c"REPL_ALL", Field::Number(3.0)),
    (c"acl_check_cmd", Field::Function(acl_check_cmd_entry)),
];

/// Fields that functions of libraries do not have.
pub const SCRIPT_FIELDS: &[(&CStr, Field)] = &[
    (c"breakpoint", Field::Function(breakpoint_entry)),
    (c"debug", Field::Function(debug_entry)),
    (c"replicate_commands", Field::Function(replicate_commands_entry)),
];

lua_functions! {
    error_reply_entry = error_reply;
    status_reply_entry = status_reply;
    sha1hex_entry = sha1hex;
    log_entry = log;
    setresp_entry = setresp;
    set_repl_entry = set_repl;
    replicate_commands_entry = replicate_commands;
    acl_check_cmd_entry = acl_check_cmd;
    breakpoint_entry = breakpoint;
    debug_entry = debug;
}

/// Returns a table that becomes an error as a reply. A text of one word gets a code before it.
fn error_reply(stack: &mut Stack<'_>) -> Answer {
    let Some(text) = single_text(stack) else { return Ok(push_type_error(stack)) };
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let end = text.iter().rposition(|byte| !is_end(byte)).map_or(0, |at| at + 1);
    let text = text[..end].strip_prefix(b"-").unwrap_or(&text[..end]);
    let scratch = &mut stack.core().scratch;
    scratch.clear();
    if !text.contains(&b' ') {
        scratch.extend_from_slice(b"ERR ");
    }
    scratch.extend_from_slice(text);
    Ok(push_scratch_as_field(stack, "err"))
}

/// Returns a table that becomes a status as a reply.
fn status_reply(stack: &mut Stack<'_>) -> Answer {
    let Some(text) = single_text(stack) else { return Ok(push_type_error(stack)) };
    let scratch = &mut stack.core().scratch;
    scratch.clear();
    scratch.extend_from_slice(text);
    Ok(push_scratch_as_field(stack, "ok"))
}

/// Returns the only argument if it is a text; a number is none.
fn single_text<'call>(stack: &mut Stack<'call>) -> Option<&'call [u8]> {
    let is_text = stack.arguments() == 1 && stack.kind(1) == Kind::Text;
    if is_text { stack.argument(1) } else { None }
}

fn push_type_error(stack: &mut Stack<'_>) -> i32 {
    let scratch = &mut stack.core().scratch;
    scratch.clear();
    scratch.extend_from_slice(b"ERR wrong number or type of arguments");
    push_scratch_as_field(stack, "err")
}

fn push_scratch_as_field(stack: &mut Stack<'_>, name: &str) -> i32 {
    stack.push_table(0, 1);
    stack.push_text(name.as_bytes());
    stack.push_scratch(0);
    let table = stack.top() - 2;
    stack.raw_set(table);
    1
}

fn sha1hex(stack: &mut Stack<'_>) -> Answer {
    if stack.arguments() != 1 {
        return Err(stack.fail_with_table(format_args!("ERR wrong number of arguments")));
    }
    let text = sha1_hex(stack.argument(1).unwrap_or_default());
    stack.push_text(&text);
    Ok(1)
}

/// Returns the SHA-1 of bytes as hexadecimal digits in lower case, by which scripts are named.
pub fn sha1_hex(bytes: &[u8]) -> [u8; 40] {
    let digest: [u8; 20] = Sha1::digest(bytes).into();
    let mut text = [0; 40];
    for (pair, byte) in text.chunks_exact_mut(2).zip(digest) {
        pair[0] = HEXADECIMAL[usize::from(byte >> 4)];
        pair[1] = HEXADECIMAL[usize::from(byte & 15)];
    }
    text
}

/// Joins all arguments that are texts or numbers to one line of the log.
fn log(stack: &mut Stack<'_>) -> Answer {
    if stack.arguments() < 2 {
        let text = format_args!("ERR server.log() requires two arguments or more.");
        return Err(stack.fail_with_table(text));
    }
    if stack.number_argument(1).is_err() {
        let text = format_args!("ERR First argument must be a number (log level).");
        return Err(stack.fail_with_table(text));
    }
    let level = match to_i32(stack.number(1)) {
        0 => LogLevel::Debug,
        1 => LogLevel::Verbose,
        2 => LogLevel::Notice,
        3 => LogLevel::Warning,
        _ => return Err(stack.fail_with_table(format_args!("ERR Invalid log level."))),
    };
    stack.core().scratch.clear();
    for index in 2..=stack.arguments() {
        let Some(text) = stack.argument(index) else { continue };
        stack.reserve_scratch(text.len() + 1)?;
        let scratch = &mut stack.core().scratch;
        if !scratch.is_empty() {
            scratch.push(b' ');
        }
        scratch.extend_from_slice(text);
    }
    if let Some((host, core)) = call::host(stack) {
        host.log(level, &core.scratch);
    }
    Ok(0)
}

fn setresp(stack: &mut Stack<'_>) -> Answer {
    if stack.arguments() != 1 {
        let text = format_args!("ERR server.setresp() requires one argument.");
        return Err(stack.fail_with_table(text));
    }
    stack.core().protocol = match to_i32(stack.number(1)) {
        2 => Protocol::Resp2,
        3 => Protocol::Resp3,
        _ => {
            return Err(stack.fail_with_table(format_args!("ERR RESP version must be 2 or 3.")));
        }
    };
    Ok(0)
}

fn set_repl(stack: &mut Stack<'_>) -> Answer {
    if stack.arguments() != 1 {
        let text = format_args!("ERR server.set_repl() requires one argument.");
        return Err(stack.fail_with_table(text));
    }
    let flags = to_i32(stack.number(1));
    if !(0..=3).contains(&flags) {
        return Err(stack.fail_with_table(format_args!(
            "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE."
        )));
    }
    if let Some((host, _)) = call::host(stack) {
        host.replicate(Replication { journal: flags & 1 != 0, replicas: flags & 2 != 0 });
    }
    Ok(0)
}

/// Says that effects are what goes to others: nothing else is done.
fn replicate_commands(stack: &mut Stack<'_>) -> Answer {
    stack.push_boolean(true);
    Ok(1)
}

fn acl_check_cmd(stack: &mut Stack<'_>) -> Answer {
    gather(stack)?;
    let allowed = match call::host(stack) {
        Some((host, core)) => host.may_call(&core.arguments),
        None => None,
    };
    stack.core().arguments.clear();
    let Some(allowed) = allowed else {
        return Err(stack.fail_with_table(format_args!(
            "ERR Invalid command passed to server.acl_check_cmd()"
        )));
    };
    stack.push_boolean(allowed);
    Ok(1)
}

/// There is no debugger, so nothing stops here.
fn breakpoint(stack: &mut Stack<'_>) -> Answer {
    stack.push_boolean(false);
    Ok(1)
}

fn debug(_: &mut Stack<'_>) -> Answer {
    Ok(0)
}

const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";
