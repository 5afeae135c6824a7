//! Borders of strings, HyperLogLogs and streams.

use super::forms::{BITMAPS, GENERIC, HYPERLOGLOGS, LONG_STRINGS, SORT, STREAMS, STRINGS};
use super::state::State;
use super::texts::{Text, around};
use super::words::Words;
use crate::differential::step::{Request, request};

/// Lengths at which the form of a short string, or its reported encoding, changes.
const LENGTHS: &[usize] = &[
    0, 1, 2, 7, 8, 19, 20, 21, 43, 44, 45, 63, 64, 65, 101, 102, 103, 104, 105, 109, 110, 111, 112,
    113, 127, 128, 254, 255, 256, 257, 1023, 1024, 4095, 4096, 16_383, 16_384, 16_385, 65_534,
    65_535, 65_536, 65_537,
];
/// Lengths around those at which a deadline decides whether a string is reported as embedded.
const EMBEDDED: std::ops::RangeInclusive<usize> = 99..=114;
const INTEGERS: &[&str] = &[
    "0",
    "9",
    "99",
    "-1",
    "9999",
    "10000",
    "2147483647",
    "-2147483648",
    "4294967295",
    "9223372036854775806",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "01",
    "1.5",
    "12345678901234567890",
    "-1234567890123456789",
];

/// Returns the borders of strings.
pub fn strings() -> Vec<State> {
    let mut states = Vec::new();
    for len in LENGTHS {
        for way in [Way::Set, Way::Appended, Way::Shortened, Way::WithDeadline] {
            states.push(string(&vec![b's'; *len], way, USUAL));
        }
    }
    for integer in INTEGERS {
        states.push(string(integer.as_bytes(), Way::Set, USUAL));
        states.push(string(integer.as_bytes(), Way::Appended, USUAL));
    }
    states
}

/// Returns strings of lengths around 512 KiB, above which a string is long, and around one more
/// chunk.
pub fn long_strings() -> Vec<State> {
    let half_a_mega = 512 << 10;
    let mut lengths: Vec<usize> = (half_a_mega - 40..=half_a_mega - 8).step_by(4).collect();
    lengths.extend(half_a_mega - 4..=half_a_mega + 2);
    lengths.extend([half_a_mega + 16_383, half_a_mega + 16_384, half_a_mega + 16_385]);
    let mut states = Vec::new();
    for len in lengths {
        for way in [Way::Set, Way::Appended] {
            states.push(string(&vec![b's'; len], way, &[LONG_STRINGS]));
        }
    }
    for len in around(8 << 20) {
        states.push(string(&vec![b's'; len], Way::Set, &[LONG_STRINGS]));
    }
    states
}

const USUAL: &[&str] = &[STRINGS, BITMAPS, GENERIC, SORT];

#[derive(Clone, Copy, Debug)]
enum Way {
    Set,
    Appended,
    Shortened,
    WithDeadline,
}

