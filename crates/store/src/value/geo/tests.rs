use super::geohash::{self, Cell, point_of, score_of, text_of};
use super::{LATITUDE_MAX, LONGITUDE_MAX, Point, Search, Shape, Unit, distance};
use base::Random;

/// Recorded answers of Valkey: places with their scores, geohashes and positions; distances;
/// searches with the places found, in the order of GEOSEARCH, and the distances that STOREDIST
/// keeps.
const VALKEY: &str = include_str!("valkey.txt");

/// Words of a line after its first.
struct Words<'a>(std::str::SplitAsciiWhitespace<'a>);

impl<'a> Words<'a> {
    fn word(&mut self) -> &'a str {
        self.0.next().expect("another word")
    }

    fn number(&mut self) -> f64 {
        self.word().parse().expect("a number")
    }

    fn index(&mut self) -> usize {
        self.word().parse().expect("a number")
    }

    fn unit(&mut self) -> Unit {
        Unit::named(self.word().as_bytes()).expect("a unit")
    }

    fn point(&mut self) -> Point {
        let (longitude, latitude) = (self.number(), self.number());
        Point::new(longitude, latitude).expect("a place on the map")
    }

    fn search(&mut self) -> Search {
        let centre = match self.word() {
            "at" => self.point(),
            _ => {
                let count = self.index();
                return Search::inside((0..count).map(|_| self.point()).collect());
            }
        };
        let shape = match self.word() {
            "radius" => Shape::Circle { radius: self.number(), unit: self.unit() },
            _ => {
                Shape::Rectangle { width: self.number(), height: self.number(), unit: self.unit() }
            }
        };
        Search::around(centre, shape)
    }
}

fn lines(kind: &str) -> impl Iterator<Item = Words<'static>> {
    let lines = VALKEY.lines().map(|line| line.split_ascii_whitespace());
    let matching = lines.filter_map(move |mut words| (words.next() == Some(kind)).then_some(words));
    matching.map(Words)
}

fn scores() -> Vec<f64> {
    lines("point").map(|mut words| score_of(words.point())).collect()
}

/// Formats degrees as GEOPOS does: 17 digits after the point, without zeros at the end.
fn written(degrees: f64) -> String {
    let text = format!("{degrees:.17}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[test]
fn scores_positions_and_geohashes_are_those_of_valkey() {
    for mut words in lines("point") {
        let point = words.point();
        let score = score_of(point);
        assert_eq!(score, words.number(), "{point:?}");
        let position = point_of(score);
        assert_eq!(text_of(position), words.word().as_bytes(), "{point:?}");
        assert_eq!(written(position.longitude), words.word(), "{point:?}");
        assert_eq!(written(position.latitude), words.word(), "{point:?}");
    }
}

#[test]
fn distances_are_those_of_valkey() {
    let scores = scores();
    for mut words in lines("distance") {
        let (from, to) = (point_of(scores[words.index()]), point_of(scores[words.index()]));
        let found = distance(from, to) / words.unit().metres();
        assert!((found - words.number()).abs() <= 0.000_051, "{from:?} {to:?}");
    }
}

#[test]
fn searches_find_what_valkey_finds_in_its_order() {
    let scores = scores();
    let mut members: Vec<(u64, String)> =
        scores.iter().enumerate().map(|(at, score)| (*score as u64, at.to_string())).collect();
    members.sort();
    for mut words in lines("search") {
        let search = words.search();
        let unit = search.unit().metres();
        let mut found = Vec::new();
        for range in search.ranges() {
            let inside = members.iter().filter(|(score, _)| range.contains(score));
            found.extend(inside.filter_map(|(score, name)| {
                Some((name.as_str(), search.distance_within(point_of(*score as f64))? / unit))
            }));
        }
        assert_eq!(words.word(), "found");
        let pair = |word: &'static str| {
            let (name, distance) = word.split_once(':').expect("a colon");
            (name, distance.parse().expect("a number"))
        };
        let expected: Vec<(&str, f64)> = words.0.map(pair).collect();
        assert_eq!(found, expected, "{search:?}");
    }
}

#[test]
fn a_place_is_found_again_within_its_cell() {
    let mut random = Random::from_seed(1);
    for _ in 0..10_000 {
        let point = random_point(&mut random);
        let position = point_of(score_of(point));
        assert!((position.longitude - point.longitude).abs() < 360.0 / f64::from(1 << 26));
        assert!((position.latitude - point.latitude).abs() < 171.0 / f64::from(1 << 26));
        assert_eq!(score_of(position), score_of(point));
    }
}

#[test]
fn scores_of_no_place_give_some_place_on_the_map() {
    let scores = [-1.0, 0.5, 1e16, 1.7e19, 1.9e19, 1e300, f64::INFINITY, f64::NEG_INFINITY];
    for score in scores {
        let Point { longitude, latitude } = point_of(score);
        assert!(Point::new(longitude, latitude).is_some(), "{score}");
    }
}

#[test]
fn cells_hold_the_scores_of_their_places_and_no_others() {
    let mut random = Random::from_seed(2);
    for _ in 0..10_000 {
        let step = 1 + random.below(26) as u32;
        let (one, other) = (random_point(&mut random), random_point(&mut random));
        let cell = Cell::of(one, step);
        let is_same = Cell::of(other, step) == cell;
        assert!(cell.scores().contains(&(score_of(one) as u64)));
        assert_eq!(cell.scores().contains(&(score_of(other) as u64)), is_same);
        let area = cell.area();
        assert!((area.west..=area.east).contains(&one.longitude), "{one:?}");
        assert!((area.south..=area.north).contains(&one.latitude), "{one:?}");
    }
}

#[test]
fn going_around_the_map_leads_back() {
    let mut random = Random::from_seed(3);
    for step in 1..=geohash::STEP_MAX.min(10) {
        let start = Cell::of(random_point(&mut random), step);
        for (east, north) in [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1)] {
            let walk = |cell: Cell, _| cell.neighbour(east, north);
            assert_eq!((0..1 << step).fold(start, walk), start);
            assert_eq!(start.neighbour(east, north).neighbour(-east, -north), start);
        }
    }
}

