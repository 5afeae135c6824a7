//! Read access to sorted sets.

use super::bound::Bound;
use super::order::ByScore;
use super::score::{score_of, sort_key};
use super::{SCORES, STRIDE, ScoreLeaf, TAGS, TagLeaf};
use crate::access::Access;
use crate::fault::WrongKind;
use crate::key::{Encoding, Key, Kind};
use crate::shard::{ReadNodes, ValueRef};
use crate::value::collection::{short_tag_by, tag_by};
use base::KeyHasher;
use packed::{Element, Iter, PackedList};
use tree::{Nodes, Path, Rows, View, resolve};

/// A sorted set, under the lock of its key.
#[derive(Clone, Copy, Debug)]
pub struct SortedSet<'x> {
    hasher: &'x KeyHasher,
    encoding: Encoding,
    pub(super) form: Form<'x>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Form<'x> {
    Small(PackedList<'x>),
    Large(Scores<'x>, Tags<'x>),
}

type Scores<'x> = View<'x, ReadNodes<'x>, ScoreLeaf>;
type Tags<'x> = View<'x, ReadNodes<'x>, TagLeaf>;

/// Reads the sorted set of a key for a command.
///
/// # Errors
/// When the key does not hold a sorted set.
#[inline]
pub fn read<'x>(
    access: &'x mut Access<'_>,
    key: &Key<'_>,
) -> Result<Option<SortedSet<'x>>, WrongKind> {
    Ok(access.read_kind(key, Kind::SortedSet)?.map(SortedSet::of))
}

/// Reads the sorted set of a key without any trace.
///
/// # Errors
/// When the key does not hold a sorted set.
pub fn lookup_without_touch<'x>(
    access: &'x Access<'_>,
    key: &Key<'_>,
) -> Result<Option<SortedSet<'x>>, WrongKind> {
    Ok(access.lookup_kind_without_touch(key, Kind::SortedSet)?.map(SortedSet::of))
}

impl<'x> SortedSet<'x> {
    /// The sorted set in a value of that kind.
    #[inline]
    pub fn of(value: ValueRef<'x>) -> SortedSet<'x> {
        let value_tag = value.value_tag();
        let form = if value_tag.is_tree() {
            Form::Large(value.view(SCORES), value.view(TAGS))
        } else {
            Form::Small(PackedList::new(value.bytes()))
        };
        SortedSet { hasher: value.hasher(), encoding: value_tag.encoding(), form }
    }

    /// Encoding that OBJECT ENCODING reports.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Number of members.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "an empty set is no set")]
    pub fn len(&self) -> u64 {
        match &self.form {
            Form::Small(packed) => (packed.len() / STRIDE) as u64,
            Form::Large(scores, _) => scores.root.count,
        }
    }

    /// Returns the score of a member.
    #[inline]
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        match &self.form {
            Form::Small(packed) => find_in_packed(*packed, member).map(|(_, score)| score),
            Form::Large(scores, tags) => {
                let tag = tag_by(self.hasher, member);
                find_by_tag(scores, tags, tag, member).0.map(|found| found.score)
            }
        }
    }

    /// Returns the rank of a member, counted from zero, and its score.
    #[inline]
    pub fn rank(&self, member: &[u8]) -> Option<(u64, f64)> {
        match &self.form {
            Form::Small(packed) => {
                find_in_packed(*packed, member).map(|(rank, score)| (rank as u64, score))
            }
            Form::Large(scores, tags) => {
                let tag = tag_by(self.hasher, member);
                let found = find_by_tag(scores, tags, tag, member).0?;
                let rank = scores.count_before(&found.path) + found.row as u64;
                Some((rank, found.score))
            }
        }
    }

    /// Returns the member at a rank, and its score.
    pub fn get(&self, rank: u64) -> Option<(Element<'x>, f64)> {
        self.iter_from(rank).next()
    }

