//! Tables that an example of another package prints: what it measures has no server in it.

use std::env;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{Bench, Scenario};
use crate::process;
use crate::report::Section;

/// The example, and how its table is read.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    package: String,
    example: String,
    #[serde(default)]
    numbers: Vec<u64>,
    /// Options of its command line, with their values.
    #[serde(default)]
    options: toml::Table,
    /// Beginning of the line that names the table which follows; its rest is the first cell of each
    /// row. Without it there is one table, whose cells have no blanks.
    #[serde(default)]
    heading: String,
    /// Names of the columns; those without a name are not shown.
    columns: Vec<String>,
    /// Beginning of lines that become notes.
    noted: Option<String>,
    /// Number of the first cells of a row that name it, where figures are drawn from the others.
    #[serde(default)]
    names: usize,
}

impl Scenario for Plan {
    fn run(&self, _: &Bench, section: &mut Section) -> Result<()> {
        let path = env::current_exe()?.with_file_name("examples").join(&self.example);
        if !path.exists() {
            let (package, example) = (&self.package, &self.example);
            section.note(format!(
                "Not built, so nothing was measured: `scripts/bench list` builds the example \
                 {example} of the package {package}."
            ));
            return Ok(());
        }
        let options = self.options.iter();
        let options = options.flat_map(|(name, value)| [format!("--{name}"), value.to_string()]);
        let numbers = self.numbers.iter().map(u64::to_string);
        let output = process::bound_command(&process::first_cores(process::cores()))
            .arg(&path)
            .args(numbers.chain(options))
            .output();
        let output = output.with_context(|| path.display().to_string())?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8_lossy(&output.stdout);
        let is_noted = |line: &&str| self.noted.as_ref().is_some_and(|it| line.starts_with(it));
        printed.lines().filter(is_noted).for_each(|line| section.note(line));
        let shown = |cells: &[String]| {
            let columns = cells.iter().zip(&self.columns);
            columns.filter(|it| !it.1.is_empty()).map(|it| it.0.clone()).collect::<Vec<_>>()
        };
        section.table.columns = shown(&self.columns);
        let rows = self.rows(&printed);
        ensure!(!rows.is_empty(), "the example printed no table");
        for cells in rows.iter().filter(|_| self.names > 0) {
            let (names, values) = cells.split_at(self.names);
            for (column, value) in self.columns[self.names..].iter().zip(values) {
                let place = [names.join(" "), "varve".to_owned(), column.clone()];
                section.rounds.extend(value.parse().ok().map(|value| (place, vec![value])));
            }
        }
        rows.iter().for_each(|row| section.row(shown(row)));
        Ok(())
    }
}

impl Plan {
    /// Returns the rows that have a cell for each column and a number in it; what else was printed
    /// has other shapes.
    fn rows(&self, printed: &str) -> Vec<Vec<String>> {
        let mut of = None;
        let row = |line: &str| {
            let between = if self.heading.is_empty() { " " } else { "  " };
            if let Some(name) = line.strip_prefix(&self.heading).filter(|_| between == "  ") {
                of = Some(name.to_owned());
            }
            let cells = line.split(between).map(str::trim).filter(|cell| !cell.is_empty());
            let row: Vec<_> = of.clone().into_iter().chain(cells.map(str::to_owned)).collect();
            let has_number = |cell: &String| cell.starts_with(|it: char| it.is_ascii_digit());
            (row.len() == self.columns.len() && row[1..].iter().any(has_number)).then_some(row)
        };
        printed.lines().filter_map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Plan;

    fn rows(settings: &str, printed: &str) -> Vec<Vec<String>> {
        let text = format!("package = \"p\"\nexample = \"e\"\n{settings}");
        toml::from_str::<Plan>(&text).unwrap().rows(printed)
    }

    #[test]
    fn only_the_rows_of_the_table_are_kept() {
        let settings = "heading = \"units of \"\ncolumns = [\"unit\", \"threads\", \"a\", \"b\"]";
        let printed = "ns of time\n\nunits of 59 bytes\n threads   ring   mutex\n\
            \x20     2   27.1 + 9.0 (37.0)   157.0 + 29.0 (10.1)\n\nfilling, ns per unit\n";
        let row = ["59 bytes", "2", "27.1 + 9.0 (37.0)", "157.0 + 29.0 (10.1)"];
        assert_eq!(rows(settings, printed), [row]);
        let settings = "columns = [\"workload\", \"threads\", \"x\"]";
        let printed = "A line takes 28 ns\n\nworkload threads x\nget  2   -\n";
        assert_eq!(rows(settings, printed), [["get", "2", "-"]]);
    }
}
