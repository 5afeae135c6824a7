//! `ycsb`: phases of a workload, named as on YCSB's own command line.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::load::{SAMPLE_EVERY, progress, start, target_of, write};
use super::results;
use super::say::say;
use crate::generator::{Protocol, Stop};
use crate::measure::Target;
use crate::scenario::pin_client;
use crate::ycsb::{Plan, Properties, Workload, play};

#[derive(Args)]
pub struct YcsbArguments {
    /// Phases to run.
    #[arg(value_enum, default_values = ["load", "run"])]
    phases: Vec<Phase>,
    /// A property file; of several, later ones win.
    #[arg(short = 'P', long = "properties")]
    files: Vec<PathBuf>,
    /// One property, as name=value; wins over files.
    #[arg(short = 'p', long = "property")]
    properties: Vec<String>,
    #[arg(long, value_enum, default_value_t = Protocol::Resp)]
    protocol: Protocol,
    /// Port of a server that is running; without it one is started.
    #[arg(long)]
    port: Option<u16>,
    /// Writes the results of all phases to this file.
    #[arg(long)]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Phase {
    /// Stores the records.
    Load,
    /// Runs operations.
    Run,
}

/// Runs the phases and prints their results.
///
/// # Errors
/// If a property is wrong or a server does not start; and if a phase did not do all that it was to
/// do, when what it did is printed and written.
pub fn ycsb(server: &str, arguments: &YcsbArguments) -> Result<()> {
    pin_client(1);
    let mut properties = Properties::default();
    arguments.files.iter().try_for_each(|file| properties.read(file))?;
    arguments.properties.iter().try_for_each(|property| properties.set(property))?;
    let mut workload = Workload::new(&properties)?;
    let (_server, target) = match arguments.port {
        Some(port) => (None, target_of(port, None, arguments.protocol)),
        None => {
            let server = start(server, arguments.protocol, 1)?;
            let target = Target::from(&server);
            (Some(server), target)
        }
    };
    let mut written: Vec<Value> = Vec::new();
    for phase in &arguments.phases {
        let (workload, operations) = match phase {
            Phase::Load => (&mut workload.loading(), workload.record_count),
            Phase::Run => (&mut workload, properties.get("operationcount")?),
        };
        let plan = plan(&properties, operations)?;
        let stop = match plan.operations {
            u64::MAX => Stop::After(plan.longest),
            operations => Stop::Operations(operations),
        };
        let name = format!("{phase:?}").to_lowercase();
        let watch = progress(stop, SAMPLE_EVERY)?;
        let (measured, by_kind) = play(&target, plan, workload, Some(watch));
        say(results::text(&name, &measured, &by_kind));
        let settings = json!({ "phase": name, "clients": plan.clients, "target": plan.target });
        written.push(results::as_json(&settings, &measured, &by_kind));
        if let Some(path) = &arguments.json {
            let all = json!({ "version": results::VERSION, "phases": &written });
            write(path, &format!("{all:#}\n"))?;
        }
        results::verdict(&measured).with_context(|| format!("the phase {name}"))?;
        ensure!(measured.outcome.operations > 0, "the phase {name} has no operations");
    }
    Ok(())
}

/// Returns the plan of a phase; zero stands for no limit, as in YCSB.
fn plan(properties: &Properties, operations: u64) -> Result<Plan> {
    let (seconds, target): (_, f64) =
        (properties.get("maxexecutiontime")?, properties.get("target")?);
    ensure!(target >= 0.0, "the target is {target}");
    let (operations, longest) = match (operations, seconds) {
        (0, 0) => bail!("neither operationcount nor maxexecutiontime is set"),
        (0, seconds) => (u64::MAX, Duration::from_secs(seconds)),
        (count, 0) => (count, Duration::MAX),
        (count, seconds) => (count, Duration::from_secs(seconds)),
    };
    let target = Some(target).filter(|target| *target > 0.0);
    Ok(Plan { clients: properties.get("threadcount")?, operations, longest, target })
}
