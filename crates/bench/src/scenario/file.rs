//! Scenarios as files: kind and parameters of the measurement, its aims, and the figures of the
//! source.
//!
//! ```toml
//! title = "Live payload over resident memory"
//! source = "Redis++, Table 5"          # optional: a paper's table or figure
//! kind = "script"                      # code that measures
//! skipped = "needs a cluster"          # instead of a kind: the reason why nothing can be run
//! needs = "valgrind"                   # optional: a program that it requires
//! notes = ["{payload} bytes of data."]  # optional; parameters in braces are those of the scale
//! aims_from_scale = 0.5                # optional: a smaller run is not held against the aims
//! from_scale = 0.1                     # optional: a smaller run leaves it out, and says so
//!
//! [parameters]                         # of the kind, at scale 1
//! payload = 536_870_912
//!
//! [scaled]                             # parameters that change with the scale, and their least
//! payload = 33_554_432                 # `ms` and `rounds` always do; see `scale.rs`
//!
//! [aims]                               # by the name of the figure: ">= n", "<= n" or "1 ± n"
//! "W1: payload / resident" = ">= 0.78"
//!
//! [[figures]]                          # optional: drawn from the table, as plots are
//! what = "CPU / {over}"                # see `figures.rs`
//!
//! [[claims]]                           # optional: of the source, held against each server
//! says = "it uses less memory."        # see `claims.rs`
//!
//! [paper]                              # optional: the source's own table
//! columns = ["workload", "Redis"]
//! rows = [["W1", "0.47"]]
//!
//! [paper_figures]                      # by the name of the figure
//! "W1: payload / resident" = 0.47
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use serde::{Deserialize, Deserializer};

use super::claims::Claim;
use super::figures::{FigureText, PlotText};
use super::{Bench, Scale, kinds};
use crate::report::{Aim, Figure, Report, Section, State, Table};
use crate::servers::Program;

/// Scenario that was read from its file.
pub struct ScenarioFile {
    pub name: String,
    text: Text,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Text {
    title: String,
    source: Option<String>,
    kind: Option<String>,
    skipped: Option<String>,
    needs: Option<String>,
    notes: Vec<String>,
    aims_from_scale: f64,
    from_scale: f64,
    parameters: toml::Table,
    scaled: BTreeMap<String, f64>,
    #[serde(deserialize_with = "aims")]
    aims: BTreeMap<String, Aim>,
    figures: Vec<FigureText>,
    plots: Vec<PlotText>,
    claims: Vec<Claim>,
    paper: Option<Table>,
    paper_figures: BTreeMap<String, f64>,
}

impl ScenarioFile {
    /// Reads all scenarios of a folder; returns them ordered by name.
    pub fn all(folder: &Path) -> Result<Vec<Self>> {
        let files = fs::read_dir(folder).with_context(|| {
            format!("no scenarios in {} (--scenarios names their folder)", folder.display())
        })?;
        let mut paths = files.map(|file| Ok(file?.path())).collect::<Result<Vec<PathBuf>>>()?;
        paths.retain(|path| path.extension().is_some_and(|it| it == "toml"));
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    fn read(path: &Path) -> Result<Self> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        Self::parse(name, &text).with_context(|| path.display().to_string())
    }

    pub fn parse(name: String, text: &str) -> Result<Self> {
        let text: Text = toml::from_str(text)?;
        ensure!(!text.title.is_empty(), "it has no title");
        match &text.kind {
            Some(kind) => drop(kinds::read(kind, text.parameters.clone())?),
            None => ensure!(text.skipped.is_some(), "neither a kind, nor why it is skipped"),
        }
        Ok(Self { name, text })
    }

    pub fn title(&self) -> &str {
        &self.text.title
    }

    /// Changes a parameter, given as `name=value` with the value as in the file.
    pub fn set(&mut self, setting: &str) -> Result<()> {
        let one: toml::Table = toml::from_str(setting)
            .map_err(|error| anyhow!("{setting:?} is not name=value: {}", error.message()))?;
        // A script takes any number, and one that its file does not have would change nothing.
        let known = &self.text.parameters;
        let is_known = one.keys().all(|name| name == "rounds" || known.contains_key(name));
        let Some(kind) = &self.text.kind else { return Ok(()) };
        ensure!(is_known || kind != "script", "{setting:?} does not fit {:?}", self.name);
        self.text.parameters.extend(one);
        let read = kinds::read(kind, self.text.parameters.clone()).map(drop);
        read.with_context(|| format!("{setting:?} does not fit {:?}", self.name))
    }

