//! Areas of a search: ranges of scores to read, and the exact test of a place.

use super::geohash::{Area, Cell, STEP_MAX};
use super::{EARTH_RADIUS, Point, Unit, degrees, distance, distance_of_latitudes, radians};
use smallvec::SmallVec;
use std::ops::Range;

/// Shape of a search around a place.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// All places within the radius.
    Circle {
        /// In `unit`.
        radius: f64,
        /// Unit of the radius.
        unit: Unit,
    },
    /// All places at most half the height to the north or south, and at most half the width to the
    /// east or west, measured on their own latitude.
    Rectangle {
        /// In `unit`.
        width: f64,
        /// In `unit`.
        height: f64,
        /// Unit of both lengths.
        unit: Unit,
    },
    /// All places inside, with longitude and latitude as the axes of a plane.
    Polygon {
        /// Vertices in order; the last is joined to the first.
        vertices: Vec<Point>,
    },
}

/// Ranges of scores, searched in this order.
pub type Ranges = SmallVec<[Range<u64>; 9]>;

/// Shape at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// Origin of distances.
    centre: Point,
    shape: Shape,
}

impl Search {
    /// A circle or rectangle around a place.
    pub fn around(centre: Point, shape: Shape) -> Search {
        Search { centre, shape }
    }

    /// A polygon, with the middle of its vertices as centre.
    pub fn inside(vertices: Vec<Point>) -> Search {
        Search { centre: middle(&vertices), shape: Shape::Polygon { vertices } }
    }

    /// Unit of distances in replies.
    pub fn unit(&self) -> Unit {
        match self.shape {
            Shape::Circle { unit, .. } | Shape::Rectangle { unit, .. } => unit,
            Shape::Polygon { .. } => Unit::Metre,
        }
    }

    /// Returns the distance of a place from the centre in metres if the place lies in the shape.
    pub fn distance_within(&self, point: Point) -> Option<f64> {
        let from_centre = || distance(self.centre, point);
        match &self.shape {
            Shape::Circle { radius, unit } => {
                let distance = from_centre();
                // NaN, as at the very antipode, counts as inside.
                let is_outside = distance > radius * unit.metres();
                (!is_outside).then_some(distance)
            }
            Shape::Rectangle { width, height, unit } => {
                let (width, height) = (width * unit.metres(), height * unit.metres());
                let on_own_latitude = Point { latitude: point.latitude, ..self.centre };
                let is_outside = distance_of_latitudes(point.latitude, self.centre.latitude)
                    > height / 2.0
                    || distance(point, on_own_latitude) > width / 2.0;
                (!is_outside).then(from_centre)
            }
            Shape::Polygon { vertices } => is_inside(point, vertices).then(from_centre),
        }
    }

    /// Returns the ranges of scores to search: the cell of the centre, and its neighbours as far as
    /// the shape reaches into them.
    ///
    /// Together they contain every place in the shape, with the exceptions that Valkey has too:
    /// places may be missing around a centre on the very edge of the map, in a circle that reaches
    /// across a pole, and in a polygon that goes around half the earth.
    pub fn ranges(&self) -> Ranges {
        let bounds = self.bounds();
        // The middle of a polygon may lie beyond the map: the whole map is searched then.
        let is_on_map = Point::new(self.centre.longitude, self.centre.latitude).is_some();
        let at = if is_on_map { self.centre } else { Point { longitude: 0.0, latitude: 0.0 } };
        let reach = if is_on_map { self.reach(&bounds) } else { f64::INFINITY };
        let mut step = step_for(reach, at.latitude);
        if step > 1 && !neighbours_cover(Cell::of(at, step), &bounds) {
            step -= 1;
        }
        let cell = Cell::of(at, step);
        let area = cell.area();
        // With only two cells in a row, both neighbours on an axis are the same cell.
        let is_fine = step >= 2;
        let is_needless = |east: i8, north: i8| {
            is_fine
                && (north < 0 && area.south < bounds.south
                    || north > 0 && area.north > bounds.north
                    || east < 0 && area.west < bounds.west
                    || east > 0 && area.east > bounds.east)
        };
        let mut ranges = Ranges::new();
        for (east, north) in AROUND {
            let scores = cell.neighbour(east, north).scores();
            if !is_needless(east, north) && ranges.last() != Some(&scores) {
                ranges.push(scores);
            }
        }
        ranges
    }

