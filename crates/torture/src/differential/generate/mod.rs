//! Rounds of steps, each drawn from a seed and its number alone.
//!
//! ```text
//! row of the command table ─▶ tree of its syntax ─draft─▶ words ─harm─▶ mistakes ─tame─▶ request
//! ```

mod bulk;
mod dice;
mod draft;
mod fixture;
mod harm;
mod rows;
pub mod settings;
mod values;
mod waiting;
mod words;

use super::rule::WHOLE;
use super::step::{self, Action, Request, Step, name, request};
use command::{Group, Row};
pub use dice::Dice;
pub use words::KEYS;

/// Number of connections that send requests.
pub const CLIENTS: usize = 3;

/// Generator of rounds.
#[derive(Debug)]
pub struct Generator {
    seed: u64,
    rows: Vec<(&'static Row, u32)>,
    weights: Vec<u32>,
    /// Protocol of all connections; drawn at random if absent.
    resp: Option<u8>,
    /// True for a recording: values are short and nothing is made large.
    small: bool,
}

impl Generator {
    /// Creates the generator of a seed.
    pub fn new(seed: u64, resp: Option<u8>, small: bool) -> Generator {
        let rows = rows::drawn();
        let weights = rows.iter().map(|(_, weight)| *weight).collect();
        Generator { seed, rows, weights, resp, small }
    }

    /// Returns the steps of a round: bursts of one client after the other.
    pub fn round(&self, number: u64) -> Vec<Step> {
        let dice = &mut Dice::new(self.seed, number);
        let mut steps = Vec::new();
        for client in 0..CLIENTS {
            let resp = self.resp.unwrap_or(if dice.percent(50) { 2 } else { 3 });
            if resp == 3 {
                steps.push(Step::send(client, request(&["HELLO", "3"])));
            }
        }
        if dice.percent(25) {
            steps.push(Step::send(0, settings::extremes(dice)));
        }
        if dice.percent(75) {
            for family in fixture::FAMILIES {
                self.fill(dice, *family, 0, &mut steps);
            }
        }
        let focus = dice.percent(50).then(|| self.focus(dice));
        while steps.len() < STEPS {
            let client = dice.below(CLIENTS);
            for _ in 0..1 + dice.below(BURST) {
                self.step(dice, focus, client, &mut steps);
            }
        }
        steps
    }

    fn fill(&self, dice: &mut Dice, family: Group, client: usize, steps: &mut Vec<Step>) {
        let most = if self.small { 5 } else { 40 };
        let requests = fixture::requests(dice, family, most);
        steps.extend(requests.into_iter().map(|request| Step::send(client, request)));
    }

    /// Draws the family of most commands in a round; half of the rounds have one.
    fn focus(&self, dice: &mut Dice) -> Group {
        self.rows[dice.weighted(&self.weights)].0.spec.group
    }

    fn step(&self, dice: &mut Dice, focus: Option<Group>, client: usize, steps: &mut Vec<Step>) {
        if dice.permille(15) {
            steps.push(Step::send(client, settings::change(dice)));
        }
        if dice.permille(if self.small { 0 } else { 25 }) {
            steps.push(Step::send(client, bulk::request(dice)));
        }
        if dice.permille(15) {
            let any = *dice.pick(fixture::FAMILIES);
            let wanted = focus.filter(|_| dice.percent(70)).unwrap_or(any);
            self.fill(dice, wanted, client, steps);
        }
        if dice.permille(2) {
            expire_soon(dice, client, steps);
        }
        if !self.small && dice.permille(2) {
            steps.push(waiting::step(dice, CLIENTS));
        }
        if !self.small && dice.permille(3) {
            let entries = bulk::entries(dice).into_iter();
            steps.extend(entries.map(|request| Step::send(client, request)));
        }
        let request = self.request(dice, focus);
        if !self.small && dice.percent(8) {
            let source = *dice.pick(&step::CALLERS);
            steps.push(Step::send(client, step::scripted(source, &request)));
            return;
        }
        steps.push(Step { client, action: action(dice, request) });
    }

