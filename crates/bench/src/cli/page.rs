//! `page`: renders a recorded result as a page.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

use super::say::say;
use crate::report::{Comparison, Report, html};

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
pub fn page(arguments: &PageArguments) -> Result<()> {
    let report = Report::read(&arguments.result)?;
    let recorded = arguments.against.as_deref().map(Report::read).transpose()?;
    let comparison = recorded.map(|recorded| Comparison::new(&report, &recorded));
    write(&arguments.out, &html(&report, comparison.as_ref()))?;
    if let Some(comparison) = comparison {
        say(comparison.text());
    }
    say(format_args!("written to {}\n", arguments.out.display()));
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}
