//! Figures and plots that files draw from the rounds in the table of a scenario.
//!
//! ```toml
//! [[figures]]
//! what = "CPU of {row} / {over}"   # for each row, and for each other server that is measured;
//!                                  # {name} is a row's name up to a colon or a comma
//! column = "CPU us/op"
//! row = "GET"                      # optional: only this row
//! rows = [", one list", "of 10$"]  # optional: only rows with one of these in their name, or at
//!                                  # its end
//! server = "varve"                 # as it is by default
//! servers = ["varve", "redis"]     # one figure for each that is measured: `{server}` in `what`
//! over = {}                        # ratio to another row, column or server, where it is named;
//!                                  # server "best" is the one with the least number
//! less = { server = "valkey" }     # or the difference to it
//! unit = "ms"
//! better = "higher"                # or "nearer-one", for a figure without an aim
//! of = "mean"                      # one figure: the geometric mean of all rows, or their "most",
//!                                  # or "range", that over the least, or the "last" of them
//!
//! [[plots]]
//! title = "Server CPU per operation"
//! columns = ["CPU us/op"]
//! unit = "microseconds"
//! rows = [", one list"]            # optional: only rows with one of these in their name
//! parts = true                     # the part that Varve's is of each other server's
//! log = true                       # equal distances are equal factors
//! x = "fields"                     # lines over the numbers at the end of the names of rows, or
//!                                  # of servers ("varve, 2"), with {row} in `title`
//! log_x = true
//! ```

use std::collections::BTreeMap;
use std::slice;

use serde::Deserialize;

use crate::report::{Better, Figure, Plot, Section};
use crate::statistics::{geometric_mean, median};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FigureText {
    what: String,
    column: String,
    row: Option<String>,
    #[serde(default)]
    rows: Vec<String>,
    #[serde(default = "varve")]
    server: String,
    #[serde(default)]
    servers: Vec<String>,
    over: Option<Place>,
    less: Option<Place>,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    better: Better,
    of: Option<Of>,
}

/// One number of all rows.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Of {
    Mean,
    Most,
    Range,
    Last,
}

/// Another place in the table, as far as it is another one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Place {
    row: Option<String>,
    column: Option<String>,
    server: Option<String>,
}

/// Bars of columns by row, or lines; rows of different pipelines have plots of their own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlotText {
    title: String,
    columns: Vec<String>,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    rows: Vec<String>,
    #[serde(default)]
    parts: bool,
    #[serde(default)]
    log: bool,
    x: Option<String>,
    #[serde(default)]
    log_x: bool,
}

fn varve() -> String {
    "varve".to_owned()
}

impl FigureText {
    pub fn add(&self, section: &mut Section) {
        let one = slice::from_ref(&self.server);
        for server in if self.servers.is_empty() { one } else { &self.servers } {
            let what = self.what.replace("{server}", server);
            Self { what, server: server.clone(), ..self.clone() }.add_one(section);
        }
    }

    /// Adds the figures of one server.
    fn add_one(&self, section: &mut Section) {
        let is_asked = |row: &String| {
            self.row.as_ref().is_none_or(|it| it == row)
                && is_named(row, &self.rows)
                && self.measured(section, row).is_some()
        };
        let rows: Vec<_> = section.names_at(0).into_iter().filter(is_asked).collect();
        let (rows, last) = (&rows[..], rows.last().map_or(&[][..], slice::from_ref));
        for row in if self.of.is_some() { last } else { rows } {
            for other in self.others(section) {
                let rounds = match self.of {
                    None | Some(Of::Last) => self.rounds(section, row, &other),
                    Some(of) => self.one_of(of, section, rows, &other).map(|it| vec![it]),
                };
                let figure = |it| Figure {
                    better: self.better,
                    ..Figure::of_rounds(self.name(row, &other), it, &*self.unit)
                };
                section.figures.extend(rounds.map(figure));
            }
        }
    }

