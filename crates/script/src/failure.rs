//! Why a function of ours ends with an error: said without anything that would have to be dropped.

use std::os::raw::c_int;

/// Error that a function raises as the last thing it does.
///
/// It holds numbers and constants only: Lua leaves the function with a jump, which drops nothing.
/// A text that is put together stands in the interpreter's own buffer meanwhile.
#[derive(Clone, Copy, Debug)]
pub enum Failure {
    /// The text in the buffer, behind the place in the script that called the function.
    Placed,
    /// A table with the text in the buffer, as errors of `redis` are.
    Table,
    /// An argument is not what the function takes.
    Argument(c_int, &'static str),
    /// An argument is not what the function takes, as the text in the buffer says.
    ArgumentMessage(c_int),
    /// An argument has another type.
    Type(c_int, &'static str),
    /// The error value lies on the top of the stack.
    Top,
}

/// How a function of ours ends: the number of values that it left on the stack, or an error.
pub type Answer = Result<c_int, Failure>;
