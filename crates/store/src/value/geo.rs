//! Places on the earth: geohashes, distances, and searches within an area.
//!
//! A sorted set keeps a place as its score, a geohash of 52 bits. Near places mostly have near
//! scores, so a search reads a few ranges of scores and compares each place found there with the
//! exact shape.
//!
//! ```text
//! GEOADD     point ─▶ geohash::score_of ─▶ sorted set
//! GEOSEARCH  Search::ranges ─▶ sorted set ─▶ geohash::point_of ─▶ Search::distance_within
//! ```
//! The earth is taken for a sphere, which is right to half a percent. All arithmetic is done in the
//! order in which Valkey does it, so that scores and distances agree to the last bit.

pub mod geohash;
mod shape;

pub use shape::{Ranges, Search, Shape};

/// Place in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Degrees east of Greenwich; negative to the west.
    pub longitude: f64,
    /// Degrees north of the equator; negative to the south.
    pub latitude: f64,
}

impl Point {
    /// Returns a place that a geohash can express; `None` near the poles, beyond the limits of the
    /// map projection of the web (EPSG:3857), or beyond 180 degrees of longitude.
    pub fn new(longitude: f64, latitude: f64) -> Option<Point> {
        let is_on_map = longitude.abs() <= LONGITUDE_MAX && latitude.abs() <= LATITUDE_MAX;
        is_on_map.then_some(Point { longitude, latitude })
    }

    /// Returns the nearest place that a geohash can express.
    fn on_map(self) -> Point {
        Point {
            longitude: self.longitude.clamp(-LONGITUDE_MAX, LONGITUDE_MAX),
            latitude: self.latitude.clamp(-LATITUDE_MAX, LATITUDE_MAX),
        }
    }
}

/// Unit of length in requests and replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The metre.
    Metre,
    /// A thousand metres.
    Kilometre,
    /// The mile, of the length that Valkey gives it.
    Mile,
    /// The international foot.
    Foot,
}

impl Unit {
    /// Returns the unit with this name, in upper or lower case.
    pub fn named(word: &[u8]) -> Option<Unit> {
        let units =
            [("m", Unit::Metre), ("km", Unit::Kilometre), ("mi", Unit::Mile), ("ft", Unit::Foot)];
        let named = units.into_iter().find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()));
        named.map(|(_, unit)| unit)
    }

    /// Length of the unit in metres.
    pub fn metres(self) -> f64 {
        match self {
            Unit::Metre => 1.0,
            Unit::Kilometre => 1_000.0,
            Unit::Mile => 1_609.34,
            Unit::Foot => 0.304_8,
        }
    }
}

/// Distance between two places in metres, along the great circle, by the haversine formula.
pub fn distance(from: Point, to: Point) -> f64 {
    let half = |from: f64, to: f64| ((radians(to) - radians(from)) / 2.0).sin();
    let across = half(from.longitude, to.longitude);
    if across.abs() <= SAME_MERIDIAN {
        return distance_of_latitudes(from.latitude, to.latitude);
    }
    let along = half(from.latitude, to.latitude);
    let narrowing = radians(from.latitude).cos() * radians(to.latitude).cos();
    let haversine = along * along + narrowing * across * across;
    2.0 * EARTH_RADIUS * haversine.sqrt().asin()
}

/// Distance between two latitudes in metres, along a meridian, where the haversine formula
/// simplifies to this.
fn distance_of_latitudes(from: f64, to: f64) -> f64 {
    EARTH_RADIUS * (radians(to) - radians(from)).abs()
}

fn radians(degrees: f64) -> f64 {
    degrees * RADIANS_PER_DEGREE
}

fn degrees(radians: f64) -> f64 {
    radians / RADIANS_PER_DEGREE
}

/// Largest longitude that a geohash can express, in degrees.
pub const LONGITUDE_MAX: f64 = 180.0;
/// Largest latitude that a geohash can express, in degrees; the map is a square with it.
pub const LATITUDE_MAX: f64 = 85.051_128_78;
/// Radius of the earth in metres: the quadratic mean of the radii of the ellipsoid WGS 84.
const EARTH_RADIUS: f64 = 6_372_797.560_856;
const RADIANS_PER_DEGREE: f64 = std::f64::consts::PI / 180.0;
/// Sine of half the difference of two longitudes below which they count as equal: a distance of
/// some nanometres.
const SAME_MERIDIAN: f64 = 1e-15;

#[cfg(test)]
mod tests;
