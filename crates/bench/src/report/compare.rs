//! Comparison of a report with a recorded one.

use super::figure::{Better, Figure, with_unit};
use super::text::{aligned, strings};
use super::{Report, Section};

/// Changes of the figures since another report was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Date of the recorded report; empty if it does not state one.
    pub recorded: String,
    /// Conditions that differ: name, now, recorded.
    pub differing: Vec<(String, String, String)>,
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
    /// Name of the measured quantity.
    pub what: String,
    /// Unit of the numbers, empty for a ratio.
    pub unit: String,
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
    /// Both values exist, but were measured at other scales, with other settings, in other units
    /// or, unless they are ratios, on other machines.
    Unjudged,
}

impl Comparison {
    /// Matches figures by their sections and names.
    pub fn new(now: &Report, recorded: &Report) -> Self {
        let differing = differing(now, recorded);
        let is_judged = !differing.iter().any(|(name, ..)| name == Report::SCALE);
        let is_same_machine = !differing.iter().any(|(name, ..)| name == Report::MACHINE);
        let mut left: Vec<_> = keyed(recorded).collect();
        let mut changes = Vec::new();
        for (section, figure) in keyed(now) {
            let same =
                |it: &(&Section, &Figure)| key(it.0) == key(section) && it.1.what == figure.what;
            let other = left.iter().position(same).map(|at| left.remove(at));
            let has_same_settings = other.is_none_or(|(other, _)| has_settings_of(section, other));
            let is_judged =
                is_judged && has_same_settings && (is_same_machine || figure.is_ratio());
            changes.push(change(section, figure, other.map(|(_, figure)| figure), is_judged));
        }
        let gone = left.into_iter().map(|(section, figure)| gone(section, figure)).collect();
        Self { recorded: recorded.date.clone(), differing, changes, gone }
    }

    /// Changes with this judgement.
    pub fn judged(&self, judgement: Judgement) -> impl Iterator<Item = &Change> {
        self.changes.iter().chain(&self.gone).filter(move |change| change.judgement == judgement)
    }

    /// Returns the reason why nothing is judged; `None` if figures are judged.
    pub fn refusal(&self) -> Option<String> {
        let (_, now, recorded) = self.differing.iter().find(|(name, ..)| name == Report::SCALE)?;
        Some(format!(
            "The scale is {now} here and {recorded} in the recorded result: changes are shown, \
             but not judged."
        ))
    }

    /// Renders the figures that got worse, or the reason why nothing is judged, as aligned text for
    /// a terminal.
    pub fn text(&self) -> String {
        let rows: Vec<_> = self.judged(Judgement::Worse).map(Change::cells).collect();
        match (self.refusal(), rows.is_empty()) {
            (Some(refusal), _) => format!("== Against the recorded result\n   {refusal}\n"),
            (None, true) => "== Nothing is worse than in the recorded result\n".to_owned(),
            (None, false) => {
                let columns = strings(&["what", "recorded", "now", "change", "noise"]);
                let table = aligned(&columns, &rows);
                format!("== Worse than in the recorded result\n{table}")
            }
        }
    }
}

impl Change {
    /// Returns the change as a fraction of the recorded figure; absent unless both values exist.
    pub fn relative(&self) -> Option<f64> {
        let (now, recorded) = (self.now?, self.recorded?);
        let difference = now - recorded;
        Some(if difference == 0.0 { 0.0 } else { difference / recorded.abs() })
    }

    /// Returns the growth of the distance from one, as a fraction of the recorded figure.
    fn farther_from_one(&self) -> Option<f64> {
        let (now, recorded) = (self.now?, self.recorded?);
        Some(((now - 1.0).abs() - (recorded - 1.0).abs()) / recorded.abs())
    }

    /// Renders the change in words: `worse, +12 %`; `new` or `gone` if one value does not exist.
    pub fn text(&self) -> String {
        let word = self.judgement.word();
        match self.relative() {
            None => word.to_owned(),
            Some(relative) if word.is_empty() => percent(relative),
            Some(relative) => format!("{word}, {}", percent(relative)),
        }
    }

