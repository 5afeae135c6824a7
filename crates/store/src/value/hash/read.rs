//! Read access to hashes. Expired fields are invisible, except to clients that see expired keys.

use super::{FIELDS, Leaf, TIMED, stride_of, to_deadline};
use crate::access::Access;
use crate::fault::WrongKind;
use crate::key::{Key, Kind};
use crate::shard::{ReadNodes, ValueRef};
use crate::value::collection::short_tag_by;
use base::{KeyHasher, Millis};
use packed::{Element, Iter, PackedList};
use tree::{Nodes, Path, Rows, View, resolve};

/// A hash, under the lock of its key.
#[derive(Clone, Copy, Debug)]
pub struct Hash<'x> {
    form: Form<'x>,
    hasher: &'x KeyHasher,
    /// Time against which deadlines are compared.
    as_of: Millis,
    has_deadlines: bool,
}

#[derive(Clone, Copy, Debug)]
enum Form<'x> {
    /// Packed list, and the number of columns in its rows.
    Small(PackedList<'x>, usize),
    Large(View<'x, ReadNodes<'x>, Leaf>),
}

/// A field of a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<'x> {
    /// Its name.
    pub field: Element<'x>,
    /// Its value.
    pub value: Element<'x>,
    /// Deadline of the field.
    pub deadline: Option<Millis>,
}

/// Reads the hash of a key for a command.
///
/// # Errors
/// When the key does not hold a hash.
#[inline]
pub fn read<'x>(access: &'x mut Access<'_>, key: &Key<'_>) -> Result<Option<Hash<'x>>, WrongKind> {
    let found = access.read_kind(key, Kind::Hash)?;
    Ok(found.map(Hash::of))
}

/// Reads the hash of a key without any trace.
///
/// # Errors
/// When the key does not hold a hash.
pub fn lookup_without_touch<'x>(
    access: &'x Access<'_>,
    key: &Key<'_>,
) -> Result<Option<Hash<'x>>, WrongKind> {
    let found = access.lookup_kind_without_touch(key, Kind::Hash)?;
    Ok(found.map(Hash::of))
}

impl<'x> Hash<'x> {
    /// The hash in a value of that kind.
    #[inline]
    pub fn of(value: ValueRef<'x>) -> Hash<'x> {
        let value_tag = value.value_tag();
        let form = if value_tag.is_tree() {
            Form::Large(value.view(FIELDS))
        } else {
            Form::Small(PackedList::new(value.bytes()), stride_of(value_tag))
        };
        let has_deadlines = value_tag.has_timed_parts();
        Hash { form, hasher: value.hasher(), as_of: value.as_of(), has_deadlines }
    }

    /// Returns the hash with its expired fields visible.
    pub(crate) fn with_expired(self) -> Hash<'x> {
        Hash { as_of: Millis(0), ..self }
    }

    /// Number of fields, including expired ones that are not removed yet.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "an empty hash is no hash")]
    pub fn len(&self) -> u64 {
        match &self.form {
            Form::Small(packed, stride) => (packed.len() / stride) as u64,
            Form::Large(view) => view.root.count,
        }
    }

    /// Returns true if a field has a deadline; `len` may count invisible fields then.
    #[inline]
    pub fn has_deadlines(&self) -> bool {
        self.has_deadlines
    }

    /// Returns true if the hash is one packed list, which scans return as a whole.
    pub fn is_small(&self) -> bool {
        matches!(self.form, Form::Small(..))
    }

