//! A report as one self-contained page: no scripts, no files, no network.

use std::fmt::Display;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Comparison, Judgement, Report, Row, Section, State, Table, svg};

/// Renders the page, with the change of each figure if there is a recorded result to compare with.
pub fn html(report: &Report, comparison: Option<&Comparison>) -> String {
    let page = Page { report, comparison, ids: ids(report), rows: report.rows(comparison) };
    let text = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Varve benchmark " (report.date) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                (page.header())
                main {
                    (page.banners())
                    (page.glance())
                    h2 #_conditions { "Machine and settings" }
                    (pairs(&report.conditions))
                    (page.contents())
                    @for (number, section) in report.sections.iter().enumerate() {
                        (page.section(number, section))
                    }
                }
            }
        }
    };
    let is_strange = |letter: char| letter.is_control() && !['\n', '\t'].contains(&letter);
    text.into_string().replace(is_strange, "\u{fffd}") + "\n"
}

struct Page<'a> {
    report: &'a Report,
    comparison: Option<&'a Comparison>,
    /// Link name of each section.
    ids: Vec<String>,
    rows: Vec<Row<'a>>,
}

impl Page<'_> {
    fn header(&self) -> Markup {
        let machine = self.report.condition(Report::MACHINE).map(str::to_owned);
        let seconds: f64 = self.report.sections.iter().map(|section| section.seconds).sum();
        let took = (seconds > 0.0).then(|| format!("measured in {}", duration(seconds)));
        html! {
            header {
                h1 { "Varve benchmark " time { (self.report.date) } }
                p { (machine.into_iter().chain(took).collect::<Vec<_>>().join(" · ")) }
            }
        }
    }

    fn banners(&self) -> Markup {
        let disturbance = self.report.disturbance();
        let scale = self.report.condition(Report::SCALE).and_then(|it| it.parse::<f64>().ok());
        html! {
            @if !self.report.complete {
                (banner("short", "INCOMPLETE", "the run was broken off, or is still going on. What \
                    is missing below was not measured."))
            }
            @if let Some(percent) = disturbance {
                (banner("unknown", "DISTURBED", format_args!("others used {percent:.0} % of the \
                    cores before the start. Times may be too long, and spread more.")))
            }
            @if let Some(scale) = scale.filter(|scale| *scale < 1.0) {
                (banner("unknown", "SMALL", format_args!("measured at {scale} of the whole size. \
                    Fixed costs weigh more here, and short measurements spread more.")))
            }
        }
    }

    /// Renders the summary at the top: counts, and all figures with aims.
    fn glance(&self) -> Markup {
        let mut aimed = self.rows.clone();
        aimed.retain(|row| row.figure.aim.is_some());
        aimed.sort_by_key(Row::rank);
        let (ratios, others): (Vec<_>, Vec<_>) =
            aimed.iter().partition(|row| row.figure.is_ratio());
        html! {
            h2 #_glance { "What holds at a glance" }
            (self.tiles(&aimed))
            (self.states())
            @if let Some(comparison) = self.comparison { (against(comparison)) }
            @if aimed.is_empty() { p { "No figure has an aim." } }
            (self.ranked(&ratios, "Ratios, which hold on other machines too"))
            (self.ranked(&others, "Absolute numbers, of this machine"))
            @if let Some(comparison) = self.comparison { (gone(comparison)) }
        }
    }

    fn tiles(&self, aimed: &[Row<'_>]) -> Markup {
        let count = |verdict| aimed.iter().filter(|it| it.figure.verdict() == verdict).count();
        let mut tiles = vec![
            ("ok", count("ok"), "ok"),
            ("short", count("short"), "short of the aim"),
            ("unknown", count("not measured"), "not measured"),
        ];
        // Where nothing is judged, a zero would look like a good result.
        if let Some(comparison) = self.comparison.filter(|it| it.refusal().is_none()) {
            let worse = comparison.judged(Judgement::Worse).count();
            tiles.push(("worse", worse, "worse than recorded"));
        }
        html! {
            ul.tiles {
                @for (class, count, words) in tiles {
                    li class=(if count == 0 { "none" } else { class }) {
                        strong { (count) } " " (words)
                    }
                }
            }
        }
    }

    /// Renders the number of measured scenarios, and the reasons why others were not measured.
    fn states(&self) -> Markup {
        let sections = || self.report.sections.iter();
        let count = |is_it: fn(&State) -> bool| sections().filter(|it| is_it(&it.state)).count();
        let skipped = count(|state| matches!(state, State::Skipped(_)));
        let failed = count(|state| matches!(state, State::Failed(_)));
        let all = self.ids.len();
        html! {
            p {
                "Of " (all) " scenarios " (all - skipped - failed) " were measured, "
                (skipped) " skipped, " (failed) " failed."
            }
            ul.states {
                @for (section, id) in sections().zip(&self.ids) {
                    @if let Some((_, why)) = section.warning() {
                        li { (mark(section)) " " a href={ "#" (id) } { (section.title) } ": " (why) }
                    }
                }
            }
        }
    }

    fn contents(&self) -> Markup {
        let is_short = |row: &&Row<'_>| row.figure.verdict() == "short";
        let short = |at| self.rows.iter().filter(|it| it.section == at).filter(is_short).count();
        html! {
            nav aria-labelledby="_contents" {
                h2 #_contents { "Scenarios" }
                ol.contents {
                    @for (at, (section, id)) in self.report.sections.iter().zip(&self.ids).enumerate() {
                        li {
                            a href={ "#" (id) } { (section.title) } " " (mark(section))
                            @if section.state == State::Measured && short(at) > 0 {
                                span.mark.short { (short(at)) " short" }
                            }
                        }
                    }
                }
            }
        }
    }

    fn section(&self, number: usize, section: &Section) -> Markup {
        let id = &self.ids[number];
        let rows: Vec<_> = self.rows.iter().filter(|row| row.section == number).collect();
        let measured = if section.paper.is_some() { "Measured here" } else { "" };
        html! {
            section id=(id) {
                h2 { (section.title) }
                @if let Some(origin) = section.origin() { p.source { (origin) } }
                @if let Some((word, why)) = section.warning() { (banner(class(section), word, why)) }
                @for note in &section.notes { p.note { (note) } }
                div.plots {
                    @for (number, plot) in section.plots.iter().enumerate() {
                        (svg::figure(plot, &format!("{id}-plot{number}")))
                    }
                }
                (figures(&rows, "Figures", folded(&rows), None))
                div.pair {
                    (cells(&section.table, measured))
                    @if let Some(paper) = &section.paper { (cells(paper, "In the paper")) }
                }
                @if !section.settings.is_empty() {
                    details { summary { "Settings at scale 1" } (pairs(&section.settings)) }
                }
                p.took {
                    @if section.seconds > 0.0 { "Took " (duration(section.seconds)) ". " }
                    a href="#_contents" { "All scenarios" }
                }
            }
        }
    }

    /// Renders figures of any scenarios by rank, with links to them. In a long table only the rows
    /// that need no attention are folded.
    fn ranked(&self, rows: &[&Row<'_>], heading: &str) -> Markup {
        let all = if rows.len() > ROWS_MAX { Row::needs_attention } else { |_: &Row<'_>| true };
        let (first, rest) = rows.split_at(rows.partition_point(|row| all(row)));
        let heading_of_rest = if first.is_empty() { heading } else { "" };
        let summary = Some(format!("Those that hold: {}", rest.len()));
        html! {
            (figures(first, heading, None, Some(&self.ids)))
            (figures(rest, heading_of_rest, summary, Some(&self.ids)))
        }
    }
}

impl Row<'_> {
    /// Returns the order in lists: short of the aim first, then worse than recorded, then not
    /// measured.
    fn rank(&self) -> u8 {
        match (self.figure.verdict(), self.change.map(|change| change.judgement)) {
            ("short", _) => 0,
            (_, Some(Judgement::Worse)) => 1,
            ("not measured", _) => 2,
            _ => 3,
        }
    }

    fn needs_attention(&self) -> bool {
        self.rank() < 3
    }

    /// Renders the verdict as word, sign and colour.
    fn verdict(&self) -> Markup {
        let (class, sign, word) = match (self.figure.aim, self.figure.verdict()) {
            (None, _) => return html! { span.mark { "no aim" } },
            (_, "ok") => ("ok", "✓", "ok"),
            (_, "short") => ("short", "✗", "short"),
            (_, word) => ("unknown", "?", word),
        };
        html! { span.mark.(class) { span aria-hidden="true" { (sign) } " " (word) } }
    }

    fn change(&self) -> Markup {
        let Some(change) = self.change else { return html! {} };
        let class = match change.judgement {
            Judgement::Better => "ok",
            Judgement::Worse => "worse",
            Judgement::New | Judgement::Gone => "unknown",
            Judgement::Same | Judgement::Unjudged => "",
        };
        html! { span class={ "mark " (class) } { (change.text()) } }
    }
}

/// Describes the recorded result and its differing conditions.
fn against(comparison: &Comparison) -> Markup {
    let columns = ["condition", "now", "recorded"];
    let differing = comparison.differing.iter().map(|row| row.to_vec()).collect();
    html! {
        @if let Some(refusal) = comparison.refusal() {
            p.banner.unknown { (refusal) }
        } @else {
            p {
                "Compared with the recorded result"
                @if !comparison.recorded.is_empty() { " of " (comparison.recorded) }
                ". A change counts where it is larger than the spread of the rounds and than 5 %."
            }
        }
        (cells(&Table::new(&columns, differing), "Conditions that differ from those recorded"))
    }
}

fn gone(comparison: &Comparison) -> Markup {
    let rows = comparison
        .gone
        .iter()
        .map(|it| vec![it.section.clone(), it.figure.what.clone(), it.figure.text_of(it.recorded)]);
    let table = Table::new(&["scenario", "what", "recorded"], rows.collect());
    cells(&table, "Recorded, and gone from this result")
}

fn banner(class: &str, word: &str, text: impl Display) -> Markup {
    html! { p.banner.(class) { strong { (word) ":" } " " (text.to_string()) } }
}

fn class(section: &Section) -> &'static str {
    if matches!(section.state, State::Failed(_)) { "short" } else { "unknown" }
}

