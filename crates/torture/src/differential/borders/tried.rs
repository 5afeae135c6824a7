//! Count of the states and cases of a family that were played.

use super::families::Family;
use crate::differential::case::Case;
use std::collections::BTreeMap;

/// Count of the states and cases of a family that were played.
#[derive(Debug, Default)]
pub struct Tried {
    states: usize,
    pub cases: usize,
    by_command: BTreeMap<String, usize>,
}

impl Tried {
    pub fn add(&mut self, cases: &[Case]) {
        self.states += 1;
        self.cases += cases.len();
        for case in cases {
            *self.by_command.entry(case.name.clone()).or_default() += 1;
        }
    }

    pub fn print(&self, family: &Family, seconds: f64) {
        let Tried { states, cases, by_command } = self;
        let commands = by_command.len();
        println!(
            "{:14} {states:4} states, {commands:3} commands, {cases:6} cases, {seconds:5.1} s",
            family.name
        );
    }
}
