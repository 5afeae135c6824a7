//! Kinds of scenarios, by the names that files use.

use anyhow::{Context, Result};

use super::collections::{self, commands, elements, forms, removal};
use super::durable::{always, journal, less, places, restart, save, save_trees};
use super::{
    Bench, Scale, Scenario, attack, cache_misses, churn, cpu, expiry, gate, generators, growth,
    idle, instructions, loads, long_strings, maxmemory, overhead, reclaim, stall, waiters, ycsb,
};
use crate::report::Section;

/// Function that runs a scenario of one kind.
pub type Run = fn(&toml::Table, Scale, &Bench, &mut Section) -> Result<()>;

struct Kind {
    name: &'static str,
    run: Run,
    check: fn(&toml::Table) -> Result<()>,
}

const KINDS: [Kind; 33] = [
    kind::<always::Plan>("always"),
    kind::<attack::Plan>("attack"),
    kind::<cache_misses::Plan>("cache-misses"),
    kind::<churn::Plan>("churn"),
    kind::<collections::churn::Plan>("collection-churn"),
    kind::<commands::Plan>("commands"),
    kind::<cpu::Compare>("cpu"),
    kind::<cpu::ManyKeys>("cpu-many-keys"),
    kind::<cpu::Threads>("cpu-threads"),
    kind::<elements::Plan>("elements"),
    kind::<expiry::Plan>("expiry"),
    kind::<forms::Plan>("forms"),
    kind::<gate::Plan>("gate"),
    kind::<generators::Plan>("generators"),
    kind::<growth::Plan>("growth"),
    kind::<idle::Plan>("idle"),
    kind::<instructions::Plan>("instructions"),
    kind::<journal::Plan>("journal"),
    kind::<less::Plan>("less"),
    kind::<loads::Plan>("loads"),
    kind::<long_strings::Plan>("long-strings"),
    kind::<maxmemory::Plan>("maxmemory"),
    kind::<overhead::Plan>("overhead"),
    kind::<places::Plan>("places"),
    kind::<reclaim::Plan>("reclaim"),
    kind::<removal::Plan>("removal"),
    kind::<restart::Plan>("restart"),
    kind::<save::Plan>("save"),
    kind::<save_trees::Plan>("save-trees"),
    kind::<stall::Plan>("stall"),
    kind::<waiters::Plan>("waiters"),
    kind::<ycsb::memory::Plan>("ycsb-memory"),
    kind::<ycsb::sweep::Plan>("ycsb-sweep"),
];

const fn kind<K: Scenario>(name: &'static str) -> Kind {
    Kind { name, run: run::<K>, check: |parameters| parameters_of::<K>(parameters).map(|_| ()) }
}

fn run<K: Scenario>(
    parameters: &toml::Table,
    scale: Scale,
    bench: &Bench,
    section: &mut Section,
) -> Result<()> {
    parameters_of::<K>(parameters)?.scaled(scale).run(bench, section)
}

fn parameters_of<K: Scenario>(parameters: &toml::Table) -> Result<K> {
    parameters.clone().try_into().context("parameters")
}

/// Finds the kind of this name.
///
/// # Errors
/// If there is none, or if it does not take the parameters.
pub fn find(name: &str, parameters: &toml::Table) -> Result<Run> {
    let kind = KINDS.iter().find(|kind| kind.name == name);
    let kind = kind.with_context(|| {
        let names = KINDS.map(|kind| kind.name).join(", ");
        format!("there is no kind {name:?}, but {names}")
    })?;
    (kind.check)(parameters)?;
    Ok(kind.run)
}