    /// Looks up a field by its name.
    #[inline]
    pub fn get(&self, field: &[u8]) -> Option<Pair<'x>> {
        self.get_any(field).filter(|pair| self.sees(pair))
    }

    /// Looks up a field by its name, even if it has expired.
    #[inline]
    pub(super) fn get_any(&self, field: &[u8]) -> Option<Pair<'x>> {
        match &self.form {
            Form::Small(packed, stride) => {
                let place = packed.find(Element::of(field), packed.front(), *stride)?;
                next_pair(&mut packed.iter_from(place), *stride)
            }
            Form::Large(view) => self.get_large(view, field),
        }
    }

    #[inline]
    fn get_large(&self, view: &View<'x, ReadNodes<'x>, Leaf>, field: &[u8]) -> Option<Pair<'x>> {
        let tag = short_tag_by(self.hasher, field);
        let path = view.find_tag(tag);
        let (_, pair) = find_row(view.nodes, Rows::new(view.leaf(&path)), tag, field)?;
        Some(pair.resolve(view.nodes))
    }

    /// Returns true if a field has not expired.
    #[inline]
    pub fn sees(&self, pair: &Pair<'_>) -> bool {
        pair.deadline.is_none_or(|deadline| deadline > self.as_of)
    }

    /// Returns the field at an index; `None` if it has expired.
    pub fn nth(&self, at: u64) -> Option<Pair<'x>> {
        let at = usize::try_from(at).ok()?;
        let pair = match &self.form {
            Form::Small(packed, stride) => {
                next_pair(&mut packed.iter_from(packed.place(at * stride)), *stride)
            }
            Form::Large(view) => {
                let (path, row) = view.find_position(at as u64);
                let rows = Rows::new(view.leaf(&path));
                let pair = next_pair(&mut rows.cells_from(narrow::to_usize(row)), rows.stride());
                pair.map(|pair| pair.resolve(view.nodes))
            }
        };
        pair.filter(|pair| self.sees(pair))
    }

    /// Iterates over all fields from a row on, expired ones too.
    pub fn rows_from(&self, at: u64) -> Fields<'x> {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let (here, stride, rest) = match &self.form {
            Form::Small(packed, stride) => {
                let place = packed.place(at.saturating_mul(*stride).min(packed.len()));
                (packed.iter_from(place), *stride, None)
            }
            Form::Large(view) => {
                let (path, row) = view.find_position(at as u64);
                let rows = Rows::new(view.leaf(&path));
                let cells = rows.cells_from(narrow::to_usize(row).min(rows.len()));
                (cells, rows.stride(), Some((*view, path)))
            }
        };
        Fields { here, stride, rest, as_of: Millis(0) }
    }

    /// Iterates over all fields.
    #[inline]
    pub fn iter(&self) -> Fields<'x> {
        let (here, stride, rest) = match &self.form {
            Form::Small(packed, stride) => (packed.iter(), *stride, None),
            Form::Large(view) => {
                let path = view.first();
                let rows = Rows::new(view.leaf(&path));
                (rows.packed().iter(), rows.stride(), Some((*view, path)))
            }
        };
        Fields { here, stride, rest, as_of: self.as_of }
    }

    /// Visits about `count` fields from a cursor on, and the remaining ones with the last one's
    /// tag; of a small hash, all fields. Returns the next cursor, zero at the end. A field that
    /// stays in the hash from the first call to the last is visited once.
    pub fn scan(&self, cursor: u64, count: usize, mut visit: impl FnMut(Pair<'x>)) -> u64 {
        let Form::Large(view) = &self.form else {
            self.iter().for_each(visit);
            return 0;
        };
        let Ok(from) = u32::try_from(cursor) else { return 0 };
        let mut path = view.find_tag(from);
        let (mut seen, mut last) = (0, from);
        loop {
            let rows = Rows::new(view.leaf(&path));
            let row = rows.find_tag(from);
            let mut cells = rows.cells_from(row);
            for row in row..rows.len() {
                let tag = rows.tag(row);
                if seen >= count && tag != last {
                    return u64::from(tag);
                }
                let Some(pair) = next_pair(&mut cells, rows.stride()) else { break };
                if self.sees(&pair) {
                    visit(pair.resolve(view.nodes));
                }
                (seen, last) = (seen + 1, tag);
            }
            if !view.next(&mut path) {
                return 0;
            }
        }
    }
}

impl<'x> Pair<'x> {
    #[inline]
    pub(super) fn resolve(self, nodes: impl Nodes<'x>) -> Pair<'x> {
        Pair { field: resolve(nodes, self.field), value: resolve(nodes, self.value), ..self }
    }
}

/// Finds a field among the rows of the leaf that its tag leads to.
#[inline]
pub(super) fn find_row<'n>(
    nodes: impl Nodes<'n>,
    rows: Rows<'n>,
    tag: u32,
    field: &[u8],
) -> Option<(usize, Pair<'n>)> {
    // The elements' codes lie far behind the tags.
    nodes.prefetch_bytes(rows.codes());
    let mut row = rows.find_tag(tag);
    nodes.prefetch_bytes(rows.about(row));
    let wanted = Element::of(field);
    while row < rows.len() && rows.tag(row) == tag {
        let pair = next_pair(&mut rows.cells_from(row), rows.stride())?;
        if resolve(nodes, pair.field) == wanted {
            return Some((row, pair));
        }
        row += 1;
    }
    None
}

/// Reads the next row from an iterator over cells.
#[inline]
pub(super) fn next_pair<'x>(cells: &mut Iter<'x>, stride: usize) -> Option<Pair<'x>> {
    let (field, value) = (cells.next()?, cells.next()?);
    let deadline = if stride == TIMED { to_deadline(cells.next()) } else { None };
    Some(Pair { field, value, deadline })
}

/// Fields of a hash, in storage order.
#[derive(Debug)]
pub struct Fields<'x> {
    here: Iter<'x>,
    stride: usize,
    rest: Option<(View<'x, ReadNodes<'x>, Leaf>, Path)>,
    as_of: Millis,
}

impl<'x> Iterator for Fields<'x> {
    type Item = Pair<'x>;

    #[inline]
    fn next(&mut self) -> Option<Pair<'x>> {
        loop {
            while let Some(pair) = next_pair(&mut self.here, self.stride) {
                if pair.deadline.is_some_and(|deadline| deadline <= self.as_of) {
                    continue;
                }
                return Some(match &self.rest {
                    Some((view, _)) => pair.resolve(view.nodes),
                    None => pair,
                });
            }
            let (view, path) = self.rest.as_mut()?;
            if !view.next(path) {
                return None;
            }
            let rows = Rows::new(view.leaf(path));
            (self.here, self.stride) = (rows.packed().iter(), rows.stride());
        }
    }
}
