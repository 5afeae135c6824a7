//! Arguments of a search: the area, the order and the form of the result.

use super::{point, unit};
use command::key_spec::find;
use command::{FoundKeys, KeyFlags, KeySpec};
use session::{Args, Refusal};
use store::value::geo::{Point, Search, Shape, geohash};
use store::value::sorted_set::SortedSet;

const RADIUS: Refusal = Refusal::of("ERR need numeric radius");
const NEGATIVE_RADIUS: Refusal = Refusal::of("ERR radius cannot be negative");
const WIDTH: Refusal = Refusal::of("ERR need numeric width");
const HEIGHT: Refusal = Refusal::of("ERR need numeric height");
const NEGATIVE_SIDE: Refusal = Refusal::of("ERR height or width cannot be negative");
const COUNT: Refusal = Refusal::of("ERR COUNT must be > 0");
const VERTICES: Refusal = Refusal::of("ERR invalid number of vertices");
const FEW_VERTICES: Refusal = Refusal::of("ERR GEOSEARCH BYPOLYGON must have at least 3 vertices");
const STORED_WITH: Refusal = Refusal::of(
    "ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options",
);
const STORE_WITH: Refusal = Refusal::of(
    "ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options",
);
const ANY_WITHOUT_COUNT: Refusal = Refusal::of("ERR the ANY argument requires COUNT argument");

/// Minimum number of vertices of a polygon.
const VERTICES_MIN: usize = 3;

/// Form in which a command gives the origin of its search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CenterSyntax {
    /// GEORADIUS: around the place in its arguments.
    Place,
    /// GEORADIUSBYMEMBER: around the place of a member.
    Member,
    /// GEOSEARCH: by options.
    Options,
}

/// Properties in which the search commands differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Form in which it gives the origin of the search.
    pub center: CenterSyntax,
    /// True if the result may go to a key that STORE or STOREDIST names.
    pub may_store: bool,
    /// True for GEOSEARCHSTORE: the result goes to the key before that of the places.
    pub is_store: bool,
}

/// Order of places by distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sorting {
    /// No order: as they are found.
    None,
    /// The nearest first.
    Ascending,
    /// The farthest first.
    Descending,
}

/// Search that is asked for, as parsed from the arguments.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Area to search; `None` if there are no places to search.
    pub search: Option<Search>,
    /// True if distances are shown.
    pub has_distance: bool,
    /// True if scores are shown.
    pub has_hash: bool,
    /// True if places are shown.
    pub has_place: bool,
    /// Order of the result.
    pub sorting: Sorting,
    /// Maximum number of places; zero for all.
    pub count: u64,
    /// True if the first places that are found will do (ANY).
    pub is_any: bool,
    /// True if distances are stored rather than geohashes.
    pub stores_distance: bool,
}

/// Finds the keys of a search that may store its result: the last STORE or STOREDIST counts.
pub fn keys<'r>(specs: &[KeySpec], request: &[&'r [u8]]) -> Option<FoundKeys<'r>> {
    let mut found = find(specs, request)?;
    let store_at = last_store(request.get(STORE_FROM..)?.iter().copied());
    found.extend(store_at.map(|at| (request[at], KeyFlags::OW | KeyFlags::UPDATE)));
    Some(found)
}

/// First position at which a search around a place may have STORE or STOREDIST.
const STORE_FROM: usize = 5;

/// Returns the position of the key for the result, if there is one. It is among those that `keys`
/// finds, even if the parser refuses the request: no other one may be locked.
pub fn store_key(args: Args<'_>, style: Style) -> Option<usize> {
    if style.is_store {
        return Some(1);
    }
    if style.may_store { last_store(args.from(STORE_FROM)) } else { None }
}

/// Returns the position of the argument behind the last STORE or STOREDIST; `words` are the
/// arguments from `STORE_FROM` on.
fn last_store<'r>(words: impl Iterator<Item = &'r [u8]>) -> Option<usize> {
    let (mut words, mut found) = ((STORE_FROM..).zip(words), None);
    while let Some((_, word)) = words.next() {
        if [&b"STORE"[..], b"STOREDIST"].iter().any(|it| it.eq_ignore_ascii_case(word)) {
            found = words.next().map(|(at, _)| at).or(found);
        }
    }
    found
}

impl Style {
    fn options_at(self) -> usize {
        match self.center {
            CenterSyntax::Place => 6,
            CenterSyntax::Member => 5,
            CenterSyntax::Options => 2 + usize::from(self.is_store),
        }
    }
}

