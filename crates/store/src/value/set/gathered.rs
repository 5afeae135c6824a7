//! Large sets, gathered member by member and stored at once.

use super::limit::{Added, Growth, SetLimit};
use super::tree_value_tag;
use crate::access::Access;
use crate::fault::NoSpace;
use crate::key::{Encoding, Key};
use crate::value::collection::short_tag_by;
use crate::value::gathered::{NotStored, Shares};
use base::KeyHasher;
use packed::Element;
use tree::{Builder, ByShortTag};

/// Members of a large set, before it is stored.
#[derive(Debug)]
pub struct GatheredSet {
    members: Shares,
    hasher: KeyHasher,
    limit: SetLimit,
    growth: Growth,
}

impl GatheredSet {
    /// A set without members.
    pub fn new(hasher: &KeyHasher, limit: SetLimit) -> GatheredSet {
        let growth = Growth::new(Encoding::Intset);
        GatheredSet { members: Shares::new(), hasher: hasher.clone(), limit, growth }
    }

    /// Adds a member.
    ///
    /// # Errors
    /// When the system has no memory for it.
    pub fn push(&mut self, text: &[u8]) -> Result<(), NoSpace> {
        if self.growth.encoding != Encoding::Hashtable {
            let is_integer = matches!(Element::of(text), Element::Integer(_));
            self.growth.add(self.limit, Added { is_integer, bytes: text.len() });
        }
        let tag = short_tag_by(&self.hasher, text);
        self.members.push(tag, text.len(), |to| to.copy_from_slice(text))
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns true if there are no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all members.
    pub fn byte_len(&self) -> usize {
        self.members.byte_len()
    }

    /// Puts the set under a key, in place of any other value, without a deadline. It becomes a
    /// tree, under whatever encoding clients know it.
    ///
    /// # Errors
    /// When there is no room, or a member is there twice; nothing has changed then.
    pub fn store(self, access: &mut Access<'_>, key: &Key<'_>) -> Result<(), NotStored> {
        let GatheredSet { members, growth, .. } = self;
        let value_tag = tree_value_tag(growth.encoding);
        access.open_to_replace(key).put_gathered(value_tag, |nodes| {
            let mut tree: Builder<'_, _, ByShortTag> = Builder::new(nodes, 1)?;
            members.try_each(
                |one, other| one.cmp(other),
                |tag, text| Ok(tree.push(tag, &[Element::of(text)])?),
            )?;
            Ok([tree.finish()?])
        })
    }
}
