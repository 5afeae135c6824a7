//! Parts of a page and their link names.

use std::collections::BTreeSet;

use super::super::{Change, Comparison, Report, Section, State};
use super::table::Row;

/// Parts of the page.
pub(super) struct Page<'a> {
    pub report: &'a Report,
    pub comparison: Option<&'a Comparison>,
    pub parts: Vec<Part<'a>>,
}

/// A section and its link name.
pub(super) struct Part<'a> {
    pub id: String,
    pub section: &'a Section,
    /// Changes since the recorded result, one per figure of the section.
    pub changes: Vec<Option<&'a Change>>,
}

impl<'a> Page<'a> {
    pub fn new(report: &'a Report, comparison: Option<&'a Comparison>) -> Self {
        let mut taken: BTreeSet<String> = OWN_IDS.iter().map(|&id| id.to_owned()).collect();
        let mut changes = comparison.into_iter().flat_map(|it| &it.changes);
        let part = |section: &'a Section| {
            let changes = section.figures.iter().map(|_| changes.next()).collect();
            Part { id: free_id(section, &mut taken), section, changes }
        };
        let parts = report.sections.iter().map(part).collect();
        Self { report, comparison, parts }
    }

    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.parts.iter().flat_map(Part::rows)
    }
}

impl Part<'_> {
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let row = |(figure, &change)| Row { figure, change, id: &self.id };
        self.section.figures.iter().zip(&self.changes).map(row)
    }

    /// Returns the remark beside the title in the list of contents.
    pub fn remark(&self) -> String {
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

/// Returns a link name made from the section's name, with a number behind it if it is taken.
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

const OWN_IDS: [&str; 3] = ["glance", "conditions", "contents"];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Section, free_id};

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
}
