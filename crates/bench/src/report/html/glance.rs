//! Summary at the top of the page: counts, and all figures with aims.

use super::super::escape::escape;
use super::super::{Comparison, Judgement, State, Table};
use super::page::{Page, Part};
use super::table::{Row, linked_figures, table, words};

pub(super) fn glance(page: &Page<'_>) -> String {
    let mut text = String::from("<h2 id=\"glance\">What holds at a glance</h2>\n");
    text += &tiles(page);
    text += &states(page);
    if let Some(comparison) = page.comparison {
        text += &against(comparison);
    }
    let aimed = || page.rows().filter(|row| row.figure.aim.is_some());
    let (mut ratios, mut others): (Vec<_>, Vec<_>) = aimed().partition(|it| it.figure.is_ratio());
    ratios.sort_by_key(Row::rank);
    others.sort_by_key(Row::rank);
    if ratios.is_empty() && others.is_empty() {
        text += "<p>No figure has an aim.</p>\n";
    }
    text += &linked_figures(&ratios, "Ratios, which hold on other machines too");
    text += &linked_figures(&others, "Absolute numbers, of this machine");
    if let Some(comparison) = page.comparison {
        text += &gone(comparison);
    }
    text
}

fn tiles(page: &Page<'_>) -> String {
    let count = |verdict| {
        let aimed = page.rows().filter(|row| row.figure.aim.is_some());
        aimed.filter(|row| row.figure.verdict() == verdict).count()
    };
    let mut tiles = vec![("ok", count("ok"), "ok"), ("short", count("short"), "short of the aim")];
    tiles.push(("unknown", count("not measured"), "not measured"));
    // Where nothing is judged, a zero would look like a good result.
    if let Some(comparison) = page.comparison.filter(|it| it.refusal().is_none()) {
        tiles.push(("worse", comparison.judged(Judgement::Worse).count(), "worse than recorded"));
    }
    let mut text = String::from("<ul class=\"tiles\">\n");
    for (class, count, words) in tiles {
        let class = if count == 0 { "none" } else { class };
        text += &format!("<li class=\"{class}\"><strong>{count}</strong> {words}</li>\n");
    }
    text + "</ul>\n"
}

/// Renders the number of measured scenarios, and the reasons why others were not measured.
fn states(page: &Page<'_>) -> String {
    let count = |is_it: fn(&State) -> bool| {
        page.parts.iter().filter(|part| is_it(&part.section.state)).count()
    };
    let (all, measured) = (page.parts.len(), count(|state| *state == State::Measured));
    let skipped = count(|state| matches!(state, State::Skipped(_)));
    let failed = count(|state| matches!(state, State::Failed(_)));
    let mut text = format!(
        "<p>Of {all} scenarios {measured} were measured, {skipped} skipped, {failed} failed.</p>\n"
    );
    let told: Vec<_> = page.parts.iter().filter_map(state).collect();
    if !told.is_empty() {
        text += &format!("<ul class=\"states\">\n{}</ul>\n", told.concat());
    }
    text
}

fn state(part: &Part<'_>) -> Option<String> {
    let (class, word, why) = match &part.section.state {
        State::Measured => return None,
        State::Skipped(why) => ("unknown", "skipped", why),
        State::Failed(why) => ("short", "failed", why),
    };
    let (id, title, why) = (&part.id, escape(&part.section.title), escape(why));
    Some(format!(
        "<li><span class=\"mark {class}\">{word}</span> <a href=\"#{id}\">{title}</a>: {why}</li>\n"
    ))
}

/// Describes the recorded result and its differing conditions.
fn against(comparison: &Comparison) -> String {
    let date = match comparison.recorded.as_str() {
        "" => String::new(),
        date => format!(" of {}", escape(date)),
    };
    let mut text = format!(
        "<p>Compared with the recorded result{date}. A change counts where it is larger than the \
         spread of the rounds and than 5 %.</p>\n"
    );
    if let Some(refusal) = comparison.refusal() {
        text = format!("<p class=\"banner skipped\">{}</p>\n", escape(&refusal));
    }
    let rows = comparison.differing.iter();
    let rows = rows.map(|(name, now, other)| vec![name.clone(), now.clone(), other.clone()]);
    let columns = ["condition", "now", "recorded"].map(str::to_owned).to_vec();
    let differing = Table { columns, rows: rows.collect() };
    text + &words(&differing, "Conditions that differ from those of the recorded result")
}

fn gone(comparison: &Comparison) -> String {
    let rows = comparison.gone.iter();
    let rows = rows.map(|it| vec![it.section.clone(), it.what.clone(), it.recorded_text()]);
    let columns = ["scenario", "what", "recorded"].map(str::to_owned).to_vec();
    table(&Table { columns, rows: rows.collect() }, "Recorded, and gone from this result")
}
