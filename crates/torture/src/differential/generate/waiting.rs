//! Clients that wait for keys, and another client that writes to them.

use super::dice::Dice;
use crate::differential::step::{Action, Request, Step, request};

/// Draws one or two clients that wait, and the requests of another one; the last of these serve any
/// client that still waits.
pub fn step(dice: &mut Dice, clients: usize) -> Step {
    let by = dice.below(clients);
    let (family, key, other) = *dice.pick(&[
        (Family::List, "l1", "l2"),
        (Family::SortedSet, "z1", "z2"),
        (Family::Stream, "x1", "x2"),
    ]);
    let waiters =
        (0..1 + dice.below(clients - 1)).map(|_| wait(dice, family, key, other)).collect();
    let mut then: Vec<_> = (0..dice.below(4)).map(|_| write(dice, family, key, other)).collect();
    then.push(request(&["DEL", key]));
    for number in 1..=4 {
        let id = format!("{number}-1");
        then.push(match family {
            Family::List => request(&["RPUSH", key, "z"]),
            Family::SortedSet => request(&["ZADD", key, &id[..1], "z"]),
            Family::Stream => request(&["XADD", key, &id, "f", "z"]),
        });
    }
    let keys = vec![key.as_bytes().to_vec(), other.as_bytes().to_vec()];
    Step { client: by, action: Action::Serve { waiters, keys, then } }
}

#[derive(Clone, Copy)]
enum Family {
    List,
    SortedSet,
    Stream,
}

fn wait(dice: &mut Dice, family: Family, key: &str, other: &str) -> Request {
    let count = *dice.pick(&["1", "2", "10"]);
    let end = *dice.pick(&["LEFT", "RIGHT"]);
    let words: &[&str] = match (family, dice.below(5)) {
        (Family::List, 0) => &["BLPOP", key, "0"],
        (Family::List, 1) => &["BRPOP", other, key, "0"],
        (Family::List, 2) => &["BLMOVE", key, other, end, end, "0"],
        (Family::List, 3) => &["BRPOPLPUSH", key, key, "0"],
        (Family::List, _) => &["BLMPOP", "0", "2", key, other, end, "COUNT", count],
        (Family::SortedSet, 0 | 1) => &["BZPOPMIN", key, other, "0"],
        (Family::SortedSet, 2) => &["BZPOPMAX", key, "0"],
        (Family::SortedSet, _) => &["BZMPOP", "0", "2", other, key, "MAX", "COUNT", count],
        (Family::Stream, _) => {
            &["XREAD", "COUNT", count, "BLOCK", "0", "STREAMS", key, other, "$", "$"]
        }
    };
    request(words)
}

fn write(dice: &mut Dice, family: Family, key: &str, other: &str) -> Request {
    let words: &[&str] = match (family, dice.below(8)) {
        (_, 0) => &["SET", key, "v"],
        (_, 1) => &["DEL", key, other],
        (_, 2) => &["RENAME", other, key],
        (_, 3) => &["COPY", other, key, "REPLACE"],
        (Family::List, 4) => &["RPUSH", key, "a", "b", "c"],
        (Family::List, 5) => &["LPUSH", other, "d", "e"],
        (Family::List, 6) => &["LINSERT", key, "BEFORE", "a", "b"],
        (Family::List, _) => &["LMOVE", other, key, "LEFT", "RIGHT"],
        (Family::SortedSet, 4) => &["ZADD", key, "1", "a", "2", "b"],
        (Family::SortedSet, 5) => &["ZADD", other, "NX", "1", "c"],
        (Family::SortedSet, 6) => &["ZUNIONSTORE", key, "2", key, other],
        (Family::SortedSet, _) => &["ZINCRBY", key, "1", "a"],
        (Family::Stream, 4 | 5) => &["XADD", other, "7-*", "f", "v"],
        (Family::Stream, 6) => &["XGROUP", "CREATE", key, "g1", "0", "MKSTREAM"],
        (Family::Stream, _) => &["XADD", key, "9-*", "f", "v", "g", "w"],
    };
    request(words)
}