    /// Bounding rectangle of the shape.
    fn bounds(&self) -> Area {
        let (width, height) = match &self.shape {
            Shape::Circle { radius, unit } => (unit.metres() * radius, unit.metres() * radius),
            Shape::Rectangle { width, height, unit } => {
                (unit.metres() * width / 2.0, unit.metres() * height / 2.0)
            }
            Shape::Polygon { vertices } => return bounds_of(vertices),
        };
        let Point { longitude, latitude } = self.centre;
        let north = degrees(height / EARTH_RADIUS);
        // Circles of latitude are shorter near the poles, so a width spans most degrees at the end
        // of the shape that is nearer to a pole.
        let end = if latitude < 0.0 { latitude - north } else { latitude + north };
        let east = degrees(width / EARTH_RADIUS / radians(end).cos());
        Area {
            west: longitude - east,
            south: latitude - north,
            east: longitude + east,
            north: latitude + north,
        }
    }

    /// Largest distance of the shape from its centre, in metres.
    fn reach(&self, bounds: &Area) -> f64 {
        match &self.shape {
            Shape::Circle { radius, unit } => radius * unit.metres(),
            Shape::Rectangle { width, height, unit } => {
                let (width, height) = (width / 2.0, height / 2.0);
                (width * width + height * height).sqrt() * unit.metres()
            }
            Shape::Polygon { .. } => {
                let corner = |longitude: f64, latitude: f64| {
                    distance(self.centre, Point { longitude, latitude })
                };
                let Area { west, south, east, north } = *bounds;
                [(west, north), (east, north), (west, south), (east, south)]
                    .into_iter()
                    .map(|(longitude, latitude)| corner(longitude, latitude))
                    .fold(f64::NEG_INFINITY, f64::max)
            }
        }
    }
}

/// Offsets of the cell and its neighbours, to the east and to the north, in the order of the
/// search.
const AROUND: [(i8, i8); 9] =
    [(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1)];

/// Returns the number of halvings for cells about as large as `reach`, in metres; larger cells
/// towards the poles, where they are narrow.
fn step_for(reach: f64, latitude: f64) -> u32 {
    if reach == 0.0 {
        return STEP_MAX;
    }
    let (mut step, mut reach) = (1_u32, reach);
    while reach < MAP_HALF {
        reach *= 2.0;
        step += 1;
    }
    let to_pole = u32::from(latitude.abs() > 66.0) + u32::from(latitude.abs() > 80.0);
    step.saturating_sub(2 + to_pole).clamp(1, STEP_MAX)
}

/// Returns true if the neighbours of a cell reach as far as the bounds.
fn neighbours_cover(cell: Cell, bounds: &Area) -> bool {
    let area = |east: i8, north: i8| cell.neighbour(east, north).area();
    let is_short = area(0, 1).north < bounds.north
        || area(0, -1).south > bounds.south
        || area(1, 0).east < bounds.east
        || area(-1, 0).west > bounds.west;
    !is_short
}

fn bounds_of(vertices: &[Point]) -> Area {
    let longitudes = || vertices.iter().map(|vertex| vertex.longitude);
    let latitudes = || vertices.iter().map(|vertex| vertex.latitude);
    Area {
        west: longitudes().fold(f64::INFINITY, f64::min),
        south: latitudes().fold(f64::INFINITY, f64::min),
        east: longitudes().fold(f64::NEG_INFINITY, f64::max),
        north: latitudes().fold(f64::NEG_INFINITY, f64::max),
    }
}

/// Projects the mean of the vertices, which lies inside the sphere, up to the surface.
fn middle(vertices: &[Point]) -> Point {
    let (mut x, mut y, mut z) = (0.0, 0.0, 0.0);
    for vertex in vertices {
        let (longitude, latitude) = (radians(vertex.longitude), radians(vertex.latitude));
        x += latitude.cos() * longitude.cos();
        y += latitude.cos() * longitude.sin();
        z += latitude.sin();
    }
    let from_axis: f64 = (x * x + y * y).sqrt();
    Point { longitude: degrees(f64::atan2(y, x)), latitude: degrees(f64::atan2(z, from_axis)) }
}

/// Returns true if a ray from the point to the east crosses the polygon's edges an odd number of
/// times: PNPOLY, W. Randolph Franklin, 1970.
fn is_inside(point: Point, vertices: &[Point]) -> bool {
    let before = vertices.iter().cycle().skip(vertices.len().saturating_sub(1));
    let crossed = vertices.iter().zip(before).filter(|(a, b)| {
        let spans = (a.latitude > point.latitude) != (b.latitude > point.latitude);
        let slope = (b.longitude - a.longitude) * (point.latitude - a.latitude);
        spans && point.longitude < slope / (b.latitude - a.latitude) + a.longitude
    });
    crossed.count() % 2 == 1
}

/// Half the side of the map in metres, measured along the equator.
const MAP_HALF: f64 = 20_037_726.37;
