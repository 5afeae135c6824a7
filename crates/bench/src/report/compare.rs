//! Figures of a report, and their changes since a recorded one.

use super::{Better, Figure, Report, Section, Table};

/// All figures of a report; with their changes if there is a recorded report.
pub(super) struct Comparison<'a> {
    /// Conditions that differ, now and recorded.
    pub differing: Table,
    /// Figures of this report: ratios first, which hold on other machines too.
    pub rows: Vec<Row<'a>>,
    /// Figures that only the recorded report has.
    pub gone: Vec<Row<'a>>,
}

/// A figure, its section, and its change if there is a recorded report.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub section: &'a Section,
    pub figure: &'a Figure,
    /// Recorded value; absent if it was not measured.
    pub recorded: Option<f64>,
    /// `better`, `same`, `worse`, `new` or `gone`; empty if the values cannot be compared, absent
    /// without a recorded report.
    judgement: Option<&'static str>,
}

impl<'a> Comparison<'a> {
    /// Matches figures by their sections and names.
    pub fn new(now: &'a Report, recorded: Option<&'a Report>) -> Self {
        let differing = recorded.map_or_else(Table::default, |recorded| differing(now, recorded));
        let differs = |name: &str| differing.rows.iter().any(|it| it[0] == name);
        let all = |report: &'a Report| report.sections.iter().flat_map(Section::rows);
        let mut gone: Vec<_> = recorded.into_iter().flat_map(all).collect();
        let with_change = |row: Row<'a>| {
            let is_same = |it: &Row<'_>| {
                it.section.key() == row.section.key() && it.figure.what == row.figure.what
            };
            let other = gone.iter().position(is_same).map(|at| gone.remove(at));
            // Older files do not state their settings.
            let is_comparable = other.is_some_and(|other| {
                let settings = &other.section.settings;
                (settings.is_empty() || *settings == row.section.settings)
                    && other.figure.unit == row.figure.unit
                    && !differs(Report::SCALE)
                    && (row.figure.is_ratio() || !differs(Report::MACHINE))
            });
            row.since(other.map(|other| other.figure), is_comparable)
        };
        let mut rows: Vec<_> = match recorded {
            Some(_) => all(now).map(with_change).collect(),
            None => all(now).collect(),
        };
        rows.sort_by_key(|row| !row.figure.is_ratio());
        Self { differing, rows, gone }
    }

    /// Returns the figures that have an aim.
    pub fn aimed(&self) -> impl Iterator<Item = Row<'a>> {
        self.rows.iter().copied().filter(|row| row.figure.aim.is_some())
    }

    /// Returns the figures that are worse than recorded.
    pub fn worse(&self) -> impl Iterator<Item = Row<'a>> {
        self.rows.iter().copied().filter(Row::is_worse)
    }

    /// Returns the reason why nothing is judged; `None` if figures are judged.
    pub fn refusal(&self) -> Option<String> {
        let scale = self.differing.rows.iter().find(|it| it[0] == Report::SCALE)?;
        Some(format!(
            "The scale is {} here and {} in the recorded one: changes are shown, but not judged.",
            scale[1], scale[2]
        ))
    }
}

impl Section {
    /// Returns its figures, without changes.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let row = |figure| Row { section: self, figure, recorded: None, judgement: None };
        self.figures.iter().map(row)
    }
}

impl Row<'_> {
    /// Returns true if the figure is worse than recorded.
    pub fn is_worse(&self) -> bool {
        self.judgement == Some("worse")
    }

    /// Renders the change in words: `worse, +12 %`; `new` or `gone` if one value does not exist.
    pub fn change_text(&self) -> String {
        let Some(judgement) = self.judgement else { return "-".to_owned() };
        let values = finite(self.figure).zip(self.recorded);
        let percent = values.map(|(now, recorded)| percent(relative(now, recorded)));
        let words = [judgement, percent.as_deref().unwrap_or_default()];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// Judges the change since the recorded figure.
    fn since(self, other: Option<&Figure>, is_comparable: bool) -> Self {
        let recorded = other.and_then(finite);
        let judgement = match (finite(self.figure), recorded) {
            (Some(_), None) => "new",
            (None, Some(_)) => "gone",
            (Some(now), Some(recorded)) if is_comparable => {
                let noise = other.map_or(0.0, noise).max(noise(self.figure));
                judge(self.figure.better(), now, recorded, noise)
            }
            _ => "",
        };
        Self { recorded, judgement: Some(judgement), ..self }
    }
}

fn finite(figure: &Figure) -> Option<f64> {
    figure.measured.filter(|value| value.is_finite())
}

fn differing(now: &Report, recorded: &Report) -> Table {
    let differs = |(name, now): &(String, String)| {
        let other = recorded.condition(name)?;
        // The load by others differs at any time.
        (other != now && name != Report::OTHERS)
            .then(|| vec![name.clone(), now.clone(), other.to_owned()])
    };
    let columns = ["condition", "now", "recorded"].map(str::to_owned).to_vec();
    Table { columns, rows: now.conditions.iter().filter_map(differs).collect() }
}

fn relative(now: f64, recorded: f64) -> f64 {
    let difference = now - recorded;
    if difference == 0.0 { 0.0 } else { difference / recorded.abs() }
}

