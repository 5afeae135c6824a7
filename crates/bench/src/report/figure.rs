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

impl Aim {
    /// Returns the least and the largest value that meet the aim, its direction, and its words.
    fn parts(self, unit: &str) -> ([f64; 2], Better, String) {
        match self {
            Self::AtMost(most) => {
                let words = format!("<= {}", with_unit(most, unit));
                ([f64::NEG_INFINITY, most], Better::Lower, words)
            }
            Self::AtLeast(least) => {
                let words = format!(">= {}", with_unit(least, unit));
                ([least, f64::INFINITY], Better::Higher, words)
            }
            Self::WithinOfOne(distance) => {
                let words = format!("1 ± {}", with_unit(distance, unit));
                ([1.0 - distance, 1.0 + distance], Better::NearerOne, words)
            }
        }
    }
}

/// A measured figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
        Self { what: what.into(), measured, unit: unit.into(), ..Self::default() }
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

    /// Sets the aim.
    #[must_use]
    pub fn held_against(self, aim: Aim) -> Self {
        let (_, better, _) = aim.parts("");
        Self { aim: Some(aim), better, ..self }
    }

    /// Returns the better direction; that of the aim if there is one.
    pub fn better(&self) -> Better {
        self.aim.map_or(self.better, |aim| aim.parts("").1)
    }

    /// Returns `ok`, `short` or `not measured`; a dash without an aim.
    pub fn verdict(&self) -> &'static str {
        match (self.measured, self.aim.map(|aim| aim.parts("").0)) {
            (None, _) => "not measured",
            (_, None) => "-",
            (Some(measured), Some([least, most])) if (least..=most).contains(&measured) => "ok",
            _ => "short",
        }
    }

    /// Returns the aim in words.
    pub fn aim_text(&self) -> String {
        self.aim.map_or_else(|| "-".to_owned(), |aim| aim.parts(&self.unit).2)
    }

    /// Returns the measured value with its unit.
    pub fn measured_text(&self) -> String {
        let text = self.text_of(self.measured);
        let limits = self.aim.map(|aim| aim.parts("").0).unwrap_or_default();
        // A value that is just short must not be printed as the aim itself.
        match self.measured {
            Some(measured)
                if self.verdict() == "short"
                    && limits.iter().any(|it| text == with_unit(*it, &self.unit)) =>
            {
                format!("{measured:.4} {}", self.unit).trim_end().to_owned()
            }
            _ => text,
        }
    }

    /// Returns true for a ratio, which holds on other machines too.
    pub fn is_ratio(&self) -> bool {
        self.unit.is_empty()
    }

    /// Returns the spread in percent; a dash with one round.
    pub fn spread_text(&self) -> String {
        match self.spread.map(|spread| spread * 100.0) {
            None => "-".to_owned(),
            Some(percent) if percent < 0.95 => format!("± {percent:.1} %"),
            Some(percent) => format!("± {percent:.0} %"),
        }
    }

    /// Returns a value of this figure with its unit; a dash if there is none.
    pub fn text_of(&self, value: Option<f64>) -> String {
        value.map_or_else(|| "-".to_owned(), |value| with_unit(value, &self.unit))
    }
}

/// Formats a number with three or four digits and its unit.
fn with_unit(value: f64, unit: &str) -> String {
    let decimals = match value.abs() {
        size if size >= 1000.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 0.1 || size == 0.0 => 2,
        _ => 4,
    };
    format!("{value:.decimals$} {unit}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Aim, Figure};

    #[test]
    fn a_verdict_follows_from_the_aim_and_what_is_just_short_has_more_digits_than_it() {
        let near_one = Aim::WithinOfOne(0.1);
        for (aim, measured, verdict, text) in [
            (Aim::AtMost(0.8), 0.7988, "ok", "0.80"),
            (Aim::AtMost(0.8), 0.8, "ok", "0.80"),
            (Aim::AtMost(0.8), 0.8012, "short", "0.8012"),
            (Aim::AtMost(0.8), 1.2, "short", "1.20"),
            (Aim::AtLeast(0.8), 0.79, "short", "0.79"),
            (Aim::AtLeast(0.8), f64::NAN, "short", "NaN"),
            (near_one, 0.8988, "short", "0.8988"),
            (near_one, 0.9012, "ok", "0.90"),
            (near_one, 1.0988, "ok", "1.10"),
            (near_one, 1.1012, "short", "1.1012"),
            (near_one, f64::NAN, "short", "NaN"),
        ] {
            for (unit, behind) in [("", ""), ("us", " us")] {
                let figure = Figure::new("x", Some(measured), unit).held_against(aim);
                let told = (figure.verdict(), figure.measured_text());
                assert_eq!(told, (verdict, format!("{text}{behind}")), "{aim:?}");
            }
        }
        let absent = Figure::new("x", None, "").held_against(near_one);
        assert_eq!((absent.verdict(), absent.measured_text().as_str()), ("not measured", "-"));
    }

    #[test]
    fn a_ratio_is_that_of_the_middle_round_and_has_a_spread_if_there_are_more() {
        let told = |ours: &[f64], theirs: &[f64]| {
            let figure = Figure::ratio("x", ours, theirs);
            (figure.measured, figure.spread, figure.rounds)
        };
        let three = told(&[1.0, 2.0, 9.0], &[1.0, 4.0, 6.0]);
        assert_eq!(three, (Some(1.0), Some(0.25), vec![1.0, 0.5, 1.5]));
        assert_eq!(told(&[1.0], &[2.0]), (Some(0.5), None, Vec::new()));
        assert_eq!(told(&[], &[]), (None, None, Vec::new()));
    }
}
