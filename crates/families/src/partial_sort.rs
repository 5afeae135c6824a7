//! Sorting of a part of a list, with items that are equal in the order in which clients know them.
//!
//! Which of several items that compare as equal come first is told by no documentation, but a
//! replica has to choose those that its primary has chosen. So this is the quicksort of Bentley and
//! McIlroy ("Engineering a sort function", 1993) that Valkey and Redis use, in their steps.

use std::cmp::Ordering;
use std::ops::Range;

/// Up to this number of items they are inserted one by one.
const INSERTED_MAX: usize = 6;
/// Up to this number of items the pivot is the middle one.
const MIDDLE_MAX: usize = 7;
/// Up to this number of items the pivot is the median of three, and of three medians beyond.
const MEDIAN_MAX: usize = 40;

/// Sorts `items` as far as the places of `part` need it; the others hold the rest in any order.
/// Takes time for n log n comparisons at most: what would take more is sorted in another way, and
/// then equal items have no order that is known.
pub fn partial_sort<T>(
    items: &mut [T],
    part: Range<usize>,
    compare: &mut impl FnMut(&T, &T) -> Ordering,
) {
    let levels = 4 * items.len().checked_ilog2().unwrap_or(0);
    sort(items, &part, compare, levels);
}

fn sort<T>(
    mut items: &mut [T],
    part: &Range<usize>,
    compare: &mut impl FnMut(&T, &T) -> Ordering,
    mut levels: u32,
) {
    let mut part = part.clone();
    loop {
        if items.len() <= INSERTED_MAX {
            return insert_each(items, compare);
        }
        let Some(fewer) = levels.checked_sub(1) else { return items.sort_by(compare) };
        levels = fewer;
        let pivot = pivot(items, compare);
        items.swap(0, pivot);
        let (below, above) = divide(items, compare);
        let first_above = items.len() - above;
        if below > 1 && part.start < below && part.end > 0 {
            sort(&mut items[..below], &part, compare, levels);
        }
        if above <= 1 || part.end <= first_above {
            return;
        }
        part = part.start.saturating_sub(first_above)..part.end - first_above;
        items = &mut items[first_above..];
    }
}

fn insert_each<T>(items: &mut [T], compare: &mut impl FnMut(&T, &T) -> Ordering) {
    for from in 1..items.len() {
        let mut at = from;
        while at > 0 && compare(&items[at - 1], &items[at]).is_gt() {
            items.swap(at, at - 1);
            at -= 1;
        }
    }
}

/// Place of the item that divides the others.
fn pivot<T>(items: &[T], compare: &mut impl FnMut(&T, &T) -> Ordering) -> usize {
    let (middle, last) = (items.len() / 2, items.len() - 1);
    if items.len() <= MIDDLE_MAX {
        return middle;
    }
    if items.len() <= MEDIAN_MAX {
        return median(items, [0, middle, last], compare);
    }
    let gap = items.len() / 8;
    let low = median(items, [0, gap, 2 * gap], compare);
    let middle = median(items, [middle - gap, middle, middle + gap], compare);
    let high = median(items, [last - 2 * gap, last - gap, last], compare);
    median(items, [low, middle, high], compare)
}

fn median<T>(
    items: &[T],
    [one, two, three]: [usize; 3],
    compare: &mut impl FnMut(&T, &T) -> Ordering,
) -> usize {
    let mut compare = |one: usize, other: usize| compare(&items[one], &items[other]);
    if compare(one, two).is_lt() {
        match () {
            () if compare(two, three).is_lt() => two,
            () if compare(one, three).is_lt() => three,
            () => one,
        }
    } else {
        match () {
            () if compare(two, three).is_gt() => two,
            () if compare(one, three).is_lt() => one,
            () => three,
        }
    }
}

/// Puts what is below the first item before what is equal to it, and that before what is above.
/// Returns how many are below, and above. What is equal is collected at both ends meanwhile.
///
/// ```text
/// | equal | below | to compare | above | equal |
///         ^       ^            ^       ^
/// equal_end       from         to      equal_begin
/// ```
fn divide<T>(items: &mut [T], compare: &mut impl FnMut(&T, &T) -> Ordering) -> (usize, usize) {
    let len = items.len();
    let (mut equal_end, mut from, mut to, mut equal_begin) = (1, 1, len, len);
    loop {
        while from < to {
            match compare(&items[from], &items[0]) {
                Ordering::Greater => break,
                Ordering::Equal => {
                    items.swap(equal_end, from);
                    equal_end += 1;
                }
                Ordering::Less => {}
            }
            from += 1;
        }
        while from < to {
            match compare(&items[to - 1], &items[0]) {
                Ordering::Less => break,
                Ordering::Equal => {
                    items.swap(to - 1, equal_begin - 1);
                    equal_begin -= 1;
                }
                Ordering::Greater => {}
            }
            to -= 1;
        }
        if from >= to {
            break;
        }
        items.swap(from, to - 1);
        from += 1;
        to -= 1;
    }
    let (below, above) = (from - equal_end, equal_begin - to);
    exchange(items, 0, from, equal_end.min(below));
    exchange(items, from, len, above.min(len - equal_begin));
    (below, above)
}

/// Exchanges so many items from `begin` on with those before `end`, which are others.
fn exchange<T>(items: &mut [T], begin: usize, end: usize, count: usize) {
    let (head, tail) = items.split_at_mut(end - count);
    head[begin..begin + count].swap_with_slice(&mut tail[..count]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn a_part_holds_what_it_would_hold_of_all(
            mut items in proptest::collection::vec(0..200_u8, 0..400),
            places in any::<(usize, usize)>(),
        ) {
            let mut whole = items.clone();
            whole.sort_unstable();
            let first = places.0 % (items.len() + 1);
            let end = first + places.1 % (items.len() - first + 1);
            partial_sort(&mut items, first..end, &mut u8::cmp);
            prop_assert_eq!(&items[first..end], &whole[first..end]);
            items.sort_unstable();
            prop_assert_eq!(items, whole, "none is lost");
        }

        #[test]
        fn orders_made_for_it_take_no_more_comparisons_than_others(seed in 0..50_u32) {
            // Items that are decided on while they are compared, each time as is worst.
            let len = 20_000 + seed as usize;
            let mut values = vec![None; len];
            let (mut decided, mut candidate, mut comparisons) = (0, 0, 0_u64);
            let mut items: Vec<usize> = (0..len).collect();
            partial_sort(&mut items, 0..len, &mut |one: &usize, other: &usize| {
                comparisons += 1;
                if values[*one].is_none() && values[*other].is_none() {
                    let fixed = if *one == candidate { *one } else { *other };
                    values[fixed] = Some(decided);
                    decided += 1;
                }
                if values[*one].is_none() {
                    candidate = *one;
                } else if values[*other].is_none() {
                    candidate = *other;
                }
                let value = |it: usize| values[it].unwrap_or(usize::MAX);
                value(*one).cmp(&value(*other))
            });
            prop_assert!(comparisons < 200 * len as u64, "{} comparisons", comparisons);
        }
    }
}
