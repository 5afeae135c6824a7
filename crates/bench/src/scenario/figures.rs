//! Figures and plots that files draw from the rounds in the table of a scenario.
//!
//! ```toml
//! [[figures]]
//! what = "CPU of {row} / {over}"   # for each row, and for each other server that is measured
//! column = "CPU us/op"
//! row = "GET"                      # optional: only this row
//! server = "varve"                 # as it is by default
//! over = {}                        # ratio to another row, column or server, where it is named
//! less = { server = "valkey" }     # or the difference to it
//! unit = "ms"
//! more = true                      # more is better, for a figure without an aim
//! mean = true                      # one figure: the geometric mean over all rows
//!
//! [[plots]]
//! title = "Server CPU per operation"
//! column = "CPU us/op"
//! unit = "microseconds"
//! rows = [", one list"]            # optional: only rows with one of these in their name
//! parts = true                     # the part that Varve's is of each other server's
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::report::{Figure, Plot, Section};
use crate::statistics::median;

/// Figures of one column.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FigureText {
    what: String,
    column: String,
    row: Option<String>,
    #[serde(default = "varve")]
    server: String,
    over: Option<Place>,
    less: Option<Place>,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    more: bool,
    #[serde(default)]
    mean: bool,
}

/// Another place in the table, as far as it is another one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Place {
    row: Option<String>,
    column: Option<String>,
    server: Option<String>,
}

/// Bars of one column by row; rows of different pipelines have plots of their own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlotText {
    title: String,
    column: String,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    rows: Vec<String>,
    #[serde(default)]
    parts: bool,
}

fn varve() -> String {
    "varve".to_owned()
}

impl FigureText {
    /// Adds the figures of what was measured.
    pub fn add(&self, section: &mut Section) {
        let rows =
            names(section, 0).into_iter().filter(|row| self.measured(section, row).is_some());
        let rows: Vec<_> =
            rows.filter(|row| self.row.as_ref().is_none_or(|it| it == row)).collect();
        let mut figures = Vec::new();
        for row in rows.iter().take(if self.mean { 1 } else { rows.len() }) {
            for other in self.others(section) {
                let rounds = match self.mean {
                    true => self.mean_of(section, &rows, &other).map(|mean| vec![mean]),
                    false => self.rounds(section, row, &other),
                };
                let name = self.name(row, &other);
                figures.extend(rounds.map(|it| Figure::of_rounds(name, it, &*self.unit)));
            }
        }
        let better = |it: Figure| if self.more { it.more_is_better() } else { it };
        section.figures.extend(figures.into_iter().map(better));
    }

    fn measured<'s>(&self, section: &'s Section, row: &str) -> Option<&'s [f64]> {
        find(section, row, &self.server, &self.column)
    }

    /// Returns the servers to which it is held: all others, if its name has a place for them.
    fn others(&self, section: &Section) -> Vec<String> {
        let other = self.over.as_ref().or(self.less.as_ref());
        let named = other.and_then(|it| it.server.clone()).unwrap_or(self.server.clone());
        if !self.what.to_lowercase().contains("{over}") {
            return vec![named];
        }
        names(section, 1).into_iter().filter(|server| *server != self.server).collect()
    }

    fn rounds(&self, section: &Section, row: &str, server: &str) -> Option<Vec<f64>> {
        let own = self.measured(section, row)?;
        let Some(other) = self.over.as_ref().or(self.less.as_ref()) else {
            return Some(own.to_vec());
        };
        let row = other.row.as_deref().unwrap_or(row);
        let column = other.column.as_ref().unwrap_or(&self.column);
        let pairs = own.iter().zip(find(section, row, server, column)?);
        let value = |(own, other)| if self.over.is_some() { own / other } else { own - other };
        Some(pairs.map(value).collect())
    }

    /// Returns the mean over all rows; rows of one load on different data count as one. Nothing if
    /// one of them was not measured.
    fn mean_of(&self, section: &Section, rows: &[String], server: &str) -> Option<f64> {
        let mut logarithms: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for row in rows {
            let load = row.split(", ").next().unwrap_or_default();
            let rounds = self.rounds(section, row, server)?;
            logarithms.entry(load).or_default().push(median(rounds).ln());
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let by_load: Vec<f64> = logarithms.values().map(|of_load| mean(of_load)).collect();
        Some(mean(&by_load).exp())
    }

    fn name(&self, row: &str, other: &str) -> String {
        let mut capital = other.to_owned();
        if let Some(first) = capital.get_mut(..1).filter(|_| other != "null") {
            first.make_ascii_uppercase();
        }
        self.what.replace("{row}", row).replace("{over}", other).replace("{Over}", &capital)
    }
}