    fn request(&self, dice: &mut Dice, focus: Option<Group>) -> Request {
        loop {
            let row = self.rows[dice.weighted(&self.weights)].0;
            let is_beside = focus.is_some_and(|focus| focus != row.spec.group);
            if is_beside && dice.percent(85) {
                continue;
            }
            let mut request = match row.full_name.starts_with("command|") {
                true => self.question(dice, row),
                false => draft::request(dice, row),
            };
            if dice.percent(10) {
                harm::harm(dice, row, &mut request);
            }
            harm::tame(&mut request);
            let len: usize = request.iter().map(Vec::len).sum();
            if !self.small || len < SMALL {
                return request;
            }
        }
    }

    /// Draws a COMMAND request about the keys of another request.
    fn question(&self, dice: &mut Dice, row: &Row) -> Request {
        let other = self.rows[dice.weighted(&self.weights)].0;
        let mut words = request(&["COMMAND", row.spec.name]);
        words.append(&mut draft::request(dice, other));
        words
    }
}

/// Returns a request for each row of some families; the same seed gives the same requests.
pub fn drafts(seed: u64, groups: &[Group]) -> Vec<Request> {
    let rows = rows::drawn().into_iter().map(|(row, _)| row);
    let wanted = rows.filter(|row| groups.contains(&row.spec.group));
    let requests = wanted.enumerate().map(|(number, row)| {
        let mut request = draft::request(&mut Dice::new(seed, number as u64), row);
        harm::tame(&mut request);
        request
    });
    requests.collect()
}

/// Returns the names of the rows of some families that are drawn, as requests have them.
#[cfg(test)]
pub fn names(groups: &[Group]) -> Vec<String> {
    let rows = rows::drawn().into_iter().map(|(row, _)| row);
    let wanted = rows.filter(|row| groups.contains(&row.spec.group));
    wanted.map(|row| row.full_name.to_uppercase().replace('|', " ")).collect()
}

/// Returns the action for a request; iterations are sometimes followed to their end.
fn action(dice: &mut Dice, request: Request) -> Action {
    let is_scan = name(&request).ends_with("SCAN");
    let starts = request.iter().any(|it| it == b"0");
    let is_whole = request.iter().any(|it| *it == values::text(WHOLE));
    if is_scan && starts && !is_whole && dice.percent(70) {
        return Action::Iterate(request);
    }
    Action::Send(request)
}

fn expire_soon(dice: &mut Dice, client: usize, steps: &mut Vec<Step>) {
    let key = *dice.pick(KEYS);
    let request = match dice.below(3) {
        0 => request(&["SET", key, "v", "PX", "30"]),
        1 => request(&["PEXPIRE", key, "30"]),
        _ => {
            steps.push(Step::send(client, request(&["SET", key, "v"])));
            request(&["GETEX", key, "PX", "30"])
        }
    };
    let key = key.as_bytes().to_vec();
    steps.push(Step { client, action: Action::LetExpire(request, key) });
}

const STEPS: usize = 500;
const BURST: usize = 20;
/// Most bytes of a request that is recorded.
const SMALL: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_rounds() {
        let round = |seed, number| Generator::new(seed, None, false).round(number);
        assert_eq!(round(1, 5), round(1, 5));
        assert_ne!(round(1, 5), round(1, 6));
        assert_ne!(round(1, 5), round(2, 5));
    }

    #[test]
    fn every_drawn_row_comes_in_some_round() {
        let generator = Generator::new(7, None, false);
        let mut names = std::collections::BTreeSet::new();
        for step in (0..60).flat_map(|number| generator.round(number)) {
            if let Action::Send(request) | Action::Iterate(request) = step.action {
                names.insert(name(&request));
            }
        }
        for (row, _) in &generator.rows {
            let wanted = row.full_name.to_uppercase().replace('|', " ");
            assert!(names.contains(&wanted), "{wanted}");
        }
    }
}