#[test]
fn every_place_within_a_shape_lies_in_one_of_its_ranges() {
    let mut random = Random::from_seed(4);
    let mut found = 0;
    for _ in 0..2_000 {
        // Up to a quarter of the earth, but not across a pole.
        let size = 10_f64.powf(between(&mut random, 0.0, 6.7));
        let degrees = size / 111_000.0;
        let latitude_max = 80.0 - degrees;
        let centre = Point {
            longitude: between(&mut random, -LONGITUDE_MAX, LONGITUDE_MAX),
            latitude: between(&mut random, -latitude_max, latitude_max),
        };
        let search = random_search(&mut random, centre, size);
        let ranges = search.ranges();
        assert!(ranges.len() <= 9);
        for _ in 0..50 {
            let point = around(&mut random, centre, 3.0 * degrees, degrees);
            let score = score_of(point) as u64;
            if search.distance_within(point_of(score as f64)).is_some() {
                let holding = ranges.iter().filter(|range| range.contains(&score)).count();
                assert_eq!(holding, 1, "{point:?} of {search:?}");
                found += 1;
            }
        }
    }
    assert!(found > 10_000, "{found}");
}

#[test]
fn a_polygon_around_a_pole_is_searched_without_its_centre_on_the_map() {
    let at = |longitude: f64| Point { longitude, latitude: 80.0 };
    let search = Search::inside(vec![at(0.0), at(120.0), at(-120.0)]);
    assert!(!search.ranges().is_empty());
    assert_eq!(search.distance_within(at(10.0)), None);
}

#[test]
fn units_are_named_in_any_case() {
    let rows = [("m", 1.0), ("KM", 1_000.0), ("Mi", 1_609.34), ("ft", 0.304_8)];
    for (name, metres) in rows {
        assert_eq!(Unit::named(name.as_bytes()).map(Unit::metres), Some(metres), "{name}");
    }
    assert_eq!(Unit::named(b"yd"), None);
}

#[test]
fn places_beyond_the_map_are_none() {
    assert!(Point::new(LONGITUDE_MAX, -LATITUDE_MAX).is_some());
    for (longitude, latitude) in [(180.1, 0.0), (0.0, -85.06), (f64::NAN, 0.0), (0.0, f64::NAN)] {
        assert_eq!(Point::new(longitude, latitude), None);
    }
}

fn between(random: &mut Random, low: f64, high: f64) -> f64 {
    low + (high - low) * (random.next() >> 11) as f64 / (1_u64 << 53) as f64
}

fn random_point(random: &mut Random) -> Point {
    Point {
        longitude: between(random, -LONGITUDE_MAX, LONGITUDE_MAX),
        latitude: between(random, -LATITUDE_MAX, LATITUDE_MAX),
    }
}

/// A shape of about `size` metres.
fn random_search(random: &mut Random, centre: Point, size: f64) -> Search {
    let unit = [Unit::Metre, Unit::Kilometre, Unit::Mile, Unit::Foot][random.below(4) as usize];
    let mut length = || between(random, 0.2, 2.0) * size / unit.metres();
    let shape = match (length(), length()) {
        (width, height) if width < height => Shape::Rectangle { width, height, unit },
        (radius, _) => Shape::Circle { radius: radius / 2.0, unit },
    };
    if random.below(3) > 0 {
        return Search::around(centre, shape);
    }
    let degrees = size / 111_000.0;
    let is_beyond = centre.longitude.abs() + degrees > LONGITUDE_MAX;
    let centre = if is_beyond { Point { longitude: 0.0, ..centre } } else { centre };
    Search::inside((0..5).map(|_| around(random, centre, degrees, degrees)).collect())
}

/// Random place up to `east` and `north` degrees away, across the date line if need be.
fn around(random: &mut Random, centre: Point, east: f64, north: f64) -> Point {
    let longitude = centre.longitude + between(random, -east, east);
    let latitude = centre.latitude + between(random, -north, north);
    Point { longitude: (longitude + 540.0).rem_euclid(360.0) - LONGITUDE_MAX, latitude }
}
