//! Removal of members from sorted sets.

use super::range::{Pick, Span};
use super::read::{SortedSet, find_by_tag, find_in_packed};
use super::score::{Score, score_of};
use super::{SCORES, STRIDE, ScoreLeaf, TAGS, TagLeaf};
use crate::access::Access;
use crate::fault::Fault;
use crate::key::{Key, Kind};
use crate::shard::{KeyMut, Reason, WriteNodes};
use crate::value::collection::tag_by;
use base::KeyHasher;
use packed::{Element, PackedList};
use tree::{NodesMut, Root, Rows, Tree, View, resolve};

/// Number of rows removed from the tree of scores before their tags are looked up.
const BATCH: u64 = 4096;

/// An end of a sorted set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end with the lowest scores.
    Min,
    /// The end with the highest scores.
    Max,
}

/// Removes members, and the key if none is left. Returns the number removed.
///
/// # Errors
/// When the key does not hold a sorted set.
pub fn remove<'t>(
    access: &mut Access<'_>,
    key: &Key<'_>,
    members: impl Iterator<Item = &'t [u8]>,
) -> Result<u64, Fault> {
    let Some(mut key) = access.open(key, Kind::SortedSet)?.existing() else { return Ok(0) };
    if key.value_tag().is_tree() {
        return remove_from_trees(&mut key, members);
    }
    let mut removed = 0;
    for member in members {
        let packed = PackedList::new(key.bytes());
        let Some((rank, _)) = find_in_packed(packed, member) else { continue };
        removed += 1;
        if packed.len() == STRIDE {
            key.remove(Reason::Deleted);
            break;
        }
        let place = packed.place(rank * STRIDE);
        key.remove_from_packed(place, STRIDE);
    }
    Ok(removed)
}

fn remove_from_trees<'t>(
    key: &mut KeyMut<'_, '_>,
    members: impl Iterator<Item = &'t [u8]>,
) -> Result<u64, Fault> {
    let hasher = key.hasher();
    let (removed, left) = key.change_trees(|nodes, roots: &mut [Root; 2]| {
        let mut removed = 0;
        for member in members {
            let tag = tag_by(hasher, member);
            let found = {
                let scores = View::<_, ScoreLeaf>::new(nodes.read(), roots[SCORES]);
                let tags = View::<_, TagLeaf>::new(nodes.read(), roots[TAGS]);
                find_by_tag(&scores, &tags, tag, member)
            };
            let (Some(at), at_tag) = found else { continue };
            removed += 1;
            if roots[SCORES].count == 1 {
                return Ok((removed, 0));
            }
            let mut tree = Tree::<_, ScoreLeaf>::new(nodes, roots[SCORES]);
            tree.remove_rows(&at.path, at.row, 1);
            roots[SCORES] = tree.root;
            let mut tree = Tree::<_, TagLeaf>::new(nodes, roots[TAGS]);
            tree.remove_rows(&at_tag.path, at_tag.row, 1);
            roots[TAGS] = tree.root;
        }
        Ok((removed, roots[SCORES].count))
    })?;
    if left == 0 {
        key.remove(Reason::Deleted);
    }
    Ok(removed)
}

/// Removes the selected members, and the key if none is left. Returns the number removed.
///
/// # Errors
/// When the key does not hold a sorted set.
pub fn remove_picked(
    access: &mut Access<'_>,
    key: &Key<'_>,
    pick: &Pick<'_>,
) -> Result<u64, Fault> {
    let Some(mut key) = access.open(key, Kind::SortedSet)?.existing() else { return Ok(0) };
    let set = SortedSet::of(key.value());
    let (span, len) = (set.span(pick, false), set.len());
    remove_span(&mut key, span, len)?;
    Ok(span.count)
}

