//! A measured figure, its aim and its spread.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::statistics::{median, spread};

/// Aim of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aim {
    AtMost(f64),
    AtLeast(f64),
    /// Largest distance of a ratio from one.
    WithinOfOne(f64),
}

/// Direction in which a figure is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    #[default]
    Lower,
    Higher,
    /// Nearer to one is better: a ratio of things that should be equal.
    NearerOne,
}

impl Aim {
    /// Returns the values that meet the aim, its direction, its sign and its number.
    fn parts(self) -> (RangeInclusive<f64>, Better, &'static str, f64) {
        match self {
            Self::AtMost(most) => (f64::NEG_INFINITY..=most, Better::Lower, "<=", most),
            Self::AtLeast(least) => (least..=f64::INFINITY, Better::Higher, ">=", least),
            Self::WithinOfOne(by) => (1.0 - by..=1.0 + by, Better::NearerOne, "1 ±", by),
        }
    }
}

/// A measured figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Name of the measured quantity, in words; recorded figures are found by it.
    pub what: String,
    /// Aim, if there is one.
    pub aim: Option<Aim>,
    /// Better direction, for figures without an aim.
    #[serde(default)]
    pub better: Better,
    /// Measured value; absent if it could not be measured.
    pub measured: Option<f64>,
    /// Half the interquartile range of the rounds as a fraction of the median; absent with one
    /// round.
    pub spread: Option<f64>,
    /// Value of each round, if there were several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<f64>,
    /// Value in the source.
    pub paper: Option<f64>,
    /// Unit of all values; empty for a ratio.
    pub unit: String,
}

impl Figure {
    /// Creates a figure of one round; lower is better.
    pub fn new(what: impl Into<String>, measured: Option<f64>, unit: impl Into<String>) -> Self {
        Self { what: what.into(), measured, unit: unit.into(), ..Self::default() }
    }

    /// Creates a figure whose value is the median of rounds.
    pub fn of_rounds(what: impl Into<String>, rounds: Vec<f64>, unit: impl Into<String>) -> Self {
        let measured = (!rounds.is_empty()).then(|| median(rounds.clone()));
        let figure = Self::new(what, measured, unit);
        if rounds.len() < 2 { figure } else { Self { spread: spread(&rounds), rounds, ..figure } }
    }

    pub fn compared_with(self, aim: Aim) -> Self {
        Self { aim: Some(aim), better: aim.parts().1, ..self }
    }

    /// Returns the better direction; that of the aim if there is one.
    pub fn better(&self) -> Better {
        self.aim.map_or(self.better, |aim| aim.parts().1)
    }

    /// Returns `ok`, `short` or `not measured`; a dash without an aim.
    pub fn verdict(&self) -> &'static str {
        match (self.measured, self.aim) {
            (None, _) => "not measured",
            (_, None) => "-",
            (Some(measured), Some(aim)) if aim.parts().0.contains(&measured) => "ok",
            _ => "short",
        }
    }

    /// Returns the aim in words.
    pub fn aim_text(&self) -> String {
        let Some((_, _, sign, number)) = self.aim.map(Aim::parts) else { return "-".to_owned() };
        format!("{sign} {}", self.text_of(Some(number)))
    }

    /// Returns the measured value with its unit.
    pub fn measured_text(&self) -> String {
        let text = self.text_of(self.measured);
        let (Some(measured), "short") = (self.measured, self.verdict()) else { return text };
        let ends = self.aim.map(|aim| aim.parts().0.into_inner());
        // A value that is just short must not be printed as the aim itself.
        let is_aim =
            |(least, most)| [least, most].iter().any(|end| text == self.text_of(Some(*end)));
        if ends.is_some_and(is_aim) { self.text_with(measured, 4) } else { text }
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

    /// Returns a value of this figure with three or four digits and its unit; a dash if there is
    /// none.
    pub fn text_of(&self, value: Option<f64>) -> String {
        let Some(value) = value else { return "-".to_owned() };
        let decimals = match value.abs() {
            0.0 => 2,
            0.0..0.1 => 4,
            0.1..10.0 => 2,
            10.0..1000.0 => 1,
            _ => 0,
        };
        self.text_with(value, decimals)
    }

    fn text_with(&self, value: f64, decimals: usize) -> String {
        format!("{value:.decimals$} {}", self.unit).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{Aim, Figure};

    #[test]
    fn a_verdict_follows_from_the_aim_and_what_is_just_short_has_more_digits_than_it() {
        for (aim, measured, verdict, text) in [
            (Aim::AtMost(0.8), 0.7988, "ok", "0.80 us"),
            (Aim::AtMost(0.8), 0.8, "ok", "0.80 us"),
            (Aim::AtMost(0.8), 0.8012, "short", "0.8012 us"),
            (Aim::AtMost(0.8), 1234.5, "short", "1234 us"),
            (Aim::AtLeast(0.8), 0.79, "short", "0.79 us"),
            (Aim::AtLeast(0.8), f64::NAN, "short", "NaN us"),
            (Aim::WithinOfOne(0.1), 0.8988, "short", "0.8988 us"),
            (Aim::WithinOfOne(0.1), 0.9012, "ok", "0.90 us"),
            (Aim::WithinOfOne(0.1), 1.0988, "ok", "1.10 us"),
            (Aim::WithinOfOne(0.1), 1.1012, "short", "1.1012 us"),
        ] {
            let figure = Figure::new("x", Some(measured), "us").compared_with(aim);
            assert_eq!((figure.verdict(), figure.measured_text().as_str()), (verdict, text));
        }
        let absent = Figure::new("x", None, "").compared_with(Aim::AtMost(1.0));
        assert_eq!((absent.verdict(), absent.measured_text().as_str()), ("not measured", "-"));
    }

    #[test]
    fn a_figure_is_the_median_of_its_rounds_and_has_a_spread_if_there_are_more() {
        for (rounds, measured, spread) in [
            (vec![1.0, 0.5, 1.5], Some(1.0), Some(0.25)),
            (vec![0.5], Some(0.5), None),
            (Vec::new(), None, None),
        ] {
            let figure = Figure::of_rounds("x", rounds, "");
            assert_eq!((figure.measured, figure.spread), (measured, spread));
        }
    }
}
