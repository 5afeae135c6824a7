//! Borders of collections.

use super::collections::{Built, Kind, Scores, Shape};
use super::texts::{Text, around};

const BUILT: [Built; 3] = [Built::AtOnce, Built::OneByOne, Built::Shrunk];
/// Settings by which no hash is large by the number or the lengths of its elements.
const HASH_WIDE: &str = "hash-max-listpack-entries 20000 hash-max-listpack-value 70000";
const SET_WIDE: &str =
    "set-max-intset-entries 20000 set-max-listpack-entries 20000 set-max-listpack-value 70000";
const SORTED_WIDE: &str = "zset-max-listpack-entries 20000 zset-max-listpack-value 70000";
/// Most bytes of a packed list, whatever the settings.
const RUN_BYTES: usize = 60_000;
/// Approximate number of bytes from which on trees store an element elsewhere.
const CELL_BYTES: usize = 512;
/// Lengths at which the encoding of an element changes, in Varve or in a listpack.
const LENGTHS: &[usize] = &[
    0, 1, 20, 21, 44, 45, 63, 64, 65, 127, 128, 238, 239, 240, 241, 253, 254, 255, 256, 4095, 4096,
    8191, 8192, 16_383, 16_384, 65_535, 65_536,
];
/// Numbers at the limits of the integer widths.
const EDGES: &[i64] = &[
    12,
    127,
    -128,
    4095,
    8191,
    32_767,
    -32_768,
    65_535,
    8_388_607,
    -8_388_608,
    2_147_483_647,
    -2_147_483_648,
    0xff_ffff_ffff,
    0xffff_ffff_ffff,
    0xff_ffff_ffff_ffff,
    i64::MAX,
    i64::MIN,
];

/// Returns the borders of lists.
pub fn lists() -> Vec<Shape> {
    let new = |settings, count| Shape::new(Kind::List, settings, count);
    let mut shapes = vec![new("", 1), new("", 2)];
    for (settings, border) in [
        ("list-max-listpack-size 1", 1),
        ("list-max-listpack-size 2", 2),
        ("list-max-listpack-size 7", 7),
        ("list-max-listpack-size 128", 128),
        ("list-max-listpack-size 1200", 1000),
    ] {
        for count in around(border).into_iter().filter(|it| *it > 0) {
            for built in BUILT {
                shapes.push(new(settings, count).built(built));
            }
        }
        // A list becomes small again at half of its limit.
        shapes.extend(
            around(border / 2).into_iter().filter(|it| *it > 0).map(|it| new(settings, it)),
        );
    }
    for (settings, border) in [
        ("list-max-listpack-size -1", 4096),
        ("list-max-listpack-size -2", 8192),
        ("list-max-listpack-size -4", 32_768),
        ("list-max-listpack-size -5", RUN_BYTES),
        ("list-max-listpack-size -5", 65_536),
    ] {
        // Elements of a hundred bytes take 102 bytes in a listpack and 101 in a packed list.
        for step in [-3_i64, -2, -1, 0, 1, 2, 3] {
            let count = border / 102;
            let rest = border - 102 * (count - 1) - 7 - 2;
            let last = (rest as i64 + step).clamp(1, 230) as usize;
            let shape = new(settings, count).of(Text::Letters(100)).with_one_of(last, true);
            shapes.push(shape);
        }
        let count = border / 2 / 102;
        shapes.push(new(settings, count).of(Text::Letters(100)).built(Built::Shrunk));
        shapes.push(new(settings, border / 102 + 1).of(Text::Letters(100)).built(Built::Shrunk));
    }
    shapes.extend([1023, 1024, 1025, 3000].map(|count| new("list-max-listpack-size 20000", count)));
    shapes.extend(common(Kind::List, "", "list-max-listpack-size -5", "list-max-listpack-size 4"));
    shapes
}

