//! A measured figure, its aim and its spread.

use serde::{Deserialize, Serialize};

use crate::statistics::{median, spread};

/// Aim of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aim {
    /// Upper limit.
    AtMost(f64),
    /// Lower limit.
    AtLeast(f64),
    /// Largest distance of a ratio from one.
    WithinOfOne(f64),
}

/// Direction in which a figure is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Lower is better.
    #[default]
    Lower,
    /// Higher is better.
    Higher,
    /// Nearer to one is better: a ratio of things that should be equal.
    NearerOne,
}

impl From<Aim> for Better {
    fn from(aim: Aim) -> Self {
        match aim {
            Aim::AtMost(_) => Self::Lower,
            Aim::AtLeast(_) => Self::Higher,
            Aim::WithinOfOne(_) => Self::NearerOne,
        }
    }
}

impl Aim {
    fn is_met_by(self, measured: f64) -> bool {
        match self {
            Self::AtMost(limit) => measured <= limit,
            Self::AtLeast(limit) => measured >= limit,
            Self::WithinOfOne(distance) => (measured - 1.0).abs() <= distance,
        }
    }

    /// Returns the values at which the aim is just met; an aim with one limit has it twice.
    fn limits(self) -> [f64; 2] {
        match self {
            Self::AtMost(limit) | Self::AtLeast(limit) => [limit; 2],
            Self::WithinOfOne(distance) => [1.0 - distance, 1.0 + distance],
        }
    }
}

/// A measured figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Name of the measured quantity, in words; recorded figures are found by it.
    pub what: String,
    /// Aim, if there is one.
    #[serde(default)]
    pub aim: Option<Aim>,
    /// Better direction, for figures without an aim.
    #[serde(default)]
    pub better: Better,
    /// Measured value; absent if it could not be measured.
    pub measured: Option<f64>,
    /// Half the interquartile range of the rounds as a fraction of the median; absent with one
    /// round.
    #[serde(default)]
    pub spread: Option<f64>,
    /// Value of each round, if there were several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<f64>,
    /// Value in the source.
    #[serde(default)]
    pub paper: Option<f64>,
    /// Unit of all values; empty for a ratio.
    pub unit: String,
}

impl Figure {
    /// Creates a figure of one round; lower is better.
    pub fn new(what: impl Into<String>, measured: Option<f64>, unit: impl Into<String>) -> Self {
        let (what, unit) = (what.into(), unit.into());
        let (aim, better) = (None, Better::Lower);
        Self { what, aim, better, measured, spread: None, rounds: Vec::new(), paper: None, unit }
    }

    /// Creates the ratio `ours` over `theirs` of each round; its value is the median, so that a
    /// slow minute falls on both.
    pub fn ratio(what: impl Into<String>, ours: &[f64], theirs: &[f64]) -> Self {
        let rounds = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs);
        Self::of_rounds(what, rounds.collect(), "")
    }

    /// Creates a figure whose value is the median of rounds.
    pub fn of_rounds(what: impl Into<String>, rounds: Vec<f64>, unit: impl Into<String>) -> Self {
        let measured = (!rounds.is_empty()).then(|| median(rounds.clone()));
        let figure = Self::new(what, measured, unit);
        if rounds.len() < 2 { figure } else { Self { spread: spread(&rounds), rounds, ..figure } }
    }

    /// Makes higher the better direction, for a figure without an aim.
    #[must_use]
    pub fn more_is_better(self) -> Self {
        Self { better: Better::Higher, ..self }
    }

    /// Makes nearer to one the better direction: a ratio, without an aim, of things that should be
    /// equal.
    #[must_use]
    pub fn one_is_best(self) -> Self {
        Self { better: Better::NearerOne, ..self }
    }

    /// Returns the better direction; that of the aim if there is one.
    pub fn better(&self) -> Better {
        self.aim.map_or(self.better, Better::from)
    }

    /// Sets the aim.
    #[must_use]
    pub fn held_against(self, aim: Aim) -> Self {
        Self { aim: Some(aim), better: aim.into(), ..self }
    }

    /// Returns `ok`, `short` or `not measured`; a dash without an aim.
    pub fn verdict(&self) -> &'static str {
        match (self.aim, self.measured) {
            (_, None) => "not measured",
            (None, _) => "-",
            (Some(aim), Some(measured)) if aim.is_met_by(measured) => "ok",
            _ => "short",
        }
    }

    /// Returns the aim in words.
    pub fn aim_text(&self) -> String {
        match self.aim {
            Some(Aim::AtMost(limit)) => format!("<= {}", with_unit(limit, &self.unit)),
            Some(Aim::AtLeast(limit)) => format!(">= {}", with_unit(limit, &self.unit)),
            Some(Aim::WithinOfOne(distance)) => format!("1 ± {}", with_unit(distance, &self.unit)),
            None => "-".to_owned(),
        }
    }

    /// Returns the measured value with its unit.
    pub fn measured_text(&self) -> String {
        let Some(measured) = self.measured else { return "-".to_owned() };
        let text = with_unit(measured, &self.unit);
        let limits = self.aim.map(Aim::limits).unwrap_or_default();
        // A value that is just short must not be printed as the aim itself.
        if self.verdict() == "short" && limits.iter().any(|it| text == with_unit(*it, &self.unit)) {
            format!("{measured:.4} {}", self.unit).trim_end().to_owned()
        } else {
            text
        }
    }

    /// Returns true for a ratio, which holds on other machines too.
    pub fn is_ratio(&self) -> bool {
        self.unit.is_empty()
    }

    /// Returns the spread in percent; empty with one round.
    pub fn spread_text(&self) -> String {
        match self.spread.map(|spread| spread * 100.0) {
            None => String::new(),
            Some(percent) if percent < 0.95 => format!("± {percent:.1} %"),
            Some(percent) => format!("± {percent:.0} %"),
        }
    }

    /// Returns the value of the source, with its unit.
    pub fn paper_text(&self) -> String {
        self.paper.map_or_else(|| "-".to_owned(), |paper| with_unit(paper, &self.unit))
    }

    /// Returns the cells of a table row: name, aim, measured value, verdict.
    pub(super) fn cells(&self) -> Vec<String> {
        let verdict = self.verdict().to_owned();
        vec![self.what.clone(), self.aim_text(), self.measured_text(), verdict]
    }
}

