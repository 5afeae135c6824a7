//! Tests of `secrets` with the commands of all families.

use crate::table;
use session::Args;
use wire::Span;

#[test]
fn the_secrets_of_every_command_come_in_rising_order() {
    let words: [&[u8]; 4] = [b"AUTH", b"AUTH2", b"requirepass", b"word"];
    let mut chance = 1_u64;
    for row in table().rows() {
        for _ in 0..100 {
            let drawn = [(); 12].map(|()| {
                chance = chance.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                words[(chance >> 62) as usize]
            });
            let (request, spans) = (drawn.concat(), Span::of_joined(&drawn));
            let secrets = (row.spec.secrets)(&Args::new(&request, &spans));
            assert!(secrets.is_sorted(), "{}: {secrets:?}", row.full_name);
        }
    }
}
