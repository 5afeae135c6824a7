//! Looking at single places: GEOPOS, GEOHASH, GEODIST.

use super::{unit, write_distance, write_point};
use command::{Call, Outcome};
use session::Refusal;
use store::value::geo::{self, Point, Unit, geohash};
use store::value::sorted_set;
use wire::Reply;

pub fn geopos(call: &mut Call<'_>) -> Outcome {
    each_place(call, |reply, place| match place {
        Some(place) => write_point(reply, place),
        None => reply.null_array(),
    })
}

pub fn geohash(call: &mut Call<'_>) -> Outcome {
    each_place(call, |reply, place| match place {
        Some(place) => reply.bulk(&geohash::text_of(place)),
        None => reply.null(),
    })
}

fn each_place(call: &mut Call<'_>, write: impl Fn(&mut Reply<'_>, Option<Point>)) -> Outcome {
    let args = call.args;
    let (mut access, key, reply) = call.on_key(1);
    let set = sorted_set::read(&mut access, &key)?;
    reply.array(args.len() - 2);
    for member in args.from(2) {
        let score = set.as_ref().and_then(|set| set.score(member));
        write(reply, score.map(geohash::point_of));
    }
    Ok(())
}

pub fn geodist(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let unit = match args.len() {
        4 => Unit::Metre,
        5 => unit(args, 4)?,
        _ => return Err(Refusal::SYNTAX.into()),
    };
    let (mut access, key, reply) = call.on_key(1);
    let set = sorted_set::read(&mut access, &key)?;
    let place = |at: usize| Some(geohash::point_of(set.as_ref()?.score(args.get(at))?));
    match (place(2), place(3)) {
        (Some(from), Some(to)) => write_distance(reply, geo::distance(from, to) / unit.metres()),
        _ => reply.null(),
    }
    Ok(())
}