/// Removes up to `count` members from an end of a set, and the key if none is left. Before the
/// removal, `show` gets their number, and each member with its score. Returns the number; `None` if
/// there is no set.
///
/// # Errors
/// When the key does not hold a sorted set.
pub fn pop(
    access: &mut Access<'_>,
    key: &Key<'_>,
    end: End,
    count: u64,
    show: impl FnOnce(u64, &mut dyn Iterator<Item = (Element<'_>, f64)>),
) -> Result<Option<u64>, Fault> {
    let Some(mut key) = access.open(key, Kind::SortedSet)?.existing() else { return Ok(None) };
    let set = SortedSet::of(key.value());
    let len = set.len();
    let count = count.min(len);
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    let from = match end {
        End::Min => {
            show(count, &mut set.iter_from(0).take(most));
            0
        }
        End::Max => {
            show(count, &mut set.iter_back_from(len - 1).take(most));
            len - count
        }
    };
    remove_span(&mut key, Span { from, count }, len)?;
    Ok(Some(count))
}

/// Removes a span of a set of `len` members.
fn remove_span(key: &mut KeyMut<'_, '_>, span: Span, len: u64) -> Result<(), Fault> {
    if span.count == 0 {
        return Ok(());
    }
    if span.count == len {
        key.remove(Reason::Deleted);
        return Ok(());
    }
    if key.value_tag().is_tree() {
        let hasher = key.hasher();
        return key.change_trees(|nodes, roots: &mut [Root; 2]| {
            remove_from_both(nodes, roots, hasher, span);
            Ok(())
        });
    }
    let place = PackedList::new(key.bytes()).place(narrow::to_usize(span.from) * STRIDE);
    key.remove_from_packed(place, narrow::to_usize(span.count) * STRIDE);
    Ok(())
}

fn remove_from_both(
    nodes: &mut WriteNodes<'_, '_>,
    roots: &mut [Root; 2],
    hasher: &KeyHasher,
    span: Span,
) {
    let (mut left, mut gone) = (span.count, Vec::with_capacity(span.count.min(BATCH) as usize));
    while left > 0 {
        let taken = left.min(BATCH);
        let mut tree = Tree::<_, ScoreLeaf>::new(nodes, roots[SCORES]);
        tree.remove_range(span.from, taken, |nodes, rows, from, count| {
            let mut cells = rows.cells_from(from);
            for _ in 0..count {
                let (score, member) = (cells.next(), cells.next());
                let member = resolve(nodes.read(), member.unwrap_or(Element::Integer(0)));
                let tag = member.with_text(|text| tag_by(hasher, text));
                gone.push((tag, score_of(score)));
            }
        });
        roots[SCORES] = tree.root;
        gone.sort_unstable_by_key(|(tag, _)| *tag);
        let mut tree = Tree::<_, TagLeaf>::new(nodes, roots[TAGS]);
        remove_tags(&mut tree, &gone);
        gone.clear();
        roots[TAGS] = tree.root;
        left -= taken;
    }
}

/// Removes one row for each tag and score. The tags ascend, so rows of one leaf are removed
/// together.
fn remove_tags<N: NodesMut>(tree: &mut Tree<'_, N, TagLeaf>, gone: &[(u32, f64)]) {
    let mut rest = gone;
    while let Some((tag, _)) = rest.first() {
        let path = tree.view().find_tag(*tag);
        let rows = Rows::new(tree.view().leaf(&path));
        let (numbers, found) = rows_of_tags(rows, rest);
        debug_assert!(found > 0, "both trees hold the same members");
        rest = &rest[found.max(1)..];
        tree.remove_some_rows(&path, &numbers);
    }
}

/// Finds rows of a leaf for the first of these tags and scores; returns the rows, and the number of
/// pairs covered. Of several equal rows, any may be chosen.
fn rows_of_tags(rows: Rows<'_>, gone: &[(u32, f64)]) -> (Vec<usize>, usize) {
    let mut numbers: Vec<usize> = Vec::new();
    for (tag, score) in gone {
        let cell = Score::new(*score);
        let first = rows.find_tag(*tag);
        let same = (first..rows.len()).take_while(|row| rows.tag(*row) == *tag);
        let mut same = same.filter(|row| rows.cell(*row, 0) == Some(cell.element()));
        let Some(row) = same.find(|row| !numbers.contains(row)) else { break };
        numbers.push(row);
    }
    let found = numbers.len();
    numbers.sort_unstable();
    (numbers, found)
}
