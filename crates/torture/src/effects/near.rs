//! Deadlines that are near.

use crate::differential::generate::{Dice, KEYS};
use crate::differential::step::{Request, request};

/// Draws a request that gives a key or a field a deadline soon.
pub fn near_deadline(dice: &mut Dice) -> Request {
    let key = *dice.pick(KEYS);
    let hash = *dice.pick(&["h1", "h2"]);
    let millis = dice.pick(&["1", "15", "400", "3000"]).to_owned();
    let (one, other) = (*dice.pick(&["f1", "m1", "m2"]), *dice.pick(&["m3", "m4", "7"]));
    match dice.below(6) {
        0 => request(&["SET", key, "v", "PX", millis]),
        1 | 2 => request(&["PEXPIRE", key, millis]),
        3 => request(&["HSETEX", hash, "PX", millis, "FIELDS", "2", one, "1", other, "w"]),
        4 => request(&["HGETEX", hash, "PX", millis, "FIELDS", "1", one]),
        _ => request(&["HPEXPIRE", hash, millis, "FIELDS", "2", one, other]),
    }
}
