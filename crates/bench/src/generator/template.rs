//! A request as a line of text, with placeholders for numbers and letters.
//!
//! | in a word | stands for |
//! |---|---|
//! | `{n}` | number drawn for the request |
//! | `{n*3+1/10%100}` | that number after these steps, from left to right |
//! | `{n:6}` | its last six digits, padded with zeros |
//! | `{n~8}`, `{n~16}` | so many letters, unique for numbers below 2^32 or 2^64 |
//! | `{?16}`, `{?8-32}` | so many random letters; with a range, a random number of them |
//! | `{#100}` | random number below 100 |

use std::ops::RangeInclusive;

use anyhow::{Context, Result, bail, ensure};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// A request that can be written for any number.
pub struct Template {
    pieces: Vec<Piece>,
}

impl Template {
    /// Reads the words of a request, which are separated by single spaces.
    ///
    /// # Errors
    /// If a placeholder in braces has no known form.
    pub fn parse(text: &str) -> Result<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let mut pieces = Vec::new();
        push_bytes(&mut pieces, format!("*{}\r\n", words.len()).as_bytes());
        for word in words {
            let word_pieces = parse_word(word).with_context(|| format!("{word:?} in {text:?}"))?;
            push_word(&mut pieces, word_pieces);
        }
        Ok(Self { pieces })
    }

    /// Appends the request for a number.
    #[inline]
    pub fn write(&self, drawn: u64, chance: &mut Chance, bytes: &mut Vec<u8>) {
        for piece in &self.pieces {
            piece.write(drawn, chance, bytes);
        }
    }
}

/// Source of random letters and numbers.
pub struct Chance {
    random: SmallRng,
    letters: Vec<u8>,
}

impl Chance {
    /// Creates the source; the same seed gives the same letters and numbers.
    pub fn new(seed: u64) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let letters = (0..LETTERS).map(|_| random.random_range(b'a'..=b'z')).collect();
        Self { random, letters }
    }

    /// Returns a random stretch of letters that were drawn beforehand.
    #[inline]
    fn letters(&mut self, count: usize) -> &[u8] {
        let from = self.random.random_range(0..LETTERS - count);
        &self.letters[from..from + count]
    }
}

enum Piece {
    Bytes(Vec<u8>),
    /// The number, without padding.
    Number(Steps),
    /// The last digits of the number.
    Digits(Steps, usize),
    /// Letters that are derived from the number.
    Scrambled(Steps, usize),
    Letters(RangeInclusive<usize>),
    Below(u64),
    /// A word whose length is known only when it is written.
    Word(Vec<Piece>),
}

impl Piece {
    /// Returns the bytes that it takes, if they are always the same.
    fn width(&self) -> Option<usize> {
        match self {
            Self::Bytes(bytes) => Some(bytes.len()),
            Self::Digits(_, width) | Self::Scrambled(_, width) => Some(*width),
            Self::Letters(count) if count.start() == count.end() => Some(*count.start()),
            _ => None,
        }
    }

    #[inline]
    fn write(&self, drawn: u64, chance: &mut Chance, bytes: &mut Vec<u8>) {
        match self {
            Self::Bytes(text) => bytes.extend_from_slice(text),
            Self::Number(steps) => write_number(steps.of(drawn), bytes),
            Self::Digits(steps, width) => write_digits(steps.of(drawn), *width, bytes),
            Self::Scrambled(steps, width) => write_scrambled(steps.of(drawn), *width, bytes),
            Self::Letters(count) => {
                let count = chance.random.random_range(count.clone());
                bytes.extend_from_slice(chance.letters(count));
            }
            Self::Below(limit) => write_number(chance.random.random_range(0..*limit), bytes),
            Self::Word(pieces) => write_word(pieces, drawn, chance, bytes),
        }
    }
}

