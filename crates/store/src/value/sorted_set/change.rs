//! Addition of members and changes of scores.

use super::bound::Bound;
use super::gathered::{encoding_of_large, enlarge, put_small};
use super::limit::{SortedSetLimit, has_room};
use super::read::{Member, TagRow, find_by_tag, find_in_packed, seek, seek_in_packed};
use super::score::Score;
use super::{SCORES, STRIDE, ScoreLeaf, TAGS, TagLeaf};
use crate::access::Access;
use crate::fault::{Fault, NoSpace};
use crate::key::{Encoding, Key, Kind, ValueTag};
use crate::shard::{KeyMut, Reason, WriteNodes};
use crate::value::collection::tag_by;
use packed::{Element, PackedList, PackedListMut};
use tree::{NoRoom, NodesMut, Root, Rows, Tree, View};

/// Conditions and mode of ZADD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Existing members keep their scores.
    pub only_new: bool,
    /// No member is added.
    pub only_existing: bool,
    /// Scores only rise.
    pub only_greater: bool,
    /// Scores only fall.
    pub only_less: bool,
    /// Scores are added to those of existing members.
    pub is_increment: bool,
}

/// Outcome of an addition.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Added {
    /// Number of new members.
    pub added: u64,
    /// Number of members whose scores have changed.
    pub updated: u64,
    /// New score of the last member for which the terms allowed one.
    pub score: Option<f64>,
    /// True if a sum was not a number; nothing was done from there on.
    pub is_not_a_number: bool,
}

/// Decision of the terms on a score.
enum Verdict {
    Leave,
    Same(f64),
    Set(f64),
    NotANumber,
}

impl Terms {
    #[inline]
    fn judge(self, score: f64, current: Option<f64>) -> Verdict {
        let Some(current) = current else {
            return if self.only_existing { Verdict::Leave } else { Verdict::Set(score) };
        };
        if self.only_new {
            return Verdict::Leave;
        }
        let score = if self.is_increment { current + score } else { score };
        if score.is_nan() {
            return Verdict::NotANumber;
        }
        if self.only_less && score >= current || self.only_greater && score <= current {
            return Verdict::Leave;
        }
        if score == current { Verdict::Same(score) } else { Verdict::Set(score) }
    }
}

impl Added {
    #[inline]
    fn count(&mut self, verdict: &Verdict, is_new: bool) {
        match verdict {
            Verdict::Leave => {}
            Verdict::Same(score) => self.score = Some(*score),
            Verdict::Set(score) => {
                self.score = Some(*score);
                *(if is_new { &mut self.added } else { &mut self.updated }) += 1;
            }
            Verdict::NotANumber => self.is_not_a_number = true,
        }
    }
}

/// Sets the scores of members in the sorted set of a key, created if need be.
///
/// # Errors
/// When the key holds something else, or there is no room.
pub fn add(
    access: &mut Access<'_>,
    key: &Key<'_>,
    pairs: &[(f64, &[u8])],
    terms: Terms,
    limit: SortedSetLimit,
) -> Result<Added, Fault> {
    let mut done = Added::default();
    let mut key = access.open(key, Kind::SortedSet)?;
    let Some((first, others)) = pairs.split_first() else { return Ok(done) };
    if !key.exists() && terms.only_existing {
        return Ok(done);
    }
    let longest = pairs.iter().map(|(_, member)| member.len()).max().unwrap_or(0);
    let stays_small = limit.allows(pairs.len() as u64, longest);
    let rest = if key.exists() {
        if !stays_small && !key.value_tag().is_tree() {
            enlarge(&mut key, Encoding::Skiplist)?;
        }
        pairs
    } else {
        done.count(&Verdict::Set(first.0), true);
        create(&mut key, *first, stays_small)?;
        others
    };
    for (score, member) in rest {
        if key.value_tag().is_tree() {
            put_in_trees(&mut key, (*score, member), terms, limit, &mut done)?;
        } else {
            put_in_packed(&mut key, (*score, member), terms, limit, &mut done)?;
        }
        if done.is_not_a_number {
            break;
        }
    }
    Ok(done)
}