fn judge(better: Better, now: f64, recorded: f64, noise: f64) -> &'static str {
    let bad = match better {
        Better::Lower => relative(now, recorded),
        Better::Higher => -relative(now, recorded),
        Better::NearerOne => ((now - 1.0).abs() - (recorded - 1.0).abs()) / recorded.abs(),
    };
    match bad {
        bad if bad > noise => "worse",
        bad if bad < -noise => "better",
        _ => "same",
    }
}

/// Distance of two medians of so many rounds that chance rarely exceeds. The quartiles are two
/// thirds of a standard deviation from the middle, and medians come closer with the square root of
/// the number of rounds. Three rounds show less than half of a deviation, so there is some room
/// above that.
fn noise(figure: &Figure) -> f64 {
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
    use super::{Better, Comparison, Figure, Report, Section};

    /// Report of one figure at full scale on two cores, with so many keys.
    fn report(figure: Figure) -> Report {
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let conditions = [(Report::SCALE, "full"), (Report::MACHINE, "two cores")].map(own);
        let settings = vec![own(("keys", "1"))];
        let section = Section { figures: vec![figure], settings, ..Section::new("name", "") };
        Report { sections: vec![section], ..Report::new(conditions.to_vec()) }
    }

    fn figure(value: f64, better: Better) -> Figure {
        Figure { better, ..Figure::new("x", Some(value), "") }
    }

    fn change(now: &Report, recorded: &Report) -> String {
        Comparison::new(now, Some(recorded)).rows[0].change_text()
    }

    #[test]
    fn a_change_is_worse_or_better_by_its_direction_if_it_is_more_than_chance() {
        let noisy = |value: f64, rounds: usize| {
            let (spread, rounds) = (Some(0.1), vec![value; rounds]);
            Figure { spread, rounds, ..figure(value, Better::Lower) }
        };
        let lower = |value| figure(value, Better::Lower);
        let higher = |value| figure(value, Better::Higher);
        let nearer = |value| figure(value, Better::NearerOne);
        for (now, recorded, words) in [
            (lower(1.06), lower(1.0), "worse, +6.0 %"),
            (lower(1.04), lower(1.0), "same, +4.0 %"),
            (lower(0.94), lower(1.0), "better, -6.0 %"),
            (lower(3.0), lower(2.0), "worse, +50 %"),
            (lower(1.0), lower(0.0), "worse, from zero"),
            (lower(0.0), lower(0.0), "same, ±0 %"),
            (higher(0.94), higher(1.0), "worse, -6.0 %"),
            (higher(1.06), higher(1.0), "better, +6.0 %"),
            (nearer(1.2), nearer(1.1), "worse, +9.1 %"),
            (nearer(0.8), nearer(1.1), "worse, -27 %"),
            (nearer(0.9), nearer(1.1), "same, -18 %"),
            (nearer(1.0), nearer(0.8), "better, +25 %"),
            (lower(1.0), lower(f64::NAN), "new"),
            (lower(f64::NAN), lower(1.0), "gone"),
            (lower(f64::NAN), lower(f64::NAN), ""),
            (noisy(1.3, 3), lower(1.0), "same, +30 %"),
            (lower(1.3), noisy(1.0, 3), "same, +30 %"),
            (noisy(1.3, 9), noisy(1.0, 9), "worse, +30 %"),
        ] {
            assert_eq!(change(&report(now), &report(recorded)), words);
        }
    }

    #[test]
    fn figures_of_the_same_words_are_matched_in_their_order_and_within_their_section() {
        let mut now = report(figure(1.0, Better::Lower));
        now.sections[0].figures.push(figure(2.0, Better::Lower));
        let recorded = now.clone();
        for (name, judgement, gone) in [("", "same", 0), ("other", "new", 2)] {
            now.sections[0].name = name.to_owned();
            let comparison = Comparison::new(&now, Some(&recorded));
            assert!(comparison.rows.iter().all(|it| it.judgement == Some(judgement)));
            assert_eq!(comparison.gone.len(), gone);
        }
    }

    #[test]
    fn what_was_measured_under_other_conditions_is_shown_and_not_judged() {
        let cases: [(fn(&mut Report), _, _); 6] = [
            (|_| (), "worse, +100 %", "worse, +100 %"),
            (|it| it.conditions[0].1.clear(), "+100 %", "+100 %"),
            (|it| it.conditions[1].1.clear(), "+100 %", "worse, +100 %"),
            (|it| it.sections[0].figures[0].unit.clear(), "+100 %", "worse, +100 %"),
            (|it| it.sections[0].settings[0].1.clear(), "+100 %", "+100 %"),
            // Older files do not state their settings.
            (|it| it.sections[0].settings.clear(), "worse, +100 %", "worse, +100 %"),
        ];
        for (number, (alter, of_time, of_ratio)) in cases.into_iter().enumerate() {
            for (unit, words) in [("us", of_time), ("", of_ratio)] {
                let [now, mut recorded] = [2.0, 1.0].map(|value| {
                    report(Figure { unit: unit.into(), ..figure(value, Better::Lower) })
                });
                alter(&mut recorded);
                assert_eq!(change(&now, &recorded), words, "case {number}, {unit:?}");
            }
        }
    }
}
