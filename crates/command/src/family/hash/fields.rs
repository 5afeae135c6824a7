//! Lists of fields among the arguments: FIELDS, their number, and they.

use crate::args::Args;
use crate::refusal::Refusal;

pub const WRONG_NUMBER: Refusal =
    Refusal::of("ERR numfields should be greater than 0 and match the provided number of fields");

/// Where the word FIELDS stands, from `first` on, if anything follows it.
pub fn find(args: Args<'_>, first: usize) -> Option<usize> {
    (first..args.len().saturating_sub(1)).find(|at| args.is(*at, "FIELDS"))
}

/// Where the fields begin whose number stands at `at`, each of them `width` words.
///
/// # Errors
/// When they are none, or not as many.
pub fn behind(args: Args<'_>, at: usize, width: i64) -> Result<usize, Refusal> {
    let number = args.integer(at)?;
    let words = (args.len() - (at + 1)) as i64;
    let is_right = number > 0 && number.checked_mul(width) == Some(words);
    if is_right { Ok(at + 1) } else { Err(WRONG_NUMBER) }
}

/// Where the fields begin, behind a word FIELDS at `at`, which must be there.
///
/// # Errors
/// As `behind`, or when the word is another one.
pub fn at(args: Args<'_>, at: usize) -> Result<usize, Refusal> {
    if args.is(at, "FIELDS") { behind(args, at + 1, 1) } else { Err(Refusal::SYNTAX) }
}