/// Creates a set of one member.
fn create(
    key: &mut KeyMut<'_, '_>,
    (score, member): (f64, &[u8]),
    is_small: bool,
) -> Result<(), NoSpace> {
    let cell = Score::without_sign_of_zero(score);
    let cells = [cell.element(), Element::of(member)];
    if is_small && has_room(PackedList::new(&packed::EMPTY), cells.iter().map(|it| it.cost()).sum())
    {
        return put_small(key, &cells);
    }
    let encoding = encoding_of_large(is_small);
    key.put_trees(ValueTag::of_tree(Kind::SortedSet, encoding), |nodes| {
        Ok([Tree::<_, ScoreLeaf>::empty(nodes, STRIDE)?, Tree::<_, TagLeaf>::empty(nodes, 1)?])
    })?;
    let tag = tag_by(key.hasher(), member);
    let inserted =
        key.change_trees(|nodes, roots: &mut [Root; 2]| insert(nodes, roots, tag, score, member));
    if inserted.is_err() {
        key.remove(Reason::Deleted);
        return Err(NoSpace);
    }
    Ok(())
}

fn put_in_packed(
    key: &mut KeyMut<'_, '_>,
    (score, member): (f64, &[u8]),
    terms: Terms,
    limit: SortedSetLimit,
    done: &mut Added,
) -> Result<(), Fault> {
    let packed = PackedList::new(key.bytes());
    let current = find_in_packed(packed, member);
    let verdict = terms.judge(score, current.map(|(_, score)| score));
    let Verdict::Set(new_score) = verdict else {
        done.count(&verdict, current.is_none());
        return Ok(());
    };
    let cell = Score::without_sign_of_zero(new_score);
    let cells = [cell.element(), Element::of(member)];
    let (is_allowed, cost, gone) = match current {
        Some((rank, _)) => {
            let old = packed.get(rank * STRIDE).map_or(0, Element::cost);
            (true, cells[0].cost(), old)
        }
        None => {
            let members = (packed.len() / STRIDE) as u64 + 1;
            (limit.allows(members, member.len()), cells.iter().map(|it| it.cost()).sum(), 0)
        }
    };
    if !is_allowed || !has_room(packed, cost.saturating_sub(gone)) {
        enlarge(key, encoding_of_large(is_allowed))?;
        return put_in_trees(key, (score, member), terms, limit, done);
    }
    done.count(&verdict, current.is_none());
    let to = seek_in_packed(packed, &Bound::at(new_score, member));
    match current {
        Some((rank, _)) => move_in_packed(key, (rank, to), &cells)?,
        None => key.insert_into_packed(to * STRIDE, &cells)?,
    }
    Ok(())
}

/// Gives a member of a small set a new score, and moves it from one rank to before another.
fn move_in_packed(
    key: &mut KeyMut<'_, '_>,
    (from, to): (usize, usize),
    cells: &[Element<'_>; STRIDE],
) -> Result<(), NoSpace> {
    if to == from || to == from + 1 {
        return key.replace_in_packed(from * STRIDE, cells[0]);
    }
    let packed = PackedList::new(key.bytes());
    let old = packed.get(from * STRIDE).map_or(0, Element::cost);
    let needed = packed.len_with(&cells[..1]) - old;
    if needed > key.bytes().len() {
        key.resize(needed)?;
    }
    let mut packed = PackedListMut::new(key.bytes_mut());
    let place = packed.as_list().place(from * STRIDE);
    packed.remove(place, STRIDE);
    let to = if to > from { to - 1 } else { to };
    let place = packed.as_list().place(to * STRIDE);
    packed.insert_row(place, cells).expect("the packed list has room");
    Ok(())
}

fn put_in_trees(
    key: &mut KeyMut<'_, '_>,
    (score, member): (f64, &[u8]),
    terms: Terms,
    limit: SortedSetLimit,
    done: &mut Added,
) -> Result<(), Fault> {
    let tag = tag_by(key.hasher(), member);
    // A set that grows may become too large to be shown as a small one; others stay as they are.
    let grown = key.change_trees(|nodes, roots: &mut [Root; 2]| {
        let (current, at_tag) = {
            let [scores, tags] = [nodes.read(), nodes.read()];
            let (scores, tags) = (View::new(scores, roots[SCORES]), View::new(tags, roots[TAGS]));
            find_by_tag(&scores, &tags, tag, member)
        };
        let verdict = terms.judge(score, current.as_ref().map(|it| it.score));
        done.count(&verdict, current.is_none());
        match (verdict, current) {
            (Verdict::Set(score), None) => {
                insert_at(nodes, roots, (tag, &at_tag), score, member)?;
                return Ok(Some(roots[SCORES].count));
            }
            (Verdict::Set(score), Some(at)) => {
                rescore(nodes, roots, (&at, &at_tag), score, member)?;
            }
            _ => {}
        }
        Ok(None)
    })?;
    let is_allowed = grown.is_none_or(|members| limit.allows(members, member.len()));
    if !is_allowed && key.value_tag().encoding() == Encoding::Listpack {
        let value = key.bytes().to_vec();
        let value_tag = ValueTag::of_tree(Kind::SortedSet, Encoding::Skiplist);
        key.replace(value_tag, &value)?;
    }
    Ok(())
}

/// Bytes that a long member may need in a tree beyond those of an ordinary row, as separators
/// repeat it.
fn bytes_of_long(member: &[u8]) -> usize {
    if member.len() > tree::CELL_BYTES_MAX { 8 * member.len() } else { 0 }
}

/// Returns the element of a member, and ensures room for the change; without it, the node of a long
/// member is freed again.
fn cell_of<'m>(
    nodes: &mut WriteNodes<'_, '_>,
    root: Root,
    member: &'m [u8],
    bytes: usize,
) -> Result<Element<'m>, NoRoom> {
    let cell = Tree::<_, ScoreLeaf>::new(nodes, root).cell(member)?;
    let ensured = nodes.ensure(bytes + bytes_of_long(member));
    if let (Err(error), Element::Far(far)) = (&ensured, cell) {
        nodes.free(far.node);
        return Err(*error);
    }
    ensured.map(|()| cell)
}

