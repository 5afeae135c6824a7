//! Arguments that nobody else may see: passwords.

use session::Args;
use smallvec::SmallVec;

/// What stands in the place of a secret.
pub(crate) const REDACTED: &[u8] = b"(redacted)";

/// Positions of arguments.
pub type Positions = SmallVec<[usize; 2]>;

/// Function that finds the secrets of a request, in rising order.
pub(crate) type FindSecrets = for<'r> fn(&Args<'r>) -> Positions;

/// Finds none.
pub(crate) fn no_secrets(_: &Args<'_>) -> Positions {
    Positions::new()
}

/// Takes every argument for a secret.
pub fn every_argument(args: &Args<'_>) -> Positions {
    (1..args.len()).collect()
}
