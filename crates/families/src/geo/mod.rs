//! Places: sorted sets whose scores are geohashes.

mod add;
mod look;
mod search;
mod seek;
mod table;

pub use table::TABLE;

use session::{Args, Refusal};
use store::value::geo::{Point, Unit};
use wire::Reply;

const UNIT: Refusal = Refusal::of("ERR unsupported unit provided. please use M, KM, FT, MI");

/// Reads longitude and latitude from the arguments at `at` and behind it.
fn point(args: Args<'_>, at: usize) -> Result<Point, Refusal> {
    let number = |at| text::parse_f64(args.get(at)).ok_or(Refusal::NOT_FLOAT);
    let (longitude, latitude) = (number(at)?, number(at + 1)?);
    Point::new(longitude, latitude).ok_or_else(|| {
        let pair = format!("{longitude:.6},{latitude:.6}");
        Refusal::new(format!("ERR invalid longitude,latitude pair {pair}"))
    })
}

/// Reads the argument at `at` as a unit.
fn unit(args: Args<'_>, at: usize) -> Result<Unit, Refusal> {
    Unit::named(args.get(at)).ok_or(UNIT)
}

/// Writes a distance, with four decimal places.
#[expect(clippy::cast_possible_truncation, reason = "what is too long to be shown is the longest")]
fn write_distance(reply: &mut Reply<'_>, distance: f64) {
    let scaled = (distance * 10_000.0).round_ties_even();
    // NaN is shown as the lowest integer.
    let scaled = if scaled.is_nan() { i64::MIN } else { scaled as i64 };
    let sign = if scaled < 0 { "-" } else { "" };
    let (whole, rest) = (scaled.unsigned_abs() / 10_000, scaled.unsigned_abs() % 10_000);
    reply.bulk(format!("{sign}{whole}.{rest:04}").as_bytes());
}

/// Writes longitude and latitude, each with as many decimal places as it needs, up to 17.
fn write_point(reply: &mut Reply<'_>, point: Point) {
    reply.array(2);
    for degrees in [point.longitude, point.latitude] {
        let text = format!("{degrees:.17}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        reply.double_text(if text == "-0" { b"0" } else { text.as_bytes() });
    }
}

#[cfg(test)]
mod tests;