    /// Renders the recorded figure and the change: `1.20: worse, +12 %`.
    pub fn against(&self) -> String {
        match self.recorded {
            Some(_) => format!("{}: {}", self.recorded_text(), self.text()),
            None => self.text(),
        }
    }

    /// Returns the recorded figure with its unit.
    pub fn recorded_text(&self) -> String {
        self.recorded.map_or_else(|| "-".to_owned(), |value| with_unit(value, &self.unit))
    }

    fn cells(&self) -> Vec<String> {
        let now = self.now.map_or_else(|| "-".to_owned(), |value| with_unit(value, &self.unit));
        let change = self.relative().map_or_else(String::new, percent);
        let noise = format!("±{:.0} %", self.noise * 100.0);
        vec![format!("{}: {}", self.section, self.what), self.recorded_text(), now, change, noise]
    }
}

impl Judgement {
    /// Returns the judgement in one word; empty if there is none.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Same => "same",
            Self::Worse => "worse",
            Self::New => "new",
            Self::Gone => "gone",
            Self::Unjudged => "",
        }
    }
}

fn key(section: &Section) -> &str {
    if section.name.is_empty() { &section.title } else { &section.name }
}

fn keyed(report: &Report) -> impl Iterator<Item = (&Section, &Figure)> {
    let sections = report.sections.iter();
    sections.flat_map(|section| section.figures.iter().map(move |figure| (section, figure)))
}

/// Returns true if both were measured with the same parameters, as far as the recorded one states
/// them.
fn has_settings_of(now: &Section, recorded: &Section) -> bool {
    recorded.settings.is_empty() || now.settings == recorded.settings
}

fn differing(now: &Report, recorded: &Report) -> Vec<(String, String, String)> {
    let differs = |(name, now): &(String, String)| {
        let (_, other) = recorded.conditions.iter().find(|(other, _)| other == name)?;
        // The load by others differs at any time.
        (other != now && name != Report::OTHERS).then(|| (name.clone(), now.clone(), other.clone()))
    };
    now.conditions.iter().filter_map(differs).collect()
}

fn change(section: &Section, figure: &Figure, other: Option<&Figure>, is_judged: bool) -> Change {
    let finite = |value: &f64| value.is_finite();
    let now = figure.measured.filter(finite);
    let recorded = other.and_then(|other| other.measured).filter(finite);
    let noise = noise_of(figure).max(other.map_or(0.0, noise_of));
    let is_same_unit = other.is_none_or(|other| other.unit == figure.unit);
    let section = key(section).to_owned();
    let (what, unit) = (figure.what.clone(), figure.unit.clone());
    let judgement = Judgement::Unjudged;
    let mut change = Change { section, what, unit, now, recorded, noise, judgement };
    change.judgement = match (now, recorded) {
        (Some(_), None) => Judgement::New,
        (None, Some(_)) => Judgement::Gone,
        (Some(_), Some(_)) if is_judged && is_same_unit => judgement_of(&change, figure.better()),
        _ => Judgement::Unjudged,
    };
    change
}

fn judgement_of(change: &Change, better: Better) -> Judgement {
    let Some(relative) = change.relative() else { return Judgement::Unjudged };
    let bad = match better {
        Better::Lower => relative,
        Better::Higher => -relative,
        Better::NearerOne => change.farther_from_one().unwrap_or(relative),
    };
    if bad > change.noise {
        Judgement::Worse
    } else if bad < -change.noise {
        Judgement::Better
    } else {
        Judgement::Same
    }
}

