//! Arguments that nobody else may see: passwords.

use crate::args::Args;
use smallvec::SmallVec;

/// What stands in the place of a secret.
pub(crate) const REDACTED: &[u8] = b"(redacted)";

/// Positions of arguments.
pub(crate) type Positions = SmallVec<[usize; 2]>;

/// Function that finds the secrets of a request.
pub(crate) type FindSecrets = for<'r> fn(&Args<'r>) -> Positions;

/// Finds none.
pub(crate) fn no_secrets(_: &Args<'_>) -> Positions {
    Positions::new()
}

/// Takes every argument for a secret.
pub(crate) fn every_argument(args: &Args<'_>) -> Positions {
    (1..args.len()).collect()
}
