//! Thresholds between the forms in which values are kept.

use super::dice::Dice;
use crate::differential::step::{Request, request};

/// Settings that both servers have, with their defaults and other values. Two names are set
/// together: Valkey's form of a set whose integers are too many for an intset and few enough for a
/// listpack depends on the order in which they were added.
pub const THRESHOLDS: &[(&str, &str, &[&str])] = &[
    ("hash-max-listpack-entries", "512", &["0", "1", "3", "16", "128", "1000", "5000"]),
    ("hash-max-listpack-value", "64", &["0", "1", "8", "44", "300", "5000", "70000"]),
    (
        "set-max-intset-entries set-max-listpack-entries",
        "512 128",
        &["0 0", "1 1", "4 1", "4 4", "16 4", "16 16", "128 128", "1000 1000", "10000 5000"],
    ),
    ("set-max-listpack-value", "64", &["0", "1", "8", "300", "5000", "70000"]),
    ("zset-max-listpack-entries", "128", &["0", "1", "4", "16", "1000", "5000"]),
    ("zset-max-listpack-value", "64", &["0", "1", "8", "300", "5000", "70000"]),
    ("list-max-listpack-size", "-2", &["-1", "-3", "-5", "1", "2", "7", "128", "1000"]),
    ("list-compress-depth", "0", &["1", "2", "100"]),
    ("stream-node-max-entries", "100", &["0", "1", "2", "7", "1000"]),
    // Valkey 9.1.2 fails with others.
    ("stream-node-max-bytes", "4096", &["0", "1000", "100000"]),
    ("hll-sparse-max-bytes", "3000", &["0", "50", "500", "16000"]),
];

/// Sets one threshold at random.
pub fn change(dice: &mut Dice) -> Request {
    let (names, default, others) = dice.pick(THRESHOLDS);
    let values = if dice.percent(25) { default } else { dice.pick(others) };
    let mut words = vec!["CONFIG", "SET"];
    words.extend(pairs(names, values));
    request(&words)
}

/// Sets all thresholds so that nearly no value is kept small, or nearly every value.
pub fn extremes(dice: &mut Dice) -> Request {
    let is_large = dice.percent(70);
    let mut words = vec!["CONFIG", "SET"];
    for (names, default, others) in THRESHOLDS {
        let chosen = if is_large { others.last() } else { others.first() };
        words.extend(pairs(names, chosen.unwrap_or(default)));
    }
    request(&words)
}

/// Sets all thresholds to their defaults.
pub fn defaults() -> Request {
    let mut words = vec!["CONFIG", "SET"];
    words.extend(THRESHOLDS.iter().flat_map(|(names, values, _)| pairs(names, values)));
    request(&words)
}

fn pairs<'w>(names: &'w str, values: &'w str) -> impl Iterator<Item = &'w str> {
    names.split(' ').zip(values.split(' ')).flat_map(|(name, value)| [name, value])
}