/// Renders the remark on a section that is not complete.
fn mark(section: &Section) -> Markup {
    let word = match section.state {
        State::Measured => return html! {},
        State::Skipped(_) => "skipped",
        State::Failed(_) => "failed",
    };
    html! { span.mark.(class(section)) { (word) } }
}

fn pairs(pairs: &[(String, String)]) -> Markup {
    html! { dl { @for (name, value) in pairs { div { dt { (name) } dd { (value) } } } } }
}

/// Renders a table of cells, numbers aligned to the right; nothing without rows.
fn cells(table: &Table, heading: &str) -> Markup {
    let class = |column| is_numeric(table, column).then_some("number");
    let classes: Vec<_> = (0..table.columns.len()).map(class).collect();
    let rows = table.rows.len();
    let content = html! {
        table.cells {
            thead { tr {
                @for (name, class) in table.columns.iter().zip(&classes) {
                    th scope="col" class=[class] { (name) }
                }
            } }
            tbody {
                @for row in &table.rows {
                    tr { @for (cell, class) in row.iter().zip(&classes) { td class=[class] { (cell) } } }
                }
            }
        }
    };
    boxed(rows, heading, (rows > ROWS_MAX).then(|| format!("{rows} rows")), &content)
}

/// Returns true if all cells of a column begin like numbers, so that they are aligned to the right.
fn is_numeric(table: &Table, column: usize) -> bool {
    let cells = table.rows.iter().filter_map(|row| row.get(column));
    let mut told = cells.filter(|cell| !matches!(cell.as_str(), "" | "-" | "not there")).peekable();
    let is_number = |cell: &String| {
        cell.trim_start_matches(['+', '-', '<', '>', '=', '±', ' '])
            .starts_with(|letter: char| letter.is_ascii_digit())
    };
    told.peek().is_some() && told.all(is_number)
}

