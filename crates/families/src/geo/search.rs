//! Searching areas: GEOSEARCH, GEOSEARCHSTORE, GEORADIUS, GEORADIUSBYMEMBER and their read-only
//! forms.

use super::seek::{Asked, CenterSyntax, Parser, Sorting, Style, store_key};
use super::{write_distance, write_point};
use crate::partial_sort::partial_sort;
use crate::sorted_set::{limit, record_stored_effects, stored};
use command::{Call, Outcome, element};
use store::value::geo::{Point, Search, geohash};
use store::value::sorted_set::{
    self, Gathered, Pick, ScoreBound, ScoreRange, SortedSet, SortedSetLimit,
};
use store::{Element, Event};
use wire::Reply;

const GEOSEARCHSTORE: Event = Event::sorted_set("geosearchstore");
const GEORADIUSSTORE: Event = Event::sorted_set("georadiusstore");

const RADIUS: Style = Style { center: CenterSyntax::Place, may_store: true, is_store: false };
const AROUND_MEMBER: Style = Style { center: CenterSyntax::Member, ..RADIUS };
const OPTIONS: Style = Style { center: CenterSyntax::Options, may_store: false, is_store: false };

pub fn georadius(call: &mut Call<'_>) -> Outcome {
    search(call, RADIUS)
}

pub fn georadius_ro(call: &mut Call<'_>) -> Outcome {
    search(call, Style { may_store: false, ..RADIUS })
}

pub fn georadiusbymember(call: &mut Call<'_>) -> Outcome {
    search(call, AROUND_MEMBER)
}

pub fn georadiusbymember_ro(call: &mut Call<'_>) -> Outcome {
    search(call, Style { may_store: false, ..AROUND_MEMBER })
}

pub fn geosearch(call: &mut Call<'_>) -> Outcome {
    search(call, OPTIONS)
}

pub fn geosearchstore(call: &mut Call<'_>) -> Outcome {
    search(call, Style { is_store: true, ..OPTIONS })
}

/// A place that was found.
#[derive(Clone, Copy, Debug)]
struct Hit<'x> {
    member: Element<'x>,
    score: f64,
    place: Point,
    /// Distance from the origin, in metres.
    distance: f64,
}

#[inline]
fn search(call: &mut Call<'_>, style: Style) -> Outcome {
    let source_at = if style.is_store { 2 } else { 1 };
    match store_key(call.args, style) {
        Some(store_at) => store(call, style, source_at, store_at),
        None => show(call, style, source_at),
    }
}

fn show(call: &mut Call<'_>, style: Style, source_at: usize) -> Outcome {
    let args = call.args;
    let (mut access, key, reply) = call.on_key(source_at);
    let places = sorted_set::read(&mut access, &key)?;
    let asked = Parser::new(args, style, places).parse(false)?;
    let hits = hits(places, &asked);
    reply.array(hits.len());
    let metres = asked.search.as_ref().map_or(1.0, |search| search.unit().metres());
    for hit in hits {
        hit.write(reply, &asked, metres);
        if reply.is_over_limit() {
            break;
        }
    }
    Ok(())
}

fn store(call: &mut Call<'_>, style: Style, source_at: usize, store_at: usize) -> Outcome {
    let args = call.args;
    let limit: SortedSetLimit = limit(call);
    let (mut access, keys, reply) = call.on_keys([store_at, source_at]);
    let mut gathered = Gathered::default();
    {
        let places = sorted_set::read(&mut access, &keys[1])?;
        let asked = Parser::new(args, style, places).parse(true)?;
        let metres = asked.search.as_ref().map_or(1.0, |search| search.unit().metres());
        for hit in hits(places, &asked) {
            let score = if asked.stores_distance { hit.distance / metres } else { hit.score };
            gathered.push(hit.member, score);
        }
    }
    let is_change = sorted_set::store(&mut access, &keys[0], &mut gathered, limit)?;
    let found = gathered.len();
    let changes = if found == 0 { u64::from(is_change) } else { found as u64 };
    let event = if style.is_store { GEOSEARCHSTORE } else { GEORADIUSSTORE };
    access.report_changes(changes, stored(event, &gathered), &keys[0]);
    if changes > 0 {
        record_stored_effects(&mut access, &keys[0], &gathered);
    }
    reply.integer(found as i64);
    Ok(())
}

/// Returns the places found, in the order and number that are asked for.
fn hits<'x>(places: Option<SortedSet<'x>>, asked: &Asked) -> Vec<Hit<'x>> {
    let (Some(places), Some(search)) = (places, &asked.search) else { return Vec::new() };
    let all = usize::MAX;
    let most = usize::try_from(asked.count).ok().filter(|count| *count > 0).unwrap_or(all);
    let mut found = find(&places, search, if asked.is_any { most } else { all });
    let by_distance = |one: &Hit<'_>, other: &Hit<'_>| match asked.sorting {
        Sorting::Descending => other.distance.total_cmp(&one.distance),
        _ => one.distance.total_cmp(&other.distance),
    };
    if asked.sorting != Sorting::None {
        if most < found.len() {
            partial_sort(&mut found, 0..most, &mut { by_distance });
        } else {
            found.sort_by(by_distance);
        }
    }
    found.truncate(most);
    found
}

/// Finds the places within a shape, no more than `most`.
fn find<'x>(places: &SortedSet<'x>, search: &Search, most: usize) -> Vec<Hit<'x>> {
    let mut found = Vec::new();
    for scores in search.ranges() {
        let from = ScoreBound { score: scores.start as f64, is_exclusive: false };
        let to = ScoreBound { score: scores.end as f64, is_exclusive: true };
        let span = places.span(&Pick::Scores(ScoreRange { from, to }), false);
        if span.count == 0 {
            continue;
        }
        let near = places.iter_from(span.from).take(narrow::to_usize(span.count));
        let hits = near.filter_map(|(member, score)| {
            let place = geohash::point_of(score);
            let distance = search.distance_within(place)?;
            Some(Hit { member, score, place, distance })
        });
        found.extend(hits.take(most - found.len()));
        if found.len() >= most {
            break;
        }
    }
    found
}

impl Hit<'_> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the score lies within what was looked for, which has 52 bits"
    )]
    fn write(&self, reply: &mut Reply<'_>, asked: &Asked, metres: f64) {
        let Asked { has_distance, has_hash, has_place, .. } = *asked;
        let more = [has_distance, has_hash, has_place].into_iter().filter(|is_shown| *is_shown);
        let more = more.count();
        if more > 0 {
            reply.array(1 + more);
        }
        element::bulk(reply, self.member);
        if has_distance {
            write_distance(reply, self.distance / metres);
        }
        if has_hash {
            reply.integer(self.score as i64);
        }
        if has_place {
            write_point(reply, self.place);
        }
    }
}
