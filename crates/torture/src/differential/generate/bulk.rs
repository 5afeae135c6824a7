//! Commands that make collections large.

use super::dice::Dice;
use super::values::{size, text};
use super::words::KEYS;
use crate::differential::step::Request;

/// Draws a command that makes a collection large at once.
pub fn request(dice: &mut Dice) -> Request {
    let (name, prefix) = *dice.pick(&[
        ("RPUSH", "l"),
        ("LPUSH", "l"),
        ("SADD", "t"),
        ("SADD", "t"),
        ("HSET", "h"),
        ("ZADD", "z"),
        ("PFADD", "p"),
        ("MSET", "s"),
    ]);
    let own: Vec<_> = KEYS.iter().filter(|key| key.starts_with(prefix)).collect();
    let mut words = vec![name.into()];
    if name != "MSET" {
        words.push(dice.pick(&own).as_bytes().to_vec());
    }
    let count = *dice.pick(&[16, 50, 127, 129, 200, 300, 513, 600, 900, 1200]);
    let kind = dice.below(5);
    let start = dice.between(-300, 70_000);
    let padding = if dice.percent(3) { size(dice).min(1100) } else { dice.below(70) };
    for number in 0..count {
        let element = element(dice, kind, start + number, padding);
        match name {
            "HSET" => words.extend([element, text(number)]),
            "ZADD" => words.extend([score(dice, number), element]),
            "MSET" => {
                let key = *dice.pick(&["s1", "s2", "s3"]);
                words.extend([key.as_bytes().to_vec(), element]);
                if number > 20 {
                    break;
                }
            }
            _ => words.push(element),
        }
    }
    words
}

/// Draws commands that make a stream long.
pub fn entries(dice: &mut Dice) -> Vec<Request> {
    let key = *dice.pick(&["x1", "x2"]);
    let count = *dice.pick(&[20, 100, 101, 250]);
    let (start, step) = (dice.between(0, 100), dice.between(1, 3));
    let fields = 1 + dice.below(3);
    let len = dice.below(60);
    let entry = |number: i64| {
        let mut words =
            vec![b"XADD".to_vec(), key.into(), format!("{}-*", start + number * step).into()];
        for field in 0..fields {
            words.extend([format!("f{field}").into_bytes(), vec![b'v'; len]]);
        }
        words
    };
    (0..count).map(entry).collect()
}

fn element(dice: &mut Dice, kind: usize, number: i64, padding: usize) -> Vec<u8> {
    match kind {
        0 => text(number),
        1 => format!("m{number}").into_bytes(),
        2 => [text(number), vec![b'p'; padding]].concat(),
        3 => text(dice.any() as i64 >> dice.below(64)),
        _ => [vec![b'q'; padding], text(number)].concat(),
    }
}

fn score(dice: &mut Dice, number: i64) -> Vec<u8> {
    match dice.below(4) {
        0 => text(number % 7),
        1 => text(number),
        2 => text(0),
        _ => format!("{}", number as f64 / 8.0).into_bytes(),
    }
}
