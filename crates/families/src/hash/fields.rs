//! Lists of fields among the arguments: FIELDS, their number, and the fields.

use session::{Args, Refusal};

pub const WRONG_NUMBER: Refusal =
    Refusal::of("ERR numfields should be greater than 0 and match the provided number of fields");

/// Returns the position of FIELDS, from `first` on, if anything follows it.
pub fn find(args: Args<'_>, first: usize) -> Option<usize> {
    (first..args.len().saturating_sub(1)).find(|at| args.is(*at, "FIELDS"))
}

/// Returns the position of the first field, given their number at `at`. Each field takes `width`
/// arguments.
///
/// # Errors
/// When the number is below one, or does not match the arguments that follow.
pub fn behind(args: Args<'_>, at: usize, width: i64) -> Result<usize, Refusal> {
    let number = args.integer(at)?;
    let words = (args.len() - (at + 1)) as i64;
    let is_right = number > 0 && number.checked_mul(width) == Some(words);
    if is_right { Ok(at + 1) } else { Err(WRONG_NUMBER) }
}

/// Returns the position of the first field behind FIELDS, which must stand at `at`.
///
/// # Errors
/// Those of `behind`, or when the argument at `at` is not FIELDS.
pub fn at(args: Args<'_>, at: usize) -> Result<usize, Refusal> {
    if args.is(at, "FIELDS") { behind(args, at + 1, 1) } else { Err(Refusal::SYNTAX) }
}
