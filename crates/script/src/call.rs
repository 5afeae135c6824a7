//! `redis.call` and `redis.pcall`: arguments go to the host, its reply becomes a value.

use std::io::Write as _;

use text::{write_f64, write_i64};

use crate::core::Core;
use crate::decode::{Decoder, Pushed};
use crate::failure::{Answer, Failure};
use crate::host::{Call, Host};
use crate::number::to_i64;
use crate::stack::{Kind, Stack, lua_functions};

lua_functions! {
    call_entry = call;
    pcall_entry = pcall;
}

/// Calls a command; its error ends the script, unless something catches it.
fn call(stack: &mut Stack<'_>) -> Answer {
    gather(stack)?;
    if is_error(perform(stack)?) { Err(Failure::Top) } else { Ok(1) }
}

/// Calls a command; its error is a value.
fn pcall(stack: &mut Stack<'_>) -> Answer {
    match gather(stack) {
        Ok(()) => perform(stack).map(|_| 1),
        Err(Failure::Table) => {
            stack.push_failure_table();
            Ok(1)
        }
        Err(failure) => Err(failure),
    }
}

/// Takes the arguments of a command from the stack. They are valid until this function returns to
/// Lua: their texts are arguments of it.
pub fn gather(stack: &mut Stack<'_>) -> Result<(), Failure> {
    let count = stack.arguments();
    if count == 0 {
        let text = format_args!("ERR Please specify at least one argument for this call");
        return Err(stack.fail_with_table(text));
    }
    let core = stack.core();
    core.arguments.clear();
    core.numbers.clear();
    // The texts of numbers must not move as others follow.
    core.numbers.reserve(NUMBER_BYTES_MAX * usize::try_from(count).unwrap_or(0));
    for index in 1..=count {
        let argument = match stack.kind(index) {
            Kind::Text => stack.argument(index).unwrap_or_default(),
            Kind::Number => {
                let value = stack.number(index);
                write_number(&mut stack.core().numbers, value)
            }
            _ => {
                let text = format_args!("ERR Command arguments must be strings or integers");
                return Err(stack.fail_with_table(text));
            }
        };
        // SAFETY: Lua keeps the texts as long as they are arguments, and the buffer of numbers
        // has room for all, so neither moves until the call is over and the list is cleared.
        let argument = unsafe { std::mem::transmute::<&[u8], &'static [u8]>(argument) };
        stack.core().arguments.push(argument);
    }
    Ok(())
}

/// Appends a number as commands read it, and returns its text.
pub fn write_number(numbers: &mut Vec<u8>, value: f64) -> &[u8] {
    let start = numbers.len();
    if value.abs() <= TWO_TO_62 && value.trunc() == value {
        write_i64(numbers, to_i64(value));
    } else if value.is_nan() {
        let sign = if value.is_sign_negative() { "-" } else { "" };
        let _ = write!(numbers, "{sign}nan");
    } else {
        write_f64(numbers, value);
    }
    &numbers[start..]
}

/// Has the host run the command that was gathered, and pushes its reply.
fn perform(stack: &mut Stack<'_>) -> Result<Pushed, Failure> {
    stack.core().reply.clear();
    let Some((host, core)) = host(stack) else {
        let text = format_args!("ERR redis.call can only be called inside a script");
        return Err(stack.fail_with_table(text));
    };
    let call = Call { arguments: &core.arguments, protocol: core.protocol };
    let instructions = host.call(&call, &mut core.reply);
    core.arguments.clear();
    stack.count_work(instructions);
    Decoder::new(stack).push()
}

/// Returns the host of the run, and the rest of the core.
pub fn host<'stack>(
    stack: &'stack mut Stack<'_>,
) -> Option<(&'stack mut dyn Host, &'stack mut Core)> {
    let core = stack.core();
    // SAFETY: the host is borrowed by the run, which waits for this call, and is not in the core.
    let host = unsafe { core.host?.as_mut() };
    Some((host, core))
}

fn is_error(pushed: Pushed) -> bool {
    pushed == Pushed::Error
}

/// Longest text of a number.
const NUMBER_BYTES_MAX: usize = 32;

const TWO_TO_62: f64 = 4_611_686_018_427_387_904.0;
