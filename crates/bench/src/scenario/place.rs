//! Servers of a file, and what starts them.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Deserializer};
use tempfile::TempDir;

use super::Bench;
use super::disk::folder;
use crate::servers::{Launch, Program};

/// Server, which a file gives by its name alone or with settings.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Entry {
    pub program: String,
    pub label: Option<String>,
    /// Worker threads; one by default.
    threads: Option<usize>,
    /// Cores; as many as threads by default.
    cores: Option<usize>,
    pub options: BTreeMap<String, String>,
    /// True if it keeps its files in a folder of its own.
    pub folder: bool,
    /// Numbers and words that are others than those of its group.
    #[serde(flatten)]
    pub numbers: toml::Table,
}

impl Entry {
    pub fn cores(&self) -> usize {
        self.cores.or(self.threads).unwrap_or(1)
    }

    pub fn is_null(&self) -> bool {
        self.program == "null"
    }

    /// Returns what starts it; `None` if it is not installed, or cannot have a folder.
    pub fn place(&self, bench: &Bench) -> Result<Option<Place>> {
        let mut program = bench.program(&self.program)?.cloned();
        let launch = Launch::on(self.cores(), self.threads.unwrap_or(1));
        let options = self.options.iter();
        let mut launch = options.fold(launch, |launch, (name, value)| launch.with(name, value));
        let folder = self.folder.then(folder).transpose()?;
        if let Some(folder) = &folder {
            launch = launch.in_folder(folder);
            launch.ready_within = LOADED_MAX;
            program = program.and_then(|it| it.among_our_files());
        }
        Ok(program.map(|mut program| {
            program.label = self.label.clone().unwrap_or(program.label);
            Place { program, launch, folder }
        }))
    }
}

pub fn servers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Entry>, D::Error> {
    let entry = |value: toml::Value| match value {
        toml::Value::String(program) => Ok(Entry { program, ..Entry::default() }),
        settings => settings.try_into().map_err(serde::de::Error::custom),
    };
    Vec::deserialize(from)?.into_iter().map(entry).collect()
}

/// What starts a server.
pub struct Place {
    pub program: Program,
    pub launch: Launch,
    /// Its files, removed after its end.
    pub folder: Option<TempDir>,
}

/// Time in which a server has read its files.
const LOADED_MAX: Duration = Duration::from_secs(300);
