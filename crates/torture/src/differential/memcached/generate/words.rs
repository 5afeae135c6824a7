//! Keys, numbers and values, on both sides of the borders where answers change.

use super::super::super::generate::Dice;
use super::super::side::ITEM_BYTES_MAX;
use super::super::step::Word;

/// Returns the keys that rounds name. Some can only be given in base64, some not at all.
pub fn keys() -> Vec<Vec<u8>> {
    let mut keys = [
        "a",
        "b",
        "c",
        "d",
        "e",
        "key:1",
        "t\tb",
        "n\0l",
        "noreply",
        "0",
        "schlüssel",
        "x y",
        "Zm9v",
        "foo",
    ]
    .map(|key| key.as_bytes().to_vec())
    .to_vec();
    keys.push(b"\x01\xff\x80".to_vec());
    // In base64, 186 bytes take 248 letters and 187 take 252.
    keys.extend([1, 186, 187, 188, 249, 250, 251].map(|len| vec![b'k'; len]));
    keys
}

/// Draws one of several words.
pub fn one(dice: &mut Dice, words: &[&str]) -> Word {
    Word::text(dice.pick(words))
}

/// Draws one of the usual words with a chance in percent, else one at a border.
pub fn pick<'a>(dice: &mut Dice, chance: u32, usual: &[&'a str], border: &[&'a str]) -> &'a str {
    let words = if dice.percent(chance) { usual } else { border };
    words[dice.below(words.len())]
}

/// Draws an expiry, with the letter of its flag. None is so near that servers may disagree.
pub fn expiry(dice: &mut Dice, letter: &'static str) -> Word {
    let usual = ["0", "100", "1000", "-1"];
    let border = [
        "00",
        "-0",
        "-",
        "-100",
        "+100",
        "2592000",
        "2592001",
        "2147483647",
        "2147483648",
        "-2147483648",
        "-2147483649",
        "4294967295",
        "4294967296",
        "100x",
        "x",
        "1.5e3",
        "18446744073709551616",
        "99999999999",
    ];
    match dice.below(100) {
        0..75 => Word::text(format!("{letter}{}", dice.pick(&usual))),
        75..83 => Word::Time(letter, *dice.pick(&[1000, 10_000_000, -1000])),
        _ => Word::text(format!("{letter}{}", dice.pick(&border))),
    }
}

/// Draws the flags of an item.
pub fn flags(dice: &mut Dice) -> &'static str {
    let usual = ["0", "0", "5", "255", "256", "65535", "65536", "4294967295"];
    let border = [
        "4294967296",
        "4294967301",
        "-1",
        "+5",
        "x",
        "5x",
        "007",
        "18446744073709551615",
        "18446744073709551616",
        "0x10",
    ];
    pick(dice, 88, &usual, &border)
}

/// Draws a number to add or to start with.
pub fn amount(dice: &mut Dice) -> &'static str {
    let usual = ["0", "1", "1", "2", "5", "9", "10", "99", "1000"];
    let border = [
        "18446744073709551615",
        "18446744073709551616",
        "9223372036854775808",
        "18446744073709551614",
        "007",
        "00000000000000000000001",
        "000000000000000000000001",
        "-1",
        "+1",
        "x",
        "1x",
        "",
        "1.5",
    ];
    pick(dice, 75, &usual, &border)
}

/// Draws a value.
pub fn value(dice: &mut Dice) -> Vec<u8> {
    let numbers = [
        "0",
        "1",
        "7",
        "9",
        "10",
        "99",
        "100",
        "101",
        "9999999999",
        "18446744073709551615",
        "18446744073709551614",
        "18446744073709551616",
        "9223372036854775807",
        "9223372036854775808",
        "007",
        " 7",
        "7 ",
        "+7",
        "-7",
        "7 a",
        "7a",
        "a7",
        "7\0",
        "\t7",
        "00000000000000000007",
        "000000000000000000007",
        "99999999999999999999",
        "-0",
        "-1",
        "-18446744073709551615",
        "-9223372036854775809",
        "--1",
        "7\r\n",
    ];
    match dice.below(1000) {
        0..550 => dice.pick(&numbers).as_bytes().to_vec(),
        550..700 => vec![b'a' + dice.below(26) as u8; 1 + dice.below(12)],
        700..760 => Vec::new(),
        760..820 => (0..1 + dice.below(30)).map(|_| dice.any() as u8).collect(),
        820..830 => b"END\r\nVALUE a 0 1\r\n".to_vec(),
        830..984 => letters(dice, 20, 3000),
        984..997 => {
            let near = [511 << 10, 512 << 10, 513 << 10];
            let len = *dice.pick(&near) + dice.below(5) - 2;
            vec![b'v'; len]
        }
        997..999 => letters(dice, 10_000, 100_000),
        _ => vec![b'w'; ITEM_BYTES_MAX + 1 + dice.below(3)],
    }
}

fn letters(dice: &mut Dice, from: usize, to: usize) -> Vec<u8> {
    vec![b'a' + dice.below(26) as u8; from + dice.below(to - from)]
}
