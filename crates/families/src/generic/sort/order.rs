//! Elements to be sorted, and their order.

use super::options::Options;
use crate::partial_sort::partial_sort;
use session::Refusal;
use std::cmp::Ordering;
use store::value::{list, set, sorted_set};
use store::{Access, Element, Key, Kind};

/// Elements to be sorted.
pub(super) struct Elements {
    items: Vec<Item>,
    way: Way,
    is_falling: bool,
    /// Window of the elements that are wanted: index of the first, and number.
    window: (usize, usize),
}

/// Comparison of elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// None: they keep their order.
    Kept,
    Number,
    Text {
        is_by: bool,
    },
}

struct Item {
    text: Vec<u8>,
    number: f64,
    by: Option<Vec<u8>>,
}

/// Loads the elements of a key, which may be missing.
pub(super) fn load(
    access: &mut Access<'_>,
    key: &Key<'_>,
    options: &Options<'_>,
) -> Result<Elements, Refusal> {
    let kind = access.read(key).map(|value| value.kind);
    let keeps_order = options.keeps_order && !(kind == Some(Kind::Set) && options.sorts_sets);
    let way = match (keeps_order, options.is_alpha || options.keeps_order) {
        (true, _) => Way::Kept,
        (false, true) => Way::Text { is_by: options.by.is_some() && !options.keeps_order },
        (false, false) => Way::Number,
    };
    let mut texts: Vec<Vec<u8>> = Vec::new();
    let mut add = |element: Element<'_>| texts.push(element.to_text());
    // Collections with an order are read in the wanted direction, and no further than wanted.
    let is_read_in_order = way == Way::Kept && kind != Some(Kind::Set);
    let mut window = None;
    match kind {
        None => {}
        Some(Kind::List) => {
            if let Some(list) = list::lookup_without_touch(access, key)? {
                let (first, count) = part(list.len(), is_read_in_order, options);
                if is_read_in_order && options.is_falling && count > 0 {
                    list.iter_back_from(list.len() - 1 - first as u64).take(count).for_each(add);
                } else {
                    list.iter_from(first as u64).take(count).for_each(add);
                }
                window = is_read_in_order.then_some((0, count));
            }
        }
        Some(Kind::Set) => {
            if let Some(set) = set::lookup_without_touch(access, key)? {
                set.members().for_each(add);
            }
        }
        Some(Kind::SortedSet) => {
            if let Some(set) = sorted_set::lookup_without_touch(access, key)? {
                let (first, count) = part(set.len(), is_read_in_order, options);
                if is_read_in_order && options.is_falling && count > 0 {
                    let pairs = set.iter_back_from(set.len() - 1 - first as u64);
                    pairs.take(count).for_each(|(member, _)| add(member));
                } else {
                    set.iter_from(first as u64).take(count).for_each(|(member, _)| add(member));
                }
                window = is_read_in_order.then_some((0, count));
            }
        }
        Some(_) => return Err(Refusal::WRONG_TYPE),
    }
    let window = window.unwrap_or_else(|| options.window(texts.len()));
    let items = texts.into_iter().map(|text| Item { text, number: 0.0, by: None }).collect();
    Ok(Elements { items, way, is_falling: options.is_falling, window })
}

/// Returns the elements that have to be read: index of the first, and number.
fn part(len: u64, is_read_in_order: bool, options: &Options<'_>) -> (usize, usize) {
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    if is_read_in_order { options.window(len) } else { (0, len) }
}

impl Elements {
    /// Looks up the value by which each element is compared.
    pub fn weigh(&mut self, mut look_up: impl FnMut(&[u8]) -> Option<Vec<u8>>) {
        match self.way {
            Way::Kept | Way::Text { is_by: false } => {}
            Way::Text { is_by: true } => {
                self.items.iter_mut().for_each(|item| item.by = look_up(&item.text));
            }
            Way::Number => {
                for item in &mut self.items {
                    let Some(text) = look_up(&item.text) else { continue };
                    // A text that is no number becomes NaN, which `sort` refuses.
                    item.number = number(&text).unwrap_or(f64::NAN);
                }
            }
        }
    }

    /// Sorts the elements; returns false if one that should be a number is none.
    pub fn sort(&mut self) -> bool {
        if self.way == Way::Number && self.items.iter().any(|item| item.number.is_nan()) {
            return false;
        }
        let way = self.way;
        let by_text = |one: &Item, other: &Item| one.text.cmp(&other.text);
        let compare = |one: &Item, other: &Item| match way {
            Way::Kept => Ordering::Equal,
            Way::Number => {
                let numbers = one.number.partial_cmp(&other.number);
                numbers.unwrap_or(Ordering::Equal).then_with(|| by_text(one, other))
            }
            Way::Text { is_by: false } => by_text(one, other),
            // A missing value sorts below all others.
            Way::Text { is_by: true } => one.by.cmp(&other.by),
        };
        let (first, count) = self.window;
        let is_falling = self.is_falling;
        let mut compare = |one: &Item, other: &Item| match is_falling {
            true => compare(other, one),
            false => compare(one, other),
        };
        match way {
            Way::Kept => {}
            Way::Text { is_by: true } if count < self.items.len() => {
                partial_sort(&mut self.items, first..first + count, &mut compare);
            }
            _ => self.items.sort_by(compare),
        }
        true
    }

    /// Returns the elements that LIMIT leaves.
    pub fn chosen(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let (first, count) = self.window;
        self.items[first..first + count].iter().map(|item| &item.text[..])
    }
}

/// Reads a text as a number, up to its first zero byte.
fn number(text: &[u8]) -> Option<f64> {
    text::parse_f64(text.split(|byte| *byte == 0).next()?)
}
