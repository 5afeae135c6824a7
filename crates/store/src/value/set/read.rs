//! Read access to sets.

use super::Leaf;
use super::integers::Integers;
use crate::access::Access;
use crate::fault::WrongKind;
use crate::key::{Encoding, Key, Kind};
use crate::shard::{ReadNodes, ValueRef};
use crate::value::collection::short_tag_by;
use base::KeyHasher;
use packed::{Element, Iter, PackedList};
use smallvec::SmallVec;
use tree::{NodeId, Nodes, Path, Rows, View, resolve};

/// A set, under the lock of its key.
#[derive(Clone, Copy, Debug)]
pub struct Set<'x> {
    pub(super) form: Form<'x>,
    pub(super) encoding: Encoding,
    pub(super) hasher: &'x KeyHasher,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Form<'x> {
    Integers(Integers<'x>),
    Small(PackedList<'x>),
    Large(View<'x, ReadNodes<'x>, Leaf>),
}

/// Reads the set of a key for a command.
///
/// # Errors
/// When the key does not hold a set.
#[inline]
pub fn read<'x>(access: &'x mut Access<'_>, key: &Key<'_>) -> Result<Option<Set<'x>>, WrongKind> {
    Ok(access.read_kind(key, Kind::Set)?.map(Set::of))
}

/// Reads the set of a key without any trace.
///
/// # Errors
/// When the key does not hold a set.
pub fn lookup_without_touch<'x>(
    access: &'x Access<'_>,
    key: &Key<'_>,
) -> Result<Option<Set<'x>>, WrongKind> {
    Ok(access.lookup_kind_without_touch(key, Kind::Set)?.map(Set::of))
}

/// Reads the sets of several keys for a command.
///
/// # Errors
/// When a key does not hold a set.
pub fn read_all<'x>(
    access: &'x mut Access<'_>,
    keys: &[Key<'_>],
) -> Result<SmallVec<[Option<Set<'x>>; 4]>, WrongKind> {
    let sets = access.read_kinds(keys, &[Kind::Set])?;
    Ok(sets.into_iter().map(|value| value.map(Set::of)).collect())
}

/// A member to look up; its tag is computed on first use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'t> {
    pub element: Element<'t>,
    pub tag: Option<u32>,
}

impl<'t> Wanted<'t> {
    #[inline]
    pub fn new(element: Element<'t>) -> Wanted<'t> {
        Wanted { element, tag: None }
    }

    #[inline]
    pub fn tag(&mut self, hasher: &KeyHasher) -> u32 {
        *self.tag.get_or_insert_with(|| self.element.with_text(|text| short_tag_by(hasher, text)))
    }
}

/// Finds the row of a member in a leaf, or as an error the row before which it would be inserted.
#[inline]
pub(super) fn find_row<'n>(
    nodes: impl Nodes<'n>,
    rows: Rows<'n>,
    tag: u32,
    wanted: Element<'_>,
) -> Result<usize, usize> {
    // The elements' codes lie far behind the tags.
    nodes.prefetch_bytes(rows.codes());
    let mut row = rows.find_tag(tag);
    nodes.prefetch_bytes(rows.about(row));
    while row < rows.len() && rows.tag(row) == tag {
        if rows.cell(row, 0).is_some_and(|cell| resolve(nodes, cell) == wanted) {
            return Ok(row);
        }
        row += 1;
    }
    Err(row)
}

/// Returns true if a leaf has a member.
#[inline]
pub(super) fn has_row<'x>(
    view: &View<'x, ReadNodes<'x>, Leaf>,
    leaf: NodeId,
    tag: u32,
    wanted: Element<'_>,
) -> bool {
    find_row(view.nodes, Rows::new(view.nodes.bytes(leaf)), tag, wanted).is_ok()
}

