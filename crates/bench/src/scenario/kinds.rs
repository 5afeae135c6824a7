//! Kinds of scenarios, by the names that files use.

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;

use super::{Scenario, example, profiled, script, ycsb};

/// Reads the parameters of a kind.
pub fn read(kind: &str, parameters: toml::Table) -> Result<Box<dyn Scenario>> {
    match kind {
        "example" => plan::<example::Plan>(parameters),
        "profiled" => plan::<profiled::Plan>(parameters),
        "script" => plan::<script::Plan>(parameters),
        "ycsb-sweep" => plan::<ycsb::Plan>(parameters),
        _ => bail!("there is no kind {kind:?}"),
    }
}

fn plan<P: Scenario + DeserializeOwned + 'static>(
    parameters: toml::Table,
) -> Result<Box<dyn Scenario>> {
    Ok(Box::new(parameters.try_into::<P>().context("parameters")?))
}
