//! CPU time of Varve over that of a peer, by command.

/// Ratios to one peer; a command that is measured on several collections counts once.
#[derive(Default)]
pub struct Ratios(Vec<Command>);

struct Command {
    family: &'static str,
    name: &'static str,
    /// Ratios, one per collection.
    ratios: Vec<Option<f64>>,
}

impl Ratios {
    /// Adds the ratio measured on one collection of this family, if there is one.
    pub fn add(&mut self, family: &'static str, name: &'static str, ratio: Option<f64>) {
        match self.0.iter_mut().find(|command| command.name == name) {
            Some(command) => command.ratios.push(ratio),
            None => self.0.push(Command { family, name, ratios: vec![ratio] }),
        }
    }

    /// Returns the geometric mean over all commands, if all of them were measured.
    pub fn mean(&self) -> Option<f64> {
        let by_command = self.0.iter().map(|command| geometric_mean(&command.ratios));
        geometric_mean(&by_command.collect::<Vec<_>>())
    }

    /// Returns the measured commands of a family, in the order in which they were added.
    pub fn of_family(&self, family: &str) -> impl Iterator<Item = (&'static str, f64)> {
        let commands = self.0.iter().filter(move |command| command.family == family);
        commands.filter_map(|command| Some((command.name, geometric_mean(&command.ratios)?)))
    }
}

/// Returns the geometric mean; `None` if a ratio is missing or there is none.
fn geometric_mean(ratios: &[Option<f64>]) -> Option<f64> {
    let logarithms: Option<f64> = ratios.iter().map(|ratio| Some((*ratio)?.ln())).sum();
    logarithms.filter(|_| !ratios.is_empty()).map(|sum| (sum / ratios.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::{Ratios, geometric_mean};

    #[test]
    fn the_geometric_mean_of_a_half_and_its_double_is_one() {
        let mean = geometric_mean(&[Some(0.5), Some(2.0)]).expect("both are there");
        assert!((mean - 1.0).abs() < 1e-9);
        assert_eq!([geometric_mean(&[Some(0.5), None]), geometric_mean(&[])], [None, None]);
    }

    #[test]
    fn a_command_on_two_collections_weighs_as_much_as_one_on_a_single() {
        let mut ratios = Ratios::default();
        for (name, ratio) in [("HGET", 0.5), ("LPOP", 4.0), ("HGET", 0.125)] {
            ratios.add("all", name, Some(ratio));
        }
        assert!((ratios.mean().expect("all are there") - 1.0).abs() < 1e-9);
        let commands: Vec<_> = ratios.of_family("all").map(|(name, _)| name).collect();
        assert_eq!(commands, ["HGET", "LPOP"]);
    }
}