/// Formats a number with three or four digits and its unit.
pub fn with_unit(value: f64, unit: &str) -> String {
    let number = match value.abs() {
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    };
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

pub(super) const FIGURE_COLUMNS: [&str; 4] = ["what", "aim", "measured", "verdict"];

#[cfg(test)]
mod tests {
    use super::{Aim, Figure};

    #[test]
    fn a_verdict_follows_from_the_aim() {
        let verdict = |aim, measured| Figure::new("x", measured, "").held_against(aim).verdict();
        assert_eq!(verdict(Aim::AtMost(1.1), Some(1.1)), "ok");
        assert_eq!(verdict(Aim::AtMost(1.1), Some(1.2)), "short");
        assert_eq!(verdict(Aim::AtLeast(0.8), Some(0.79)), "short");
        assert_eq!(verdict(Aim::AtLeast(0.8), Some(f64::NAN)), "short");
        assert_eq!(verdict(Aim::AtLeast(0.8), None), "not measured");
        let near_one = [0.89, 0.91, 1.0, 1.09, 1.11, f64::NAN];
        let verdicts = near_one.map(|it| verdict(Aim::WithinOfOne(0.1), Some(it)));
        assert_eq!(verdicts, ["short", "ok", "ok", "ok", "short", "short"]);
    }

    #[test]
    fn what_is_short_by_little_has_more_digits_than_its_aim() {
        let text = |measured| Figure::new("x", Some(measured), "us").held_against(Aim::AtMost(0.8));
        assert_eq!(text(0.8012).measured_text(), "0.8012 us");
        assert_eq!(text(0.7988).measured_text(), "0.80 us");
        let near_one =
            |it| Figure::new("x", Some(it), "").held_against(Aim::WithinOfOne(0.1)).measured_text();
        assert_eq!([near_one(1.1012), near_one(0.8988)], ["1.1012", "0.8988"]);
        assert_eq!([near_one(1.0988), near_one(0.9012)], ["1.10", "0.90"]);
    }

    #[test]
    fn a_ratio_is_that_of_the_middle_round() {
        let figure = Figure::ratio("x", &[1.0, 2.0, 9.0], &[1.0, 4.0, 6.0]);
        assert_eq!((figure.measured, figure.spread), (Some(1.0), Some(0.25)));
        assert_eq!(figure.rounds, [1.0, 0.5, 1.5]);
    }

    #[test]
    fn of_one_round_there_is_no_spread_and_of_none_no_figure() {
        let one = Figure::ratio("x", &[1.0], &[2.0]);
        assert_eq!((one.measured, one.spread), (Some(0.5), None));
        assert_eq!(Figure::ratio("x", &[], &[]).measured, None);
    }
}