    /// Runs the scenario. A missing need, or an error that interrupts it, is in the section's
    /// state.
    pub fn run(&self, bench: &Bench, scale: Scale) -> Section {
        let mut section = Section::new(&self.text.title, "");
        section.name.clone_from(&self.name);
        section.source.clone_from(&self.text.source);
        section.settings = self.settings();
        section.notes = self.notes(&self.parameters(scale));
        section.paper.clone_from(&self.text.paper);
        let began = Instant::now();
        section.state = self.run_if_possible(bench, scale, &mut section);
        section.seconds = began.elapsed().as_secs_f64();
        section.fill_ratios();
        self.text.figures.iter().for_each(|figure| figure.add(&mut section));
        self.text.plots.iter().for_each(|plot| plot.draw(&mut section));
        if section.state == State::Measured {
            self.text.claims.iter().for_each(|claim| claim.judge(&mut section));
        }
        self.compare_with_aims(&mut section);
        if scale.factor() < self.text.aims_from_scale {
            self.leave_unjudged(&mut section);
        }
        section
    }

    /// Returns the parameters of its kind at a scale.
    fn parameters(&self, scale: Scale) -> toml::Table {
        scale.apply(&self.text.parameters, &self.text.scaled)
    }

    /// Returns the notes with the values of the parameters that they name in braces.
    fn notes(&self, parameters: &toml::Table) -> Vec<String> {
        let filled = |note: &String| {
            parameters.iter().fold(note.clone(), |note, (name, value)| {
                note.replace(&format!("{{{name}}}"), &value.to_string())
            })
        };
        self.text.notes.iter().map(filled).collect()
    }

    fn settings(&self) -> Vec<(String, String)> {
        let parameters = self.text.parameters.iter();
        parameters.map(|(name, it)| (name.clone(), it.to_string())).collect()
    }

    /// Returns its section of an earlier report, if it was measured completely with the same
    /// settings.
    pub fn measured_in(&self, earlier: &Report) -> Option<Section> {
        let settings = self.settings();
        let is_this = |section: &&Section| {
            section.name == self.name
                && section.state == State::Measured
                && section.settings == settings
        };
        earlier.sections.iter().find(is_this).cloned()
    }

    fn run_if_possible(&self, bench: &Bench, scale: Scale, section: &mut Section) -> State {
        if let Some(why) = self.skipped(scale) {
            return State::Skipped(why);
        }
        let kind = self.text.kind.as_deref().unwrap_or_default();
        let plan = kinds::read(kind, self.parameters(scale));
        let ran = plan.and_then(|plan| plan.run(bench, section));
        let mut reasons: Vec<_> = ran.err().map(|error| format!("{error:#}")).into_iter().collect();
        if let State::Failed(why) = &section.state {
            reasons.push(why.clone());
        }
        reasons.extend(bench.all_programs().flat_map(Program::ended));
        if reasons.is_empty() { State::Measured } else { State::Failed(reasons.join("; ")) }
    }

    /// Returns the reason why it is not run here, if there is one.
    fn skipped(&self, scale: Scale) -> Option<String> {
        let Text { skipped, needs, from_scale, .. } = &self.text;
        let is_there = |program: &String| {
            let run = Command::new(program).arg("--version").stdout(Stdio::null()).status();
            run.is_ok_and(|status| status.success())
        };
        let missing = needs.as_ref().filter(|program| !is_there(program));
        let too_small = scale.factor() < *from_scale;
        let missing = missing.map(|it| format!("needs the program {it}: install its package"));
        let too_long = || format!("takes too long for a scale below {from_scale}");
        skipped.clone().or(missing).or(too_small.then(too_long))
    }

    /// Copies aims and the source's figures into the section. An aim without a figure becomes a
    /// figure that was not measured.
    fn compare_with_aims(&self, section: &mut Section) {
        let aims = self.text.aims.iter().map(|(what, aim)| (what, Some(*aim), None));
        let papers = self.text.paper_figures.iter().map(|(what, of)| (what, None, Some(*of)));
        for (what, aim, paper) in aims.chain(papers) {
            if !section.figures.iter().any(|figure| figure.what == *what) {
                section.figures.push(Figure::new(what, None, ""));
            }
            for figure in section.figures.iter_mut().filter(|figure| figure.what == *what) {
                if let Some(aim) = aim {
                    *figure = figure.clone().compared_with(aim);
                }
                figure.paper = paper.or(figure.paper);
            }
        }
    }

