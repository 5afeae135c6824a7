//! Kinds of scenarios, by the names that files use.

use anyhow::{Context, Result, bail};

use super::{Bench, Scenario, example, profiled, script, ycsb};
use crate::report::Section;

/// Reads the parameters of a kind; with a bench it is also run.
type Kind = fn(&toml::Table, Option<(&Bench, &mut Section)>) -> Result<()>;

fn kind<K: Scenario>(parameters: &toml::Table, on: Option<(&Bench, &mut Section)>) -> Result<()> {
    let plan: K = parameters.clone().try_into().context("parameters")?;
    on.map_or(Ok(()), |(bench, section)| plan.run(bench, section))
}

pub fn find(name: &str) -> Result<Kind> {
    Ok(match name {
        "example" => kind::<example::Plan>,
        "profiled" => kind::<profiled::Plan>,
        "script" => kind::<script::Plan>,
        "ycsb-sweep" => kind::<ycsb::Plan>,
        _ => bail!("there is no kind {name:?}"),
    })
}