fn string(value: &[u8], way: Way, forms: &[&'static str]) -> State {
    let len = value.len();
    let is_about_embedded = EMBEDDED.contains(&len);
    // Keys with listed differences in `known`.
    let [key, other, third, wrong] = if is_about_embedded {
        [&b"se1"[..], b"se2", b"se3", b"se4"]
    } else {
        [&b"s1"[..], b"s2", b"d1", b"l1"]
    };
    let mut words = Words::new([key, other, wrong], 64);
    words.set("d", third);
    let text = |len: usize| vec![b't'; len];
    words.set("value", value).set("same", &text(len)).set("longer", &text(len + 1));
    words.set("shorter", &text(len.saturating_sub(1))).set("halved", &text(len / 2));
    words.set("doubled", &text(2 * len)).number("n", len).number("half", len / 2);
    words.number("more", len + 100).number("last", len.saturating_sub(1));
    words.number("bits", 8 * len).number("lastbit", (8 * len).saturating_sub(1));
    let shown = if len > 40 { String::new() } else { String::from_utf8_lossy(value).into_owned() };
    let label = format!("String: {len} bytes, {way:?} {shown}");
    let mut state = State::new(label, "", words, forms);
    state.takes_drafts = len < 70_000 && !is_about_embedded;
    state.build = match way {
        Way::Set => vec![request(&[b"SET", key, value])],
        Way::Appended => {
            let (front, back) = value.split_at(len / 2);
            vec![request(&[b"SET", key, front]), request(&[b"APPEND", key, back])]
        }
        Way::Shortened => {
            vec![request(&[b"SET", key, &text(len + 20)]), request(&[b"SET", key, value])]
        }
        Way::WithDeadline => vec![request(&[b"SET", key, value, b"PXAT", b"9999999999999"])],
    };
    state.build.push(request(&[&b"SET"[..], other, b"stsssb"]));
    state
}

/// Returns the borders of HyperLogLogs: elements around the number at which they become dense, and
/// lengths.
pub fn hyperloglogs() -> Vec<State> {
    let mut states = Vec::new();
    let default = [0, 1, 2, 100, 1000, 1300, 1400, 1450, 1500, 1550, 1600, 1700, 2000, 4000];
    states.extend(default.map(|count| sketch("", count)));
    for (settings, counts) in [
        ("hll-sparse-max-bytes 0", [0, 1, 2, 20]),
        ("hll-sparse-max-bytes 50", [10, 16, 17, 18]),
        ("hll-sparse-max-bytes 500", [150, 170, 190, 210]),
        ("hll-sparse-max-bytes 16000", [1700, 2000, 2500, 4000]),
    ] {
        states.extend(counts.map(|count| sketch(settings, count)));
    }
    states
}

fn sketch(settings: &str, count: usize) -> State {
    let text = Text::Letters(6);
    let mut words = Words::new([b"p1", b"p2", b"l1"], 64);
    words.elements(&text.first(count.max(1)), text);
    let label = format!("HyperLogLog: {count} elements, {settings}");
    let mut state = State::new(label, settings, words, &[HYPERLOGLOGS, GENERIC]);
    let mut all = request(&["PFADD", "p1"]);
    all.append(&mut text.first(count));
    state.build = vec![all, request(&["PFADD", "p2", "aaaaaa", "other"])];
    state
}

/// Returns the borders of streams.
pub fn streams() -> Vec<State> {
    let mut states = Vec::new();
    for (settings, border) in [
        ("", 100),
        ("stream-node-max-entries 1", 1),
        ("stream-node-max-entries 2", 2),
        ("stream-node-max-entries 7", 7),
        ("stream-node-max-entries 0", 130),
        ("stream-node-max-entries 300 stream-node-max-bytes 0", 300),
    ] {
        for count in around(border).into_iter().filter(|it| *it > 0) {
            for groups in [Groups::None, Groups::Read, Groups::Pending] {
                states.push(stream(settings, count, 1, 1, groups));
            }
        }
    }
    for (settings, border) in [
        ("", 4096),
        ("stream-node-max-bytes 64", 64),
        ("stream-node-max-bytes 200", 200),
        ("stream-node-max-entries 1000 stream-node-max-bytes 0", 2048),
    ] {
        for len in (border - 60..border + 12).step_by(12) {
            states.push(stream(settings, 3, len, 1, Groups::Pending));
            states.push(stream(settings, 9, len / 8, 1, Groups::None));
        }
    }
    // Lengths from which on a text is stored elsewhere, and lengths of names.
    for len in [239, 240, 490, 500, 512, 1000, 1010, 1020, 1024, 1030, 16_384, 70_000] {
        states.push(stream("", 5, len, 1, Groups::Pending));
    }
    for names in [2, 20, 60, 63, 64, 65, 127, 128, 129, 300] {
        states.push(stream("", 5, 3, names, Groups::Read));
    }
    for count in [1023, 1024, 1025, 2500] {
        states.push(stream("", count, 1, 1, Groups::Pending));
    }
    states
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Groups {
    None,
    Read,
    Pending,
}

fn stream(settings: &str, count: usize, len: usize, names: usize, groups: Groups) -> State {
    let ids: Vec<_> = (1..=count).map(|it| format!("{it}-1").into_bytes()).collect();
    let mut words = Words::new([b"x1", b"x2", b"s3"], 64);
    words.elements(&ids, Text::Letters(6)).set("absent", b"0-5");
    let label = format!(
        "Stream: {count} entries of {names} values of {len} bytes, {groups:?} groups, {settings}"
    );
    let mut state = State::new(label, settings, words, &[STREAMS, GENERIC]);
    state.build = ids.iter().map(|id| entry(b"x1", id, len, names)).collect();
    if groups != Groups::None {
        let read = |consumer: &str, most: usize| {
            let most = most.to_string();
            request(&["XREADGROUP", "GROUP", "g1", consumer, "COUNT", &most, "STREAMS", "x1", ">"])
        };
        state.build.push(request(&["XGROUP", "CREATE", "x1", "g1", "0"]));
        state.build.push(request(&["XGROUP", "CREATE", "x1", "g2", "2"]));
        state.build.push(read("c1", count.div_ceil(3)));
        state.build.push(read("c2", count.div_ceil(3)));
        if groups == Groups::Read {
            let mut words = request(&["XACK", "x1", "g1"]);
            words.extend(ids.iter().cloned());
            state.build.push(words);
        }
    }
    state.build.push(entry(b"x2", b"7-7", 1, 1));
    state
}

fn entry(key: &[u8], id: &[u8], len: usize, names: usize) -> Request {
    let mut words = request(&[b"XADD", key, id]);
    for number in 0..names {
        words.extend([format!("f{number}").into_bytes(), vec![b'v'; len]]);
    }
    words
}

/// Returns one value of each kind, for the commands of other kinds.
pub fn samples() -> Vec<State> {
    vec![
        string(b"sssss", Way::Set, &[STRINGS, BITMAPS]),
        string(&vec![b's'; 600_000], Way::Set, &[STRINGS, BITMAPS]),
        sketch("", 3),
        sketch("", 3000),
        stream("", 3, 1, 1, Groups::Pending),
        stream("stream-node-max-entries 4", 100, 1, 1, Groups::Read),
    ]
}