    /// Removes the aims, which are for larger runs, and the figures that exist only for them.
    fn leave_unjudged(&self, section: &mut Section) {
        let least = self.text.aims_from_scale;
        section
            .note(format!("Not held against its aims, which are for a scale of {least} or more."));
        section.figures.retain(|figure| figure.measured.is_some() || figure.paper.is_some());
        section.figures.iter_mut().for_each(|figure| figure.aim = None);
    }
}

fn aims<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Aim>, D::Error> {
    let texts = BTreeMap::<String, String>::deserialize(from)?;
    let parsed = texts.into_iter().map(|(what, text)| Ok((what, aim(&text)?)));
    parsed.collect::<Result<_>>().map_err(serde::de::Error::custom)
}

fn aim(text: &str) -> Result<Aim> {
    let number = |sign: &str| text.strip_prefix(sign)?.trim().parse().ok();
    let most = number("<=").map(Aim::AtMost);
    let least = || number(">=").map(Aim::AtLeast);
    let near = || number("1 ±").map(Aim::WithinOfOne);
    let aim = most.or_else(least).or_else(near);
    aim.with_context(|| format!("the aim {text:?} is none of <= n, >= n and 1 ± n"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Scale, ScenarioFile};
    use crate::report::{Report, Section, State};

    const TEXT: &str = "title = \"t\"\nkind = \"ycsb-sweep\"\nnotes = [\"{ms} of {what}\"]\n\
        [parameters]\nrounds = 1\nms = 1\nworkloads = []\nrecords = 1\n\
        operations = 1\nclients = []";

    fn file() -> ScenarioFile {
        ScenarioFile::parse("x".to_owned(), TEXT).unwrap()
    }

    #[test]
    fn every_scenario_of_the_repository_can_be_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/scenarios");
        let all = ScenarioFile::all(&folder).unwrap();
        assert!(all.len() > 10, "{}", all.len());
    }

    #[test]
    fn what_a_file_has_wrong_is_told_by_name() {
        for (text, wrong) in [
            ("", "neither a kind"),
            ("kind = \"chrun\"", "chrun"),
            ("kind = \"script\"\nplot = 1", "plot"),
            ("kind = \"ycsb-sweep\"\n[parameters]\nhaste = 3", "haste"),
            ("kind = \"script\"\n[aims]\na = \"about 3\"", "about 3"),
            ("kind = \"script\"\n[aims]\na = \"<= x\"", "<= x"),
        ] {
            let parsed = ScenarioFile::parse("x".to_owned(), &format!("title = \"t\"\n{text}"));
            let error = format!("{:#}", parsed.err().unwrap());
            assert!(error.contains(wrong), "{error}");
        }
    }

    #[test]
    fn a_setting_of_the_command_line_is_one_parameter_and_notes_name_it_as_run() {
        let mut file = file();
        file.set("ms=1_000").unwrap();
        let parameters = file.parameters(Scale::new(0.5).unwrap());
        assert_eq!(file.notes(&parameters), ["500 of {what}"]);
        assert!(file.set("ms").is_err() && file.set("haste=3").is_err());
        let text = "title = \"t\"\nkind = \"script\"\n[parameters]\nservers = []\ngroups = []";
        let mut script = ScenarioFile::parse("x".to_owned(), text).unwrap();
        assert!(script.set("rounds=3").is_ok() && script.set("haste=3").is_err());
    }

    #[test]
    fn what_was_measured_to_its_end_with_these_settings_is_not_measured_again() {
        let mut file = file();
        let mut section = Section::new("t", "measured");
        (section.name, section.settings) = ("x".to_owned(), file.settings());
        let mut earlier = Report::new(Vec::new());
        earlier.sections.push(section.clone());
        assert_eq!(file.measured_in(&earlier), Some(section));
        for state in [State::Failed("it died".to_owned()), State::Skipped("no luck".to_owned())] {
            earlier.sections[0].state = state;
            assert_eq!(file.measured_in(&earlier), None);
        }
        earlier.sections[0].state = State::Measured;
        file.set("ms=2").unwrap();
        assert_eq!(file.measured_in(&earlier), None);
    }
}