/// Returns the summary of a table of figures that is long enough to be folded.
fn folded(rows: &[&Row<'_>]) -> Option<String> {
    let short = rows.iter().filter(|row| row.figure.verdict() == "short").count();
    let told = if short > 0 { format!(", {short} short") } else { String::new() };
    (rows.len() > ROWS_MAX).then(|| format!("{} rows{told}", rows.len()))
}

/// Renders figures, with links to their sections if names for links are given; columns in which
/// none has anything are left out.
fn figures(
    rows: &[&Row<'_>],
    heading: &str,
    summary: Option<String>,
    ids: Option<&[String]>,
) -> Markup {
    let has_aim = rows.iter().any(|row| row.figure.aim.is_some());
    let has_paper = rows.iter().any(|row| row.figure.paper.is_some());
    let has_change = rows.iter().any(|row| row.change.is_some());
    let line = |row: &Row<'_>| {
        let figure = row.figure;
        let aim = figure.aim_text().replace("<=", "≤").replace(">=", "≥");
        let recorded = row.change.and_then(|change| change.recorded);
        html! {
            tr.is-short[figure.verdict() == "short"] {
                @if has_aim { td { (row.verdict()) } }
                th.what scope="row" {
                    @if let Some(ids) = ids { a href={ "#" (ids[row.section]) } { (figure.what) } }
                    @else { (figure.what) }
                }
                td.number.measured {
                    (figure.measured_text())
                    @if figure.spread.is_some() { " " span.spread { (figure.spread_text()) } }
                }
                @if has_aim { (named("aim", &aim)) }
                @if has_paper { (named("paper", &figure.text_of(figure.paper))) }
                @if has_change {
                    (named("recorded", &figure.text_of(recorded)))
                    td { (row.change()) }
                }
            }
        }
    };
    let heads = [
        ("verdict", has_aim),
        ("what", true),
        ("measured", true),
        ("aim", has_aim),
        ("paper", has_paper),
        ("recorded", has_change),
        ("change", has_change),
    ];
    let is_number = |name: &str| ["measured", "aim", "paper", "recorded"].contains(&name);
    let content = html! {
        table.figures {
            thead { tr {
                @for (name, _) in heads.iter().filter(|(_, is_shown)| *is_shown) {
                    th.number[is_number(name)] scope="col" { (name) }
                }
            } }
            tbody { @for row in rows { (line(row)) } }
        }
    };
    boxed(rows.len(), heading, summary, &content)
}

/// Renders a cell that names its column, for screens where the table has no head.
fn named(name: &str, text: &str) -> Markup {
    html! { td.number.absent[text == "-"] data-name=(name) { (text) } }
}

/// Renders a table in a box that scrolls where it is too wide, folded if there is a summary;
/// nothing without rows.
fn boxed(rows: usize, heading: &str, summary: Option<String>, table: &Markup) -> Markup {
    // A box that scrolls must be reachable from the keyboard.
    let table = html! { div.scroll tabindex="0" { (table) } };
    html! {
        @if rows > 0 {
            div.box {
                @if !heading.is_empty() { h3 { (heading) } }
                @if let Some(summary) = summary { details { summary { (summary) } (table) } }
                @else { (table) }
            }
        }
    }
}

/// Returns a link name for each section, made from its name, with its number if another has it.
/// The page's own names begin with an underscore.
fn ids(report: &Report) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for section in &report.sections {
        let name = if section.name.is_empty() { &section.title } else { &section.name };
        let simple = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let id = name.chars().map(simple).collect::<String>().to_ascii_lowercase();
        let is_new = !ids.contains(&id) && id.contains(|it: char| it != '-');
        ids.push(if is_new { id } else { format!("{id}_{}", ids.len()) });
    }
    ids
}

/// Formats seconds in words.
fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// Most rows of a table that is not folded.
const ROWS_MAX: usize = 24;

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn seconds_are_written_as_people_say_them() {
        let times = [0.26, 42.4, 192.0, 4830.0].map(duration);
        assert_eq!(times, ["0.3 s", "42 s", "3 min 12 s", "1 h 20 min"]);
    }
}
