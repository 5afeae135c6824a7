//! `ycsb`: phases of a workload, named as on YCSB's own command line.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::{Value, json};

use super::load::{SAMPLE_EVERY, Target, progress, write};
use super::print::print;
use super::results;
use crate::generator::Stop;
use crate::ycsb::{Plan, Properties, Workload, play};

#[derive(Args)]
pub struct YcsbArguments {
    /// Phases to run.
    #[arg(value_parser = ["load", "run"], default_values = ["load", "run"])]
    phases: Vec<String>,
    /// A property file; of several, later ones win.
    #[arg(short = 'P', long = "properties")]
    files: Vec<PathBuf>,
    /// One property, as name=value; wins over files.
    #[arg(short = 'p', long = "property")]
    properties: Vec<String>,
    #[command(flatten)]
    target: Target,
    /// Writes the results of all phases to this file.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// Runs the phases and prints their results.
pub fn ycsb(server: &str, arguments: &YcsbArguments) -> Result<()> {
    let mut properties = Properties::default();
    arguments.files.iter().try_for_each(|file| properties.read(file))?;
    arguments.properties.iter().try_for_each(|property| properties.set(property))?;
    let mut workload = Workload::new(&properties)?;
    let server = arguments.target.serve(server)?;
    let mut written: Vec<Value> = Vec::new();
    for phase in &arguments.phases {
        let mut records = workload.loading();
        let (workload, count) = match &**phase {
            "load" => (&mut records, workload.record_count),
            _ => (&mut workload, properties.get("operationcount")?),
        };
        let plan = plan(&properties, count)?;
        let stop = match plan.operations {
            u64::MAX => Stop::After(plan.longest),
            operations => Stop::Operations(operations),
        };
        let watch = progress(stop, SAMPLE_EVERY)?;
        let (measured, by_kind) = play(&server, plan, workload, Some(watch));
        print(results::text(phase, &measured, &by_kind));
        let settings = json!({ "phase": phase, "clients": plan.clients, "target": plan.target });
        written.push(results::as_json(&settings, &measured, &by_kind));
        if let Some(path) = &arguments.json {
            let all = json!({ "version": results::VERSION, "phases": &written });
            write(path, &format!("{all:#}\n"))?;
        }
        results::verdict(&measured).with_context(|| format!("the phase {phase}"))?;
        ensure!(measured.outcome.operations > 0, "the phase {phase} has no operations");
    }
    Ok(())
}

/// Returns the plan of a phase; zero stands for no limit, as in YCSB.
fn plan(properties: &Properties, operations: u64) -> Result<Plan> {
    let [operations, seconds] = [operations, properties.get("maxexecutiontime")?]
        .map(|limit| if limit == 0 { u64::MAX } else { limit });
    let is_limited = operations.min(seconds) < u64::MAX;
    ensure!(is_limited, "neither operationcount nor maxexecutiontime is set");
    let longest = Duration::from_secs(seconds);
    let target = Some(properties.get("target")?).filter(|target| *target != 0.0);
    Ok(Plan { clients: properties.get("threadcount")?, operations, longest, target })
}
