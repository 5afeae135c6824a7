//! Reports as JSON files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{Comparison, Report, html};

/// Version of the files that are written; files of other versions are not read.
pub const VERSION: u32 = 1;

impl Report {
    /// Writes `<date>-<name>.json`, `.md` and `.html` into a folder; returns the path of the last.
    /// While the report is incomplete the name ends with `.partial`, so that no other report is
    /// overwritten.
    ///
    /// # Errors
    /// If the files cannot be written.
    pub fn write(
        &self,
        folder: &Path,
        name: &str,
        comparison: Option<&Comparison>,
    ) -> Result<PathBuf> {
        fs::create_dir_all(folder)?;
        let stem = format!("{}-{name}", self.date);
        let path = |ending: &str| folder.join(format!("{stem}{ending}"));
        let written = if self.complete { "" } else { PARTIAL };
        let texts = [
            (".md", self.markdown(&stem, comparison)),
            (".html", html(self, comparison)),
            (".json", serde_json::to_string(self)? + "\n"),
        ];
        for (ending, text) in texts {
            replace(&path(&format!("{written}{ending}")), &text)?;
            if self.complete {
                // A report that is written only once has no partial file.
                let _ = fs::remove_file(path(&format!("{PARTIAL}{ending}")));
            }
        }
        Ok(path(&format!("{written}.html")))
    }

    /// Returns the newest file that [`Report::write`] wrote to a folder under this name.
    pub fn newest(folder: &Path, name: &str) -> Option<PathBuf> {
        let files = fs::read_dir(folder).ok()?.filter_map(|file| Some(file.ok()?.path()));
        let has_name = |path: &PathBuf| {
            let stem = path.file_name()?.to_str()?.strip_suffix(".json")?;
            stem.get(DATE_BYTES..)?.strip_prefix('-').filter(|behind| *behind == name).map(|_| ())
        };
        files.filter(|path| has_name(path).is_some()).max()
    }

    /// Reads a report from its file.
    ///
    /// # Errors
    /// If the file cannot be read, is no report, or has another version.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{}", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let json: Value = serde_json::from_str(text).context("not a result of varve-bench")?;
        match json.get("version").and_then(Value::as_u64) {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => bail!(
                "the file has version {version}, this program reads version {VERSION}: \
                 measure again, or use the program that wrote it"
            ),
            None => bail!(
                "the file has no version, so it is older than version {VERSION} or not a result \
                 of varve-bench: measure again"
            ),
        }
        serde_json::from_value(json).context("not a result of varve-bench")
    }
}

/// Replaces a file as a whole, so that a reader never sees half of a report.
fn replace(path: &Path, text: &str) -> Result<()> {
    let beside = path.with_extension("new");
    fs::write(&beside, text)?;
    fs::rename(&beside, path)?;
    Ok(())
}

/// Suffix of the names of incomplete reports.
const PARTIAL: &str = ".partial";
/// Length of a date such as `2000-12-31`.
const DATE_BYTES: usize = 10;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Aim, Figure, Plot, Report, Section, State, Table};

    fn any_report() -> Report {
        let mut section = Section::new("t", &["a"]);
        section.row(["1".to_owned()]);
        section.figures.push(Figure::new("f", Some(1.0), "us").held_against(Aim::AtMost(2.0)));
        section.state = State::Failed("it died".to_owned());
        section.paper = Some(Table { columns: vec!["a".to_owned()], rows: Vec::new() });
        let mut plot = Plot::bars("p", Vec::new(), "MiB").log_y();
        plot.bar("varve", "W1", 3.0);
        section.plot(plot);
        let mut report = Report::new(vec![("machine".to_owned(), "two cores".to_owned())]);
        report.sections.push(section);
        report
    }

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let report = any_report();
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(Report::parse(&text).unwrap(), report);
    }

    #[test]
    fn an_incomplete_report_takes_the_place_of_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let names = || -> Vec<String> {
            let files = std::fs::read_dir(folder.path()).unwrap();
            let mut names: Vec<_> =
                files.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        let mut report = any_report();
        report.date = "2026-01-02".to_owned();
        report.write(folder.path(), "a", None).unwrap();
        let partial = ["html", "json", "md"].map(|it| format!("2026-01-02-a.partial.{it}"));
        assert_eq!(names(), partial);
        assert_eq!(Report::newest(folder.path(), "a"), None);
        report.complete = true;
        report.write(folder.path(), "a", None).unwrap();
        let whole = ["html", "json", "md"].map(|it| format!("2026-01-02-a.{it}"));
        assert_eq!(names(), whole);
        assert!(Report::newest(folder.path(), "a").is_some());
    }

    #[test]
    fn the_newest_of_a_name_is_found_by_its_date() {
        let folder = std::env::temp_dir().join(format!("varve-newest-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let names = ["2026-01-09-a", "2026-02-01-a", "2026-03-01-a-x0.1", "2026-03-01-b", "a"];
        for name in names {
            std::fs::write(folder.join(format!("{name}.json")), "").unwrap();
            std::fs::write(folder.join(format!("{name}.md")), "").unwrap();
        }
        let found = |name| Report::newest(&folder, name);
        assert_eq!(found("a"), Some(folder.join("2026-02-01-a.json")));
        assert_eq!(found("a-x0.1"), Some(folder.join("2026-03-01-a-x0.1.json")));
        assert_eq!((found("c"), Report::newest(Path::new("/nowhere"), "a")), (None, None));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_of_another_version_is_refused_by_its_number() {
        let mut report = any_report();
        report.version = 7;
        let error = Report::parse(&serde_json::to_string(&report).unwrap()).unwrap_err();
        assert!(error.to_string().contains("version 7"), "{error}");
        let error = Report::parse("{\"figures\":[]}").unwrap_err().to_string();
        assert!(error.contains("no version"), "{error}");
        assert!(Report::parse("no JSON").is_err());
    }
}
