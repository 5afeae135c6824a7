//! `report`, `scenario`, `list` and `page`: scenarios from files, recorded or only printed, and
//! recorded results as pages.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Args;
use procfs::{CpuInfo, Current as _, Meminfo};

use super::load::write;
use super::print::print;
use crate::process;
use crate::report::{Report, html};
use crate::scenario::file::ScenarioFile;
use crate::scenario::{Bench, Scale};
use crate::servers::Peers;

/// Choice of scenarios, and their size.
#[derive(Args)]
pub struct Choice {
    /// Names of scenarios, or their beginnings; without any, all.
    names: Vec<String>,
    /// Folder of the scenarios.
    #[arg(long, default_value = SCENARIOS)]
    scenarios: PathBuf,
    /// Fraction of the full size, from 0.001 on.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Changes a parameter of all chosen scenarios, as `rounds=9`.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

#[derive(Args)]
pub struct ReportArguments {
    #[command(flatten)]
    choice: Choice,
    /// Folder of the results.
    #[arg(long, default_value = RESULTS)]
    results: PathBuf,
    /// Name of the results behind the date; by default the machine, the scale unless it is 1, and
    /// the scenarios unless all are run.
    #[arg(long)]
    name: Option<String>,
    /// A recorded result to compare with; by default the newest in `bench/results` with the same
    /// name.
    #[arg(long)]
    against: Option<PathBuf>,
    /// JSON of an interrupted run: its measurements are kept, and the rest is measured.
    #[arg(long)]
    resume: Option<PathBuf>,
}

impl Choice {
    fn files(&self) -> Result<Vec<ScenarioFile>> {
        let mut files = ScenarioFile::all(&self.scenarios)?;
        let all: Vec<_> = files.iter().map(|file| file.name.clone()).collect();
        // The name of a scenario may be the beginning of another's.
        let fits = |chosen: &String, name: &String| match all.contains(chosen) {
            true => name == chosen,
            false => name.starts_with(chosen),
        };
        for chosen in &self.names {
            let is_there = all.iter().any(|name| fits(chosen, name));
            ensure!(is_there, "no scenario {chosen:?} in {}", self.scenarios.display());
        }
        files.retain(|file| {
            self.names.is_empty() || self.names.iter().any(|it| fits(it, &file.name))
        });
        for file in &mut files {
            self.set.iter().try_for_each(|setting| file.set(setting))?;
        }
        Ok(files)
    }
}

/// Prints the names and headings of scenarios.
pub fn list(choice: &Choice) -> Result<()> {
    for file in choice.files()? {
        print(format_args!("{:<24} {}\n", file.name, file.title()));
    }
    Ok(())
}

/// Runs scenarios and prints them.
pub fn scenario(bench: &Bench, choice: &Choice) -> Result<()> {
    let scale = Scale::new(choice.scale)?;
    let mut report = Report::new(Vec::new());
    for file in choice.files()? {
        let section = file.run(bench, scale);
        print(&section);
        report.sections.push(section);
    }
    whole(&report)
}

/// Runs scenarios, prints each when it is measured, and records all, as JSON, Markdown and a page.
/// They are written after each scenario, so that an interrupted run leaves its measurements and
/// another run can continue them.
pub fn report(bench: &Bench, arguments: &ReportArguments) -> Result<()> {
    let scale = Scale::new(arguments.choice.scale)?;
    let files = arguments.choice.files()?;
    let name = arguments.name.clone().unwrap_or_else(|| machine_name(scale, &arguments.choice));
    let recorded = match &arguments.against {
        Some(path) => Some(Report::read(path)?),
        None => newest_recorded(&name),
    };
    let mut report = Report::new(conditions(bench, scale));
    if let Some(path) = &arguments.resume {
        let earlier = Report::read(path)?;
        report.go_on_from(&earlier)?;
        report.sections = files.iter().filter_map(|file| file.measured_in(&earlier)).collect();
    }
    let recorded = recorded.as_ref();
    let record = |report: &Report| report.write(&arguments.results, &name, recorded);
    record(&report)?;
    for (number, file) in files.iter().enumerate() {
        let is_there = report.sections.get(number).is_some_and(|it| it.name == file.name);
        let when = if is_there { ": measured before" } else { "" };
        eprintln!("[{} of {}] {}{when}", number + 1, files.len(), file.name);
        if is_there {
            continue;
        }
        let section = file.run(bench, scale);
        print(&section);
        report.sections.insert(number, section);
        record(&report)?;
    }
    report.complete = true;
    print(report.summary(recorded));
    print(format_args!("\nrecorded in {}\n", record(&report)?.display()));
    whole(&report)
}

/// Returns the newest recorded result of this name, if there is one that can be read.
fn newest_recorded(name: &str) -> Option<Report> {
    let path = Report::newest(Path::new(RESULTS), name)?;
    let read = Report::read(&path);
    match &read {
        Ok(_) => eprintln!("compared with {}", path.display()),
        Err(error) => eprintln!("not compared with what is recorded: {error:#}"),
    }
    read.ok()
}

#[derive(Args)]
pub struct PageArguments {
    /// Result of `report`, a JSON file.
    result: PathBuf,
    /// Recorded result to compare with.
    #[arg(long)]
    against: Option<PathBuf>,
    /// File for the page.
    #[arg(long)]
    out: PathBuf,
}

/// Writes the page, and prints the figures that are worse than recorded.
pub fn page(PageArguments { result, against, out }: &PageArguments) -> Result<()> {
    let report = Report::read(result)?;
    let recorded = against.as_deref().map(Report::read).transpose()?;
    write(out, &html(&report, recorded.as_ref()))?;
    print(report.summary(recorded.as_ref()));
    print(format_args!("\nwritten to {}\n", out.display()));
    Ok(())
}

fn whole(report: &Report) -> Result<()> {
    let is_whole = report.failed() == 0;
    ensure!(is_whole, "scenarios were broken off: what they had measured is marked as incomplete");
    Ok(())
}

fn conditions(bench: &Bench, scale: Scale) -> Vec<(String, String)> {
    let peers = Peers::find();
    let versions = peers.map(|it| it.versions.lines().collect::<Vec<_>>().join(", "));
    let programs = bench.all_programs().map(|it| format!("{}: {}", it.label, it.words()));
    let cpu = CpuInfo::current().ok();
    let processor = cpu.as_ref().and_then(|it| it.model_name(0)).unwrap_or(env::consts::ARCH);
    let gib = |it: Meminfo| format!("{:.1} GiB", it.mem_total as f64 / f64::from(1 << 30));
    let pairs = [
        (Report::MACHINE, format!("{} cores, {processor}", process::cores())),
        ("memory", Meminfo::current().map_or("-".to_owned(), gib)),
        ("kernel", rustix::system::uname().release().to_string_lossy().into_owned()),
        (Report::OTHERS, format!("{:.0} %", 100.0 * process::busy_share(WATCHED))),
        ("commit", commit()),
        ("peers", versions.unwrap_or_else(|_| "no script of them".to_owned())),
        ("servers", programs.collect::<Vec<_>>().join("; ")),
        (Report::SCALE, scale.factor().to_string()),
        ("placed", "server on core 0, client on core 1, unless a table says otherwise".to_owned()),
        ("order", "where there are rounds, servers in turns (A B A B); medians count".to_owned()),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// Returns the measured commit; with a plus if there are uncommitted changes.
fn commit() -> String {
    let words = ["describe", "--always", "--exclude=*", "--dirty=+"];
    let output = Command::new("git").args(words).output().ok().filter(|it| it.status.success());
    output.map_or("-".to_owned(), |it| String::from_utf8_lossy(&it.stdout).trim().to_owned())
}

fn machine_name(scale: Scale, choice: &Choice) -> String {
    let size = if scale == Scale::FULL { String::new() } else { format!("-x{}", scale.factor()) };
    let parts = match &choice.names[..] {
        [] => String::new(),
        [name] => format!("-{name}"),
        [first, rest @ ..] => format!("-{first}-and-{}-others", rest.len()),
    };
    format!("{}-{}cores{size}{parts}", env::consts::ARCH.replace('_', "-"), process::cores())
}

/// Time for which the load by others is measured, before anything is started.
const WATCHED: Duration = Duration::from_secs(1);
const SCENARIOS: &str = "bench/scenarios";
const RESULTS: &str = "bench/results";
