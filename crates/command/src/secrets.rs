//! Arguments that nobody else may see: passwords.

use crate::args::Args;
use smallvec::SmallVec;

/// What stands in the place of a secret.
pub(crate) const REDACTED: &[u8] = b"(redacted)";

/// Positions of arguments.
pub(crate) type Positions = SmallVec<[usize; 2]>;

/// Function that finds the secrets of a request, in rising order.
pub(crate) type FindSecrets = for<'r> fn(&Args<'r>) -> Positions;

/// Finds none.
pub(crate) fn no_secrets(_: &Args<'_>) -> Positions {
    Positions::new()
}

/// Takes every argument for a secret.
pub(crate) fn every_argument(args: &Args<'_>) -> Positions {
    (1..args.len()).collect()
}

#[cfg(test)]
mod tests {
    use crate::args::Args;
    use crate::commands::table;
    use wire::Span;

    #[test]
    fn the_secrets_of_every_command_come_in_rising_order() {
        let words: [&[u8]; 4] = [b"AUTH", b"AUTH2", b"requirepass", b"word"];
        let mut chance = 1_u64;
        for row in table().rows() {
            for _ in 0..100 {
                let (mut request, mut spans) = (Vec::new(), Vec::new());
                for _ in 0..12 {
                    chance = chance.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                    let word = words[(chance >> 62) as usize];
                    spans.push(Span { start: request.len() as u32, len: word.len() as u32 });
                    request.extend_from_slice(word);
                }
                let secrets = (row.spec.secrets)(&Args::new(&request, &spans));
                assert!(secrets.is_sorted(), "{}: {secrets:?}", row.full_name);
            }
        }
    }
}
