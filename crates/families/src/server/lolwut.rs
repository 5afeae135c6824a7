//! LOLWUT: a picture, and the server's version.

use base::Random;
use command::{Call, Outcome};
use session::{Args, Refusal, versions};
use settings::general::EXTENDED_REDIS_COMPATIBILITY;

const WRONG_WORDS: Refusal =
    Refusal::of("ERR Syntax error. Use: LOLWUT [columns rows] [real imaginary]");
const NOT_A_FLOAT: Refusal = Refusal::of("ERR value is not a valid float");

/// Shades of the picture, from the trough of a wave to its crest.
const SHADES: &[u8] = b" .:-=+*#%@";
/// Most columns and rows.
const COLUMNS_MAX: i64 = 160;
const ROWS_MAX: i64 = 80;
/// Columns and rows that nobody chose.
const COLUMNS: i64 = 80;
const ROWS: i64 = 24;

/// What is drawn: two waves that cross.
#[derive(Clone, Copy, Debug)]
struct Picture {
    columns: i64,
    rows: i64,
    /// How often each of the waves rises, from one side of the picture to the other.
    waves: Option<(f64, f64)>,
}

pub(super) fn lolwut(call: &mut Call<'_>) -> Outcome {
    let (version, words) = match call.args.len() {
        3.. if call.args.is(1, "VERSION") => (first_digits(call.args.integer(2)?), 3),
        _ => (9, 1),
    };
    let is_redis = EXTENDED_REDIS_COMPATIBILITY.get(&call.instance.settings);
    let (name, number) = match is_redis {
        true => ("Redis", versions::REDIS),
        false => ("Valkey", versions::VALKEY),
    };
    let text = match version {
        5 | 6 | 9 => {
            let picture = Picture::of(call.args, words, version)?;
            let waves = picture.waves.unwrap_or_else(|| drawn(call));
            let (drawing, (one, other)) = (picture.draw(waves), waves);
            format!("{drawing}Waves {one:.2} and {other:.2} that cross. {name} ver. {number}\n")
        }
        _ => format!("{name} ver.{number}\n"),
    };
    call.reply.verbatim(b"txt", text.as_bytes());
    Ok(())
}

/// Returns the version that a number stands for: 5 and 6 themselves, and 9 all that begin with it.
fn first_digits(number: i64) -> i64 {
    let mut first = number;
    while first > 9 {
        first /= 10;
    }
    if first == 9 { 9 } else { number }
}

/// Draws waves by chance.
fn drawn(call: &Call<'_>) -> (f64, f64) {
    let mut random = Random::from_seed(call.instance.clock.micros());
    let mut wave = || random.next() as f64 / u64::MAX as f64 * 8.0;
    (wave(), wave())
}

impl Picture {
    /// Reads what the words from `at` on ask for. Each version has its own.
    fn of(args: Args<'_>, at: usize, version: i64) -> Result<Picture, Refusal> {
        let count = args.len() - at;
        if version == 9 && !matches!(count, 0 | 2 | 4) {
            return Err(WRONG_WORDS);
        }
        let size = |place: usize, usual: i64, most: i64| match count > place {
            true => args.integer(at + place).map(|size| size.clamp(1, most)),
            false => Ok(usual),
        };
        let columns = size(0, COLUMNS, COLUMNS_MAX)?;
        let rows = size(1, ROWS, ROWS_MAX)?;
        if version == 5 {
            size(2, ROWS, ROWS_MAX)?;
        }
        let wave = |place: usize| text::parse_f64_wide(args.get(at + place)).ok_or(NOT_A_FLOAT);
        let waves = if version == 9 && count == 4 { Some((wave(2)?, wave(3)?)) } else { None };
        Ok(Picture { columns, rows, waves })
    }

    fn draw(self, (one, other): (f64, f64)) -> String {
        let mut text = String::new();
        for row in 0..self.rows {
            let y = row as f64 / self.rows as f64;
            text.extend((0..self.columns).map(|column| {
                let x = column as f64 / self.columns as f64;
                let height = wave(one * (x + y)) + wave(other * (x - y));
                shade((height + 2.0) / 4.0)
            }));
            text.push('\n');
        }
        text
    }
}

fn wave(rises: f64) -> f64 {
    (rises * std::f64::consts::TAU).sin()
}

/// Returns the shade of a height between 0 and 1; the lowest where there is no height.
fn shade(height: f64) -> char {
    let step = |at: usize| at as f64 / SHADES.len() as f64;
    let at = (1..SHADES.len()).take_while(|at| height >= step(*at)).count();
    char::from(SHADES[at])
}

#[cfg(test)]
mod tests {
    use super::{Picture, SHADES, shade};
    use crate::testing::{World, check};

    #[test]
    fn a_picture_has_its_size_and_the_version_below() {
        let mut world = World::new();
        let text = world.answer("LOLWUT 7 3 0.5 1.25");
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert!(lines[..3].iter().all(|line| line.len() == 7), "{lines:?}");
        assert_eq!(lines[3], "Waves 0.50 and 1.25 that cross. Valkey ver. 9.1.2");
        assert_eq!(world.answer("LOLWUT").lines().count(), 27);
        let most = world.answer("LOLWUT 1000000 1000000").lines().count();
        assert_eq!(most, 83);
    }

    #[test]
    fn versions_without_a_picture_have_only_their_line() {
        let mut world = World::new();
        let line = "$17 Valkey ver.9.1.2\n";
        check(
            &mut world,
            &[("LOLWUT VERSION 1", line.trim_end()), ("LOLWUT VERSION -9", line.trim_end())],
        );
        world.answer("CONFIG SET extended-redis-compatibility yes");
        assert!(world.answer("LOLWUT VERSION 6").contains("Redis ver. 7.2.4"));
        assert!(world.answer("LOLWUT VERSION 90 1 1").contains("Redis ver. 7.2.4"));
    }

    #[test]
    fn shades_rise_with_the_height_and_numbers_without_one_have_the_lowest() {
        assert_eq!((shade(0.0), shade(1.0), shade(f64::NAN)), (' ', '@', ' '));
        assert_eq!(shade(0.55), char::from(SHADES[5]));
        let picture = Picture { columns: 2, rows: 1, waves: None };
        assert_eq!(picture.draw((f64::INFINITY, 0.0)), "  \n");
    }
}
