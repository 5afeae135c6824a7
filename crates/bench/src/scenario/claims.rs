//! Claims of a source, held against each server in the table of a scenario.
//!
//! ```toml
//! [[claims]]
//! says = "an insertion with the index takes half as long again."
//! column = "op/s"                  # numbers of this column
//! rows = ["connectorplain, 1 "]    # of rows as figures name them; by default of all
//! of = ["connectorinsert, 1 "]     # over the mean of the same server's rows of these names
//! of_column = "mean us"            # or over the number of another column of the same row
//! beside = "redis"                 # or over the number of another server in the same row
//! servers = ["greedy"]             # labels that are judged, in place of the four known servers
//! needs = "activedefrag"           # not judged where one of both has refused this setting
//! at_least = 1.4                   # or `at_most`
//! figure = "time with the index / without: {server}"      # optional
//! ```

use serde::Deserialize;

use super::figures::is_named;
use crate::report::{Figure, Section};
use crate::statistics::geometric_mean;

/// Claim that holds while a number, or its ratio to another, is within a limit: with `of` that of
/// the means, otherwise that of each row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claim {
    says: String,
    column: String,
    #[serde(default)]
    rows: Vec<String>,
    #[serde(default)]
    of: Vec<String>,
    of_column: Option<String>,
    beside: Option<String>,
    #[serde(default)]
    servers: Vec<String>,
    needs: Option<String>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    figure: Option<String>,
}

/// Servers that are judged, as far as they were measured.
const SERVERS: [&str; 4] = ["varve", "valkey", "redis", "memcached"];

impl Claim {
    /// Says in one line for which servers the claim holds.
    pub fn judge(&self, section: &mut Section) {
        let mut servers = self.servers.clone();
        if servers.is_empty() {
            servers = SERVERS.map(str::to_owned).into();
        }
        let measured = section.names_at(1);
        servers.retain(|it| measured.contains(it) && self.beside.as_ref() != Some(it));
        let judged: Vec<_> = servers.iter().map(|it| (it, self.ratios(section, it))).collect();
        let said = judged.iter().map(|(server, ratios)| {
            let refused = self.refused(section, server);
            refused.unwrap_or_else(|| self.verdict(server, ratios))
        });
        let said: Vec<_> = said.collect();
        section.note(format!("The source: {} Does it hold? {}.", self.says, said.join(", ")));
        let Some(figure) = &self.figure else { return };
        for (server, ratios) in judged.iter().filter(|(_, ratios)| !ratios.is_empty()) {
            let name = figure.replace("{server}", server);
            section.figures.push(Figure::new(name, Some(geometric_mean(ratios)), ""));
        }
    }

    /// Returns what is said in place of a verdict if the server, or the one beside it, has refused
    /// the setting that the claim needs.
    fn refused(&self, section: &Section, server: &str) -> Option<String> {
        let setting = self.needs.as_ref()?;
        let has_refused = |who: &&str| {
            let (begin, refusal) = (format!("{who}: "), format!("it refuses {setting} "));
            section.notes.iter().any(|it| it.starts_with(&begin) && it.contains(&refusal))
        };
        let who = [server].into_iter().chain(self.beside.as_deref()).find(has_refused)?;
        Some(format!("{server} not judged ({who} refuses {setting})"))
    }

    fn verdict(&self, server: &str, ratios: &[f64]) -> String {
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let holds =
            self.at_least.is_none_or(|it| least >= it) && self.at_most.is_none_or(|it| most <= it);
        let holds = if holds { "yes" } else { "no" };
        match ratios.len() {
            0 => format!("{server} not measured"),
            1 => format!("{server} {holds} ({least:.3})"),
            _ => format!("{server} {holds} ({least:.3} to {most:.3})"),
        }
    }

    fn ratios(&self, section: &Section, server: &str) -> Vec<f64> {
        let over = self.numbers(section, &self.rows, server);
        let ratios = match &self.of[..] {
            [] => over,
            of => vec![geometric_mean(&over) / geometric_mean(&self.numbers(section, of, server))],
        };
        ratios.into_iter().filter(|ratio| ratio.is_finite()).collect()
    }

    /// Returns the numbers of a server in the rows that have one of these in their name, each over
    /// its base if there is one.
    fn numbers(&self, section: &Section, rows: &[String], server: &str) -> Vec<f64> {
        let ratio = |row: &String| {
            let base = match (&self.of_column, &self.beside) {
                (Some(column), _) => section.number(row, server, column)?,
                (None, Some(beside)) => section.number(row, beside, &self.column)?,
                (None, None) => 1.0,
            };
            Some(section.number(row, server, &self.column)? / base)
        };
        section.names_at(0).iter().filter(|row| is_named(row, rows)).filter_map(ratio).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Claim;
    use crate::report::Section;

    /// Returns what is said of a claim on a table of two loads on two servers, and the figures.
    fn judged(claim: &str) -> (String, Vec<(String, Option<f64>)>) {
        let mut section = Section::new("", "load | server | op/s .0 | us .0");
        for (row, server, values) in [
            ("GET", "varve", [300.0, 2.0]),
            ("GET", "redis", [100.0, 4.0]),
            ("SET", "varve", [150.0, 3.0]),
            ("SET", "redis", [f64::NAN, 5.0]),
        ] {
            section.measured(row, server, &values.map(|value| vec![value]));
        }
        section.note("redis: it refuses x 1: ERR; it refuses lfu 2: ERR.");
        let claim: Claim = toml::from_str(&format!("says = \"fast.\"\n{claim}")).unwrap();
        claim.judge(&mut section);
        let figures = section.figures.into_iter().map(|it| (it.what, it.measured)).collect();
        (section.notes.remove(1), figures)
    }

    #[test]
    fn a_claim_is_compared_with_each_server_and_its_figure_names_the_measure() {
        for (claim, said) in [
            (
                "column = \"us\"\nat_most = 4",
                "varve yes (2.000 to 3.000), redis no (4.000 to 5.000)",
            ),
            (
                "column = \"us\"\nof = [\"GET\"]\nrows = [\"SET\"]\nat_least = 1.4",
                "varve yes (1.500), redis no (1.250)",
            ),
            ("column = \"op/s\"\nbeside = \"redis\"\nat_least = 3", "varve yes (3.000)"),
            (
                "column = \"us\"\nbeside = \"redis\"\nneeds = \"lfu\"",
                "varve not judged (redis refuses lfu)",
            ),
            ("column = \"us\"\nservers = [\"redis\"]\nat_most = 4.5", "redis no (4.000 to 5.000)"),
            (
                "column = \"op/s\"\nof_column = \"us\"\nat_least = 50",
                "varve yes (50.000 to 150.000), redis no (25.000)",
            ),
            ("column = \"op/s\"\nrows = [\"DEL\"]", "varve not measured, redis not measured"),
        ] {
            let told = format!("The source: fast. Does it hold? {said}.");
            assert_eq!(judged(claim), (told, Vec::new()), "{claim}");
        }
        let claim = "column = \"us\"\nrows = [\"GET\"]\nfigure = \"us: {server}\"";
        let figures = [("us: varve", Some(2.0)), ("us: redis", Some(4.0))];
        let figures = figures.map(|(what, measured)| (what.to_owned(), measured));
        assert_eq!(judged(claim).1, figures);
    }
}
