//! One scenario on the page: notes, plots, tables, figures.

use super::super::escape::escape;
use super::super::svg::{is_wide, svg};
use super::super::{PAPER_MISSING, Plot, State};
use super::duration::duration;
use super::page::Part;
use super::table::{Row, figures, table};

pub(super) fn section(part: &Part<'_>) -> String {
    let (section, id) = (part.section, &part.id);
    let title = escape(&section.title);
    let mut text = format!("<section id=\"{id}\">\n<h2>{title}</h2>\n");
    if let Some(source) = &section.source {
        text += &format!("<p class=\"source\">After {}</p>\n", escape(source));
    }
    if section.lacks_paper() {
        text += &format!("<p class=\"note\">{}</p>\n", escape(PAPER_MISSING));
    }
    text += &banner(&section.state);
    for note in &section.notes {
        text += &format!("<p class=\"note\">{}</p>\n", escape(note));
    }
    text += &plots(&section.plots, id);
    let mut rows: Vec<Row<'_>> = part.rows().collect();
    rows.sort_by_key(|row| !row.figure.is_ratio());
    text += &figures(&rows, "Figures");
    let measured = if section.paper.is_some() { "Measured here" } else { "" };
    let measured = table(&section.table, measured);
    let paper = section.paper.as_ref().map(|paper| table(paper, "In the paper"));
    text += &format!("<div class=\"pair\">\n{measured}{}</div>\n", paper.unwrap_or_default());
    text += &settings(&section.settings);
    let took = match section.seconds {
        seconds if seconds > 0.0 => format!("Took {}. ", duration(seconds)),
        _ => String::new(),
    };
    text + &format!(
        "<p class=\"took\">{took}<a href=\"#contents\">All scenarios</a></p>\n</section>\n"
    )
}

fn settings(settings: &[(String, String)]) -> String {
    if settings.is_empty() {
        return String::new();
    }
    let mut text = String::from("<details>\n<summary>Settings at scale 1</summary>\n<dl>\n");
    for (name, value) in settings {
        text += &format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value));
    }
    text + "</dl>\n</details>\n"
}

fn banner(state: &State) -> String {
    let (class, word, why) = match state {
        State::Measured => return String::new(),
        State::Skipped(why) => ("skipped", "SKIPPED", why),
        State::Failed(why) => ("failed", "FAILED, and incomplete", why),
    };
    let why = escape(why);
    format!("<p class=\"banner {class}\"><strong>{word}:</strong> {why}</p>\n")
}

fn plots(plots: &[Plot], id: &str) -> String {
    if plots.is_empty() {
        return String::new();
    }
    let mut text = String::from("<div class=\"plots\">\n");
    for (number, plot) in plots.iter().enumerate() {
        let class = if is_wide(plot) { " class=\"wide\" tabindex=\"0\"" } else { "" };
        let (title, drawing) = (escape(&plot.title), svg(plot, &format!("{id}-plot{number}")));
        text +=
            &format!("<figure{class}>\n<figcaption>{title}</figcaption>\n{drawing}\n</figure>\n");
    }
    text + "</div>\n"
}