/// Returns the borders of hashes.
pub fn hashes() -> Vec<Shape> {
    let new = |settings, count| Shape::new(Kind::Hash, settings, count);
    let mut shapes = Vec::new();
    for (settings, border) in [
        ("", 512),
        ("hash-max-listpack-entries 0", 1),
        ("hash-max-listpack-entries 1", 1),
        ("hash-max-listpack-entries 16", 16),
        ("hash-max-listpack-entries 1024", 1024),
    ] {
        for count in around(border).into_iter().filter(|it| *it > 0) {
            shapes.extend(BUILT.map(|built| new(settings, count).built(built)));
            shapes.push(new(settings, count).timed(1));
            shapes.push(new(settings, count).timed(count));
        }
    }
    for (settings, border) in [
        ("", 64),
        ("hash-max-listpack-value 0", 0),
        ("hash-max-listpack-value 1", 1),
        ("hash-max-listpack-value 239", 239),
        ("hash-max-listpack-value 5000", 5000),
    ] {
        for bytes in around(border) {
            let shape = new(settings, 5).threshold(border);
            shapes.push(shape.clone().with_one_of(bytes, false));
            shapes.push(shape.clone().with_value_of(bytes));
            shapes.push(shape.clone().with_value_of(bytes).timed(5));
        }
    }
    // Rows of a field and a value take about 1000 bytes; the size of the last varies around the
    // border.
    for step in (-24..=24).step_by(6) {
        let last = (500 + step) as usize;
        let shape = new(HASH_WIDE, 60).of(Text::Letters(491)).values(491).threshold(70_000);
        shapes.push(shape.with_one_of(last, true));
        // A few long values, in the shorter packed list that they may have.
        let shape = new("", 8).values(1010);
        shapes.push(shape.with_one_of((60 + step) as usize, true));
    }
    for bytes in around(2 << 10) {
        shapes.push(new("", 4).values(bytes));
    }
    shapes.push(new(HASH_WIDE, 2000).timed(1000).threshold(70_000));
    shapes.extend(common(Kind::Hash, "", HASH_WIDE, "hash-max-listpack-entries 4"));
    for bytes in [490, 500, 505, 510, CELL_BYTES, 515, 2048, 16_384, 70_000] {
        let shape = new("hash-max-listpack-entries 4", 150).with_value_of(bytes);
        shapes.push(shape.clone());
        shapes.push(shape.timed(150));
    }
    shapes
}

/// Returns the borders of sets.
pub fn sets() -> Vec<Shape> {
    let new = |settings, count| Shape::new(Kind::Set, settings, count);
    let mut shapes = Vec::new();
    let few = "set-max-intset-entries 16 set-max-listpack-entries 16";
    let none = "set-max-intset-entries 0 set-max-listpack-entries 0";
    let one = "set-max-intset-entries 1 set-max-listpack-entries 1";
    let many = "set-max-intset-entries 1024 set-max-listpack-entries 1024";
    for (settings, border) in [("", 128), (few, 16), (none, 1), (one, 1), (many, 1024)] {
        for count in around(border).into_iter().filter(|it| *it > 0) {
            shapes.extend(BUILT.map(|built| new(settings, count).built(built)));
            shapes.push(new(settings, count).of(Text::Mixed(6)));
        }
    }
    for (settings, border) in [("", 512), (few, 16), (none, 1), (one, 1), (many, 1024)] {
        for count in around(border).into_iter().filter(|it| *it > 0) {
            for built in BUILT {
                shapes.push(new(settings, count).of(Text::Integers(100)).built(built));
            }
        }
    }
    for base in EDGES {
        let before = base.saturating_sub(4);
        shapes.push(new("", 5).of(Text::Integers(before)).with_one(&base.to_string()));
        shapes.push(new("", 5).of(Text::Integers(0)).with_one(&base.to_string()));
        shapes.push(new("", 5).with_one(&base.to_string()));
    }
    for (settings, border) in [
        ("", 64),
        ("set-max-listpack-value 0", 0),
        ("set-max-listpack-value 1", 1),
        ("set-max-listpack-value 5000", 5000),
    ] {
        for bytes in around(border) {
            shapes.push(new(settings, 5).threshold(border).with_one_of(bytes, false));
        }
    }
    // Integers of eight bytes, and texts of a thousand.
    for count in around(RUN_BYTES / 8) {
        let shape = new(SET_WIDE, count).of(Text::Integers(1 << 40)).threshold(70_000);
        shapes.push(shape);
    }
    for step in (-24..=24).step_by(6) {
        let shape = new(SET_WIDE, 60).of(Text::Letters(991)).threshold(70_000);
        shapes.push(shape.with_one_of((991 + step) as usize, true));
    }
    shapes.extend(common(Kind::Set, "", SET_WIDE, few));
    shapes
}

