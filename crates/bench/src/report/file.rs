//! Reports as files: written, read, and continued.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::{Report, html};

/// Version of the files that are written; files of other versions are not read.
pub const VERSION: u32 = 1;

impl Report {
    /// Writes `<date>-<name>.json`, `.md` and `.html` into a folder; returns the path of the last.
    /// While the report is incomplete the name ends with `.partial`, so that no other report is
    /// overwritten.
    pub fn write(&self, folder: &Path, name: &str, recorded: Option<&Self>) -> Result<PathBuf> {
        fs::create_dir_all(folder)?;
        let stem = format!("{}-{name}", self.date);
        let path = |ending: &str| folder.join(format!("{stem}{ending}"));
        let written = if self.complete { "" } else { PARTIAL };
        let texts = [
            (".md", self.markdown(&stem, recorded)),
            (".html", html(self, recorded)),
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
        let behind_date = format!("-{name}.json");
        let date =
            |path: &PathBuf| Some(path.file_name()?.to_str()?.strip_suffix(&behind_date)?.len());
        files.filter(|path| date(path) == Some(DATE_BYTES)).max()
    }

    /// Reads a report from its file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{}", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let json: Value = serde_json::from_str(text).context("not a result of varve-bench")?;
        let version = &json["version"];
        ensure!(
            *version == VERSION,
            "the file has version {version}, this program reads version {VERSION}: measure again, \
             or use the program that wrote it"
        );
        serde_json::from_value(json).context("not a result of varve-bench")
    }

    /// Turns this report into the rest of an earlier run: takes its date and its conditions, and
    /// keeps the present ones beside them where they differ. Sections are left to the caller, who
    /// knows which of them still count.
    pub fn go_on_from(&mut self, earlier: &Self) -> Result<()> {
        for name in [Self::MACHINE, Self::SCALE] {
            let (before, now) = (earlier.condition(name), self.condition(name));
            if before != now {
                let [before, now] = [before, now].map(|it| it.unwrap_or("unknown"));
                bail!("{name} was {before} and is {now} now: begin a run of its own");
            }
        }
        self.date.clone_from(&earlier.date);
        let mut conditions = earlier.conditions.clone();
        for (name, now) in &self.conditions {
            match conditions.iter().rev().find(|(other, _)| other.starts_with(name)) {
                Some((_, before)) if before == now => {}
                Some(_) => conditions.push((format!("{name}, later"), now.clone())),
                None => conditions.push((name.clone(), now.clone())),
            }
        }
        self.conditions = conditions;
        Ok(())
    }
}

/// Replaces a file as a whole, so that a reader never sees half of a report.
fn replace(path: &Path, text: &str) -> Result<()> {
    let beside = path.with_extension("new");
    fs::write(&beside, text)?;
    Ok(fs::rename(&beside, path)?)
}

/// Suffix of the names of incomplete reports.
const PARTIAL: &str = ".partial";
/// Length of a date such as `2000-12-31`.
const DATE_BYTES: usize = 10;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::{Plot, Report, Section};

    fn report(conditions: &[(&str, &str)]) -> Report {
        let owned = conditions.iter().map(|(name, it)| ((*name).to_owned(), (*it).to_owned()));
        let mut section = Section::new("t", "");
        section.fail("it died".to_owned());
        let mut plot = Plot::bars("p", "MiB").log(false, true);
        plot.bar("varve", "W1", 3.0);
        section.plots.push(plot);
        let (date, sections) = ("2026-01-02".to_owned(), vec![section]);
        Report { date, sections, ..Report::new(owned.collect()) }
    }

    #[test]
    fn a_report_is_read_as_it_was_written_and_other_files_are_refused_by_their_reason() {
        let parse = |it: &Report| Report::parse(&serde_json::to_string(it).unwrap());
        let mut report = report(&[]);
        assert_eq!(parse(&report).unwrap(), report);
        report.sections[0].plots[0].lines[0].points[0].1 = f64::INFINITY;
        assert!(parse(&report).unwrap().sections[0].plots[0].lines[0].points[0].1.is_nan());
        for (text, reason) in [
            ("{\"version\":7}", "version 7"),
            ("{\"figures\":[]}", "version null"),
            ("{\"version\":1}", "not a result"),
            ("no JSON", "not a result"),
        ] {
            let error = Report::parse(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn an_incomplete_report_replaces_no_other_and_the_newest_is_found_by_date() {
        let folder = tempfile::tempdir().unwrap();
        let found = |name| Report::newest(folder.path(), name);
        for (complete, stem) in [(false, "2026-01-02-a.partial"), (true, "2026-01-02-a")] {
            let report = Report { complete, ..report(&[]) };
            report.write(folder.path(), "a", None).unwrap();
            let files = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name());
            let mut names: Vec<_> = files.map(|it| it.into_string().unwrap()).collect();
            names.sort();
            assert_eq!(names, ["html", "json", "md"].map(|it| format!("{stem}.{it}")));
            assert_eq!(found("a").is_some(), complete);
        }
        for name in ["2026-02-01-a", "2026-03-01-a-x0.1", "2026-03-01-b", "a"] {
            fs::write(folder.path().join(format!("{name}.json")), "").unwrap();
        }
        fs::write(folder.path().join("2026-04-01-a.md"), "").unwrap();
        assert_eq!(found("a"), Some(folder.path().join("2026-02-01-a.json")));
        assert_eq!(found("a-x0.1"), Some(folder.path().join("2026-03-01-a-x0.1.json")));
        assert_eq!((found("c"), Report::newest(Path::new("/nowhere"), "a")), (None, None));
    }

    #[test]
    fn what_changed_since_the_earlier_run_is_told_beside_it_unless_it_cannot_go_on() {
        let earlier = report(&[("commit", "a"), (Report::OTHERS, "9 %"), (Report::SCALE, "1")]);
        let others = [("commit", "b"), (Report::OTHERS, "0 %"), (Report::SCALE, "1")];
        let mut second = Report { date: String::new(), ..report(&others) };
        second.go_on_from(&earlier).unwrap();
        assert_eq!((second.date.as_str(), second.disturbance()), ("2026-01-02", Some(9.0)));
        let mut third = report(&others);
        third.go_on_from(&second).unwrap();
        assert_eq!(third.conditions, second.conditions);
        let commits = ["commit", "commit, later"].map(|name| third.condition(name).unwrap());
        assert_eq!(commits, ["a", "b"]);
        for name in [Report::SCALE, Report::MACHINE] {
            let error = report(&[(name, "0.5")]).go_on_from(&earlier).unwrap_err().to_string();
            assert!(error.contains("begin a run of its own"), "{error}");
        }
    }
}
