//! Each command at both sides of each border between the forms in which values are kept.
//!
//! ```text
//! shapes, singles ─▶ states ─┐
//! forms/*.txt ──────────────▶├─▶ cases ─beside─▶ Varve and the reference, compared
//! rows of the family, drawn ─┘         ─alone──▶ Varve, which has to survive
//! ```

mod alone;
mod beside;
mod collections;
mod shapes;
mod singles;
mod state;
mod texts;
mod words;

pub use alone::alone;
pub use beside::beside;
pub use state::Case;

use super::Arguments;
use super::generate;
use super::rule::prelude;
use super::step::Action;
use collections::{Kind, Shape};
use command::Group;
use state::State;
use std::collections::{BTreeMap, BTreeSet};
use xxhash_rust::xxh3::xxh3_64;

const LISTS: &str = include_str!("forms/lists.txt");
const HASHES: &str = include_str!("forms/hashes.txt");
const SETS: &str = include_str!("forms/sets.txt");
const SORTED_SETS: &str = include_str!("forms/sorted_sets.txt");
const PLACES: &str = include_str!("forms/places.txt");
const STRINGS: &str = include_str!("forms/strings.txt");
const BITMAPS: &str = include_str!("forms/bitmaps.txt");
const LONG_STRINGS: &str = include_str!("forms/long_strings.txt");
const HYPERLOGLOGS: &str = include_str!("forms/hyperloglogs.txt");
const STREAMS: &str = include_str!("forms/streams.txt");
const GENERIC: &str = include_str!("forms/generic.txt");
const SORT: &str = include_str!("forms/sort.txt");
const SORT_OF_SORTED_SETS: &str = include_str!("forms/sort_of_sorted_sets.txt");

/// Values of one kind.
struct Family {
    name: &'static str,
    /// Whose rows are for them.
    groups: &'static [Group],
    states: Vec<State>,
}

/// All families; the states of each stand for what it has borders of.
fn families() -> Vec<Family> {
    let of = |shapes: Vec<Shape>, forms: &[&'static str]| {
        // Two borders may be next to each other.
        let mut labels = BTreeSet::new();
        let states = shapes.iter().map(|shape| shape.state(forms));
        states.filter(|state| labels.insert(state.label.clone())).collect::<Vec<_>>()
    };
    let family = |name, groups, states| Family { name, groups, states };
    vec![
        family("strings", &[Group::String, Group::Bitmap], singles::strings()),
        family("long strings", &[], singles::long_strings()),
        family("lists", &[Group::List], of(shapes::lists(), &[LISTS])),
        family("hashes", &[Group::Hash], of(shapes::hashes(), &[HASHES])),
        family("sets", &[Group::Set], of(shapes::sets(), &[SETS])),
        family("sorted sets", &[Group::SortedSet], of(shapes::sorted_sets(), &[SORTED_SETS])),
        family("places", &[Group::Geo], of(shapes::places(), &[PLACES, SORTED_SETS])),
        family("HyperLogLogs", &[Group::HyperLogLog], singles::hyperloglogs()),
        family("streams", &[Group::Stream], singles::streams()),
        family("other kinds", &[], strangers()),
    ]
}

/// Values, small and large, that meet the commands of other kinds.
fn strangers() -> Vec<State> {
    let all = [LISTS, HASHES, SETS, SORTED_SETS, PLACES, STRINGS, BITMAPS, HYPERLOGLOGS, STREAMS];
    let mut states = Vec::new();
    for (kind, narrow, own) in [
        (Kind::List, "list-max-listpack-size 4", LISTS),
        (Kind::Hash, "hash-max-listpack-entries 4", HASHES),
        (Kind::Set, "set-max-intset-entries 4 set-max-listpack-entries 4", SETS),
        (Kind::SortedSet, "zset-max-listpack-entries 4", SORTED_SETS),
    ] {
        for count in [3, 100] {
            let mut state = Shape::new(kind, narrow, count).state(&[]);
            state.forms = all.into_iter().filter(|forms| *forms != own).collect();
            states.push(state);
        }
    }
    for mut state in singles::samples() {
        let own = std::mem::take(&mut state.forms);
        state.forms = all.into_iter().filter(|forms| !own.contains(forms)).collect();
        states.push(state);
    }
    for state in &mut states {
        state.label = format!("among others: {}", state.label);
        state.takes_drafts = false;
    }
    states
}