/// Writes a word, whose length is then inserted in front of it.
fn write_word(pieces: &[Piece], drawn: u64, chance: &mut Chance, bytes: &mut Vec<u8>) {
    let begin = bytes.len();
    for piece in pieces {
        piece.write(drawn, chance, bytes);
    }
    let end = bytes.len();
    bytes.push(b'$');
    write_number((end - begin) as u64, bytes);
    bytes.extend_from_slice(b"\r\n");
    let header = bytes.len() - end;
    bytes[begin..].rotate_right(header);
    bytes.extend_from_slice(b"\r\n");
}

/// Steps that are applied to a drawn number, from left to right.
struct Steps(Vec<(char, u64)>);

impl Steps {
    /// Reads `n` and the steps behind it.
    fn parse(text: &str) -> Result<Self> {
        let mut rest = text.strip_prefix('n').context("a number is called n")?;
        let mut steps = Vec::new();
        while let Some(sign) = rest.chars().next() {
            ensure!("*+/%".contains(sign), "{sign:?} is no step");
            let end = rest[1..].find(['*', '+', '/', '%']).map_or(rest.len(), |end| end + 1);
            steps.push((sign, rest[1..end].parse().context("a step takes a number")?));
            rest = &rest[end..];
        }
        ensure!(!steps.iter().any(|step| matches!(step, ('/' | '%', 0))), "a division by zero");
        Ok(Self(steps))
    }

    #[inline]
    fn of(&self, drawn: u64) -> u64 {
        self.0.iter().fold(drawn, |number, (sign, by)| match sign {
            '*' => number * by,
            '+' => number + by,
            '/' => number / by,
            _ => number % by,
        })
    }
}

fn parse_word(word: &str) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = word;
    while let Some((before, behind)) = rest.split_once('{') {
        let (place, after) = behind.split_once('}').context("a brace is not closed")?;
        push_bytes(&mut pieces, before.as_bytes());
        pieces.push(parse_place(place)?);
        rest = after;
    }
    push_bytes(&mut pieces, rest.as_bytes());
    Ok(pieces)
}

fn parse_place(place: &str) -> Result<Piece> {
    if let Some(count) = place.strip_prefix('?') {
        let (least, most) = count.split_once('-').unwrap_or((count, count));
        let (least, most) = (least.parse()?, most.parse()?);
        ensure!(least <= most && most < LETTERS, "letters: below {LETTERS}");
        return Ok(Piece::Letters(least..=most));
    }
    if let Some(limit) = place.strip_prefix('#') {
        let limit = limit.parse()?;
        ensure!(limit > 0, "no number is below zero");
        return Ok(Piece::Below(limit));
    }
    if let Some((number, width)) = place.split_once('~') {
        return match width.parse()? {
            width @ (8 | 16) => Ok(Piece::Scrambled(Steps::parse(number)?, width)),
            _ => bail!("8 or 16 letters follow from a number"),
        };
    }
    if let Some((number, width)) = place.split_once(':') {
        return Ok(Piece::Digits(Steps::parse(number)?, width.parse()?));
    }
    Ok(Piece::Number(Steps::parse(place)?))
}

/// Appends a word; one of known length is merged into its surroundings.
fn push_word(pieces: &mut Vec<Piece>, word: Vec<Piece>) {
    let Some(width) = word.iter().map(Piece::width).sum::<Option<usize>>() else {
        pieces.push(Piece::Word(word));
        return;
    };
    push_bytes(pieces, format!("${width}\r\n").as_bytes());
    for piece in word {
        match piece {
            Piece::Bytes(bytes) => push_bytes(pieces, &bytes),
            piece => pieces.push(piece),
        }
    }
    push_bytes(pieces, b"\r\n");
}

fn push_bytes(pieces: &mut Vec<Piece>, bytes: &[u8]) {
    match pieces.last_mut() {
        Some(Piece::Bytes(last)) => last.extend_from_slice(bytes),
        _ => pieces.push(Piece::Bytes(bytes.to_vec())),
    }
}

