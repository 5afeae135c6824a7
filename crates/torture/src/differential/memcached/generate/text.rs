//! Lines of the text protocol.

use super::super::super::generate::Dice;
use super::super::base64::is_needed;
use super::super::step::{Block, KEY_MAX, Step, Word};
use super::words::{amount, expiry, flags, one, value};

/// Names of the commands.
pub const NAMES: &[&str] = &[
    "get", "gets", "gat", "gats", "set", "add", "replace", "append", "prepend", "cas", "touch",
    "delete", "incr", "decr", "version",
];
const WEIGHTS: &[u32] = &[9, 10, 4, 3, 12, 5, 4, 7, 6, 10, 4, 5, 8, 6, 1];

/// Draws a line about a key.
pub fn line(dice: &mut Dice, key: &[u8], keys: &[Vec<u8>]) -> Step {
    let key = if is_needed(key) { b"a" } else { key };
    let name = NAMES[dice.weighted(WEIGHTS)];
    let start = vec![Word::text(name), Word::text(key)];
    match name {
        "get" | "gets" | "gat" | "gats" => of_keys(dice, name, key, keys),
        "version" => Step::of(b"", &[b"version"]),
        "touch" => {
            let words = [start, vec![expiry(dice, "")]].concat();
            quiet(dice, key, words)
        }
        "delete" => {
            let mut words = start;
            if dice.percent(15) {
                words.push(one(dice, &["0", "1", "noreply", "x"]));
            }
            quiet(dice, key, words)
        }
        "incr" | "decr" => {
            let words = [start, vec![Word::text(amount(dice))]].concat();
            quiet(dice, key, words)
        }
        _ => storing(dice, key, start, name == "cas"),
    }
}

/// Returns the line without a reply, sometimes.
fn quiet(dice: &mut Dice, key: &[u8], mut words: Vec<Word>) -> Step {
    if dice.percent(12) {
        words.push(Word::text("noreply"));
    }
    Step::line(key, words)
}

fn of_keys(dice: &mut Dice, name: &str, key: &[u8], keys: &[Vec<u8>]) -> Step {
    let mut words = vec![Word::text(name)];
    let sets_expiry = name.starts_with("gat");
    if sets_expiry {
        words.push(expiry(dice, ""));
    }
    words.push(Word::text(key));
    let more = if sets_expiry { dice.repeats(20) } else { dice.repeats(70) } - 1;
    let plain = |key: &&Vec<u8>| !is_needed(key) && key.len() <= KEY_MAX;
    let others: Vec<_> = keys.iter().filter(plain).collect();
    let several: Vec<&[u8]> =
        (0..more).map(|_| if dice.percent(30) { key } else { dice.pick(&others) }).collect();
    words.extend(several.into_iter().map(Word::text));
    // Other lines of this length are closed if they come in pieces.
    if sets_expiry {
        let mut left = LINE_MAX;
        words.retain(|word| {
            let len = word.bytes().len() + 12;
            let fits = len <= left;
            left = left.saturating_sub(len);
            fits
        });
    }
    Step::line(key, words)
}

fn storing(dice: &mut Dice, key: &[u8], start: Vec<Word>, compares: bool) -> Step {
    let mut words = start;
    words.extend([Word::text(flags(dice)), expiry(dice, ""), Word::Length(0)]);
    if compares {
        words.push(match dice.below(100) {
            0..65 => Word::Cas("", 0),
            65..75 => Word::Cas("", 1),
            _ => one(
                dice,
                &["0", "1", "9", "-1", "x", "18446744073709551615", "18446744073709551616"],
            ),
        });
    }
    let block = Some(Block { bytes: value(dice), end: b"\r\n" });
    Step { block, ..quiet(dice, key, words) }
}

/// Draws a line that is none, or that comes seldom.
pub fn odd(dice: &mut Dice, key: &[u8]) -> Step {
    let words: &[&[u8]] = match dice.below(24) {
        0 => &[b"flush_all"],
        1 => &[b"flush_all", b"0"],
        2 => &[b"flush_all", b"noreply"],
        3 => &[b"quit"],
        4 => &[b"shutdown"],
        5 => &[b"mn"],
        6 => &[b""],
        7 => &[b"x"],
        // A connection that begins with 0x80 speaks the binary protocol.
        8 => &[b"\x81\x01"],
        9 => &[b"unknown", b"a", b"b"],
        10 => &[b"GET", b"/", b"HTTP/1.1"],
        11 => &[b"flush_all", b"noreply", b"noreply"],
        12 => return long(dice),
        13 => &[b"flush_all", b"1000"],
        14 => &[b"flush_all", b"x"],
        15 => &[b"verbosity", b"0"],
        16 => &[b"verbosity"],
        17 => &[b"cache_memlimit", b"1"],
        18 => &[b"cache_memlimit", b"x"],
        19 => &[b"stats", b"reset"],
        20 => &[b"stats", b"sizes"],
        21 => &[b"stats", b"none"],
        22 => &[b"lru_crawler", b"x"],
        _ => &[b"mn", b"x"],
    };
    Step::of(key, words)
}

/// Draws a line as long as one may be that comes in pieces, or a longer one, which is closed before
/// its end.
fn long(dice: &mut Dice) -> Step {
    let line = |len, end| Step { end, ..Step::of(b"", &[&vec![b'l'; len]]) };
    match dice.percent(50) {
        true => line(PIECES_MAX - 1, b"\r\n"),
        false => line(PIECES_MAX + 1 + dice.below(2000), b""),
    }
}

/// Most bytes of a line that comes in pieces, without its line feed.
const PIECES_MAX: usize = 2048;
/// Most bytes of a line that may be harmed.
pub const LINE_MAX: usize = 1700;