/// The families that are wanted, with their cases by state.
fn wanted(arguments: &Arguments) -> Vec<Family> {
    let only = arguments.only.clone().unwrap_or_default();
    let mut all = families();
    for family in &mut all {
        if family.name != only {
            family.states.retain(|state| state.label.contains(&only));
        }
    }
    all.retain(|family| !family.states.is_empty());
    all
}

impl Family {
    /// The cases of each state, one in so many of them.
    fn cases_of_states(&self, one_in: u64) -> impl Iterator<Item = (&State, Vec<Case>)> {
        let step = usize::try_from(one_in).unwrap_or(usize::MAX);
        let states = self.states.iter().enumerate();
        states.map(move |(number, state)| (state, self.cases(state, number % step, step)))
    }

    /// Cases of a state: its forms, and requests that are drawn for each row.
    fn cases(&self, state: &State, first: usize, step: usize) -> Vec<Case> {
        let forms: Vec<_> = state.forms().collect();
        let drafts = if state.takes_drafts {
            generate::drafts(xxh3_64(state.label.as_bytes()), self.groups)
        } else {
            Vec::new()
        };
        let one = |number: usize| match number.checked_sub(forms.len()) {
            None => state.case_of(forms[number]),
            Some(number) => {
                let draft = drafts[number].clone();
                let requests = prelude(&draft).into_iter().chain([draft]);
                state.case(requests.map(Action::Send).collect())
            }
        };
        (first..forms.len() + drafts.len()).step_by(step).map(one).collect()
    }
}

/// How much of a family was tried.
#[derive(Debug, Default)]
struct Tried {
    states: usize,
    cases: usize,
    by_command: BTreeMap<String, usize>,
}

impl Tried {
    fn add(&mut self, cases: &[Case]) {
        self.states += 1;
        self.cases += cases.len();
        for case in cases {
            *self.by_command.entry(case.name.clone()).or_default() += 1;
        }
    }

    fn tell(&self, family: &Family, seconds: f64) {
        let Tried { states, cases, by_command } = self;
        let commands = by_command.len();
        println!(
            "{:14} {states:4} states, {commands:3} commands, {cases:6} cases, {seconds:5.1} s",
            family.name
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differential::step::{name, request};

    #[test]
    fn every_command_on_values_has_a_form() {
        let forms = [
            LISTS,
            HASHES,
            SETS,
            SORTED_SETS,
            PLACES,
            STRINGS,
            BITMAPS,
            HYPERLOGLOGS,
            STREAMS,
            GENERIC,
            SORT,
            SORT_OF_SORTED_SETS,
        ];
        let texts = forms.iter().flat_map(|text| text.lines()).flat_map(|it| it.split(" ; "));
        let named: Vec<_> = texts
            .map(|it| {
                let words: Vec<_> = it.trim_start_matches(['@', '!']).split(' ').collect();
                name(&request(&words))
            })
            .collect();
        let groups = [
            Group::String,
            Group::Bitmap,
            Group::List,
            Group::Hash,
            Group::Set,
            Group::SortedSet,
            Group::Stream,
            Group::Geo,
            Group::HyperLogLog,
            Group::Generic,
        ];
        for wanted in generate::names(&groups) {
            assert!(named.contains(&wanted), "{wanted}");
        }
    }

    #[test]
    fn every_name_in_a_form_stands_for_something_at_every_state() {
        let mut labels = BTreeSet::new();
        for family in families() {
            for state in &family.states {
                assert!(!family.cases(state, 0, 1).is_empty(), "{}", state.label);
                assert!(labels.insert(state.label.clone()), "{} twice", state.label);
            }
        }
    }
}
