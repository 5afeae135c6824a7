//! Union, intersection and difference of sorted sets.

use super::read::SortedSet;
use super::score::sort_key;
use crate::access::Access;
use crate::fault::WrongKind;
use crate::key::{Key, Kind};
use crate::shard::ValueRef;
use crate::value::set::{Seen, Set};
use packed::Element;

/// Reads the sets and sorted sets of several keys for a command; `None` for a missing key.
///
/// # Errors
/// When a key holds another type.
pub fn read_all<'x>(
    access: &'x mut Access<'_>,
    keys: &[Key<'_>],
) -> Result<Vec<Option<Operand<'x>>>, WrongKind> {
    let values = access.read_kinds(keys, &[Kind::SortedSet, Kind::Set])?;
    Ok(values.into_iter().map(|value| value.map(Operand::of)).collect())
}

/// Set or sorted set to be combined.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'x> {
    /// Members with scores of their own.
    SortedSet(SortedSet<'x>),
    /// Members that all have a score of one.
    Set(Set<'x>),
}

impl<'x> Operand<'x> {
    fn of(value: ValueRef<'x>) -> Operand<'x> {
        match value.kind() {
            Kind::Set => Operand::Set(Set::of(value)),
            _ => Operand::SortedSet(SortedSet::of(value)),
        }
    }

    fn len(&self) -> u64 {
        match self {
            Operand::SortedSet(set) => set.len(),
            Operand::Set(set) => set.len(),
        }
    }

    fn score(&self, member: Element<'_>) -> Option<f64> {
        member.with_text(|text| match self {
            Operand::SortedSet(set) => set.score(text),
            Operand::Set(set) => set.contains(text).then_some(1.0),
        })
    }

    /// Returns the tag of a member, which is the same for every operand that has it.
    fn tag(&self, member: Element<'_>) -> u32 {
        match self {
            Operand::SortedSet(set) => set.short_tag(member),
            Operand::Set(set) => set.tag_of(member),
        }
    }

    fn each(&self, mut each: impl FnMut(Element<'x>, f64)) {
        self.each_while(|member, score| {
            each(member, score);
            true
        });
    }

    /// Passes members to `each` as long as it returns true.
    fn each_while(&self, mut each: impl FnMut(Element<'x>, f64) -> bool) {
        match self {
            Operand::SortedSet(set) => {
                set.iter_from(0).all(|(member, score)| each(member, score));
            }
            Operand::Set(set) => {
                set.members().all(|member| each(member, 1.0));
            }
        }
    }
}

/// Operand with the weight of its scores.
#[derive(Clone, Copy, Debug)]
pub struct Source<'x> {
    /// Set or sorted set; `None` for a missing key.
    pub operand: Option<Operand<'x>>,
    /// Factor by which its scores are multiplied.
    pub weight: f64,
}

/// Function that merges the scores of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// The sum; zero if that is not a number.
    Sum,
    /// The lowest score.
    Min,
    /// The highest score.
    Max,
}

impl Aggregate {
    fn of(self, score: f64, other: f64) -> f64 {
        match self {
            Aggregate::Sum => number_or_zero(score + other),
            Aggregate::Min if other < score => other,
            Aggregate::Max if other > score => other,
            _ => score,
        }
    }
}

fn number_or_zero(score: f64) -> f64 {
    if score.is_nan() { 0.0 } else { score }
}

/// Members with their scores.
type Combined<'x> = Vec<(Element<'x>, f64)>;

/// Members of any source, in the order of a sorted set.
pub fn union<'x>(mut sources: Vec<Source<'x>>, aggregate: Aggregate) -> Combined<'x> {
    sources.sort_by_key(len);
    let mut all: Vec<(u32, Element<'x>, f64)> = Vec::new();
    for (operand, weight) in present(&sources) {
        operand.each(|member, score| {
            all.push((operand.tag(member), member, number_or_zero(weight * score)));
        });
    }
    // Scores of one member stay in the order of their sources.
    all.sort_by(|one, other| one.0.cmp(&other.0).then_with(|| one.1.cmp_text(other.1)));
    let mut united: Combined<'x> = Vec::with_capacity(all.len());
    for (_, member, score) in all {
        match united.last_mut() {
            Some((last, sum)) if *last == member => *sum = aggregate.of(*sum, score),
            _ => united.push((member, score)),
        }
    }
    in_order(united)
}

/// Members that all sources have, in the order of a sorted set.
pub fn intersection<'x>(mut sources: Vec<Source<'x>>, aggregate: Aggregate) -> Combined<'x> {
    sources.sort_by_key(len);
    let mut shared = Vec::new();
    each_shared(&sources, |member, scores| {
        let (first, others) = scores.split_first().unwrap_or((&0.0, &[]));
        let score = others.iter().fold(number_or_zero(*first), |sum, it| aggregate.of(sum, *it));
        shared.push((member, score));
        true
    });
    in_order(shared)
}

