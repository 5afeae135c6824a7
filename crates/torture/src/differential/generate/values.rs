//! Numbers and bytes on both sides of every border.

use super::dice::Dice;

/// Draws a whole number: mostly small, sometimes at a limit.
pub fn integer(dice: &mut Dice) -> Vec<u8> {
    match dice.weighted(&[60, 15, 20, 5]) {
        0 => text(dice.between(-3, 12)),
        1 => text(dice.between(-2000, 2000)),
        2 => dice.pick(EDGES).as_bytes().to_vec(),
        _ => odd(dice),
    }
}

/// Draws a count: mostly small and not negative.
pub fn count(dice: &mut Dice) -> Vec<u8> {
    match dice.weighted(&[70, 12, 8, 7, 3]) {
        0 => text(dice.between(0, 10)),
        1 => text(dice.between(10, 1000)),
        2 => text(dice.between(-10, -1)),
        3 => dice.pick(EDGES).as_bytes().to_vec(),
        _ => odd(dice),
    }
}

/// Draws a position in a list, a string or a sorted set.
pub fn place(dice: &mut Dice) -> Vec<u8> {
    match dice.weighted(&[70, 20, 8, 2]) {
        0 => text(dice.between(-8, 8)),
        1 => text(dice.between(-1200, 1200)),
        2 => dice.pick(EDGES).as_bytes().to_vec(),
        _ => odd(dice),
    }
}

/// Draws an offset for a write, with no gap of many megabytes before it.
pub fn offset(dice: &mut Dice) -> Vec<u8> {
    match dice.weighted(&[70, 18, 3, 6, 3]) {
        0 => text(dice.between(0, 130)),
        1 => text(size(dice) as i64),
        2 => text(dice.between(500_000, 1_200_000)),
        3 => dice.pick(EDGES).as_bytes().to_vec(),
        _ => odd(dice),
    }
}

/// Draws a decimal number, or a text that some parsers take for one.
pub fn float(dice: &mut Dice) -> Vec<u8> {
    match dice.weighted(&[45, 20, 15, 10, 10]) {
        0 => text(dice.between(-3, 12)),
        1 => format!("{}", dice.between(-100_000, 100_000) as f64 / 64.0).into_bytes(),
        2 => dice.pick(FLOATS).as_bytes().to_vec(),
        3 => dice.pick(EDGES).as_bytes().to_vec(),
        _ => float_of_bits(dice),
    }
}

fn float_of_bits(dice: &mut Dice) -> Vec<u8> {
    let bits = f64::from_bits(dice.any());
    if dice.percent(50) { format!("{bits:e}") } else { format!("{}", dice.any() as f64 / 1e9) }
        .into_bytes()
}

/// Draws a word that is not valid there.
pub fn odd(dice: &mut Dice) -> Vec<u8> {
    match dice.weighted(&[75, 10, 10, 5]) {
        0 => dice.pick(ODD).as_bytes().to_vec(),
        1 => dice.pick(FLOATS).as_bytes().to_vec(),
        2 => (0..dice.below(12)).map(|_| dice.any() as u8).collect(),
        _ => blob(dice),
    }
}

/// Draws a value: a number, a text or bytes, of a size near a border.
pub fn value(dice: &mut Dice) -> Vec<u8> {
    match dice.weighted(&[30, 15, 40, 8, 7]) {
        0 => integer(dice),
        1 => float(dice),
        2 => blob(dice),
        3 => (0..dice.below(70)).map(|_| dice.any() as u8).collect(),
        _ => odd(dice),
    }
}

/// Draws a field, a member or an element: one of a few, so that they are drawn again.
pub fn element(dice: &mut Dice) -> Vec<u8> {
    match dice.weighted(&[40, 25, 15, 8, 5, 4, 3]) {
        0 => format!("m{}", dice.below(30)).into_bytes(),
        1 => text(dice.between(-5, 40)),
        2 => vec![b'a' + dice.below(6) as u8; dice.below(4)],
        3 => dice.pick(EDGES).as_bytes().to_vec(),
        4 => blob(dice),
        5 => odd(dice),
        _ => {
            let mut bytes = vec![b'x'; small_border(dice)];
            bytes.extend_from_slice(dice.pick(&["1", "2", ""]).as_bytes());
            bytes
        }
    }
}