/// Parser of the arguments of a search; members are looked up in the places, if there are any.
pub struct Parser<'c, 'x> {
    args: Args<'c>,
    style: Style,
    places: Option<SortedSet<'x>>,
    origin: Option<Origin>,
    shape: Option<Shape>,
    polygon: Option<Vec<Point>>,
    asked: Asked,
}

/// Origin of distances.
#[derive(Clone, Copy, Debug)]
enum Origin {
    Place(Point),
    /// The place of a member; `None` if there are no places.
    Member(Option<Point>),
}

impl<'c, 'x> Parser<'c, 'x> {
    pub fn new(args: Args<'c>, style: Style, places: Option<SortedSet<'x>>) -> Parser<'c, 'x> {
        let asked = Asked {
            search: None,
            has_distance: false,
            has_hash: false,
            has_place: false,
            sorting: Sorting::None,
            count: 0,
            is_any: false,
            stores_distance: false,
        };
        Parser { args, style, places, origin: None, shape: None, polygon: None, asked }
    }

    /// Parses all arguments; errors are found in the order in which clients know them.
    pub fn parse(mut self, is_stored: bool) -> Result<Asked, Refusal> {
        match self.style.center {
            CenterSyntax::Place => {
                self.origin = Some(Origin::Place(point(self.args, 2)?));
                self.shape = Some(circle(self.args, 4)?);
            }
            CenterSyntax::Member if self.places.is_some() => {
                self.take_member(2)?;
                self.shape = Some(circle(self.args, 3)?);
            }
            CenterSyntax::Member | CenterSyntax::Options => {}
        }
        let mut at = self.style.options_at();
        while at < self.args.len() {
            at = match self.take_shown(at)? {
                Some(next) => next,
                None => self.take_area(at)?.ok_or(Refusal::SYNTAX)?,
            };
        }
        self.check(is_stored)?;
        let Parser { origin, shape, polygon, mut asked, places, .. } = self;
        let centre = match origin {
            Some(Origin::Place(point) | Origin::Member(Some(point))) => Some(point),
            _ => None,
        };
        asked.search = match (polygon, centre, shape) {
            _ if places.is_none() => None,
            (Some(vertices), ..) => Some(Search::inside(vertices)),
            (None, Some(centre), Some(shape)) => Some(Search::around(centre, shape)),
            _ => None,
        };
        // COUNT means the nearest places, unless ANY is given.
        if asked.count > 0 && asked.sorting == Sorting::None && !asked.is_any {
            asked.sorting = Sorting::Ascending;
        }
        Ok(asked)
    }

    /// Reads an option about the result at `at`; returns the position of the next one, `None` if it
    /// is none of these.
    fn take_shown(&mut self, at: usize) -> Result<Option<usize>, Refusal> {
        let (args, asked) = (self.args, &mut self.asked);
        let has_value = at + 1 < args.len();
        let may_store = self.style.may_store && has_value;
        match () {
            () if args.is(at, "WITHDIST") => asked.has_distance = true,
            () if args.is(at, "WITHHASH") => asked.has_hash = true,
            () if args.is(at, "WITHCOORD") => asked.has_place = true,
            () if args.is(at, "ANY") => asked.is_any = true,
            () if args.is(at, "ASC") => asked.sorting = Sorting::Ascending,
            () if args.is(at, "DESC") => asked.sorting = Sorting::Descending,
            () if self.style.is_store && args.is(at, "STOREDIST") => asked.stores_distance = true,
            () if has_value && args.is(at, "COUNT") => {
                let count = u64::try_from(args.integer(at + 1)?).unwrap_or(0);
                asked.count = if count > 0 { count } else { return Err(COUNT) };
                return Ok(Some(at + 2));
            }
            () if may_store && (args.is(at, "STORE") || args.is(at, "STOREDIST")) => {
                asked.stores_distance = args.is(at, "STOREDIST");
                return Ok(Some(at + 2));
            }
            () => return Ok(None),
        }
        Ok(Some(at + 1))
    }

