//! Kinds of scenarios, by the names that files use.

use anyhow::{Context, Result, bail};

use super::{
    Bench, Scenario, always, attack, churn, example, expiry, forms, gate, generators, growth, less,
    loads, long_strings, maxmemory, memory, profiled, reclaim, removal, restart, save, stall,
    units, waiters, ycsb,
};
use crate::report::Section;

/// Reads the parameters of a kind; with a bench it is also run.
type Kind = fn(&toml::Table, Option<(&Bench, &mut Section)>) -> Result<()>;

fn kind<K: Scenario>(parameters: &toml::Table, on: Option<(&Bench, &mut Section)>) -> Result<()> {
    let plan: K = parameters.clone().try_into().context("parameters")?;
    on.map_or(Ok(()), |(bench, section)| plan.run(bench, section))
}

pub fn find(name: &str) -> Result<Kind> {
    Ok(match name {
        "always" => kind::<always::Plan>,
        "attack" => kind::<attack::Plan>,
        "churn" => kind::<churn::Plan>,
        "example" => kind::<example::Plan>,
        "expiry" => kind::<expiry::Plan>,
        "forms" => kind::<forms::Plan>,
        "gate" => kind::<gate::Plan>,
        "generators" => kind::<generators::Plan>,
        "growth" => kind::<growth::Plan>,
        "less" => kind::<less::Plan>,
        "loads" => kind::<loads::Plan>,
        "long-strings" => kind::<long_strings::Plan>,
        "maxmemory" => kind::<maxmemory::Plan>,
        "memory" => kind::<memory::Plan>,
        "profiled" => kind::<profiled::Plan>,
        "reclaim" => kind::<reclaim::Plan>,
        "removal" => kind::<removal::Plan>,
        "restart" => kind::<restart::Plan>,
        "save" => kind::<save::Plan>,
        "stall" => kind::<stall::Plan>,
        "units" => kind::<units::Plan>,
        "waiters" => kind::<waiters::Plan>,
        "ycsb-sweep" => kind::<ycsb::Plan>,
        _ => bail!("there is no kind {name:?}"),
    })
}