/// Draws one letter repeated, sometimes with another one at the end.
pub fn blob(dice: &mut Dice) -> Vec<u8> {
    let letter = *dice.pick(b"aabbz7\x00\xff\x80");
    let mut bytes = vec![letter; size(dice)];
    if dice.percent(25)
        && let Some(last) = bytes.last_mut()
    {
        *last = *dice.pick(b"c9\x01\xfe");
    }
    bytes
}

/// Draws a length: mostly small, otherwise at a border.
pub fn size(dice: &mut Dice) -> usize {
    let near = |dice: &mut Dice, at: i64, by: i64| dice.between((at - by).max(0), at + by) as usize;
    match dice.weighted(&[500, 400, 40, 30, 15, 10, 2, 1]) {
        0 => dice.below(13),
        1 => small_border(dice),
        2 => *dice.pick(&[1000, 1023, 1024, 3000]),
        3 => near(dice, 4050, 50),
        4 => *dice.pick(&[8_150, 8_176, 8_190, 8_192, 8_200, 16_380, 16_383, 16_384, 16_390]),
        5 => *dice.pick(&[60_000, 65_530, 65_535, 65_536, 65_540, 70_000]),
        6 => near(dice, 512 << 10, 40),
        _ => near(dice, 1 << 20, 2),
    }
}

fn small_border(dice: &mut Dice) -> usize {
    *dice.pick(&[7, 8, 11, 12, 39, 40, 43, 44, 45, 63, 64, 65, 127, 128, 129, 253, 254, 255, 256])
}

/// Formats a number.
pub fn text(number: i64) -> Vec<u8> {
    number.to_string().into_bytes()
}

/// Numbers at the limits of their types.
pub const EDGES: &[&str] = &[
    "0",
    "-1",
    "127",
    "128",
    "-128",
    "-129",
    "255",
    "256",
    "8191",
    "-4096",
    "32767",
    "32768",
    "-32768",
    "-32769",
    "65535",
    "65536",
    "8388607",
    "8388608",
    "-8388608",
    "-8388609",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "4294967295",
    "4294967296",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "9223372036854775806",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775807",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
];
const ODD: &[&str] = &[
    "",
    " ",
    "+1",
    " 1",
    "1 ",
    "01",
    "-01",
    "0x10",
    "1e5",
    "-0",
    "1.",
    ".5",
    "abc",
    "nan",
    "-",
    "+",
    "(1",
    "(",
    "[a",
    "*",
    "?",
    "$",
    ">",
    "=",
    "~",
    "0-0",
    "1-1",
    "--1",
    "1-",
    "%s",
    "a b",
    "\n",
    "\"",
    "é",
    "1\u{0}",
    "(nan",
    "[",
    "#",
    "#1",
    "i64",
    "u64",
    "999999999999999999999",
];
const FLOATS: &[&str] = &[
    "inf",
    "-inf",
    "+inf",
    "Infinity",
    "infinity",
    "nan",
    "-nan",
    "1e309",
    "-1e309",
    "1e-320",
    "5e-324",
    "1.7976931348623157e308",
    "0.1",
    "0.2",
    "-0.0",
    "-0",
    "1e22",
    "1e21",
    "123456789.125",
    "3.0e3",
    "1e17",
    "1e16",
    "-1.5",
    "2.5",
    "1e-7",
    "0.30000000000000004",
    "1e100",
    "1e5",
    ".5",
    "5.",
    "+5",
    "0x1p3",
    "1_0",
    "1e",
    "1e+",
    "3.14159265358979323846",
    "1e-400",
    "17179869184.5",
];
