//! Adding places: GEOADD.

use super::point;
use crate::sorted_set::add::{Pairs, add};
use command::{Call, Outcome};
use session::Refusal;
use store::value::geo::geohash;
use store::value::sorted_set::Terms;

pub fn geoadd(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let (mut terms, mut counts_changes, mut at) = (Terms::default(), false, 2);
    loop {
        match () {
            () if args.is(at, "NX") => terms.only_new = true,
            () if args.is(at, "XX") => terms.only_existing = true,
            () if args.is(at, "CH") => counts_changes = true,
            () => break,
        }
        at += 1;
    }
    let words = args.len() - at;
    if words == 0 || !words.is_multiple_of(3) || terms.only_new && terms.only_existing {
        return Err(Refusal::SYNTAX.into());
    }
    let places = (at..args.len()).step_by(3);
    let places = places.map(|at| Ok((geohash::score_of(point(args, at)?), args.get(at + 2))));
    let pairs = places.collect::<Result<Pairs<'_>, Refusal>>()?;
    add(call, &pairs, terms, counts_changes, true)
}
