//! Comparison of a report with a recorded one.

use super::{Better, Figure, Report, Section, Table};

/// Changes of the figures since another report was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Date of the recorded report; empty if it does not state one.
    pub recorded: String,
    /// Conditions that differ: name, now, recorded.
    pub differing: Vec<[String; 3]>,
    /// Changes, one per figure of this report, in their order.
    pub changes: Vec<Change>,
    /// Figures that only the recorded report has.
    pub gone: Vec<Change>,
}

/// Change of one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Name of the section, or its title if it has no name.
    pub section: String,
    /// The figure as it is now; as it was recorded, if it is gone.
    pub figure: Figure,
    /// Present value; absent if it was not measured.
    pub now: Option<f64>,
    /// Recorded value; absent if it was not measured.
    pub recorded: Option<f64>,
    /// Difference that may be chance, as a fraction of the recorded figure.
    pub noise: f64,
    /// Judgement of the change.
    pub judgement: Judgement,
}

/// Judgement of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Change in the good direction by more than noise.
    Better,
    /// Change within the noise.
    Same,
    /// Change in the bad direction by more than noise.
    Worse,
    /// Not measured in the recorded report.
    New,
    /// Recorded, but not measured now.
    Gone,
    /// Not measured at all, or measured at other scales, with other settings, in other units or,
    /// unless they are ratios, on other machines.
    Unjudged,
}

impl Comparison {
    /// Matches figures by their sections and names.
    pub fn new(now: &Report, recorded: &Report) -> Self {
        let differing = differing(now, recorded);
        let differs = |name: &str| differing.iter().any(|it| it[0] == name);
        let mut left: Vec<_> = keyed(recorded).collect();
        let mut change = |(section, figure): (&Section, &Figure)| {
            let is_same = |(other, it): &(&Section, &Figure)| {
                other.key() == section.key() && it.what == figure.what
            };
            let other = left.iter().position(is_same).map(|at| left.remove(at));
            // Older files do not state their settings.
            let is_comparable = other.is_some_and(|(other, recorded)| {
                (other.settings.is_empty() || other.settings == section.settings)
                    && recorded.unit == figure.unit
                    && !differs(Report::SCALE)
                    && (figure.is_ratio() || !differs(Report::MACHINE))
            });
            let other = other.map(|(_, figure)| figure);
            Change::new(section, figure, [Some(figure), other], is_comparable)
        };
        let changes = keyed(now).map(&mut change).collect();
        let gone = |(section, figure)| Change::new(section, figure, [None, Some(figure)], false);
        let gone = left.into_iter().map(gone).collect();
        Self { recorded: recorded.date.clone(), differing, changes, gone }
    }

    /// Changes with this judgement.
    pub fn judged(&self, judgement: Judgement) -> impl Iterator<Item = &Change> {
        self.changes.iter().chain(&self.gone).filter(move |change| change.judgement == judgement)
    }

    /// Returns the reason why nothing is judged; `None` if figures are judged.
    pub fn refusal(&self) -> Option<String> {
        let [_, now, recorded] = self.differing.iter().find(|it| it[0] == Report::SCALE)?;
        Some(format!(
            "The scale is {now} here and {recorded} in the recorded result: changes are shown, \
             but not judged."
        ))
    }

    /// Renders what got worse, or the reason why nothing is judged, as aligned text for a terminal.
    pub fn text(&self) -> String {
        if let Some(refusal) = self.refusal() {
            return format!("== Against the recorded result\n   {refusal}\n");
        }
        let cells = |it: &Change| {
            let what = format!("{}: {}", it.section, it.figure.what);
            let [recorded, now] = [it.recorded, it.now].map(|value| it.figure.text_of(value));
            let noise = format!("±{:.0} %", it.noise * 100.0);
            vec![what, recorded, now, it.relative().map_or_else(String::new, percent), noise]
        };
        let columns = ["what", "recorded", "now", "change", "noise"];
        let worse = Table::new(&columns, self.judged(Judgement::Worse).map(cells).collect());
        match worse.rows.is_empty() {
            true => "== Nothing is worse than in the recorded result\n".to_owned(),
            false => format!("== Worse than in the recorded result\n{}", worse.aligned()),
        }
    }
}

