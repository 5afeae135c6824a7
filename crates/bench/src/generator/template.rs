//! A request as a line of text, with placeholders for numbers and letters.
//!
//! | in a word | stands for |
//! |---|---|
//! | `{n}` | number drawn for the request |
//! | `{n*3+1/10%100}` | that number after these steps, from left to right |
//! | `{n:6}` | its last six digits, padded with zeros |
//! | `{n~8}`, `{n~16}` | so many letters, unique for numbers below 2^32 or 2^64 |
//! | `{?16}`, `{?8-32}` | so many random letters, of any [`Sizes`] |
//! | `{#100}` | random number below 100 |
//!
//! Several requests that are sent one behind the other stand in one line, parted by `; `. Memcached
//! gets GET, MGET, DEL and SET, with EX or without, in its own words. A request in small letters is
//! a line of its own, with the value of `set k 0 0 VALUE` and `ms k VALUE T0` as a word: the
//! protocol has its length there, and the value behind the line.

use std::num::NonZeroU64;

use anyhow::{Context, Result, bail, ensure};
use rand::RngExt;
use rand::rngs::SmallRng;

use super::{Batch, Sizes};
use crate::protocol::Protocol;
use crate::replies::Answer;

/// A request that can be written for any number.
pub struct Template {
    pieces: Vec<Piece>,
    /// Replies that it must bring.
    answers: Vec<Answer>,
}

impl Template {
    /// Reads the words of a request, or of several, which are separated by single spaces.
    pub fn parse(protocol: Protocol, text: &str) -> Result<Self> {
        let (mut pieces, mut answers) = (Vec::new(), Vec::new());
        for request in text.split("; ") {
            answers.push(match Answer::to(request) {
                // Memcached's reply to several keys is no array.
                Answer::Array if protocol == Protocol::Memcached => Answer::Value,
                answer => answer,
            });
            let read = match protocol {
                Protocol::Resp => resp(request),
                Protocol::Memcached => memcached(request),
            };
            push_pieces(&mut pieces, read.with_context(|| format!("{request:?}"))?);
        }
        Ok(Self { pieces, answers })
    }

    pub fn write(&self, drawn: u64, chance: &mut Chance, batch: &mut Batch) {
        for piece in &self.pieces {
            piece.write(drawn, chance, &mut batch.bytes);
        }
        self.answers.iter().for_each(|answer| batch.expected.count(*answer));
    }
}

/// Source of random letters and numbers.
pub struct Chance {
    random: SmallRng,
    letters: Vec<u8>,
}

impl Chance {
    pub fn new(mut random: SmallRng) -> Self {
        let letters = (0..LETTERS).map(|_| random.random_range(b'a'..=b'z')).collect();
        Self { random, letters }
    }

