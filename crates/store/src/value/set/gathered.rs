//! Large sets, gathered member by member and stored at once.
//!
//! ```text
//! share 0    | row | row | ...              tags from 0 on, in the order in which they came
//! share 255  | row | row | ...              the highest tags
//! row        | tag 4 | length 1 or 5 | text |
//! ```
//! The first bits of a tag choose the share, so the shares in turn hold the tags in ascending
//! order, and each is sorted alone, within the processor's cache.

use super::build::put_members;
use super::limit::{Added, Growth, SetLimit};
use super::{Leaf, tree_value_tag};
use crate::access::Access;
use crate::fault::NoSpace;
use crate::key::{Encoding, Key};
use crate::value::collection::short_tag_by;
use base::KeyHasher;
use packed::Element;
use std::cell::Cell;
use tree::Tree;

/// Bits of a tag that choose its share.
const SHARE_BITS: u32 = 8;
/// Length byte of a text whose length follows in four bytes.
const LONG: u8 = u8::MAX;

/// Reason why a set was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStored {
    /// There is no room.
    NoSpace,
    /// A member is there twice.
    Twice,
}

impl From<NoSpace> for NotStored {
    fn from(NoSpace: NoSpace) -> NotStored {
        NotStored::NoSpace
    }
}

/// Members of a set, before it is stored.
#[derive(Clone, Debug)]
pub struct GatheredSet {
    shares: Vec<Vec<u8>>,
    hasher: KeyHasher,
    limit: SetLimit,
    growth: Growth,
    bytes: usize,
    len: usize,
}

impl GatheredSet {
    /// A set without members. One of integers will be known to clients as an intset, unless
    /// `was_listpack`.
    pub fn new(hasher: &KeyHasher, limit: SetLimit, was_listpack: bool) -> GatheredSet {
        let begun = if was_listpack { Encoding::Listpack } else { Encoding::Intset };
        GatheredSet {
            shares: vec![Vec::new(); 1 << SHARE_BITS],
            hasher: hasher.clone(),
            limit,
            growth: Growth::new(begun),
            bytes: 0,
            len: 0,
        }
    }

    /// Adds a member.
    pub fn push(&mut self, text: &[u8]) {
        let is_integer = matches!(Element::of(text), Element::Integer(_));
        self.growth.add(self.limit, Added { is_integer, bytes: text.len() });
        self.bytes += text.len();
        self.len += 1;
        let tag = short_tag_by(&self.hasher, text);
        let share = &mut self.shares[(tag >> (u32::BITS - SHARE_BITS)) as usize];
        share.extend_from_slice(&tag.to_le_bytes());
        match u8::try_from(text.len()) {
            Ok(len) if len != LONG => share.push(len),
            _ => {
                share.push(LONG);
                share.extend_from_slice(&narrow::to_u32(text.len()).to_le_bytes());
            }
        }
        share.extend_from_slice(text);
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no members.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of all members.
    pub fn byte_len(&self) -> usize {
        self.bytes
    }

    /// Puts the set under a key, in place of any other value, without a deadline.
    ///
    /// # Errors
    /// When there is no room, and nothing has changed then; when a member is there twice, and the
    /// key holds nothing then.
    pub fn store(&self, access: &mut Access<'_>, key: &Key<'_>) -> Result<(), NotStored> {
        let is_distinct = Cell::new(true);
        let rows = self.rows(&is_distinct);
        let mut opened = access.open_to_replace(key);
        let put = if self.growth.encoding == Encoding::Hashtable {
            opened.put_trees(tree_value_tag(Encoding::Hashtable), |nodes| {
                Ok([Tree::<_, Leaf>::of_tagged(nodes, rows)?])
            })
        } else {
            // The settings allow a large set a small form.
            put_members(&mut opened, self.growth.encoding, &mut rows.collect::<Vec<_>>())
        };
        put?;
        if !is_distinct.get() {
            access.remove(key);
            return Err(NotStored::Twice);
        }
        Ok(())
    }

    /// Tags and members, in ascending order of the tags. Whether members are distinct is known once
    /// all were taken.
    fn rows<'s>(
        &'s self,
        is_distinct: &'s Cell<bool>,
    ) -> impl Iterator<Item = (u32, Element<'s>)> + 's {
        self.shares.iter().flat_map(move |share| {
            let mut rows: Vec<(u32, &[u8])> = Rows(share).collect();
            rows.sort_unstable();
            if rows.windows(2).any(|pair| pair[0] == pair[1]) {
                is_distinct.set(false);
            }
            rows.into_iter().map(|(tag, text)| (tag, Element::of(text)))
        })
    }
}

/// Iterator over the rows of a share.
struct Rows<'s>(&'s [u8]);

impl<'s> Iterator for Rows<'s> {
    type Item = (u32, &'s [u8]);

    fn next(&mut self) -> Option<(u32, &'s [u8])> {
        let (tag, rest) = self.0.split_first_chunk()?;
        let (len, rest) = rest.split_first()?;
        let (len, rest) = match *len {
            LONG => {
                let (len, rest) = rest.split_first_chunk()?;
                (u32::from_le_bytes(*len) as usize, rest)
            }
            len => (usize::from(len), rest),
        };
        let (text, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some((u32::from_le_bytes(*tag), text))
    }
}