impl Change {
    fn new(
        section: &Section,
        figure: &Figure,
        [now, recorded]: [Option<&Figure>; 2],
        is_comparable: bool,
    ) -> Self {
        let noise = [now, recorded].into_iter().flatten().map(noise_of).fold(0.0, f64::max);
        let value = |figure: Option<&Figure>| figure?.measured.filter(|value| value.is_finite());
        let (now, recorded) = (value(now), value(recorded));
        let judgement = match (now, recorded) {
            (Some(_), None) => Judgement::New,
            (None, Some(_)) => Judgement::Gone,
            (Some(now), Some(recorded)) if is_comparable => {
                judge(figure.better(), now, recorded, noise)
            }
            _ => Judgement::Unjudged,
        };
        let (section, figure) = (section.key().to_owned(), figure.clone());
        Self { section, figure, now, recorded, noise, judgement }
    }

    fn relative(&self) -> Option<f64> {
        Some(relative(self.now?, self.recorded?))
    }

    /// Renders the change in words: `worse, +12 %`; `new` or `gone` if one value does not exist.
    pub fn text(&self) -> String {
        let word = self.judgement.words().0;
        match self.relative().map(percent) {
            None => word.to_owned(),
            Some(percent) if word.is_empty() => percent,
            Some(percent) => format!("{word}, {percent}"),
        }
    }

    /// Renders the recorded figure and the change: `1.20: worse, +12 %`.
    pub fn against(&self) -> String {
        let recorded = self.recorded.map(|it| self.figure.text_of(Some(it)) + ": ");
        recorded.unwrap_or_default() + &self.text()
    }
}

impl Judgement {
    /// Returns the judgement in one word, empty if there is none, and its class in the stylesheet.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Better => ("better", "ok"),
            Self::Same => ("same", ""),
            Self::Worse => ("worse", "worse"),
            Self::New => ("new", "unknown"),
            Self::Gone => ("gone", "unknown"),
            Self::Unjudged => ("", ""),
        }
    }
}

fn keyed(report: &Report) -> impl Iterator<Item = (&Section, &Figure)> {
    let sections = report.sections.iter();
    sections.flat_map(|section| section.figures.iter().map(move |figure| (section, figure)))
}

fn differing(now: &Report, recorded: &Report) -> Vec<[String; 3]> {
    let differs = |(name, now): &(String, String)| {
        let other = recorded.condition(name)?;
        // The load by others differs at any time.
        (other != now && name != Report::OTHERS).then(|| [name, now, other].map(str::to_owned))
    };
    now.conditions.iter().filter_map(differs).collect()
}

fn relative(now: f64, recorded: f64) -> f64 {
    let difference = now - recorded;
    if difference == 0.0 { 0.0 } else { difference / recorded.abs() }
}

fn judge(better: Better, now: f64, recorded: f64, noise: f64) -> Judgement {
    let bad = match better {
        Better::Lower => relative(now, recorded),
        Better::Higher => -relative(now, recorded),
        Better::NearerOne => ((now - 1.0).abs() - (recorded - 1.0).abs()) / recorded.abs(),
    };
    match bad {
        bad if bad > noise => Judgement::Worse,
        bad if bad < -noise => Judgement::Better,
        _ => Judgement::Same,
    }
}

/// Distance of two medians of so many rounds that chance rarely exceeds. The quartiles are two
/// thirds of a standard deviation from the middle, and medians come closer with the square root of
/// the number of rounds. Three rounds show less than half of a deviation, so there is some room
/// above that.
fn noise_of(figure: &Figure) -> f64 {
    let rounds = figure.rounds.len().max(3) as f64;
    (6.0 * figure.spread.unwrap_or(0.0) / rounds.sqrt()).max(LEAST_NOISE)
}

fn percent(part: f64) -> String {
    match part * 100.0 {
        percent if percent.is_infinite() => "from zero".to_owned(),
        percent if percent.abs() < 0.05 => "±0 %".to_owned(),
        percent if percent.abs() < 9.95 => format!("{percent:+.1} %"),
        percent => format!("{percent:+.0} %"),
    }
}