    /// Reads an option about the area at `at`; returns the position of the next one, `None` if it
    /// is none of these.
    fn take_area(&mut self, at: usize) -> Result<Option<usize>, Refusal> {
        let args = self.args;
        if self.style.center != CenterSyntax::Options {
            return Ok(None);
        }
        let has = |words: usize| at + words < args.len();
        let is_round = matches!(self.shape, Some(Shape::Circle { .. }));
        let is_box = matches!(self.shape, Some(Shape::Rectangle { .. }));
        let is_polygon = self.polygon.is_some();
        let is_from_member = matches!(self.origin, Some(Origin::Member(_)));
        let is_from_place = matches!(self.origin, Some(Origin::Place(_)));
        match () {
            () if args.is(at, "FROMMEMBER") && has(1) && !is_from_place && !is_polygon => {
                self.take_member(at + 1)?;
                Ok(Some(at + 2))
            }
            () if args.is(at, "FROMLONLAT") && has(2) && !is_from_member && !is_polygon => {
                self.origin = Some(Origin::Place(point(args, at + 1)?));
                Ok(Some(at + 3))
            }
            () if args.is(at, "BYRADIUS") && has(2) && !is_box && !is_polygon => {
                self.shape = Some(circle(args, at + 1)?);
                Ok(Some(at + 3))
            }
            () if args.is(at, "BYBOX") && has(3) && !is_round && !is_polygon => {
                self.shape = Some(rectangle(args, at + 1)?);
                Ok(Some(at + 4))
            }
            () if args.is(at, "BYPOLYGON")
                && has(2)
                && self.shape.is_none()
                && self.origin.is_none() =>
            {
                let vertices = polygon(args, at + 1)?;
                let next = at + 2 + 2 * vertices.len();
                self.polygon = Some(vertices);
                Ok(Some(next))
            }
            () => Ok(None),
        }
    }

    /// Makes the place of the member at `at` the origin.
    fn take_member(&mut self, at: usize) -> Result<(), Refusal> {
        let member = self.args.get(at);
        let place = match &self.places {
            Some(places) => Some(
                places
                    .score(member)
                    .map(geohash::point_of)
                    .ok_or_else(|| Refusal::naming("ERR member {} does not exist", &[member]))?,
            ),
            None => None,
        };
        self.origin = Some(Origin::Member(place));
        Ok(())
    }

    /// Checks for options that exclude each other or are missing.
    fn check(&self, is_stored: bool) -> Result<(), Refusal> {
        let Asked { has_distance, has_hash, has_place, count, is_any, .. } = self.asked;
        if is_stored && (has_distance || has_hash || has_place) {
            return Err(if self.style.is_store { STORED_WITH } else { STORE_WITH });
        }
        let is_by_options = self.style.center == CenterSyntax::Options && self.polygon.is_none();
        let name = self.args.get(0);
        if is_by_options && self.origin.is_none() {
            return Err(Refusal::naming(
                "ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for {}",
                &[name],
            ));
        }
        if is_by_options && self.shape.is_none() {
            return Err(Refusal::naming(
                "ERR exactly one of BYRADIUS, BYBOX and BYPOLYGON can be specified for {}",
                &[name],
            ));
        }
        if is_any && count == 0 { Err(ANY_WITHOUT_COUNT) } else { Ok(()) }
    }
}

/// Reads radius and unit.
fn circle(args: Args<'_>, at: usize) -> Result<Shape, Refusal> {
    let radius = text::parse_f64(args.get(at)).ok_or(RADIUS)?;
    if radius < 0.0 {
        return Err(NEGATIVE_RADIUS);
    }
    Ok(Shape::Circle { radius, unit: unit(args, at + 1)? })
}

/// Reads width, height and unit.
fn rectangle(args: Args<'_>, at: usize) -> Result<Shape, Refusal> {
    let width = text::parse_f64(args.get(at)).ok_or(WIDTH)?;
    let height = text::parse_f64(args.get(at + 1)).ok_or(HEIGHT)?;
    if width < 0.0 || height < 0.0 {
        return Err(NEGATIVE_SIDE);
    }
    Ok(Shape::Rectangle { width, height, unit: unit(args, at + 2)? })
}

/// Reads the number of vertices, and the vertices.
fn polygon(args: Args<'_>, at: usize) -> Result<Vec<Point>, Refusal> {
    let count = text::parse_i64(args.get(at)).and_then(|count| i32::try_from(count).ok());
    let count = usize::try_from(count.ok_or(VERTICES)?).unwrap_or(0);
    let most = (args.len() - at - 1) / 2;
    if count < VERTICES_MIN || count > most {
        return Err(FEW_VERTICES);
    }
    (0..count).map(|vertex| point(args, at + 1 + 2 * vertex)).collect()
}