    /// Iterates over the members from a rank on.
    #[inline]
    pub fn iter_from(&self, rank: u64) -> Pairs<'x> {
        match &self.form {
            Form::Small(packed) => {
                let at = usize::try_from(rank).unwrap_or(usize::MAX).saturating_mul(STRIDE);
                Pairs { here: packed.iter_from(packed.place(at)), rest: None }
            }
            Form::Large(scores, _) => {
                let (path, row) = scores.find_position(rank);
                let row = usize::try_from(row).unwrap_or(usize::MAX);
                let rows = Rows::new(scores.leaf(&path));
                Pairs { here: rows.cells_from(row.min(rows.len())), rest: Some((*scores, path)) }
            }
        }
    }

    /// Iterates over the members from a rank back to the first.
    #[inline]
    pub fn iter_back_from(&self, rank: u64) -> PairsBack<'x> {
        let behind = |row: u64| usize::try_from(row).unwrap_or(usize::MAX).saturating_add(1);
        match &self.form {
            Form::Small(packed) => {
                let end = behind(rank).saturating_mul(STRIDE);
                PairsBack { here: packed.iter_to(packed.place(end)), rest: None }
            }
            Form::Large(scores, _) => {
                let (path, row) = scores.find_position(rank);
                let packed = Rows::new(scores.leaf(&path)).packed();
                let end = behind(row).saturating_mul(STRIDE);
                PairsBack { here: packed.iter_to(packed.place(end)), rest: Some((*scores, path)) }
            }
        }
    }

    /// Counts the members below a bound.
    #[inline]
    pub(super) fn rank_of(&self, bound: &Bound<'_>) -> u64 {
        match &self.form {
            Form::Small(packed) => seek_in_packed(*packed, bound) as u64,
            Form::Large(scores, _) => {
                let (path, row) = seek(scores, bound);
                scores.count_before(&path) + row as u64
            }
        }
    }

    /// Returns the tag of a member.
    #[inline]
    pub(super) fn tag(&self, member: Element<'_>) -> u32 {
        member.with_text(|text| tag_by(self.hasher, text))
    }

    /// Returns the tag that a set would have for the same text.
    #[inline]
    pub(super) fn short_tag(&self, member: Element<'_>) -> u32 {
        member.with_text(|text| short_tag_by(self.hasher, text))
    }
}

/// Finds the rank of a member in a small set, and its score.
#[inline]
pub(super) fn find_in_packed(packed: PackedList<'_>, member: &[u8]) -> Option<(usize, f64)> {
    let place = packed.find(Element::of(member), packed.place(1), STRIDE)?;
    Some((place.index() / STRIDE, score_of(packed.at(packed.before(place)))))
}

/// Counts the members of a small set below a bound.
#[inline]
pub(super) fn seek_in_packed(packed: PackedList<'_>, bound: &Bound<'_>) -> usize {
    let (mut low, mut high) = (0, packed.len() / STRIDE);
    let mut low_place = packed.front();
    while low < high {
        let middle = low.midpoint(high);
        let place = packed.forward(low_place, middle * STRIDE);
        let key = sort_key(score_of(packed.at(place)));
        let is_below = if key == bound.key {
            !bound.is_at_front()
                && packed
                    .at(packed.after(place))
                    .is_some_and(|member| bound.is_above_member(member))
        } else {
            key < bound.key
        };
        if is_below {
            low = middle + 1;
            low_place = packed.forward(place, low * STRIDE);
        } else {
            high = middle;
        }
    }
    low
}

/// Finds the first row that is not below a bound: the path to its leaf, and its number there, which
/// is the number of rows if all of the leaf are below.
#[inline]
pub(super) fn seek<'n, N: Nodes<'n>>(
    scores: &View<'n, N, ScoreLeaf>,
    bound: &Bound<'_>,
) -> (Path, usize) {
    let path = scores.find(|separator| bound.is_at_or_above(separator));
    let row = ByScore::seek(scores.nodes, Rows::new(scores.leaf(&path)), bound);
    (path, row)
}