impl<'x> Set<'x> {
    /// The set in a value of that kind.
    pub fn of(value: ValueRef<'x>) -> Set<'x> {
        let value_tag = value.value_tag();
        let form = if value_tag.is_tree() {
            Form::Large(value.view(0))
        } else if value_tag.encoding() == Encoding::Intset {
            Form::Integers(Integers::new(value.bytes()))
        } else {
            Form::Small(PackedList::new(value.bytes()))
        };
        Set { form, encoding: value_tag.encoding(), hasher: value.hasher() }
    }

    /// Number of members.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "an empty set is no set")]
    pub fn len(&self) -> u64 {
        match &self.form {
            Form::Integers(integers) => integers.len() as u64,
            Form::Small(packed) => packed.len() as u64,
            Form::Large(view) => view.root.count,
        }
    }

    /// Returns true if a text is a member.
    #[inline]
    pub fn contains(&self, text: &[u8]) -> bool {
        self.has(&mut Wanted::new(Element::of(text)))
    }

    #[inline]
    pub(super) fn has(&self, wanted: &mut Wanted<'_>) -> bool {
        match (&self.form, wanted.element) {
            (Form::Integers(integers), Element::Integer(value)) => integers.find(value).is_ok(),
            (Form::Integers(_), _) => false,
            (Form::Small(packed), element) => packed.find(element, packed.front(), 1).is_some(),
            (Form::Large(view), element) => {
                let tag = wanted.tag(self.hasher);
                has_row(view, view.leaf_of_tag(tag), tag, element)
            }
        }
    }

    /// Returns the tag of a member.
    #[inline]
    pub(crate) fn tag_of(&self, element: Element<'_>) -> u32 {
        element.with_text(|text| short_tag_by(self.hasher, text))
    }

    /// Iterates over the members: integers in ascending order, those of other small sets in the
    /// order of insertion, those of large sets in the order of their tags.
    pub fn members(&self) -> Members<'x> {
        match &self.form {
            Form::Integers(integers) => Members::of_integers(*integers),
            Form::Small(packed) => Members::of_packed(packed.iter()),
            Form::Large(view) => {
                let path = view.first();
                let here = Rows::new(view.leaf(&path)).packed().iter();
                Members(Forms::Large { here, view: *view, path })
            }
        }
    }

    /// Iterates over the members from one on, in the same order.
    pub fn members_from(&self, at: u64) -> Members<'x> {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        match &self.form {
            Form::Integers(integers) => Members(Forms::Integers { integers: *integers, at }),
            Form::Small(packed) => {
                Members::of_packed(packed.iter_from(packed.place(at.min(packed.len()))))
            }
            Form::Large(view) => {
                let (path, row) = view.find_position(at as u64);
                let rows = Rows::new(view.leaf(&path));
                let here = rows.cells_from(narrow::to_usize(row).min(rows.len()));
                Members(Forms::Large { here, view: *view, path })
            }
        }
    }

    /// Passes about `count` members from a cursor on to `each`; returns the cursor to continue
    /// from. Zero means the start, and the end. A small set is passed as a whole, whatever the
    /// cursor. A member that stays in the set during the whole scan is passed exactly once.
    pub fn scan(&self, cursor: u64, count: u64, mut each: impl FnMut(Element<'x>)) -> u64 {
        let Form::Large(view) = &self.form else {
            self.members().for_each(each);
            return 0;
        };
        // A cursor is the tag of the next member plus one.
        let Ok(from) = u32::try_from(cursor.saturating_sub(1)) else { return 0 };
        let mut path = view.find_tag(from);
        let mut rows = Rows::new(view.leaf(&path));
        let mut row = rows.find_tag(from);
        let (mut given, mut last) = (0, None);
        loop {
            let mut cells = rows.cells_from(row);
            while row < rows.len() {
                let tag = rows.tag(row);
                // Members with the same tag are passed in the same call.
                if given >= count && last != Some(tag) {
                    return u64::from(tag) + 1;
                }
                if let Some(cell) = cells.next() {
                    each(resolve(view.nodes, cell));
                }
                (given, last, row) = (given + 1, Some(tag), row + 1);
            }
            if !view.next(&mut path) {
                return 0;
            }
            (rows, row) = (Rows::new(view.leaf(&path)), 0);
        }
    }
}

/// Iterator over the members of a set.
#[derive(Debug)]
pub struct Members<'x>(Forms<'x>);

#[derive(Debug)]
enum Forms<'x> {
    Integers { integers: Integers<'x>, at: usize },
    Small(Iter<'x>),
    Large { here: Iter<'x>, view: View<'x, ReadNodes<'x>, Leaf>, path: Path },
}

impl<'x> Members<'x> {
    fn of_integers(integers: Integers<'x>) -> Members<'x> {
        Members(Forms::Integers { integers, at: 0 })
    }

    fn of_packed(elements: Iter<'x>) -> Members<'x> {
        Members(Forms::Small(elements))
    }
}

impl<'x> Iterator for Members<'x> {
    type Item = Element<'x>;

    #[inline]
    fn next(&mut self) -> Option<Element<'x>> {
        match &mut self.0 {
            Forms::Integers { integers, at } => {
                let value = (*at < integers.len()).then(|| integers.get(*at))?;
                *at += 1;
                Some(Element::Integer(value))
            }
            Forms::Small(elements) => elements.next(),
            Forms::Large { here, view, path } => loop {
                if let Some(element) = here.next() {
                    return Some(resolve(view.nodes, element));
                }
                if !view.next(path) {
                    return None;
                }
                *here = Rows::new(view.leaf(path)).packed().iter();
            },
        }
    }
}