fn gone(section: &Section, figure: &Figure) -> Change {
    Change {
        section: key(section).to_owned(),
        what: figure.what.clone(),
        unit: figure.unit.clone(),
        now: None,
        recorded: figure.measured.filter(|value| value.is_finite()),
        noise: noise_of(figure),
        judgement: Judgement::Gone,
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
    use super::super::{Aim, Figure, Report, Section};
    use super::{Change, Comparison, Judgement};

    fn report(figures: Vec<Figure>) -> Report {
        let scale = ("scale".to_owned(), "full".to_owned());
        let mut report = Report::new(vec![scale]);
        let mut section = Section::new("Title", &[]);
        (section.name, section.figures) = ("name".to_owned(), figures);
        report.sections.push(section);
        report
    }

    fn at_most(value: f64) -> Figure {
        Figure::new("x", Some(value), "").held_against(Aim::AtMost(1.0))
    }

    fn at_least(value: f64) -> Figure {
        Figure::new("x", Some(value), "").held_against(Aim::AtLeast(1.0))
    }

    fn change(now: Figure, recorded: Figure) -> Change {
        Comparison::new(&report(vec![now]), &report(vec![recorded])).changes.remove(0)
    }

    fn judgement(now: Figure, recorded: Figure) -> Judgement {
        change(now, recorded).judgement
    }

    #[test]
    fn higher_is_worse_where_the_aim_is_at_most() {
        assert_eq!(judgement(at_most(1.06), at_most(1.0)), Judgement::Worse);
        assert_eq!(judgement(at_most(0.94), at_most(1.0)), Judgement::Better);
    }

    #[test]
    fn lower_is_worse_where_the_aim_is_at_least() {
        assert_eq!(judgement(at_least(0.94), at_least(1.0)), Judgement::Worse);
        assert_eq!(judgement(at_least(1.06), at_least(1.0)), Judgement::Better);
    }

    #[test]
    fn a_change_within_five_percent_or_what_the_spread_of_either_allows_is_none() {
        assert_eq!(judgement(at_most(1.04), at_most(1.0)), Judgement::Same);
        let over = |value, rounds: usize| Figure {
            spread: Some(0.1),
            rounds: vec![value; rounds],
            ..at_most(value)
        };
        assert_eq!(judgement(over(1.3, 3), at_most(1.0)), Judgement::Same);
        assert_eq!(judgement(at_most(1.3), over(1.0, 3)), Judgement::Same);
        assert_eq!(judgement(over(1.3, 9), over(1.0, 9)), Judgement::Worse);
    }

    #[test]
    fn a_figure_without_an_aim_is_judged_by_its_direction() {
        let found = |value| Figure::new("x", Some(value), "B");
        let more = change(found(3.0), found(2.0));
        assert_eq!((more.judgement, more.relative()), (Judgement::Worse, Some(0.5)));
        assert_eq!((more.text(), more.recorded_text()), ("worse, +50 %".into(), "2.00 B".into()));
        let found = |value| found(value).more_is_better();
        assert_eq!(judgement(found(3.0), found(2.0)), Judgement::Better);
    }

    #[test]
    fn farther_from_one_is_worse_on_either_side_where_one_is_best() {
        let near_one = |value| Figure::new("x", Some(value), "").one_is_best();
        assert_eq!(judgement(near_one(1.2), near_one(1.1)), Judgement::Worse);
        assert_eq!(judgement(near_one(0.8), near_one(1.1)), Judgement::Worse);
        assert_eq!(judgement(near_one(0.9), near_one(1.1)), Judgement::Same);
        assert_eq!(judgement(near_one(1.0), near_one(0.8)), Judgement::Better);
    }

    #[test]
    fn what_is_on_one_side_only_is_new_or_gone() {
        let comparison = Comparison::new(&report(vec![at_most(1.0)]), &report(Vec::new()));
        assert_eq!(comparison.changes[0].judgement, Judgement::New);
        let comparison = Comparison::new(&report(Vec::new()), &report(vec![at_most(1.0)]));
        assert_eq!(comparison.gone[0].judgement, Judgement::Gone);
        let unmeasured = Figure { measured: None, ..at_most(1.0) };
        assert_eq!(judgement(unmeasured.clone(), at_most(1.0)), Judgement::Gone);
        assert_eq!(judgement(at_most(1.0), unmeasured.clone()), Judgement::New);
        assert_eq!(judgement(at_most(f64::NAN), at_most(1.0)), Judgement::Gone);
        assert_eq!(judgement(unmeasured.clone(), unmeasured), Judgement::Unjudged);
    }

    #[test]
    fn figures_of_the_same_words_are_matched_in_their_order_and_within_their_section() {
        let mut now = report(vec![at_most(1.0), at_most(2.0)]);
        let recorded = report(vec![at_most(1.0), at_most(2.0)]);
        let comparison = Comparison::new(&now, &recorded);
        assert!(comparison.changes.iter().all(|it| it.judgement == Judgement::Same));
        now.sections[0].name = "other".to_owned();
        let comparison = Comparison::new(&now, &recorded);
        assert_eq!(comparison.judged(Judgement::New).count(), 2);
        assert_eq!(comparison.judged(Judgement::Gone).count(), 2);
    }

    #[test]
    fn another_scale_is_told_and_nothing_is_judged() {
        let mut now = report(vec![at_most(9.0)]);
        now.conditions[0].1 = "quick".to_owned();
        let comparison = Comparison::new(&now, &report(vec![at_most(1.0)]));
        assert_eq!(comparison.changes[0].judgement, Judgement::Unjudged);
        assert!(comparison.refusal().unwrap().contains("quick here and full in the recorded"));
        assert!(comparison.text().contains("not judged"));
    }

    #[test]
    fn another_machine_is_no_reason_for_another_ratio_but_for_other_times() {
        let on = |machine: &str, figure| {
            let mut report = report(vec![figure]);
            report.conditions.push(("machine".to_owned(), machine.to_owned()));
            report
        };
        let time = |value| Figure::new("x", Some(value), "us");
        let judged = |now, recorded| Comparison::new(&now, &recorded).changes[0].judgement;
        assert_eq!(judged(on("a", time(2.0)), on("b", time(1.0))), Judgement::Unjudged);
        assert_eq!(judged(on("a", time(2.0)), on("a", time(1.0))), Judgement::Worse);
        assert_eq!(judged(on("a", at_most(2.0)), on("b", at_most(1.0))), Judgement::Worse);
    }

    #[test]
    fn what_was_measured_with_other_settings_is_not_judged() {
        let with = |keys: &str| {
            let mut report = report(vec![at_most(2.0)]);
            report.sections[0].settings = vec![("keys".to_owned(), keys.to_owned())];
            report
        };
        let judged = |now, recorded| Comparison::new(&now, &recorded).changes[0].judgement;
        assert_eq!(judged(with("1"), with("2")), Judgement::Unjudged);
        assert_eq!(judged(with("1"), with("1")), Judgement::Same);
    }

    #[test]
    fn a_figure_in_another_unit_is_not_judged() {
        let in_ms = Figure { unit: "ms".to_owned(), ..at_most(9.0) };
        assert_eq!(judgement(in_ms, at_most(1.0)), Judgement::Unjudged);
    }

    #[test]
    fn a_change_from_zero_is_judged() {
        let worse = change(at_most(1.0), at_most(0.0));
        assert_eq!(
            (worse.judgement, worse.text().as_str()),
            (Judgement::Worse, "worse, from zero")
        );
        assert_eq!(judgement(at_most(0.0), at_most(0.0)), Judgement::Same);
    }

    #[test]
    fn the_terminal_is_told_what_got_worse_with_both_numbers() {
        let comparison = Comparison::new(&report(vec![at_most(1.5)]), &report(vec![at_most(1.0)]));
        let text = comparison.text();
        let row = text.lines().last().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(row, "name: x 1.00 1.50 +50 % ±5 %");
        let same = Comparison::new(&report(vec![at_most(1.0)]), &report(vec![at_most(1.0)]));
        assert!(same.text().contains("Nothing is worse"));
    }
}
