//! Meta commands with their flags.

use super::super::super::generate::Dice;
use super::super::base64::{encode, is_needed};
use super::super::step::{Block, KEY_MAX, Step, Word};
use super::words::{amount, expiry, flags, one, pick, value};

/// Names of the commands.
pub const NAMES: &[&str] = &["mg", "ms", "md", "ma", "me", "mn"];
const WEIGHTS: &[u32] = &[30, 30, 17, 17, 5, 1];

/// Draws a meta command about a key.
pub fn line(dice: &mut Dice, key: &[u8]) -> Step {
    let name = NAMES[dice.weighted(WEIGHTS)];
    if name == "mn" {
        return Step::of(b"", &[b"mn"]);
    }
    // A key of `me` in base64 is listed.
    let is_base64 = is_needed(key) || dice.percent(12);
    let (key, is_base64) = match name {
        "me" if is_needed(key) => (&b"a"[..], false),
        "me" => (key, false),
        _ => (key, is_base64),
    };
    let given = if is_base64 { encode(key) } else { key.to_vec() };
    let mut words = vec![Word::text(name), Word::text(given)];
    if name == "me" {
        return Step::line(key, words);
    }
    let block = (name == "ms").then(|| {
        words.push(Word::Length(0));
        Block { bytes: value(dice), end: b"\r\n" }
    });
    let mut letters = letters(dice, name);
    if is_base64 && dice.percent(97) {
        letters.insert(dice.below(letters.len() + 1), b'b');
    }
    words.extend(letters.into_iter().map(|letter| flag(dice, name, letter)));
    Step { block, ..Step::line(key, words) }
}

/// Returns the line that tells all of an item.
pub fn look(key: &[u8]) -> Step {
    let flags = [&b"k"[..], b"f", b"s", b"t", b"h", b"c", b"v"];
    let given = encode(key);
    if given.len() > KEY_MAX && !is_needed(key) {
        return Step::of(key, &[&[&b"mg"[..], key], &flags[..]].concat());
    }
    Step::of(key, &[&[&b"mg"[..], &given, b"b"], &flags[..]].concat())
}

/// Draws letters of flags, hardly any of them twice.
fn letters(dice: &mut Dice, name: &str) -> Vec<u8> {
    let own: &[u8] = match name {
        "mg" => b"vvvcccfhklOqstuuEENNNRRTTT",
        "ms" => b"cckksOqqCCCCEEEFFFIIIIMMMMMMNNTTT",
        "md" => b"CCCCEEIIIIIkOqTTxxxF",
        _ => b"CCcDDDEEJJkMMMMNNNNOqttTTvvv",
    };
    let mut letters: Vec<u8> = Vec::new();
    for _ in 0..dice.below(7) {
        let letter = match dice.below(100) {
            0..96 => *dice.pick(own),
            96..98 => *dice.pick(b"bcfhklqstuvxCDEFIJLMNOPRT"),
            _ => *dice.pick(b"SzZ0[AP"),
        };
        if !letters.contains(&letter) || dice.percent(2) {
            letters.push(letter);
        }
    }
    if dice.permille(5) {
        let more = b"kvtsfhlcqOuCDEFIJLMNPRTx".iter().filter(|it| !letters.contains(it));
        let more: Vec<_> = more.copied().take(13 + dice.below(7)).collect();
        letters.extend(more);
    }
    letters
}

fn flag(dice: &mut Dice, name: &str, letter: u8) -> Word {
    let with = |text: &str| Word::text(format!("{}{text}", char::from(letter)));
    match letter {
        b'C' => match dice.below(100) {
            0..50 => Word::Cas("C", 0),
            50..65 => Word::Cas("C", 1),
            _ => one(
                dice,
                &["C0", "C1", "C9", GIVEN[0], GIVEN[1], "C18446744073709551615", "C", "Cx", "C-1"],
            ),
        },
        b'E' => match dice.below(100) {
            0..80 => with(&dice.pick(&GIVEN)[1..]),
            _ => one(
                dice,
                &["E0", "E18446744073709551615", "E18446744073709551616", "E", "Ex", "E-1"],
            ),
        },
        b'T' => expiry(dice, "T"),
        b'N' => expiry(dice, "N"),
        b'R' => one(
            dice,
            &["R30", "R30", "R500", "R500", "R5000", "R0", "R-1", "R", "Rx", "R2147483648"],
        ),
        b'F' => match flags(dice) {
            "" => Word::text("F"),
            text => with(text),
        },
        b'D' | b'J' => with(amount(dice)),
        b'O' => one(
            dice,
            &[
                "O1",
                "Oabc",
                "O",
                "O\\",
                "O0123456789012345678901234567890",
                "O01234567890123456789012345678901",
            ],
        ),
        b'M' => mode(dice, name),
        b'P' | b'L' => with(["", "1", "xyz"][dice.below(3)]),
        _ if dice.percent(3) => with(["0", "x", "1"][dice.below(3)]),
        _ => with(""),
    }
}

fn mode(dice: &mut Dice, name: &str) -> Word {
    let odd = ["M", "Mz", "M0", "MSE", "MES", "MIx", "Ma", "Ms", "Mset", "Md", "Mi", "M*"];
    let own: &[&str] = if name == "ma" {
        &["MI", "MD", "MD", "M+", "M-"]
    } else {
        &["ME", "MA", "MA", "MP", "MP", "MR", "MS"]
    };
    Word::text(pick(dice, 93, own, &odd))
}

/// Numbers of CAS that clients make up: all above those that any server draws, since what is lower
/// than another makes a difference.
const GIVEN: [&str; 3] = ["C9000000000000000001", "C9000000000000000002", "C9000000000000000100"];
