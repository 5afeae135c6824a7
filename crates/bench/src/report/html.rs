//! A report as one page that needs nothing beside it: no scripts, no files, no network.
//!
//! | file | what |
//! |---|---|
//! | `html.rs` | the page from its head to its list of contents |
//! | `html/glance.rs` | what holds and what does not, ratios first |
//! | `html/section.rs` | one scenario |
//! | `html/table.rs` | tables of cells and of figures |
//! | `html/style.css` | how it looks on a phone, a screen and paper, light and dark |

mod glance;
mod section;
mod table;

use std::collections::BTreeSet;

use super::escape::escape;
use super::{Change, Comparison, Report, Section, State};
use table::Row;

/// The page, with what became of each figure if there is a recorded result to compare with.
pub fn html(report: &Report, comparison: Option<&Comparison>) -> String {
    let page = Page::new(report, comparison);
    let date = escape(&report.date);
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Varve benchmark {date}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    text += &page.header();
    text += "<main>\n";
    text += &page.banners();
    text += &glance::glance(&page);
    text += &page.conditions();
    text += &page.contents();
    for part in &page.parts {
        text += &section::section(part);
    }
    text + "</main>\n</body>\n</html>\n"
}

/// What the page is made of.
struct Page<'a> {
    report: &'a Report,
    comparison: Option<&'a Comparison>,
    parts: Vec<Part<'a>>,
}

/// A section, and the name by which links find it.
struct Part<'a> {
    id: String,
    section: &'a Section,
    /// One per figure of the section.
    changes: Vec<Option<&'a Change>>,
}

impl<'a> Page<'a> {
    fn new(report: &'a Report, comparison: Option<&'a Comparison>) -> Self {
        let mut taken: BTreeSet<String> = OWN_IDS.iter().map(|&id| id.to_owned()).collect();
        let mut changes = comparison.into_iter().flat_map(|it| &it.changes);
        let part = |section: &'a Section| {
            let changes = section.figures.iter().map(|_| changes.next()).collect();
            Part { id: free_id(section, &mut taken), section, changes }
        };
        let parts = report.sections.iter().map(part).collect();
        Self { report, comparison, parts }
    }

    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.parts.iter().flat_map(Part::rows)
    }

    fn header(&self) -> String {
        let machine = self.report.condition(Report::MACHINE).map(str::to_owned);
        let seconds: f64 = self.report.sections.iter().map(|section| section.seconds).sum();
        let took = (seconds > 0.0).then(|| format!("measured in {}", duration(seconds)));
        let facts: Vec<_> = machine.into_iter().chain(took).collect();
        let (date, facts) = (escape(&self.report.date), escape(&facts.join(" · ")));
        format!(
            "<header>\n<h1>Varve benchmark <time>{date}</time></h1>\n<p>{facts}</p>\n</header>\n"
        )
    }

    fn banners(&self) -> String {
        let mut text = String::new();
        if !self.report.complete {
            text += "<p class=\"banner failed\"><strong>INCOMPLETE:</strong> the run was broken \
                     off, or is still going on. What is missing below was not measured.</p>\n";
        }
        if let Some(percent) = self.report.disturbance() {
            text += &format!(
                "<p class=\"banner skipped\"><strong>DISTURBED:</strong> others used \
                 {percent:.0} % of the cores before the start. Times may be too long, and spread \
                 more.</p>\n"
            );
        }
        let scale = self.report.condition(Report::SCALE).and_then(|it| it.parse::<f64>().ok());
        if let Some(scale) = scale.filter(|scale| *scale < 1.0) {
            text += &format!(
                "<p class=\"banner skipped\"><strong>SMALL:</strong> measured at {scale} of the \
                 whole size. Fixed costs weigh more here, and short measurements spread more.</p>\n"
            );
        }
        text
    }

    fn conditions(&self) -> String {
        let mut text = String::from("<h2 id=\"conditions\">Machine and settings</h2>\n<dl>\n");
        for (name, value) in &self.report.conditions {
            text += &format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value));
        }
        text + "</dl>\n"
    }

    fn contents(&self) -> String {
        let mut text = String::from(
            "<nav aria-labelledby=\"contents\">\n<h2 id=\"contents\">Scenarios</h2>\n\
             <ol class=\"contents\">\n",
        );
        for part in &self.parts {
            let (id, title) = (&part.id, escape(&part.section.title));
            text += &format!("<li><a href=\"#{id}\">{title}</a> {}</li>\n", part.remark());
        }
        text + "</ol>\n</nav>\n"
    }
}

impl Part<'_> {
    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let row = |(figure, &change)| Row { figure, change, id: &self.id };
        self.section.figures.iter().zip(&self.changes).map(row)
    }

    /// What the list of contents says beside the title.
    fn remark(&self) -> String {
        match self.section.state {
            State::Skipped(_) => "<span class=\"mark unknown\">skipped</span>".to_owned(),
            State::Failed(_) => "<span class=\"mark short\">failed</span>".to_owned(),
            State::Measured => match self.rows().filter(Row::is_short).count() {
                0 => String::new(),
                short => format!("<span class=\"mark short\">{short} short</span>"),
            },
        }
    }
}

/// A name for links made of the section's, with a number if it is taken.
fn free_id(section: &Section, taken: &mut BTreeSet<String>) -> String {
    let name = if section.name.is_empty() { &section.title } else { &section.name };
    let simple = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let id: String = name.chars().map(simple).collect::<String>().to_ascii_lowercase();
    let id = match id.trim_matches('-') {
        "" => "section",
        id => id,
    };
    let numbered = (2..).map(|number| format!("{id}-{number}"));
    let mut names = std::iter::once(id.to_owned()).chain(numbered);
    let free = names.find(|name| !taken.contains(name)).expect("numbers do not end");
    taken.insert(free.clone());
    free
}

/// Seconds as people say them.
fn duration(seconds: f64) -> String {
    let whole = seconds.round().clamp(0.0, 1e9) as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

const STYLE: &str = include_str!("html/style.css");
const OWN_IDS: [&str; 3] = ["glance", "conditions", "contents"];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::Section;
    use super::{duration, free_id};

    #[test]
    fn sections_of_the_same_name_have_links_of_their_own() {
        let mut taken = BTreeSet::from(["glance".to_owned()]);
        let mut id = |name: &str| free_id(&Section::new(name, &[]), &mut taken);
        assert_eq!(id("Growth: null"), "growth--null");
        assert_eq!(id("Growth: null"), "growth--null-2");
        assert_eq!(id("\"><script>"), "script");
        assert_eq!(id("Glance"), "glance-2");
        assert_eq!(id("<>"), "section");
    }

    #[test]
    fn seconds_are_written_as_people_say_them() {
        let times = [0.26, 42.4, 192.0, 4830.0].map(duration);
        assert_eq!(times, ["0.3 s", "42 s", "3 min 12 s", "1 h 20 min"]);
    }
}
