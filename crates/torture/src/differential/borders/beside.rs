//! Cases that both servers run, and whose replies are compared.

use super::families::{Family, wanted};
use super::state::State;
use super::tried::Tried;
use crate::differential::arguments::Arguments;
use crate::differential::case::Case;
use crate::differential::findings::Findings;
use crate::differential::pair::Pair;
use crate::differential::play::{Failure, Outcome, Player, What};
use crate::differential::step::{Request, Step, request};
use anyhow::{Result, bail};
use std::time::Instant;

/// Plays every case of every family.
///
/// # Errors
/// If a server cannot be started, or the two differ.
pub fn beside(arguments: &Arguments, mut pair: Pair) -> Result<()> {
    let began = Instant::now();
    let mut findings = Findings::new(arguments.keep_going);
    let (mut requests, mut cases) = (0, 0);
    for family in wanted(arguments) {
        let mut tried = Tried::default();
        let family_began = Instant::now();
        // The reference may have harmed its own memory.
        pair.valkey.stop();
        for (state, all) in family.cases_of_states(arguments.one_in) {
            tried.add(&all);
            requests += try_state(&mut pair, &mut findings, arguments, &family, state, &all)?;
        }
        cases += tried.cases;
        tried.print(&family, family_began.elapsed().as_secs_f64());
    }
    if cases == 0 {
        bail!("no border has such a name");
    }
    let seconds = began.elapsed().as_secs_f64();
    findings.end(&format!("{cases} cases, {requests} requests, {seconds:.0} seconds"))
}

/// Plays the cases of a state, and continues after one that fails. Returns the number of requests.
fn try_state(
    pair: &mut Pair,
    findings: &mut Findings,
    arguments: &Arguments,
    family: &Family,
    state: &State,
    cases: &[Case],
) -> Result<u64> {
    let begin = beginning(arguments, state);
    let (mut at, mut requests) = (0, 0);
    while at < cases.len() {
        let from = at;
        pair.renew()?;
        let mut player = Player { pair, outcome: Outcome::default() };
        let mut failed = player.begin(&begin).err();
        while failed.is_none() && at < cases.len() {
            failed = player.case(&cases[at]).err();
            at += 1;
        }
        let outcome = player.outcome;
        requests += outcome.requests;
        findings.note(outcome.listed);
        let Some(what) = failed else { break };
        at = at.max(from + 1);
        if let What::Broken(broken) = &what
            && broken.side == "Valkey"
        {
            println!("\n== {}: {broken}", state.label);
            findings.note_one("the reference ended by itself");
            continue;
        }
        let short = steps(&begin, &cases[at - 1..at]);
        let long = steps(&begin, &cases[from..at]);
        let heading = format!("{}, --only '{}'", family.name, state.label);
        let failure = Failure { played: long.len(), what };
        findings.failed(pair, &heading, &[&short, &long], failure)?;
    }
    Ok(requests)
}

/// Returns the first requests of a state: its settings, and a protocol, which half of the states
/// each have.
fn beginning(arguments: &Arguments, state: &State) -> Vec<Request> {
    let mut requests = Vec::new();
    let is_odd = state.label.bytes().map(usize::from).sum::<usize>() % 2 == 1;
    if arguments.resp.map_or(is_odd, |resp| resp == 3) {
        requests.push(request(&["HELLO", "3"]));
    }
    requests.extend(state.configure());
    requests
}

fn steps(begin: &[Request], cases: &[Case]) -> Vec<Step> {
    let send = |request: &Request| Step::send(0, request.clone());
    let mut steps: Vec<_> = begin.iter().map(send).collect();
    for case in cases {
        steps.extend(case.build.iter().map(send));
        let actions = case.actions.iter().cloned();
        steps.extend(actions.map(|action| Step { client: 0, action }));
    }
    steps
}
