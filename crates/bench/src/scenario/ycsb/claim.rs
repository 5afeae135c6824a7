//! What the source says of its servers, held against each of ours in one line.

use serde::Deserialize;

use super::costs::Costs;
use crate::report::Section;
use crate::statistics::median;

/// Claim on a ratio of two measurements of a server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The claim in words.
    claim: String,
    /// Quantity of which it speaks.
    of: Quantity,
    /// Workload and clients of the measurement above the line of the ratio; without a workload the
    /// mean of all workloads.
    over: Point,
    /// The same below the line; the time of an operation by default.
    to: Option<Point>,
    /// It holds from this ratio on.
    at_least: Option<f64>,
    /// It holds up to this ratio.
    at_most: Option<f64>,
    /// Figure of the ratio, by server: `{server}` in its name is the server's.
    figure: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Quantity {
    /// Operations per second.
    Throughput,
    /// System time of the server per operation.
    SystemTime,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Point {
    workload: Option<String>,
    clients: usize,
}

impl Claim {
    /// Adds the line, and a figure for each server if it is asked for.
    pub(super) fn note(&self, section: &mut Section, all: &[Costs]) {
        let mut labels: Vec<_> = all.iter().map(|costs| &costs.label).collect();
        labels.dedup();
        let mut said = Vec::new();
        for (at, label) in labels.iter().enumerate() {
            if labels[..at].contains(label) || *label == "null" {
                continue;
            }
            let Some(ratio) = self.ratio(label, all) else {
                said.push(format!("{label}: not measured"));
                continue;
            };
            let is_true = self.at_least.is_none_or(|least| ratio >= least)
                && self.at_most.is_none_or(|most| ratio <= most);
            said.push(format!("{label} {} ({ratio:.3})", if is_true { "yes" } else { "no" }));
            if let Some(figure) = &self.figure {
                section.finding(figure.replace("{server}", label), Some(ratio), "");
            }
        }
        section.note(format!("The source: {} Does it hold? {}.", self.claim, said.join(", ")));
    }

    fn ratio(&self, label: &str, all: &[Costs]) -> Option<f64> {
        let over = self.value(&self.over, label, all, self.of)?;
        let to = match &self.to {
            Some(to) => self.value(to, label, all, self.of)?,
            None => self.over.mean(label, all, |costs| median(costs.mean.clone()))?,
        };
        Some(over / to).filter(|ratio| ratio.is_finite())
    }

    fn value(&self, at: &Point, label: &str, all: &[Costs], of: Quantity) -> Option<f64> {
        at.mean(label, all, |costs| match of {
            Quantity::Throughput => median(costs.per_second.clone()),
            Quantity::SystemTime => costs.system,
        })
    }
}

impl Point {
    /// Returns the geometric mean of a quantity over the measurements at this point.
    fn mean(&self, label: &str, all: &[Costs], of: impl Fn(&Costs) -> f64) -> Option<f64> {
        let is_here = |costs: &&Costs| {
            costs.label == label
                && costs.clients == self.clients
                && self.workload.as_ref().is_none_or(|name| costs.workload == *name)
        };
        let found: Vec<_> = all.iter().filter(is_here).map(|costs| of(costs).ln()).collect();
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        (!found.is_empty()).then(|| mean.exp())
    }
}
