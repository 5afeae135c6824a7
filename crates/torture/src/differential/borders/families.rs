//! Values of all kinds, and the commands for each of them.

use super::collections::{Kind, Shape};
use super::forms::{
    BITMAPS, HASHES, HYPERLOGLOGS, LISTS, PLACES, SETS, SORTED_SETS, STREAMS, STRINGS,
};
use super::state::State;
use super::{shapes, singles};
use crate::differential::arguments::Arguments;
use crate::differential::case::Case;
use crate::differential::generate;
use crate::differential::rule::prelude;
use crate::differential::step::Action;
use command::Group;
use std::collections::BTreeSet;
use xxhash_rust::xxh3::xxh3_64;

/// Values of one kind.
pub struct Family {
    pub name: &'static str,
    /// Groups of command rows that work on them.
    groups: &'static [Group],
    states: Vec<State>,
}

/// Returns all families, each with the states of its borders.
fn families() -> Vec<Family> {
    let of = |shapes: Vec<Shape>, forms: &[&'static str]| {
        // Neighbouring borders may share states.
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

/// Returns values, small and large, for the commands of other kinds.
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

/// Returns the selected families, with their cases by state.
pub fn wanted(arguments: &Arguments) -> Vec<Family> {
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
    /// Returns one case in so many of each state.
    pub fn cases_of_states(&self, one_in: u64) -> impl Iterator<Item = (&State, Vec<Case>)> {
        let step = usize::try_from(one_in).unwrap_or(usize::MAX);
        let states = self.states.iter().enumerate();
        states.map(move |(number, state)| (state, self.cases(state, number % step, step)))
    }

    /// Returns the cases of a state: its forms, and random requests for each row.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differential::borders::forms::{GENERIC, SORT, SORT_OF_SORTED_SETS};
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
