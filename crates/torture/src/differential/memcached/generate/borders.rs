//! Both sides of every border at which answers change come in some round.

use super::super::side::ITEM_BYTES_MAX;
use super::super::step::{Step, Word};
use super::round;

type Comes = (&'static str, fn(&Step) -> bool);

fn is(step: &Step, names: &[&str]) -> bool {
    names.contains(&step.name().as_str())
}

fn has(step: &Step, at: usize, text: &str) -> bool {
    step.words.get(at).is_some_and(|word| word.bytes() == text.as_bytes())
}

fn block_len(step: &Step) -> usize {
    step.block.as_ref().map_or(0, |block| block.bytes.len())
}

fn key_len(step: &Step, len: usize) -> bool {
    step.words.get(1).is_some_and(|word| word.bytes().len() == len)
}

fn text_len(step: &Step, letter: u8, len: usize) -> bool {
    step.flag(letter).is_some_and(|text| text.len() == len)
}

fn lies(step: &Step, by: i64) -> bool {
    step.words.contains(&Word::Length(by))
}

fn has_twice(step: &Step) -> bool {
    let mut letters: Vec<_> =
        step.words.iter().skip(2).filter_map(|word| word.bytes().first().copied()).collect();
    letters.sort_unstable();
    is(step, META) && letters.windows(2).any(|pair| pair[0] == pair[1])
}

const META: &[&str] = &["mg", "ms", "md", "ma"];
const SETS: &[&str] = &["set", "add", "replace", "append", "prepend", "cas", "ms"];

const LINES: &[Comes] = &[
    ("key of 250 bytes", |step| is(step, SETS) && key_len(step, 250)),
    ("key of 251 bytes", |step| is(step, SETS) && key_len(step, 251)),
    ("get of a key of 251 bytes behind another", |step| {
        is(step, &["get", "gets"])
            && step.has_long_key()
            && step.words.get(1).is_some_and(|word| (1..=250).contains(&word.bytes().len()))
    }),
    ("key of 248 letters of base64", |step| step.has_flag("b") && key_len(step, 248)),
    ("key of 252 letters of base64", |step| step.has_flag("b") && key_len(step, 252)),
    ("get of a key twice", |step| {
        is(step, &["get"]) && step.words.len() == 3 && step.words[1] == step.words[2]
    }),
    ("get of more than 2,048 bytes", |step| {
        let bytes: usize = step.words.iter().map(|word| word.bytes().len() + 1).sum();
        is(step, &["get", "gets"]) && bytes > 2048
    }),
    ("line of 2,047 bytes", |step| step.words[0].bytes().len() == 2047),
    ("line of 2,049 bytes or more without an end", |step| {
        step.words[0].bytes().len() > 2048 && step.end.is_empty()
    }),
    ("line feed alone", |step| step.end == b"\n"),
    ("empty line", |step| step.words == [Word::text("")]),
    ("one letter", |step| step.words == [Word::text("x")]),
    ("upper case", |step| is(step, &["GET", "SET"])),
    ("leading blank", |step| step.words.len() > 1 && step.words[0].bytes().is_empty()),
    ("last word of a browser", |step| step.words.last() == Some(&Word::text("HTTP/1.1"))),
    ("last word noreply", |step| step.words.last() == Some(&Word::text("noreply"))),
    ("flush_all with a delay", |step| is(step, &["flush_all"]) && has(step, 1, "1000")),
    ("cache_memlimit that is too small", |step| is(step, &["cache_memlimit"]) && has(step, 1, "1")),
    ("verbosity", |step| is(step, &["verbosity"]) && has(step, 1, "0")),
    ("stats", |step| is(step, &["stats"])),
    ("flush_all noreply noreply", |step| {
        is(step, &["flush_all"]) && has(step, 1, "noreply") && has(step, 2, "noreply")
    }),
];

const BLOCKS: &[Comes] = &[
    ("block longer than announced", |step| lies(step, -1)),
    ("block shorter than announced", |step| lies(step, 1)),
    ("block ended by a line feed alone", |step| {
        step.block.as_ref().is_some_and(|it| it.end == b"\n\r\n")
    }),
    ("negative length", |step| is(step, SETS) && has(step, 4, "-1")),
    ("length of 2,147,483,646", |step| has(step, 4, "2147483646") || has(step, 2, "2147483646")),
    ("length that is missing", |step| is(step, &["ms"]) && step.words.len() < 3),
    ("empty value", |step| step.block.is_some() && block_len(step) == 0),
    ("value of 523,262 bytes", |step| block_len(step) == (511 << 10) - 2),
    ("value of 523,264 bytes", |step| block_len(step) == 511 << 10),
    ("value of 523,266 bytes", |step| block_len(step) == (511 << 10) + 2),
    ("value of 524,286 bytes", |step| block_len(step) == (512 << 10) - 2),
    ("value of 524,287 bytes", |step| block_len(step) == (512 << 10) - 1),
    ("value of 524,288 bytes", |step| block_len(step) == 512 << 10),
    ("value of 524,289 bytes", |step| block_len(step) == (512 << 10) + 1),
    ("value of 525,310 bytes", |step| block_len(step) == (513 << 10) - 2),
    ("value of 525,312 bytes", |step| block_len(step) == 513 << 10),
    ("value of 525,314 bytes", |step| block_len(step) == (513 << 10) + 2),
    ("value that is too large", |step| block_len(step) > ITEM_BYTES_MAX),
];

const NUMBERS: &[Comes] = &[
    ("flags of 2^32 in set", |step| is(step, SETS) && has(step, 2, "4294967296")),
    ("flags of 2^32 in ms", |step| step.words.contains(&Word::text("F4294967296"))),
    ("expiry of 2,592,000", |step| step.words.contains(&Word::text("2592000"))),
    ("expiry of 2,592,001", |step| step.words.contains(&Word::text("2592001"))),
    ("expiry of -1", |step| is(step, SETS) && has(step, 3, "-1")),
    ("Unix time to come", |step| step.words.iter().any(|it| matches!(it, Word::Time(_, 1..)))),
    ("Unix time past", |step| step.words.iter().any(|it| matches!(it, Word::Time(_, ..0)))),
    ("incr by 2^64 - 1", |step| is(step, &["incr"]) && has(step, 2, "18446744073709551615")),
    ("incr by 2^64", |step| is(step, &["incr"]) && has(step, 2, "18446744073709551616")),
    ("cas with 0", |step| is(step, &["cas"]) && has(step, 5, "0")),
    ("cas with 2^64 - 1", |step| is(step, &["cas"]) && has(step, 5, "18446744073709551615")),
    ("cas with 2^64", |step| is(step, &["cas"]) && has(step, 5, "18446744073709551616")),
];

const FLAGS: &[Comes] = &[
    ("opaque text of 31 bytes", |step| text_len(step, b'O', 31)),
    ("opaque text of 32 bytes", |step| text_len(step, b'O', 32)),
    ("20 words", |step| is(step, META) && step.words.len() == 20),
    ("21 words", |step| is(step, META) && step.words.len() == 21),
    ("flag twice", has_twice),
    ("unknown flag", |step| is(step, META) && step.has_flag("S")),
    ("base64 that is bad", |step| {
        let is_odd = step.words.get(1).is_some_and(|it| it.bytes().len() % 4 != 0);
        is(step, META) && step.has_flag("b") && is_odd
    }),
    ("E0 of ms", |step| is(step, &["ms"]) && text_len(step, b'E', 1) && step.has_flag("E0")),
    ("C0 of ms", |step| is(step, &["ms"]) && step.has_flag("C0")),
    ("CAS below the item's, with I", |step| {
        let is_below = |word: &Word| matches!(word, Word::Cas("C", 1));
        is(step, &["ms"]) && step.has_flag("I") && step.words.iter().any(is_below)
    }),
    ("C of mg", |step| is(step, &["mg"]) && step.has_flag("C")),
    ("mode of two letters", |step| step.has_flag("MSE")),
    ("mode in small letters", |step| step.has_flag("Ms")),
    ("empty mode", |step| text_len(step, b'M', 0)),
    ("ms M A with N", |step| is(step, &["ms"]) && step.has_flag("MA") && step.has_flag("N")),
    ("N0", |step| step.has_flag("N0")),
    ("R30", |step| step.has_flag("R30")),
    ("mg T-1 t", |step| is(step, &["mg"]) && step.has_flag("T-1") && step.has_flag("t")),
    ("md x I", |step| is(step, &["md"]) && step.has_flag("x") && step.has_flag("I")),
    ("md T without I", |step| is(step, &["md"]) && step.has_flag("T") && !step.has_flag("I")),
    ("ma N J", |step| is(step, &["ma"]) && step.has_flag("N") && step.has_flag("J")),
    ("D that is no number", |step| is(step, &["ma"]) && step.has_flag("Dx")),
    ("mg N q v", |step| ["N", "q", "v"].iter().all(|it| is(step, &["mg"]) && step.has_flag(it))),
];

#[test]
fn both_sides_of_every_border_come() {
    let all: Vec<_> = [LINES, BLOCKS, NUMBERS, FLAGS].concat();
    let mut counts = vec![0; all.len()];
    for number in 0..ROUNDS {
        for step in round(7, number) {
            for ((_, comes), count) in all.iter().zip(&mut counts) {
                *count += u32::from(comes(&step));
            }
        }
    }
    for ((name, _), count) in all.iter().zip(&counts) {
        println!("{count:6} {name}");
    }
    let missing: Vec<_> = all.iter().zip(&counts).filter(|(_, count)| **count == 0).collect();
    assert!(
        missing.is_empty(),
        "{:?}",
        missing.iter().map(|((name, _), _)| name).collect::<Vec<_>>()
    );
}

/// As many as a short run plays in a few seconds.
const ROUNDS: u64 = 400;