/// Returns the borders of sorted sets.
pub fn sorted_sets() -> Vec<Shape> {
    let new = |settings, count| Shape::new(Kind::SortedSet, settings, count);
    let mut shapes = Vec::new();
    for (settings, border) in [
        ("", 128),
        ("zset-max-listpack-entries 0", 1),
        ("zset-max-listpack-entries 1", 1),
        ("zset-max-listpack-entries 16", 16),
        ("zset-max-listpack-entries 1024", 1024),
    ] {
        for count in around(border).into_iter().filter(|it| *it > 0) {
            shapes.extend(BUILT.map(|built| new(settings, count).built(built)));
            shapes.push(new(settings, count).scores(Scores::Level));
            shapes.push(new(settings, count).scores(Scores::Odd));
        }
    }
    for (settings, border) in [
        ("", 64),
        ("zset-max-listpack-value 0", 0),
        ("zset-max-listpack-value 1", 1),
        ("zset-max-listpack-value 5000", 5000),
    ] {
        for bytes in around(border) {
            shapes.push(new(settings, 5).threshold(border).with_one_of(bytes, false));
        }
    }
    for step in (-24..=24).step_by(6) {
        let shape = new(SORTED_WIDE, 60).of(Text::Letters(985)).threshold(70_000);
        shapes.push(shape.with_one_of((985 + step) as usize, true));
    }
    shapes.push(new(SORTED_WIDE, 2000).scores(Scores::Level).threshold(70_000));
    let few = "zset-max-listpack-entries 4";
    shapes.extend([100, 700, 2000].map(|count| new(few, count).scores(Scores::Level)));
    shapes.extend(common(Kind::SortedSet, "", SORTED_WIDE, few));
    shapes
}

/// Returns the borders of geo sets.
pub fn places() -> Vec<Shape> {
    let new = |settings, count| Shape::new(Kind::Places, settings, count);
    let mut shapes: Vec<_> = around(128).into_iter().map(|count| new("", count)).collect();
    shapes.extend(around(64).into_iter().map(|bytes| new("", 5).with_one_of(bytes, false)));
    shapes.push(new("zset-max-listpack-entries 4", 700));
    shapes.push(new("", 1));
    shapes
}

/// Returns the borders of all kinds: elements of each length and each width, in packed lists and in
/// trees; keys of several lengths and with deadlines.
fn common(kind: Kind, usual: &'static str, wide: &'static str, narrow: &'static str) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for bytes in LENGTHS {
        shapes.push(Shape::new(kind, wide, 5).threshold(70_000).with_one_of(*bytes, false));
        shapes.push(Shape::new(kind, narrow, 60).threshold(64).with_one_of(*bytes, false));
    }
    for bytes in CELL_BYTES - 20..=CELL_BYTES + 4 {
        shapes.push(Shape::new(kind, narrow, 60).threshold(64).with_one_of(bytes, false));
    }
    for edge in EDGES {
        let (below, above) = (edge.saturating_sub(1), edge.saturating_add(1));
        for number in [below, *edge, above] {
            shapes.push(Shape::new(kind, wide, 3).with_one(&number.to_string()));
        }
        shapes.push(Shape::new(kind, narrow, 40).of(Text::Integers(edge.saturating_sub(20))));
    }
    for (settings, count) in [(usual, 3), (narrow, 300)] {
        let shape = Shape::new(kind, settings, count);
        shapes.push(shape.clone().with_deadline());
        for bytes in [0, 1, 31, 32, 255, 256, 65_535, 65_536] {
            shapes.push(shape.clone().under_key_of(bytes));
        }
        shapes.push(shape.clone().under_key_of(256).with_deadline());
    }
    shapes
}
