//! Geohashes (Gustavo Niemeyer, 2008): a place as the bits of longitude and latitude in turn, each
//! bit halving the map.
//!
//! ```text
//! bits     51 50 ...  3  2  1  0
//!          lo la     lo la lo la
//! ```

use super::{LATITUDE_MAX, LONGITUDE_MAX, Point};
use std::ops::Range;

/// Bits of longitude, and of latitude, in the geohash of a place.
pub(super) const STEP_MAX: u32 = 26;
/// Letters of a geohash in text form.
pub const TEXT_LEN: usize = 11;

/// Returns the score of a place in a sorted set.
pub fn score_of(point: Point) -> f64 {
    hash(point, LATITUDE_MAX, STEP_MAX) as f64
}

/// Returns the place of a score, which is the middle of its cell. Any other score gives some place
/// on the map.
#[expect(clippy::cast_possible_truncation, reason = "each branch takes what fits its type")]
pub fn point_of(score: f64) -> Point {
    let bits = if score < TWO_TO_63 {
        // Negative scores keep the bits of their integer.
        (score as i64).cast_unsigned()
    } else if score < TWO_TO_63 * 2.0 {
        score as u64
    } else {
        0
    };
    let area = Cell { bits, step: STEP_MAX }.area();
    let middle = Point {
        longitude: (area.west + area.east) / 2.0,
        latitude: (area.south + area.north) / 2.0,
    };
    middle.on_map()
}

/// Returns the geohash of a place in its common text form: latitudes up to the poles, base 32. The
/// last letter needs three bits more than there are, and is always zero.
pub fn text_of(point: Point) -> [u8; TEXT_LEN] {
    let bits = hash(point, 90.0, STEP_MAX);
    std::array::from_fn(|at| {
        let digit = if at < 10 { bits >> (47 - 5 * at) & 31 } else { 0 };
        ALPHABET[narrow::to_usize(digit)]
    })
}

/// A rectangle of the map: all places whose geohashes begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// `2 * step` bits of a geohash.
    bits: u64,
    /// Number of halvings of longitude and of latitude: 1 to 26.
    step: u32,
}

/// Bounds of a rectangle on the map, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub west: f64,
    pub south: f64,
    pub east: f64,
    pub north: f64,
}

impl Cell {
    /// Returns the cell of a place of the map.
    pub fn of(point: Point, step: u32) -> Cell {
        Cell { bits: hash(point, LATITUDE_MAX, step), step }
    }

    /// Returns the bounds of the cell. Cell numbers beyond the map wrap around.
    pub fn area(self) -> Area {
        let cells = (1_u64 << self.step) as f64;
        let edge = |number: u32, most: f64| -most + f64::from(number) / cells * (most + most);
        let (x, y) = (gather(self.bits >> 1), gather(self.bits));
        Area {
            west: edge(x, LONGITUDE_MAX),
            south: edge(y, LATITUDE_MAX),
            east: edge(x.wrapping_add(1), LONGITUDE_MAX),
            north: edge(y.wrapping_add(1), LATITUDE_MAX),
        }
    }

    /// Returns a neighbour, at most one cell to the east or west and one to the north or south; the
    /// map wraps around at its edges.
    pub fn neighbour(self, east: i8, north: i8) -> Cell {
        let unused = 64 - 2 * self.step;
        let moved = |bits: u64, own: u64, by: i8| {
            let (kept, own, others) = (bits & !own, own >> unused, !own >> unused);
            // Bits of the other axis: ones let a carry pass from each own bit to the next, zeros a
            // borrow.
            match by.signum() {
                0 => bits,
                1 => kept | (bits & own | others).wrapping_add(1) & own,
                _ => kept | (bits & own).wrapping_sub(1) & own,
            }
        };
        let bits = moved(moved(self.bits, LONGITUDE_BITS, east), LATITUDE_BITS, north);
        Cell { bits, step: self.step }
    }

    /// Range of the scores of exactly the places in the cell.
    pub fn scores(self) -> Range<u64> {
        let shift = 2 * (STEP_MAX - self.step);
        self.bits << shift..(self.bits + 1) << shift
    }
}

/// Returns `step` bits each of longitude and latitude, where latitudes end at `latitude_max`. At
/// the very end of the map it is one bit more.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a place on the map has `step` bits, or one more"
)]
fn hash(point: Point, latitude_max: f64, step: u32) -> u64 {
    let number = |at: f64, most: f64| ((at + most) / (most + most) * (1_u64 << step) as f64) as u32;
    let x = number(point.longitude, LONGITUDE_MAX);
    let y = number(point.latitude, latitude_max);
    spread(x) << 1 | spread(y)
}

/// Inserts a zero above each bit.
fn spread(bits: u32) -> u64 {
    SPREADING.into_iter().fold(bits.into(), |bits, (by, mask)| (bits | bits << by) & mask)
}

/// Extracts every second bit, from the lowest on.
fn gather(bits: u64) -> u32 {
    let gathering = SPREADING.into_iter().rev().zip([16_u32, 8, 4, 2, 1].into_iter().rev());
    let bits = gathering.fold(bits, |bits, ((_, mask), by)| {
        let bits = bits & mask;
        bits | bits >> by
    });
    narrow::low_u32(bits)
}

/// Steps of `spread`, for groups of 16, 8, 4, 2 and 1 bits: distance by which the upper half of
/// each group moves, and mask of the bits to keep.
const SPREADING: [(u32, u64); 5] = [
    (16, 0x0000_ffff_0000_ffff),
    (8, 0x00ff_00ff_00ff_00ff),
    (4, 0x0f0f_0f0f_0f0f_0f0f),
    (2, 0x3333_3333_3333_3333),
    (1, LATITUDE_BITS),
];
const LATITUDE_BITS: u64 = 0x5555_5555_5555_5555;
const LONGITUDE_BITS: u64 = !LATITUDE_BITS;
const ALPHABET: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
