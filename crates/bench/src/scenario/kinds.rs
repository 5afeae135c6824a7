//! Kinds of scenarios, by the names that files use.

use anyhow::{Context, Result};

use super::{
    Bench, Scenario, attack, churn, collections, durable, example, expiry, gate, generators,
    growth, idle, loads, long_strings, maxmemory, overhead, profiled, reclaim, stall, waiters,
    ycsb,
};
use crate::report::Section;

/// Name of a kind, and how its parameters are read: with a bench it is also run.
type Kind = (&'static str, fn(&toml::Table, Option<(&Bench, &mut Section)>) -> Result<()>);

const KINDS: &[Kind] = &[
    ("always", kind::<durable::always::Plan>),
    ("attack", kind::<attack::Plan>),
    ("churn", kind::<churn::Plan>),
    ("collection-churn", kind::<collections::churn::Plan>),
    ("elements", kind::<collections::elements::Plan>),
    ("example", kind::<example::Plan>),
    ("expiry", kind::<expiry::Plan>),
    ("forms", kind::<collections::forms::Plan>),
    ("gate", kind::<gate::Plan>),
    ("generators", kind::<generators::Plan>),
    ("growth", kind::<growth::Plan>),
    ("idle", kind::<idle::Plan>),
    ("less", kind::<durable::less::Plan>),
    ("loads", kind::<loads::Plan>),
    ("long-strings", kind::<long_strings::Plan>),
    ("maxmemory", kind::<maxmemory::Plan>),
    ("overhead", kind::<overhead::Plan>),
    ("profiled", kind::<profiled::Plan>),
    ("reclaim", kind::<reclaim::Plan>),
    ("removal", kind::<collections::removal::Plan>),
    ("restart", kind::<durable::restart::Plan>),
    ("save", kind::<durable::save::Plan>),
    ("stall", kind::<stall::Plan>),
    ("waiters", kind::<waiters::Plan>),
    ("ycsb-memory", kind::<ycsb::memory::Plan>),
    ("ycsb-sweep", kind::<ycsb::sweep::Plan>),
];

fn kind<K: Scenario>(parameters: &toml::Table, on: Option<(&Bench, &mut Section)>) -> Result<()> {
    let plan: K = parameters.clone().try_into().context("parameters")?;
    on.map_or(Ok(()), |(bench, section)| plan.run(bench, section))
}

/// Checks that a kind of this name takes these parameters.
pub fn check(name: &str, parameters: &toml::Table) -> Result<()> {
    find(name)?.1(parameters, None)
}

/// Runs a scenario.
pub fn run(
    name: &str,
    parameters: &toml::Table,
    bench: &Bench,
    section: &mut Section,
) -> Result<()> {
    find(name)?.1(parameters, Some((bench, section)))
}

fn find(name: &str) -> Result<&'static Kind> {
    KINDS.iter().find(|kind| kind.0 == name).with_context(|| {
        let names: Vec<_> = KINDS.iter().map(|kind| kind.0).collect();
        format!("there is no kind {name:?}, but {}", names.join(", "))
    })
}