    fn measured<'s>(&self, section: &'s Section, row: &str) -> Option<&'s [f64]> {
        section.rounds_of(row, &self.server, &self.column)
    }

    /// Returns the servers to which it is held: all others, if its name has a place for them.
    fn others(&self, section: &Section) -> Vec<String> {
        let other = self.over.as_ref().or(self.less.as_ref());
        let named = other.and_then(|it| it.server.clone()).unwrap_or(self.server.clone());
        if !self.what.to_lowercase().contains("{over}") {
            return vec![named];
        }
        section.names_at(1).into_iter().filter(|server| *server != self.server).collect()
    }

    fn rounds(&self, section: &Section, row: &str, server: &str) -> Option<Vec<f64>> {
        let own = self.measured(section, row)?;
        let Some(place) = self.over.as_ref().or(self.less.as_ref()) else {
            return Some(own.to_vec());
        };
        let row = place.row.as_deref().unwrap_or(row);
        let column = place.column.as_ref().unwrap_or(&self.column);
        let other = match server {
            "best" => &[section.least(row, column)?][..],
            server => section.rounds_of(row, server, column)?,
        };
        let pairs = own.iter().zip(other);
        let value = |(own, other)| if self.over.is_some() { own / other } else { own - other };
        Some(pairs.map(value).collect())
    }

    /// Returns one number of all rows; nothing if one of them was not measured.
    fn one_of(&self, of: Of, section: &Section, rows: &[String], server: &str) -> Option<f64> {
        let medians = rows.iter().map(|row| Some(median(self.rounds(section, row, server)?)));
        let all: Vec<_> = rows.iter().zip(medians.collect::<Option<Vec<_>>>()?).collect();
        let reduced = |by: fn(f64, f64) -> f64| all.iter().map(|it| it.1).reduce(by);
        match of {
            Of::Mean => Some(mean(&all)),
            Of::Most => reduced(f64::max),
            Of::Range => Some(reduced(f64::max)? / reduced(f64::min)?),
            Of::Last => all.last().map(|it| it.1),
        }
    }

    fn name(&self, row: &str, other: &str) -> String {
        let mut capital = other.to_owned();
        if let Some(first) = capital.get_mut(..1).filter(|_| other != "null") {
            first.make_ascii_uppercase();
        }
        let name = row.split([':', ',']).next().unwrap_or_default();
        let what = self.what.replace("{row}", row).replace("{name}", name);
        what.replace("{over}", other).replace("{Over}", &capital)
    }
}

/// Returns the geometric mean; rows of one load on different data count as one.
fn mean(all: &[(&String, f64)]) -> f64 {
    let mut by_load: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (row, value) in all {
        let load = row.split(", ").next().unwrap_or_default();
        by_load.entry(load).or_default().push(*value);
    }
    let means: Vec<_> = by_load.values().map(|values| geometric_mean(values)).collect();
    geometric_mean(&means)
}

impl PlotText {
    pub fn draw(&self, section: &mut Section) {
        for row in section.names_at(0).into_iter().filter(|row| is_named(row, &self.rows)) {
            let (name, pipeline) = row.split_at(row.find(PIPELINE).unwrap_or(row.len()));
            let title = format!("{}{pipeline}", self.title.replace("{row}", name));
            section.plot(self.empty(&title));
            for (server, column) in section.names_at(1).iter().flat_map(|server| {
                self.columns.iter().map(move |column| (server.as_str(), column.as_str()))
            }) {
                let value = |server: &str| section.number(&row, server, column);
                let Some(own) = value(server) else { continue };
                let label = if server.is_empty() { name } else { server };
                let group = if self.columns.len() > 1 { column } else { name };
                let whole = value("varve").filter(|_| self.parts);
                let plot = section.plot(self.empty(&title));
                match whole {
                    _ if self.x.is_some() => add_point(plot, server, name, own),
                    None => plot.bar(label, group, own),
                    Some(_) if server == "varve" => {}
                    Some(of) => plot.bar(&format!("of {server}'s"), group, of / own),
                }
            }
        }
    }