    /// Appends a random stretch of letters that were drawn beforehand.
    fn write(&mut self, count: usize, bytes: &mut Vec<u8>) {
        let mut left = count;
        while left > STRETCH {
            bytes.extend_from_slice(&self.letters[..STRETCH]);
            left -= STRETCH;
        }
        let from = self.random.random_range(0..LETTERS - STRETCH);
        bytes.extend_from_slice(&self.letters[from..from + left]);
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
    Letters(Sizes),
    Below(NonZeroU64),
    /// A word whose length, known only when it is written, stands before it between these texts.
    Word(&'static [u8], Vec<u8>, Vec<Piece>),
}

impl Piece {
    /// Returns the bytes that it takes, if they are always the same.
    fn width(&self) -> Option<usize> {
        match self {
            Self::Bytes(bytes) => Some(bytes.len()),
            Self::Digits(_, width) | Self::Scrambled(_, width) => Some(*width),
            Self::Letters(sizes) => sizes.only(),
            Self::Number(_) | Self::Below(_) | Self::Word(..) => None,
        }
    }

    fn write(&self, drawn: u64, chance: &mut Chance, bytes: &mut Vec<u8>) {
        match self {
            Self::Bytes(text) => bytes.extend_from_slice(text),
            Self::Number(steps) => write_number(steps.of(drawn), bytes),
            Self::Digits(steps, width) => write_digits(steps.of(drawn), *width, bytes),
            Self::Scrambled(steps, width) => write_scrambled(steps.of(drawn), *width, bytes),
            Self::Letters(sizes) => {
                let count = sizes.draw(&mut chance.random);
                chance.write(count, bytes);
            }
            Self::Below(limit) => write_number(chance.random.random_range(0..limit.get()), bytes),
            Self::Word(before, behind, pieces) => {
                let begin = bytes.len();
                pieces.iter().for_each(|piece| piece.write(drawn, chance, bytes));
                let end = bytes.len();
                bytes.extend_from_slice(before);
                write_number((end - begin) as u64, bytes);
                bytes.extend_from_slice(behind);
                let header = bytes.len() - end;
                bytes[begin..].rotate_right(header);
                bytes.extend_from_slice(b"\r\n");
            }
        }
    }
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

    fn of(&self, drawn: u64) -> u64 {
        self.0.iter().fold(drawn, |number, (sign, by)| match sign {
            '*' => number * by,
            '+' => number + by,
            '/' => number / by,
            _ => number % by,
        })
    }
}

/// Reads a request as RESP has it.
fn resp(text: &str) -> Result<Vec<Piece>> {
    let words: Vec<&str> = text.split(' ').collect();
    let mut pieces = vec![Piece::Bytes(format!("*{}\r\n", words.len()).into_bytes())];
    for word in words {
        push_word(&mut pieces, b"$", b"\r\n", parse_word(word)?);
    }
    Ok(pieces)
}

/// Reads a request as memcached's text protocol has it.
fn memcached(text: &str) -> Result<Vec<Piece>> {
    let words: Vec<&str> = text.split(' ').collect();
    if text.starts_with(|it: char| it.is_ascii_lowercase()) {
        return memcached_line(&words);
    }
    if let ["MGET", keys @ ..] = &words[..] {
        return memcached_line(&[&["get"], keys].concat());
    }
    let (verb, key, value, seconds) = match words[..] {
        ["GET", key] => ("get", key, None, "0"),
        ["DEL", key] => ("delete", key, None, "0"),
        ["SET", key, value] => ("set", key, Some(value), "0"),
        ["SET", key, value, "EX", seconds] => ("set", key, Some(value), seconds),
        _ => bail!("memcached has no such request"),
    };
    let is_date = seconds.parse::<u32>()? > MONTH_SECONDS;
    ensure!(!is_date, "memcached takes more than {MONTH_SECONDS} seconds for a date");
    let mut pieces = vec![Piece::Bytes(format!("{verb} ").into_bytes())];
    push_pieces(&mut pieces, parse_word(key)?);
    match value {
        None => push_bytes(&mut pieces, b"\r\n"),
        Some(value) => {
            push_bytes(&mut pieces, format!(" 0 {seconds}").as_bytes());
            push_word(&mut pieces, b" ", b"\r\n", parse_word(value)?);
        }
    }
    Ok(pieces)
}

/// Reads a line of memcached's protocols, and the value behind it.
fn memcached_line(words: &[&str]) -> Result<Vec<Piece>> {
    let (line, value, flags) = match words {
        ["set" | "add" | "replace" | "append" | "prepend", key, flags, expiry, value] => {
            (&[words[0], key, flags, expiry][..], Some(value), &[][..])
        }
        ["ms", key, value, flags @ ..] => (&["ms", key][..], Some(value), flags),
        _ => (words, None, &[][..]),
    };
    let mut pieces = Vec::new();
    for (at, word) in line.iter().enumerate() {
        push_bytes(&mut pieces, if at == 0 { b"" } else { b" " });
        push_pieces(&mut pieces, parse_word(word)?);
    }
    let Some(value) = value else {
        push_bytes(&mut pieces, b"\r\n");
        return Ok(pieces);
    };
    ensure!(flags.iter().all(|flag| !flag.contains('{')), "a flag of ms has a place");
    let behind: String = flags.iter().map(|flag| format!(" {flag}")).collect::<String>() + "\r\n";
    push_word(&mut pieces, b" ", behind.as_bytes(), parse_word(value)?);
    Ok(pieces)
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
    if let Some(sizes) = place.strip_prefix('?') {
        return Ok(Piece::Letters(sizes.parse()?));
    }
    if let Some(limit) = place.strip_prefix('#') {
        return Ok(Piece::Below(limit.parse()?));
    }
    if let Some((number, width)) = place.split_once('~') {
        let width = width.parse()?;
        ensure!([8, 16].contains(&width), "8 or 16 letters follow from a number");
        return Ok(Piece::Scrambled(Steps::parse(number)?, width));
    }
    if let Some((number, width)) = place.split_once(':') {
        return Ok(Piece::Digits(Steps::parse(number)?, width.parse()?));
    }
    Ok(Piece::Number(Steps::parse(place)?))
}

/// Appends a word; one of known length is merged into its surroundings.
fn push_word(pieces: &mut Vec<Piece>, before: &'static [u8], behind: &[u8], word: Vec<Piece>) {
    let Some(width) = word.iter().map(Piece::width).sum::<Option<usize>>() else {
        pieces.push(Piece::Word(before, behind.to_vec(), word));
        return;
    };
    push_bytes(pieces, &[before, width.to_string().as_bytes(), behind].concat());
    push_pieces(pieces, word);
    push_bytes(pieces, b"\r\n");
}

fn push_pieces(pieces: &mut Vec<Piece>, more: Vec<Piece>) {
    for piece in more {
        match piece {
            Piece::Bytes(bytes) => push_bytes(pieces, &bytes),
            piece => pieces.push(piece),
        }
    }
}

fn push_bytes(pieces: &mut Vec<Piece>, bytes: &[u8]) {
    match pieces.last_mut() {
        Some(Piece::Bytes(last)) => last.extend_from_slice(bytes),
        _ => pieces.push(Piece::Bytes(bytes.to_vec())),
    }
}

fn write_number(number: u64, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Writes the last `width` digits.
fn write_digits(number: u64, width: usize, bytes: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(number).as_bytes();
    let digits = &digits[digits.len().saturating_sub(width)..];
    bytes.resize(bytes.len() + width - digits.len(), b'0');
    bytes.extend_from_slice(digits);
}

/// Writes a number below 16^`width`, scrambled by a bijection, as letters.
fn write_scrambled(number: u64, width: usize, bytes: &mut Vec<u8>) {
    let bits = 4 * width as u32;
    let mask = u64::MAX >> (u64::BITS - bits);
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15) & mask;
    // Odd factors and shifted exclusive ors are invertible.
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        mixed = (mixed ^ (mixed >> (bits / 2 - 1))).wrapping_mul(factor) & mask;
    }
    mixed ^= mixed >> (bits / 2);
    bytes.extend((0..width).map(|at| b'a' + (mixed >> (4 * at) & 15) as u8));
}

const LETTERS: usize = 1 << 17;
/// Letters that are written at once.
const STRETCH: usize = 1 << 16;
const MONTH_SECONDS: u32 = 30 * 24 * 3600;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rand::SeedableRng;