#[inline]
fn write_number(number: u64, bytes: &mut Vec<u8>) {
    write_digits(number, number.checked_ilog10().map_or(1, |log| log as usize + 1), bytes);
}

#[inline]
fn write_digits(mut number: u64, width: usize, bytes: &mut Vec<u8>) {
    let begin = bytes.len();
    bytes.resize(begin + width, b'0');
    for digit in bytes[begin..].iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[inline]
fn write_scrambled(number: u64, width: usize, bytes: &mut Vec<u8>) {
    let mut scrambled =
        if width == 8 { u64::from(scramble_32(number as u32)) } else { scramble_64(number) };
    for _ in 0..width {
        bytes.push(b'a' + (scrambled % 16) as u8);
        scrambled /= 16;
    }
}

/// Scrambles 64 bits by a bijection: odd factors and shifted exclusive ors are invertible.
fn scramble_64(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        mixed = (mixed ^ (mixed >> 31)).wrapping_mul(factor);
    }
    mixed ^ (mixed >> 32)
}

/// Scrambles 32 bits; otherwise as [`scramble_64`].
fn scramble_32(number: u32) -> u32 {
    let mut mixed = number.wrapping_add(0x9e37_79b9);
    for factor in [0x85eb_ca6b, 0xc2b2_ae35] {
        mixed = (mixed ^ (mixed >> 15)).wrapping_mul(factor);
    }
    mixed ^ (mixed >> 16)
}

const LETTERS: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Chance, Template};

    fn written(text: &str, number: u64) -> String {
        let mut bytes = Vec::new();
        Template::parse(text).unwrap().write(number, &mut Chance::new(1), &mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    /// Returns the words of a request as a server reads them.
    fn words(text: &str, number: u64) -> Vec<String> {
        let request = written(text, number);
        let mut lines = request.split("\r\n");
        let count: usize = lines.next().unwrap().strip_prefix('*').unwrap().parse().unwrap();
        let word = |_| {
            let length: usize = lines.next().unwrap().strip_prefix('$').unwrap().parse().unwrap();
            let word = lines.next().unwrap().to_owned();
            assert_eq!(word.len(), length);
            word
        };
        (0..count).map(word).collect()
    }

    #[test]
    fn numbers_take_their_steps_from_left_to_right() {
        assert_eq!(words("A {n} x{n*3+1/10%7}y", 1234), ["A", "1234", "x6y"]);
        assert_eq!(words("A {n%10} {n/2000}", 1230), ["A", "0", "0"]);
    }

    #[test]
    fn digits_have_their_width() {
        assert_eq!(written("A k:{n:6}", 42), "*2\r\n$1\r\nA\r\n$8\r\nk:000042\r\n");
        assert_eq!(words("A {n:2}", 1234), ["A", "34"]);
    }

    #[test]
    fn letters_of_numbers_differ() {
        for width in [8, 16] {
            let text = format!("A {{n~{width}}}");
            let all: HashSet<_> = (0..10_000).map(|number| words(&text, number)).collect();
            assert_eq!(all.len(), 10_000);
            assert!(all.iter().all(|words| words[1].len() == width));
        }
    }

    #[test]
    fn random_words_stay_in_their_range() {
        let template = Template::parse("{?8-12}").unwrap();
        let mut chance = Chance::new(1);
        let mut size = |_| {
            let mut bytes = Vec::new();
            template.write(0, &mut chance, &mut bytes);
            bytes.split(|byte| *byte == b'\n').nth(2).unwrap().len() - 1
        };
        let sizes: HashSet<_> = (0..1000).map(&mut size).collect();
        assert_eq!(sizes, (8..=12).collect());
        assert!(words("A {#10}", 0)[1].parse::<u64>().unwrap() < 10);
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for text in ["{", "{m}", "{n-1}", "{n/0}", "{?x}", "{?9-8}", "{#0}", "{n~7}", "{n:x}"] {
            assert!(Template::parse(text).is_err(), "{text}");
        }
    }
}
