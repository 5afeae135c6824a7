//! Save points: when snapshots are made by themselves.

use std::fmt;
use std::sync::Arc;

/// Condition under which a snapshot is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavePoint {
    /// Seconds since the last snapshot.
    pub seconds: u64,
    /// Least number of changes since then.
    pub changes: u64,
}

/// Conditions under which a snapshot is made; one that holds is enough.
#[derive(Clone, Debug)]
pub struct SavePoints {
    /// The conditions.
    pub points: Arc<[SavePoint]>,
    /// False for the default, which the first line of a file replaces; further lines add to it.
    is_given: bool,
}

/// Where points come from does not make them others.
impl PartialEq for SavePoints {
    fn eq(&self, other: &SavePoints) -> bool {
        self.points == other.points
    }
}

impl Eq for SavePoints {}

const INVALID: &str = "Invalid save parameters";

impl SavePoints {
    /// Points that no line has named.
    pub(crate) fn defaults() -> SavePoints {
        let points = [(3600, 1), (300, 100), (60, 10_000)];
        let points = points.map(|(seconds, changes)| SavePoint { seconds, changes });
        SavePoints { points: Arc::new(points), is_given: false }
    }

    /// Reads pairs of seconds and changes, separated by single spaces.
    pub(crate) fn parse(words: &[&[u8]]) -> Result<SavePoints, &'static str> {
        let all = words.join(&b' ');
        let points = if all.is_empty() { Vec::new() } else { pairs(&all).ok_or(INVALID)? };
        Ok(SavePoints { points: points.into(), is_given: true })
    }

    /// Returns what a line of a file makes of these points: an empty one leaves none, another one
    /// adds its own to those that lines before it have named.
    pub(crate) fn followed_by(&self, line: SavePoints) -> SavePoints {
        if line.points.is_empty() || !self.is_given {
            return line;
        }
        let points = self.points.iter().chain(line.points.iter()).copied().collect();
        SavePoints { points, is_given: true }
    }

    pub(crate) fn words(&self) -> Vec<Vec<u8>> {
        let numbers = self.points.iter().flat_map(|point| [point.seconds, point.changes]);
        let words: Vec<Vec<u8>> = numbers.map(|number| number.to_string().into()).collect();
        if words.is_empty() { vec![Vec::new()] } else { words }
    }
}

fn pairs(text: &[u8]) -> Option<Vec<SavePoint>> {
    let numbers = text.split(|byte| *byte == b' ').map(number);
    let numbers = numbers.collect::<Option<Vec<u64>>>()?;
    let pairs = numbers.chunks(2).map(|pair| match *pair {
        [seconds, changes] if seconds > 0 => Some(SavePoint { seconds, changes }),
        _ => None,
    });
    pairs.collect()
}

fn number(word: &[u8]) -> Option<u64> {
    text::parse_i64(word).and_then(|number| u64::try_from(number).ok())
}

/// Format of CONFIG GET.
impl fmt::Display for SavePoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, SavePoint { seconds, changes }) in self.points.iter().enumerate() {
            let before = if at == 0 { "" } else { " " };
            write!(f, "{before}{seconds} {changes}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<String, &'static str> {
        SavePoints::parse(&[line.as_bytes()]).map(|points| points.to_string())
    }

    #[test]
    fn points_are_pairs_of_seconds_and_changes() {
        for line in ["", "1 0", "3600 1 300 100", "2 2 1 1", "99999999999 99999999999"] {
            assert_eq!(read(line), Ok(line.to_owned()));
        }
        for line in ["3600", "x", "0 1", "1 -1", "1 2 3", "  10   20 ", "1.5 1", "\t5\t1", " "] {
            assert_eq!(read(line), Err(INVALID), "{line}");
        }
    }

    #[test]
    fn the_first_line_replaces_the_default_and_others_add_to_it() {
        let line = |text: &str| SavePoints::parse(&[text.as_bytes()]).expect("points");
        let after = |lines: &[&str]| {
            let all =
                lines.iter().fold(SavePoints::defaults(), |all, it| all.followed_by(line(it)));
            all.to_string()
        };
        assert_eq!(after(&[]), "3600 1 300 100 60 10000");
        assert_eq!(after(&["900 1"]), "900 1");
        assert_eq!(after(&["900 1", "300 10"]), "900 1 300 10");
        assert_eq!(after(&["3600 1", "300 100", "60 10000", "1 1"]), "3600 1 300 100 60 10000 1 1");
        assert_eq!(after(&["900 1", "", "300 10"]), "300 10");
        assert_eq!(after(&[""]), "");
    }
}