/// Least noise: smaller changes are chance, however close the rounds were.
const LEAST_NOISE: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::{Better, Comparison, Figure, Judgement, Report, Section};

    /// Report of one figure at full scale on two cores, with so many keys.
    fn report(figure: Figure) -> Report {
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let conditions = [(Report::SCALE, "full"), (Report::MACHINE, "two cores")].map(own);
        let settings = vec![own(("keys", "1"))];
        let section = Section { figures: vec![figure], settings, ..Section::new("name", &[]) };
        Report { sections: vec![section], ..Report::new(conditions.to_vec()) }
    }

    fn figure(value: f64, better: Better) -> Figure {
        Figure { better, ..Figure::new("x", Some(value), "") }
    }

    #[test]
    fn a_change_is_worse_or_better_by_its_direction_if_it_is_more_than_five_percent() {
        for (better, now, recorded, told) in [
            (Better::Lower, 1.06, 1.0, "worse, +6.0 %"),
            (Better::Lower, 1.04, 1.0, "same, +4.0 %"),
            (Better::Lower, 0.94, 1.0, "better, -6.0 %"),
            (Better::Lower, 3.0, 2.0, "worse, +50 %"),
            (Better::Lower, 1.0, 0.0, "worse, from zero"),
            (Better::Lower, 0.0, 0.0, "same, ±0 %"),
            (Better::Higher, 0.94, 1.0, "worse, -6.0 %"),
            (Better::Higher, 1.06, 1.0, "better, +6.0 %"),
            (Better::NearerOne, 1.2, 1.1, "worse, +9.1 %"),
            (Better::NearerOne, 0.8, 1.1, "worse, -27 %"),
            (Better::NearerOne, 0.9, 1.1, "same, -18 %"),
            (Better::NearerOne, 1.0, 0.8, "better, +25 %"),
            (Better::Lower, 1.0, f64::NAN, "new"),
            (Better::Lower, f64::NAN, 1.0, "gone"),
            (Better::Lower, f64::NAN, f64::NAN, ""),
        ] {
            let [now, recorded] = [now, recorded].map(|value| report(figure(value, better)));
            assert_eq!(Comparison::new(&now, &recorded).changes[0].text(), told);
        }
    }

    #[test]
    fn a_change_within_what_the_spread_of_either_allows_is_none() {
        let over = |value: f64, rounds: usize| {
            let (spread, rounds) = (Some(0.1), vec![value; rounds]);
            Figure { spread, rounds, ..figure(value, Better::Lower) }
        };
        for (now, recorded, judgement) in [
            (over(1.3, 3), figure(1.0, Better::Lower), Judgement::Same),
            (figure(1.3, Better::Lower), over(1.0, 3), Judgement::Same),
            (over(1.3, 9), over(1.0, 9), Judgement::Worse),
        ] {
            let comparison = Comparison::new(&report(now), &report(recorded));
            assert_eq!(comparison.changes[0].judgement, judgement);
        }
    }

    #[test]
    fn figures_of_the_same_words_are_matched_in_their_order_and_within_their_section() {
        let mut now = report(figure(1.0, Better::Lower));
        now.sections[0].figures.push(figure(2.0, Better::Lower));
        let recorded = now.clone();
        let judged =
            |now: &Report, judgement| Comparison::new(now, &recorded).judged(judgement).count();
        assert_eq!(judged(&now, Judgement::Same), 2);
        now.sections[0].name = "other".to_owned();
        assert_eq!([Judgement::New, Judgement::Gone].map(|it| judged(&now, it)), [2, 2]);
    }

    #[test]
    fn what_was_measured_under_other_conditions_is_shown_and_not_judged() {
        let cases: [(fn(&mut Report), _, _); 6] = [
            (|_| (), Judgement::Worse, Judgement::Worse),
            (|it| it.conditions[0].1.clear(), Judgement::Unjudged, Judgement::Unjudged),
            (|it| it.conditions[1].1.clear(), Judgement::Unjudged, Judgement::Worse),
            (|it| it.sections[0].figures[0].unit.clear(), Judgement::Unjudged, Judgement::Worse),
            (|it| it.sections[0].settings[0].1.clear(), Judgement::Unjudged, Judgement::Unjudged),
            // Older files do not state their settings.
            (|it| it.sections[0].settings.clear(), Judgement::Worse, Judgement::Worse),
        ];
        for (number, (change, of_time, of_ratio)) in cases.into_iter().enumerate() {
            for (unit, judgement) in [("us", of_time), ("", of_ratio)] {
                let [now, mut recorded] = [2.0, 1.0].map(|value| {
                    report(Figure { unit: unit.into(), ..figure(value, Better::Lower) })
                });
                change(&mut recorded);
                let judged = Comparison::new(&now, &recorded).changes[0].judgement;
                assert_eq!(judged, judgement, "case {number}, {unit:?}");
            }
        }
    }

    #[test]
    fn the_terminal_is_told_what_got_worse_with_both_numbers_or_why_nothing_is_judged() {
        let [mut now, recorded] = [1.5, 1.0].map(|value| report(figure(value, Better::Lower)));
        let text = Comparison::new(&now, &recorded).text();
        let row = text.lines().last().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(row, "name: x 1.00 1.50 +50 % ±5 %");
        assert!(Comparison::new(&now, &now).text().contains("Nothing is worse"));
        now.conditions[0].1 = "quick".to_owned();
        let text = Comparison::new(&now, &recorded).text();
        assert!(text.contains("The scale is quick here and full in the recorded result"), "{text}");
    }
}