/// Counts the members that all sources have, up to `limit`.
pub fn count_shared(mut sources: Vec<Source<'_>>, limit: u64) -> u64 {
    sources.sort_by_key(len);
    let mut count = 0;
    each_shared(&sources, |_, _| {
        count += 1;
        count < limit
    });
    count
}

/// Members of the first source that no other has, in the order of a sorted set.
///
/// Either each member of the first is looked up in the others, or each of the others' members among
/// those of the first, whichever are fewer look-ups.
pub fn difference<'x>(sources: &[Source<'x>]) -> Combined<'x> {
    let Some((first, others)) = sources.split_first() else { return Vec::new() };
    let Some(first) = first.operand else { return Vec::new() };
    let others: Vec<Operand<'x>> = present(others).map(|(other, _)| other).collect();
    let others_len: u64 = others.iter().map(Operand::len).sum();
    if others_len < first.len().saturating_mul(others.len() as u64) {
        return in_order(without_members_of(first, &others));
    }
    let mut left = Vec::new();
    first.each(|member, score| {
        if others.iter().all(|other| other.score(member).is_none()) {
            left.push((member, score));
        }
    });
    in_order(left)
}

/// Members of the first operand that are left when all members of the others are struck out.
fn without_members_of<'x>(first: Operand<'x>, others: &[Operand<'x>]) -> Combined<'x> {
    let mut left = narrow::to_usize(first.len());
    let (mut seen, mut pairs) = (Seen::new(left), Vec::with_capacity(left));
    first.each(|member, score| {
        seen.is_new(first.tag(member), member);
        pairs.push(Some((member, score)));
    });
    for other in others {
        other.each_while(|member, _| {
            let number = seen.number_of(other.tag(member), member);
            left -= usize::from(number.is_some_and(|number| pairs[number].take().is_some()));
            left > 0
        });
    }
    pairs.into_iter().flatten().collect()
}

fn len(source: &Source<'_>) -> u64 {
    source.operand.map_or(0, |operand| operand.len())
}

fn present<'s, 'x>(sources: &'s [Source<'x>]) -> impl Iterator<Item = (Operand<'x>, f64)> + 's {
    sources.iter().filter_map(|source| Some((source.operand?, source.weight)))
}

/// Passes each member that all sources have to `each`, with its weighted scores, as long as `each`
/// returns true. The shortest source comes first.
fn each_shared<'x>(sources: &[Source<'x>], mut each: impl FnMut(Element<'x>, &[f64]) -> bool) {
    let Some((Source { operand: Some(first), weight }, others)) = sources.split_first() else {
        return;
    };
    let mut scores = Vec::with_capacity(sources.len());
    first.each_while(|member, score| {
        scores.clear();
        scores.push(weight * score);
        for other in others {
            match other.operand.and_then(|operand| operand.score(member)) {
                Some(score) => scores.push(other.weight * score),
                None => return true,
            }
        }
        each(member, &scores)
    });
}

fn in_order(mut combined: Combined<'_>) -> Combined<'_> {
    combined.sort_unstable_by(|one, other| {
        sort_key(one.1).cmp(&sort_key(other.1)).then_with(|| one.0.cmp_text(other.0))
    });
    combined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::sorted_set::SortedSetLimit;
    use crate::value::sorted_set::tests::{Fixture, Model, in_order, pairs};
    use base::Random;

    const LIMIT: SortedSetLimit = SortedSetLimit { members_max: 16, member_bytes_max: 40 };

    /// The first set has 30 members: the way changes at 30 in one other, and at 60 in two.
    #[test]
    fn what_is_left_of_a_set_is_the_same_however_it_is_looked_for() {
        let mut random = Random::from_seed(8);
        for lens in [[10, 0], [29, 0], [30, 0], [31, 0], [1, 58], [58, 2], [59, 2], [200, 300]] {
            let (mut fixture, mut models) = (Fixture::new(), Vec::new());
            for (name, len) in ["a", "b", "c"].into_iter().zip([30, lens[0], lens[1]]) {
                let mut model = Model::new();
                while model.len() < len {
                    let number = random.below(if name == "a" { 60 } else { 400 });
                    let member = if number.is_multiple_of(3) { "" } else { "m" }.to_owned();
                    let (member, score) = (member + &number.to_string(), random.below(9) as f64);
                    fixture.add(name, score, member.as_bytes(), LIMIT);
                    model.insert(member.into_bytes(), score);
                }
                models.push(model);
            }
            let mut expected = models[0].clone();
            expected.retain(|member, _| models[1..].iter().all(|it| !it.contains_key(member)));
            let left = fixture.on(&["a", "b", "c"], |access, keys| {
                let operands = read_all(access, keys).expect("sorted sets");
                let source = |operand| Source { operand, weight: 1.0 };
                let sources: Vec<_> = operands.into_iter().map(source).collect();
                pairs(difference(&sources).into_iter())
            });
            assert_eq!(left, in_order(&expected), "{lens:?}");
        }
    }
}