/// Score of a member of a large set, and its row in the tree of scores.
#[derive(Debug)]
pub(super) struct Member {
    pub score: f64,
    pub path: Path,
    pub row: usize,
}

/// Row in the tree of tags.
#[derive(Debug)]
pub(super) struct TagRow {
    pub path: Path,
    pub row: usize,
}

/// Finds a member: its tag leads to one or more scores, and with one of them to its own row. Also
/// returns the row of its tag, or the row at which that would be inserted.
#[inline]
pub(super) fn find_by_tag<'n, N: Nodes<'n>>(
    scores: &View<'n, N, ScoreLeaf>,
    tags: &View<'n, N, TagLeaf>,
    tag: u32,
    member: &[u8],
) -> (Option<Member>, TagRow) {
    let tag_path = tags.find_tag(tag);
    let candidates = Rows::new(tags.leaf(&tag_path));
    tags.nodes.prefetch_bytes(candidates.codes());
    let mut tag_row = candidates.find_tag(tag);
    tags.nodes.prefetch_bytes(candidates.about(tag_row));
    while tag_row < candidates.len() && candidates.tag(tag_row) == tag {
        let score = score_of(candidates.cell(tag_row, 0));
        let (path, row) = seek(scores, &Bound::at(score, member));
        if is_row_of(scores, &path, row, score, member) {
            let tag = TagRow { path: tag_path, row: tag_row };
            return (Some(Member { score, path, row }), tag);
        }
        tag_row += 1;
    }
    (None, TagRow { path: tag_path, row: tag_row })
}

#[inline]
fn is_row_of<'n, N: Nodes<'n>>(
    scores: &View<'n, N, ScoreLeaf>,
    path: &Path,
    row: usize,
    score: f64,
    member: &[u8],
) -> bool {
    let rows = Rows::new(scores.leaf(path));
    if row >= rows.len() {
        return false;
    }
    let (packed, place) = (rows.packed(), rows.place(row));
    score_of(packed.at(place)) == score
        && packed
            .at(packed.after(place))
            .is_some_and(|found| resolve(scores.nodes, found).with_text(|text| text == member))
}

/// Iterator over members with their scores, in order.
#[derive(Clone, Debug)]
pub struct Pairs<'x> {
    here: Iter<'x>,
    rest: Option<(Scores<'x>, Path)>,
}

impl<'x> Iterator for Pairs<'x> {
    type Item = (Element<'x>, f64);

    #[inline]
    fn next(&mut self) -> Option<(Element<'x>, f64)> {
        loop {
            if let Some(score) = self.here.next() {
                let member = self.here.next()?;
                let member = match &self.rest {
                    Some((view, _)) => resolve(view.nodes, member),
                    None => member,
                };
                return Some((member, score_of(Some(score))));
            }
            let (view, path) = self.rest.as_mut()?;
            if !view.next(path) {
                return None;
            }
            self.here = Rows::new(view.leaf(path)).packed().iter();
        }
    }
}

/// Iterator over members with their scores, from the last to the first.
#[derive(Clone, Debug)]
pub struct PairsBack<'x> {
    here: Iter<'x>,
    rest: Option<(Scores<'x>, Path)>,
}

impl<'x> Iterator for PairsBack<'x> {
    type Item = (Element<'x>, f64);

    #[inline]
    fn next(&mut self) -> Option<(Element<'x>, f64)> {
        loop {
            if let Some(member) = self.here.next_back() {
                let score = self.here.next_back();
                let member = match &self.rest {
                    Some((view, _)) => resolve(view.nodes, member),
                    None => member,
                };
                return Some((member, score_of(score)));
            }
            let (view, path) = self.rest.as_mut()?;
            if !view.previous(path) {
                return None;
            }
            self.here = Rows::new(view.leaf(path)).packed().iter();
        }
    }
}
