//! `all`: every scenario, one report.

use std::path::PathBuf;
use std::{env, fs};

use anyhow::Result;
use clap::Args;

use crate::process;
use crate::report::{Aim, Report, Section};
use crate::scenario::collections::{self, commands, elements, forms, removal};
use crate::scenario::{
    Bench, churn, cpu, expiry, growth, idle, long_strings, maxmemory, overhead, reclaim, stall,
};
use crate::servers::Peers;

#[derive(Args)]
pub struct AllArguments {
    /// Folder of the results.
    #[arg(long, default_value = RESULTS)]
    results: PathBuf,
    /// Name of the results behind the date; by default the machine.
    #[arg(long)]
    name: Option<String>,
    /// Only the scenarios on collections and long strings.
    #[arg(long)]
    collections: bool,
}

impl Default for AllArguments {
    fn default() -> Self {
        Self { results: RESULTS.into(), name: None, collections: false }
    }
}

/// Prints every section as it is measured, then all figures, and records both.
pub fn all(bench: &Bench, quick: bool, arguments: &AllArguments) -> Result<()> {
    let name = arguments.name.clone().unwrap_or_else(|| machine_name(quick));
    // Written after each section, so that a run that is broken off leaves what it has measured.
    let record = |report: &Report| report.write(&arguments.results, &name);
    let report = run_all(bench, quick, arguments.collections, &record);
    println!("{}", report.summary());
    println!("recorded in {}", record(&report)?.display());
    Ok(())
}

/// A scenario that fails is a section with its error, so that the others still count.
fn run_all(
    bench: &Bench,
    quick: bool,
    only_collections: bool,
    record: &dyn Fn(&Report) -> Result<PathBuf>,
) -> Report {
    let mut report = Report::new(conditions(quick));
    let mut add = |title: &str, section: Result<Section>| {
        let section = section.unwrap_or_else(|error| failed(title, &error));
        println!("{}", section.text());
        report.sections.push(section);
        if let Err(error) = record(&report) {
            eprintln!("varve-bench: the results could not be written: {error:#}");
        }
    };
    if !only_collections {
        run_strings(bench, quick, &mut add);
    }
    add("Long strings", long_strings::run(bench, &long_strings::Plan::new(quick)));
    run_collections(bench, quick, &mut add);
    report
}

fn run_strings(bench: &Bench, quick: bool, add: &mut impl FnMut(&str, Result<Section>)) {
    let cpu_plan = cpu::Plan::new(quick);
    let grow = |expire| growth::Plan::new(quick, expire);
    add("Idle, empty server", idle::run(bench));
    add("Server CPU per operation, one thread", cpu::compare(bench, &cpu_plan));
    add("Server CPU per operation, two threads", cpu::threads(bench, &cpu_plan));
    add("Server CPU per operation, many keys", cpu::many_keys(bench, &cpu_plan));
    add("Growth", growth::run(bench, &grow(false)));
    add("Growth, with an expiry on each key", growth::run(bench, &grow(true)));
    add("Growth: null", growth::run_peer(&bench.null, &grow(false)));
    if let (Some(valkey), false) = (&bench.valkey, quick) {
        add("Growth: valkey", growth::run_peer(valkey, &grow(false)));
    }
    add("Overhead per key", overhead::run(bench, &overhead::Plan::new(quick)));
    add("Churn (Table 5)", churn::run(bench, &churn::Plan::new(quick)));
    add("maxmemory", maxmemory::run(bench, &maxmemory::Plan::new(quick)));
    add("Expiry", expiry::run(bench, &expiry::Plan::new(quick)));
    add("A stall", stall::run(bench, &stall::Plan::new(quick)));
    add("Reclaim policies (Fig. 6)", reclaim::run(bench, &reclaim::Plan::new(quick)));
}

fn run_collections(bench: &Bench, quick: bool, add: &mut impl FnMut(&str, Result<Section>)) {
    add("Elements", elements::run(bench, &elements::Plan::new(quick)));
    add("Forms of collections", forms::run(bench, &forms::Plan::new(quick)));
    add("Server CPU per command", commands::run(bench, &commands::Plan::new(quick)));
    let churn = collections::churn::Plan::new(quick);
    add("Collections under churn", collections::churn::run(bench, &churn));
    add("Removal", removal::run(bench, &removal::Plan::new(quick)));
}

fn failed(title: &str, error: &anyhow::Error) -> Section {
    let mut section = Section::new(title, &[]);
    section.note(format!("Failed: {error:#}"));
    section.figure(format!("{title}: everything"), Aim::AtLeast(1.0), None, "");
    section
}

fn conditions(quick: bool) -> Vec<(String, String)> {
    let versions = Peers::find().and_then(|peers| peers.versions());
    let versions = versions.map(|text| text.lines().collect::<Vec<_>>().join(", "));
    let pairs = [
        ("machine", format!("{} cores, {}", process::cores(), processor())),
        ("kernel", rustix::system::uname().release().to_string_lossy().into_owned()),
        ("load average at the start", load_average()),
        ("peers", versions.unwrap_or_else(|_| "none: skipped".to_owned())),
        ("scale", if quick { "quick" } else { "full" }.to_owned()),
        ("placed", "server on core 0, client on core 1, unless a table says otherwise".to_owned()),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// Above one half somebody else is using the machine.
fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("-").to_owned()
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or(env::consts::ARCH, |(_, name)| name).to_owned()
}

fn machine_name(quick: bool) -> String {
    let scale = if quick { "-quick" } else { "" };
    format!("{}-{}cores{scale}", env::consts::ARCH.replace('_', "-"), process::cores())
}

const RESULTS: &str = "bench/results";