impl PlotText {
    /// Draws what was measured.
    pub fn draw(&self, section: &mut Section) {
        let mut plots: Vec<Plot> = Vec::new();
        let is_shown =
            |row: &String| self.rows.is_empty() || self.rows.iter().any(|it| row.contains(it));
        for row in names(section, 0).into_iter().filter(is_shown) {
            let at = row.find(PIPELINE).unwrap_or(row.len());
            let title = format!("{}{}", self.title, &row[at..]);
            let known = plots.iter().position(|plot| plot.title == title);
            let known = known.unwrap_or_else(|| {
                plots.push(Plot::bars(title, Vec::new(), &self.unit));
                plots.len() - 1
            });
            let value = |server: &str| {
                find(section, &row, server, &self.column).map(|it| median(it.to_vec()))
            };
            for server in names(section, 1) {
                let Some(own) = value(&server) else { continue };
                match value("varve").filter(|_| self.parts) {
                    None => plots[known].bar(&server, &row[..at], own),
                    Some(_) if server == "varve" => {}
                    Some(of) => plots[known].bar(&format!("of {server}'s"), &row[..at], of / own),
                }
            }
        }
        plots.into_iter().for_each(|plot| section.plot(plot));
    }
}

/// Returns the rows or the servers of all rounds, in their order.
fn names(section: &Section, at: usize) -> Vec<String> {
    let mut names = Vec::new();
    for (place, _) in &section.rounds {
        if !names.contains(&place[at]) {
            names.push(place[at].clone());
        }
    }
    names
}

fn find<'s>(section: &'s Section, row: &str, server: &str, column: &str) -> Option<&'s [f64]> {
    let place = [row, server, column];
    section.rounds.iter().find(|(it, _)| *it == place).map(|(_, rounds)| &rounds[..])
}

/// Text between a load and its pipeline in the name of a row.
pub(super) const PIPELINE: &str = " at pipeline ";

#[cfg(test)]
mod tests {
    use super::{FigureText, PlotText};
    use crate::report::Section;
    use crate::scenario::rounds::measured;

    fn section() -> Section {
        let mut section = Section::new("", &["load", "server", "us", "op/s"]);
        for (row, server, us) in [
            ("GET, a", "varve", [1.0, 2.0]),
            ("GET, a", "redis", [4.0, 4.0]),
            ("SET", "varve", [3.0, 6.0]),
            ("SET", "redis", [6.0, 3.0]),
        ] {
            measured(&mut section, row, server, &[us.to_vec(), vec![9.0]], &[1, 0]);
        }
        section
    }

    fn figures(text: &str) -> Vec<(String, Option<f64>)> {
        let (mut section, text) = (section(), toml::from_str::<FigureText>(text).unwrap());
        text.add(&mut section);
        section.figures.into_iter().map(|it| (it.what, it.measured)).collect()
    }

    #[test]
    fn a_figure_is_drawn_from_the_rounds_of_its_places() {
        assert_eq!(section().table.rows[0].join(" "), "GET, a varve 1.5 9");
        for (text, named) in [
            ("what = \"{row}\"\ncolumn = \"us\"", &[("GET, a", 1.5), ("SET", 4.5)][..]),
            (
                "what = \"{row} / {Over}\"\ncolumn = \"us\"\nover = {}",
                &[("GET, a / Redis", 0.375), ("SET / Redis", 1.25)],
            ),
            (
                "what = \"x\"\ncolumn = \"us\"\nrow = \"SET\"\nless = { row = \"GET, a\" }",
                &[("x", 3.0)],
            ),
            (
                "what = \"x\"\ncolumn = \"us\"\nmean = true\nover = { column = \"op/s\" }",
                &[("x", (1.0 / 9.0 * 3.0 / 9.0_f64).sqrt())],
            ),
            ("what = \"x\"\ncolumn = \"us\"\nserver = \"null\"", &[]),
            ("what = \"x\"\ncolumn = \"us\"\nover = { server = \"null\" }", &[]),
        ] {
            let near = |(found, wanted): (&(String, Option<f64>), &(&str, f64))| {
                found.0 == wanted.0 && (found.1.unwrap() - wanted.1).abs() < 1e-9
            };
            let found = figures(text);
            assert_eq!(found.len(), named.len(), "{text}");
            assert!(found.iter().zip(named).all(near), "{text}: {found:?}");
        }
    }

    #[test]
    fn bars_are_values_or_varves_part_of_others() {
        for (settings, bars) in [("", 2), ("parts = true\nrows = [\"GET\"]", 1)] {
            let (mut section, text) = (section(), "title = \"t\"\ncolumn = \"us\"\n");
            toml::from_str::<PlotText>(&format!("{text}{settings}")).unwrap().draw(&mut section);
            assert_eq!(section.plots[0].lines.len(), bars, "{settings}");
        }
    }
}
