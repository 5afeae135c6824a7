//! Read access to lists.

use super::{End, Leaf};
use crate::access::Access;
use crate::fault::WrongKind;
use crate::key::{Key, Kind};
use crate::shard::{ReadNodes, ValueRef};
use packed::{Element, Iter, PackedList};
use tree::{Path, Rows, View, resolve};

/// A list, under the lock of its key.
#[derive(Clone, Copy, Debug)]
pub struct List<'x>(Form<'x>);

#[derive(Clone, Copy, Debug)]
enum Form<'x> {
    Small(PackedList<'x>),
    Large(View<'x, ReadNodes<'x>, Leaf>),
}

/// Reads the list of a key for a command.
///
/// # Errors
/// When the key does not hold a list.
pub fn read<'x>(access: &'x mut Access<'_>, key: &Key<'_>) -> Result<Option<List<'x>>, WrongKind> {
    Ok(access.read_kind(key, Kind::List)?.map(List::of))
}

/// Reads the list of a key without any trace.
///
/// # Errors
/// When the key does not hold a list.
pub fn lookup_without_touch<'x>(
    access: &'x Access<'_>,
    key: &Key<'_>,
) -> Result<Option<List<'x>>, WrongKind> {
    Ok(access.lookup_kind_without_touch(key, Kind::List)?.map(List::of))
}

impl<'x> List<'x> {
    /// The list in a value of that kind.
    pub fn of(value: ValueRef<'x>) -> List<'x> {
        if value.value_tag().is_tree() {
            List(Form::Large(value.view(0)))
        } else {
            List(Form::Small(PackedList::new(value.bytes())))
        }
    }

    /// Number of elements.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "an empty list is no list")]
    pub fn len(&self) -> u64 {
        match &self.0 {
            Form::Small(packed) => packed.len() as u64,
            Form::Large(view) => view.root.count,
        }
    }

    /// Returns the element at an end.
    #[inline]
    pub fn end(&self, end: End) -> Option<Element<'x>> {
        let packed = match &self.0 {
            Form::Small(packed) => *packed,
            Form::Large(view) => {
                let path = if end == End::Front { view.first() } else { view.last() };
                let packed = Rows::new(view.leaf(&path)).packed();
                let element = if end == End::Front { packed.iter().next() } else { packed.last() };
                return element.map(|element| resolve(view.nodes, element));
            }
        };
        if end == End::Front { packed.iter().next() } else { packed.last() }
    }

    /// Returns the element at an index.
    pub fn get(&self, at: u64) -> Option<Element<'x>> {
        self.iter_from(at).next()
    }

    /// Iterates over the elements from an index on.
    pub fn iter_from(&self, at: u64) -> Elements<'x> {
        match &self.0 {
            Form::Small(packed) => {
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                Elements { here: packed.iter_from(packed.place(at)), rest: None }
            }
            Form::Large(view) => {
                let (path, row) = view.find_position(at);
                let row = usize::try_from(row).unwrap_or(usize::MAX);
                let here = Rows::new(view.leaf(&path)).cells_from(row);
                Elements { here, rest: Some((*view, path)) }
            }
        }
    }

    /// Iterates over the elements from an index back to the first.
    pub fn iter_back_from(&self, at: u64) -> ElementsBack<'x> {
        match &self.0 {
            Form::Small(packed) => {
                let end = usize::try_from(at).unwrap_or(usize::MAX).saturating_add(1);
                ElementsBack { here: packed.iter_to(packed.place(end)), rest: None }
            }
            Form::Large(view) => {
                let (path, row) = view.find_position(at);
                let packed = Rows::new(view.leaf(&path)).packed();
                let end = usize::try_from(row).unwrap_or(usize::MAX).saturating_add(1);
                ElementsBack { here: packed.iter_to(packed.place(end)), rest: Some((*view, path)) }
            }
        }
    }
}

/// Elements from the front to the back.
#[derive(Debug)]
pub struct Elements<'x> {
    here: Iter<'x>,
    rest: Option<(View<'x, ReadNodes<'x>, Leaf>, Path)>,
}

impl<'x> Iterator for Elements<'x> {
    type Item = Element<'x>;

    #[inline]
    fn next(&mut self) -> Option<Element<'x>> {
        loop {
            if let Some(element) = self.here.next() {
                return Some(match &self.rest {
                    Some((view, _)) => resolve(view.nodes, element),
                    None => element,
                });
            }
            let (view, path) = self.rest.as_mut()?;
            if !view.next(path) {
                return None;
            }
            self.here = Rows::new(view.leaf(path)).packed().iter();
        }
    }
}

/// Elements from the back to the front.
#[derive(Debug)]
pub struct ElementsBack<'x> {
    here: Iter<'x>,
    rest: Option<(View<'x, ReadNodes<'x>, Leaf>, Path)>,
}

impl<'x> Iterator for ElementsBack<'x> {
    type Item = Element<'x>;

    #[inline]
    fn next(&mut self) -> Option<Element<'x>> {
        loop {
            if let Some(element) = self.here.next_back() {
                return Some(match &self.rest {
                    Some((view, _)) => resolve(view.nodes, element),
                    None => element,
                });
            }
            let (view, path) = self.rest.as_mut()?;
            if !view.previous(path) {
                return None;
            }
            self.here = Rows::new(view.leaf(path)).packed().iter();
        }
    }
}