    use super::{Batch, Chance, STRETCH, SmallRng, Template};
    use crate::protocol::Protocol;
    use crate::replies::{ReplyReader, Value};

    fn written(protocol: Protocol, text: &str, number: u64) -> String {
        let mut batch = Batch::default();
        let template = Template::parse(protocol, text).unwrap();
        template.write(number, &mut Chance::new(SmallRng::seed_from_u64(1)), &mut batch);
        String::from_utf8(batch.bytes).unwrap()
    }

    /// Returns the words of a request as a server reads them.
    fn words(text: &str, number: u64) -> Vec<String> {
        let mut reader = ReplyReader::keeping(Protocol::Resp);
        reader.feed(written(Protocol::Resp, text, number).as_bytes()).unwrap();
        assert_eq!((reader.counted.array, reader.counted.total()), (1, 1), "{text}");
        let word = |value| match value {
            Value::Text(word) => String::from_utf8(word).unwrap(),
            other => panic!("{text}: {other:?}"),
        };
        reader.take_values().into_iter().map(word).collect()
    }

    #[test]
    fn numbers_take_their_steps_from_left_to_right_and_digits_have_their_width() {
        assert_eq!(words("A {n} x{n*3+1/10%7}y", 1234), ["A", "1234", "x6y"]);
        assert_eq!(words("A {n%10} {n/2000}", 1230), ["A", "0", "0"]);
        let line = written(Protocol::Resp, "A k:{n:6}", 42);
        assert_eq!(line, "*2\r\n$1\r\nA\r\n$8\r\nk:000042\r\n");
        assert_eq!(words("A {n:2} {n:3}", 1234), ["A", "34", "234"]);
        assert_eq!(words("GET k{n:15}", 123_456_789_012)[1], "k000123456789012");
    }

