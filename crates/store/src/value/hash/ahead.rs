//! Prefetching of fields for a batch of commands on one large hash.

use super::{FIELDS, Leaf};
use crate::access::Access;
use crate::key::{Key, Kind};
use crate::value::collection::short_tag_by;
use smallvec::SmallVec;
use tree::{NodeId, Nodes, Rows};

/// Most fields that one call prefetches.
const MOST: usize = 32;

/// Length of the part at the start of a leaf that holds its tags.
const TAGS_BYTES: usize = 320;

/// Prefetches fields of a large hash, in three steps for all of them: the start of each leaf, which
/// also loads the translation of its address, then the tags, then the elements that the tags lead
/// to.
pub fn prefetch_fields<'t>(
    access: &Access<'_>,
    key: &Key<'_>,
    fields: impl Iterator<Item = &'t [u8]>,
) {
    let Ok(Some(hash)) = access.lookup_kind_without_touch(key, Kind::Hash) else { return };
    if !hash.value_tag().is_tree() {
        return;
    }
    let view = hash.view::<Leaf>(FIELDS);
    let places = fields.take(MOST).map(|field| {
        let tag = short_tag_by(hash.hasher(), field);
        (tag, view.find_tag(tag).leaf)
    });
    let places: SmallVec<[(u32, NodeId); MOST]> = places.collect();
    for (_, leaf) in &places {
        let bytes = view.nodes.bytes(*leaf);
        view.nodes.prefetch_bytes(&bytes[..bytes.len().min(TAGS_BYTES)]);
    }
    for (tag, leaf) in places {
        let rows = Rows::new(view.nodes.bytes(leaf));
        view.nodes.prefetch_bytes(rows.codes());
        view.nodes.prefetch_bytes(rows.about(rows.find_tag(tag)));
    }
}
