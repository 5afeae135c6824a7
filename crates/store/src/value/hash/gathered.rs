//! Large hashes, gathered field by field and stored at once.
//!
//! ```text
//! field    | 0 | length 1 or 5 | name | value |
//!          | 1 | deadline 8 | length 1 or 5 | name | value |
//! ```

use super::deadline::kept;
use super::due::key_of;
use super::limit::HashLimit;
use super::{LARGE, PLAIN, SMALL, to_cell};
use crate::access::Access;
use crate::fault::NoSpace;
use crate::key::{Key, Kind, ValueTag};
use crate::shard::WriteNodes;
use crate::value::collection::short_tag_by;
use crate::value::gathered::{NotStored, RowOrder, Runs, Shares, len_bytes, read_len, write_len};
use base::{KeyHasher, Millis};
use packed::Element;
use std::cmp::Ordering;
use tree::{Builder, ByKey, ByShortTag, Root};

/// Fields of a large hash, before it is stored.
#[derive(Debug)]
pub struct GatheredHash {
    fields: Shares,
    due: Runs<ByDueKey>,
    /// The earliest deadline of a field.
    earliest: Option<Millis>,
    hasher: KeyHasher,
    limit: HashLimit,
    /// True if the settings allow no listpack of these texts.
    has_long: bool,
}

/// Order of the rows in the tree of deadlines.
#[derive(Debug)]
enum ByDueKey {}

impl RowOrder for ByDueKey {
    fn cmp(one: &[u8], other: &[u8]) -> Ordering {
        one.cmp(other)
    }
}

/// A field, as it is gathered.
struct Field<'f> {
    name: &'f [u8],
    value: &'f [u8],
    deadline: Option<Millis>,
}

impl<'f> Field<'f> {
    fn len(&self) -> usize {
        let deadline = if self.deadline.is_some() { size_of::<u64>() } else { 0 };
        1 + deadline + len_bytes(self.name.len()) + self.name.len() + self.value.len()
    }

    fn write(&self, to: &mut [u8]) {
        let (flag, mut to) = to.split_at_mut(1);
        flag[0] = u8::from(self.deadline.is_some());
        if let Some(Millis(deadline)) = self.deadline {
            let (head, rest) = to.split_at_mut(size_of::<u64>());
            head.copy_from_slice(&deadline.to_le_bytes());
            to = rest;
        }
        let (name, value) = write_len(to, self.name.len()).split_at_mut(self.name.len());
        name.copy_from_slice(self.name);
        value.copy_from_slice(self.value);
    }

    #[inline]
    fn read(bytes: &'f [u8]) -> Option<Field<'f>> {
        let (flag, mut rest) = bytes.split_first()?;
        let mut deadline = None;
        if *flag != 0 {
            let (millis, behind) = rest.split_first_chunk()?;
            deadline = Some(Millis(u64::from_le_bytes(*millis)));
            rest = behind;
        }
        let (len, rest) = read_len(rest)?;
        let (name, value) = rest.split_at_checked(len)?;
        Some(Field { name, value, deadline })
    }

    fn name_in(bytes: &'f [u8]) -> &'f [u8] {
        Field::read(bytes).map_or(&[], |field| field.name)
    }
}

impl GatheredHash {
    /// A hash without fields.
    pub fn new(hasher: &KeyHasher, limit: HashLimit) -> GatheredHash {
        GatheredHash {
            fields: Shares::new(),
            due: Runs::new(),
            earliest: None,
            hasher: hasher.clone(),
            limit,
            has_long: false,
        }
    }

    /// Adds a field, which may be past its deadline.
    ///
    /// # Errors
    /// When the system has no memory for it.
    pub fn push(
        &mut self,
        name: &[u8],
        value: &[u8],
        deadline: Option<Millis>,
    ) -> Result<(), NoSpace> {
        self.has_long |= !self.limit.allows_texts(name, value);
        let (tag, deadline) = (short_tag_by(&self.hasher, name), deadline.map(kept));
        let field = Field { name, value, deadline };
        self.fields.push(tag, field.len(), |to| field.write(to))?;
        let Some(at) = deadline else { return Ok(()) };
        self.earliest = Some(self.earliest.map_or(at, |earliest| earliest.min(at)));
        let due = key_of(at, tag);
        self.due.push(due.len(), |to| to.copy_from_slice(&due))
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Returns true if there are no fields.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all fields.
    pub fn byte_len(&self) -> usize {
        self.fields.byte_len()
    }

    /// Puts the hash under a key, in place of any other value, without a deadline of the key. It
    /// becomes trees, under whatever encoding clients know it.
    ///
    /// # Errors
    /// When there is no room, or a field is there twice; nothing has changed then.
    pub fn store(self, access: &mut Access<'_>, key: &Key<'_>) -> Result<(), NotStored> {
        let is_timed = self.earliest.is_some();
        let is_small = !self.has_long && self.limit.allows_fields(self.len());
        let encoding = if is_small && !is_timed { SMALL } else { LARGE };
        let value_tag = ValueTag::of_tree(Kind::Hash, encoding).with_timed_parts(is_timed);
        let GatheredHash { fields, due, earliest, .. } = self;
        let mut key = access.open_to_replace(key);
        key.put_gathered(value_tag, |nodes| {
            let mut roots = vec![build_fields(nodes, fields)?];
            if is_timed {
                roots.push(build_due(nodes, due)?);
            }
            Ok(roots)
        })?;
        if let Some(earliest) = earliest {
            key.note_part_deadline(earliest);
        }
        Ok(())
    }
}

fn build_fields(nodes: &mut WriteNodes<'_, '_>, fields: Shares) -> Result<Root, NotStored> {
    let mut tree: Builder<'_, _, ByShortTag> = Builder::new(nodes, PLAIN)?;
    fields.try_each(
        |one, other| Field::name_in(one).cmp(Field::name_in(other)),
        |tag, field| {
            let Some(Field { name, value, deadline }) = Field::read(field) else { return Ok(()) };
            let row = [Element::of(name), Element::of(value), to_cell(deadline)];
            let columns = if deadline.is_some() { row.len() } else { PLAIN };
            Ok(tree.push(tag, &row[..columns])?)
        },
    )?;
    Ok(tree.finish()?)
}

/// Fields that share tag and deadline share a row.
fn build_due(nodes: &mut WriteNodes<'_, '_>, due: Runs<ByDueKey>) -> Result<Root, NotStored> {
    let mut tree: Builder<'_, _, ByKey> = Builder::new(nodes, 1)?;
    let mut last = Vec::new();
    due.try_merge(|key| {
        if key == last {
            return Ok(());
        }
        last.clear();
        last.extend_from_slice(key);
        Ok(tree.push(0, &[Element::Bytes(key)])?)
    })?;
    Ok(tree.finish()?)
}
