//! Cost of a place in the journal, as the example `places` of the journal's crate prints it: the
//! ring beside a buffer behind a mutex and beside buffers of threads that are merged.

use std::env;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::report::Section;
use crate::scenario::{Bench, Scenario};

/// Extent of the runs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Bytes that go through each way in each run, in millions.
    megabytes: u64,
}

impl Scenario for Plan {
    fn run(&self, _: &Bench, section: &mut Section) -> Result<()> {
        let path = env::current_exe()?.with_file_name("examples").join("places");
        if !path.exists() {
            section.note(
                "Not built, so nothing was measured: \
                 `cargo build --release -p journal --example places` builds it.",
            );
            return Ok(());
        }
        let output = Command::new(&path).arg(self.megabytes.to_string()).output();
        let output = output.with_context(|| path.display().to_string())?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        section.columns(&["unit", "threads", "ring", "mutex", "merged"]);
        rows(&String::from_utf8_lossy(&output.stdout)).into_iter().for_each(|row| section.row(row));
        ensure!(!section.table.rows.is_empty(), "the example printed no table");
        Ok(())
    }
}

/// Returns the rows of the tables of units; what else was printed has other shapes.
fn rows(printed: &str) -> Vec<Vec<String>> {
    let mut unit = "";
    let row = |line| {
        unit = str::strip_prefix(line, "units of ").unwrap_or(unit);
        let cells = line.split("  ").map(str::trim).filter(|it| !it.is_empty());
        let row: Vec<_> = [unit].into_iter().chain(cells).map(str::to_owned).collect();
        (row.len() == 5 && row[2..].iter().all(|cost| cost.ends_with(')'))).then_some(row)
    };
    printed.lines().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::rows;

    #[test]
    fn only_the_tables_of_units_are_kept() {
        let printed = "ns of time: taking thread + other threads (million units/s)\n\n\
            units of 59 bytes\n threads        ring       mutex      merged\n\
            \x20      2   27.1 + 9.0 (37.0)   157.0 + 29.0 (10.1)   33.0 + 26.0 (17.0)\n\n\
            filling places, ns per unit\n   bytes   copied   atomic bytes   atomic words\n\
            \x20     59      4.0           29.0           40.0\n";
        let row =
            ["59 bytes", "2", "27.1 + 9.0 (37.0)", "157.0 + 29.0 (10.1)", "33.0 + 26.0 (17.0)"];
        assert_eq!(rows(printed), [row]);
    }
}