    #[test]
    fn letters_of_numbers_differ() {
        for width in [8, 16] {
            let text = format!("A {{n~{width}}}");
            assert_eq!(words(&text, 1)[1].len(), width);
            let template = Template::parse(Protocol::Resp, &text).unwrap();
            let mut chance = Chance::new(SmallRng::seed_from_u64(1));
            let mut request = |number| {
                let mut batch = Batch::default();
                template.write(number, &mut chance, &mut batch);
                batch.bytes
            };
            let all: HashSet<_> = (0..10_000).map(&mut request).collect();
            assert_eq!(all.len(), 10_000);
            let bytes = request(1).len();
            assert!(all.iter().all(|it| it.len() == bytes));
        }
    }

    #[test]
    fn random_words_stay_in_their_range() {
        let drawn = words(&["{?8-12}"; 1000].join(" "), 0);
        let sizes: HashSet<_> = drawn.iter().map(String::len).collect();
        assert_eq!(sizes, (8..=12).collect());
        assert!(words("A {#10}", 0)[1].parse::<u64>().unwrap() < 10);
        let long = 3 * STRETCH + 1;
        assert_eq!(words(&format!("A {{?{long}}}"), 0)[1].len(), long);
    }

    #[test]
    fn memcached_has_its_own_words() {
        let written = |text| written(Protocol::Memcached, text, 7);
        assert_eq!(written("GET k{n:3}"), "get k007\r\n");
        assert_eq!(written("DEL k{n:3}"), "delete k007\r\n");
        assert_eq!(written("SET k{n} x{n}"), "set k7 0 0 2\r\nx7\r\n");
        assert!(written("SET k{n:3} {?16} EX 60").starts_with("set k007 0 60 16\r\n"));
        assert_eq!(written("MGET k{n} k{n+1}"), "get k7 k8\r\n");
        assert_eq!(written("gat 60 k{n} k{n+1}"), "gat 60 k7 k8\r\n");
        assert_eq!(written("set k{n} 5 0 x{n}"), "set k7 5 0 2\r\nx7\r\n");
        assert_eq!(written("mg k{n:3} k v; mn"), "mg k007 k v\r\nmn\r\n");
        for text in ["ms k{n} x{n} T0 F5", "ms k{n} x{n:1} T0 F5"] {
            assert_eq!(written(text), "ms k7 2 T0 F5\r\nx7\r\n");
        }
        for text in ["ms k v T{n}", "LPUSH a b", "SET k v PXAT 1", "SET k v EX 99999999"] {
            assert!(Template::parse(Protocol::Memcached, text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for text in ["{", "{m}", "{n-1}", "{n/0}", "{?x}", "{?9-8}", "{#0}", "{n~7}", "{n:x}"] {
            assert!(Template::parse(Protocol::Resp, text).is_err(), "{text}");
        }
    }
}
