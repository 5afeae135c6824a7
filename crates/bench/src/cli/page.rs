//! `page`: renders a recorded result as a page.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use super::say::say;
use crate::report::{Report, html};

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
pub fn page(PageArguments { result, against, out }: &PageArguments) -> Result<()> {
    let report = Report::read(result)?;
    let recorded = against.as_deref().map(Report::read).transpose()?;
    fs::write(out, html(&report, recorded.as_ref()))
        .with_context(|| format!("{} cannot be written", out.display()))?;
    say(report.summary(recorded.as_ref()));
    say(format_args!("\nwritten to {}\n", out.display()));
    Ok(())
}