/// Inserts a new member into both trees.
fn insert(
    nodes: &mut WriteNodes<'_, '_>,
    roots: &mut [Root; 2],
    tag: u32,
    score: f64,
    member: &[u8],
) -> Result<(), NoRoom> {
    let tags = View::<_, TagLeaf>::new(nodes.read(), roots[TAGS]);
    let path = tags.find_tag(tag);
    let row = Rows::new(tags.leaf(&path)).find_tag(tag);
    insert_at(nodes, roots, (tag, &TagRow { path, row }), score, member)
}

/// Inserts a new member into both trees, given the row for its tag.
#[inline]
fn insert_at(
    nodes: &mut WriteNodes<'_, '_>,
    roots: &mut [Root; 2],
    (tag, at): (u32, &TagRow),
    score: f64,
    member: &[u8],
) -> Result<(), NoRoom> {
    let bytes = roots[SCORES].change_bytes() + roots[TAGS].change_bytes();
    let cell = cell_of(nodes, roots[SCORES], member, bytes)?;
    let score_cell = Score::new(score);
    let score_cell = score_cell.element();
    let mut tree = Tree::<_, ScoreLeaf>::new(nodes, roots[SCORES]);
    let (path, row) = seek(&tree.view(), &Bound::at(score, member));
    tree.insert_row(&path, row, 0, &[score_cell, cell]);
    roots[SCORES] = tree.root;
    let mut tree = Tree::<_, TagLeaf>::new(nodes, roots[TAGS]);
    tree.insert_row(&at.path, at.row, tag, &[score_cell]);
    roots[TAGS] = tree.root;
    Ok(())
}

/// Changes the score of a member. Its row stays in place if the order allows.
fn rescore(
    nodes: &mut WriteNodes<'_, '_>,
    roots: &mut [Root; 2],
    (at, at_tag): (&Member, &TagRow),
    score: f64,
    member: &[u8],
) -> Result<(), NoRoom> {
    let score_cell = Score::new(score);
    let score_cell = score_cell.element();
    let bound = Bound::at(score, member);
    let bytes = 2 * roots[SCORES].change_bytes() + roots[TAGS].change_bytes();
    let (path, row) = seek(&View::<_, ScoreLeaf>::new(nodes.read(), roots[SCORES]), &bound);
    if path.leaf == at.path.leaf && (row == at.row || row == at.row + 1) {
        nodes.ensure(bytes)?;
        let mut tree = Tree::<_, ScoreLeaf>::new(nodes, roots[SCORES]);
        tree.replace_cell(&path, at.row, 0, score_cell);
        roots[SCORES] = tree.root;
    } else {
        let cell = cell_of(nodes, roots[SCORES], member, bytes)?;
        let mut tree = Tree::<_, ScoreLeaf>::new(nodes, roots[SCORES]);
        let is_before = path.leaf == at.path.leaf && row <= at.row;
        if tree.insert_row(&path, row, 0, &[score_cell, cell]) {
            tree.remove_rows(&at.path, at.row + usize::from(is_before), 1);
        } else {
            let (path, row) = seek(&tree.view(), &Bound::at(at.score, member));
            tree.remove_rows(&path, row, 1);
        }
        roots[SCORES] = tree.root;
    }
    let mut tree = Tree::<_, TagLeaf>::new(nodes, roots[TAGS]);
    tree.replace_cell(&at_tag.path, at_tag.row, 0, score_cell);
    roots[TAGS] = tree.root;
    Ok(())
}