    fn empty(&self, title: &str) -> Plot {
        let plot = match &self.x {
            Some(x) => Plot::lines(title, x, &self.unit),
            None => Plot::bars(title, &self.unit),
        };
        plot.log(self.log_x, self.log)
    }
}

/// Adds a point of a line: its place is the number at the end of a row's name, and what is before
/// that names the line.
fn add_point(plot: &mut Plot, server: &str, row: &str, y: f64) {
    let (before, last) = row.rsplit_once(' ').unwrap_or(("", row));
    let label = if before.is_empty() { server.to_owned() } else { format!("{server}, {before}") };
    let of_server = server.rsplit_once(", ").and_then(|(it, x)| Some((it, x.parse().ok()?)));
    if let Ok(x) = last.parse() {
        plot.point(label.trim_end_matches(" of"), x, y);
    } else if let Some((program, x)) = of_server {
        plot.point(program, x, y);
    }
}

/// Returns true if one of these is in a name, at its end where it ends with `$`, or there are none.
pub(super) fn is_named(name: &str, parts: &[String]) -> bool {
    let is_one = |part: &String| match part.strip_suffix('$') {
        Some(end) => name.ends_with(end),
        None => name.contains(part),
    };
    parts.is_empty() || parts.iter().any(is_one)
}

/// Text between a load and its pipeline in the name of a row.
pub(super) const PIPELINE: &str = " at pipeline ";

#[cfg(test)]
mod tests {
    use super::{FigureText, PlotText};
    use crate::report::Section;

    fn section() -> Section {
        let mut section = Section::new("", "load | server | us .1 | op/s .0");
        for (row, server, us) in [
            ("GET, a", "varve", [1.0, 2.0]),
            ("GET, a", "redis", [4.0, 4.0]),
            ("SET", "varve", [3.0, 6.0]),
            ("SET", "redis", [6.0, 3.0]),
        ] {
            section.measured(row, server, &[us.to_vec(), vec![9.0]]);
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
                "what = \"x\"\ncolumn = \"us\"\nof = \"mean\"\nover = { column = \"op/s\" }",
                &[("x", (1.0 / 9.0 * 3.0 / 9.0_f64).sqrt())],
            ),
            ("what = \"x\"\ncolumn = \"us\"\nof = \"range\"", &[("x", 3.0)]),
            ("what = \"x\"\ncolumn = \"us\"\nrows = [\"T, \", \"ET$\"]", &[("x", 1.5), ("x", 4.5)]),
            ("what = \"x\"\ncolumn = \"us\"\nserver = \"null\"", &[]),
            (
                "what = \"{server}\"\ncolumn = \"us\"\nservers = [\"varve\", \"null\", \"redis\"]\n\
                 row = \"SET\"\nover = { row = \"GET, a\" }",
                &[("varve", 3.0), ("redis", 1.125)],
            ),
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
    fn bars_are_values_or_varves_part_of_others_and_lines_have_numbers_of_rows() {
        for (settings, lines) in [
            ("", "varve redis redis, 2"),
            ("parts = true\nrows = [\"GET\"]", "of redis's"),
            ("x = \"fields\"\nrows = [\"SET of 8\"]", "varve, SET"),
            ("x = \"threads\"\nrows = [\"INCR\"]", "redis"),
        ] {
            let (mut section, text) = (section(), "title = \"t\"\ncolumns = [\"us\"]\n");
            section.measured("SET of 8", "varve", &[vec![1.0]]);
            section.measured("INCR", "redis, 2", &[vec![1.0]]);
            toml::from_str::<PlotText>(&format!("{text}{settings}")).unwrap().draw(&mut section);
            let labels = section.plots[0].lines.iter().map(|line| line.label.as_str());
            assert_eq!(labels.collect::<Vec<_>>().join(" "), lines, "{settings}");
        }
    }
}
