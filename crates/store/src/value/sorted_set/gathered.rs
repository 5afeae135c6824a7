//! Whole sorted sets, written at once.

use super::limit::{SortedSetLimit, has_room};
use super::order::ByScore;
use super::score::{Score, score_of, sort_key};
use super::{STRIDE, TagLeaf};
use crate::access::Access;
use crate::fault::NoSpace;
use crate::key::{Encoding, Key, Kind, ValueTag};
use crate::shard::{KeyMut, WriteNodes};
use crate::value::collection::tag_by;
use base::KeyHasher;
use packed::{Element, PackedList};
use tree::{Builder, NoRoom, Root, Tree};

/// Value tag of a small set.
const SMALL: ValueTag = ValueTag::new(Kind::SortedSet, Encoding::Listpack);

/// Collected members with scores, to be stored under a key.
#[derive(Debug, Default)]
pub struct Gathered {
    bytes: Vec<u8>,
    /// Score of a member, and offset and length of its text in `bytes`.
    pairs: Vec<(f64, usize, usize)>,
    longest: usize,
    keeps_sign_of_zero: bool,
}

impl Gathered {
    /// Members of a small set of another server, where a negative zero may stand as text.
    pub fn of_texts() -> Gathered {
        Gathered { keeps_sign_of_zero: true, ..Gathered::default() }
    }

    /// Adds a member that was not added before.
    pub fn push(&mut self, member: Element<'_>, score: f64) {
        member.with_text(|text| {
            self.pairs.push((score, self.bytes.len(), text.len()));
            self.longest = self.longest.max(text.len());
            self.bytes.extend_from_slice(text);
        });
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns true if there are no members.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Iterates over members and scores.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], f64)> {
        self.pairs.iter().map(|pair| (self.member(*pair), pair.0))
    }

    fn member(&self, (_, begin, len): (f64, usize, usize)) -> &[u8] {
        &self.bytes[begin..begin + len]
    }

    fn sort(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        let member = |(_, begin, len): &(f64, usize, usize)| &bytes[*begin..begin + len];
        self.pairs.sort_unstable_by(|one, other| {
            sort_key(one.0).cmp(&sort_key(other.0)).then_with(|| member(one).cmp(member(other)))
        });
        self.bytes = bytes;
    }

    /// Returns the packed list of all members if they fit into one.
    fn to_packed(&self) -> Option<Vec<u8>> {
        let mut packed = packed::EMPTY.to_vec();
        for pair in &self.pairs {
            let score = match self.keeps_sign_of_zero {
                true => Score::new(pair.0),
                false => Score::without_sign_of_zero(pair.0),
            };
            let member = Element::of(self.member(*pair));
            if !has_room(PackedList::new(&packed), score.element().cost() + member.cost()) {
                return None;
            }
            packed::push_row(&mut packed, &[score.element(), member]);
        }
        Some(packed)
    }
}

/// Replaces the value of a key by the gathered members, without a deadline; removes the key if
/// there are none. Returns true if the key was written or removed.
///
/// # Errors
/// When there is no room for it; nothing has changed then.
pub fn store(
    access: &mut Access<'_>,
    key: &Key<'_>,
    gathered: &mut Gathered,
    limit: SortedSetLimit,
) -> Result<bool, NoSpace> {
    if gathered.is_empty() {
        return Ok(access.remove(key));
    }
    gathered.sort();
    let is_allowed = limit.allows(gathered.len() as u64, gathered.longest);
    let packed = is_allowed.then(|| gathered.to_packed()).flatten();
    let mut key = access.open_to_replace(key);
    match packed {
        Some(packed) => key.replace(SMALL, &packed)?,
        None => put_large(&mut key, gathered, encoding_of_large(is_allowed))?,
    }
    Ok(true)
}

/// Replaces the value of the key by a large set.
fn put_large(
    key: &mut KeyMut<'_, '_>,
    gathered: &Gathered,
    encoding: Encoding,
) -> Result<(), NoSpace> {
    let hasher = key.hasher();
    key.put_trees(ValueTag::of_tree(Kind::SortedSet, encoding), |nodes| {
        let pairs = gathered.pairs.iter().map(|pair| (pair.0, gathered.member(*pair)));
        build(nodes, hasher, pairs)
    })
}

/// Encoding of a large set: that of a small one as long as the settings allow it.
pub(super) fn encoding_of_large(is_allowed_to_be_small: bool) -> Encoding {
    if is_allowed_to_be_small { Encoding::Listpack } else { Encoding::Skiplist }
}

/// Builds both trees from members that are in order.
fn build<'m>(
    nodes: &mut WriteNodes<'_, '_>,
    hasher: &KeyHasher,
    pairs: impl Iterator<Item = (f64, &'m [u8])> + Clone,
) -> Result<[Root; 2], NoRoom> {
    let mut tree: Builder<'_, _, ByScore> = Builder::new(nodes, STRIDE)?;
    let mut tags = Vec::new();
    for (score, member) in pairs {
        let score_cell = Score::new(score);
        tags.push((tag_by(hasher, member), score_cell));
        tree.push(0, &[score_cell.element(), Element::of(member)])?;
    }
    let scores = tree.finish()?;
    tags.sort_unstable_by_key(|(tag, _)| *tag);
    let rows = tags.iter().map(|(tag, score)| (*tag, score.element()));
    let tags = Tree::<_, TagLeaf>::of_tagged(nodes, rows)?;
    Ok([scores, tags])
}

/// Creates a small set of one member under a missing key.
pub(super) fn put_small(
    key: &mut KeyMut<'_, '_>,
    cells: &[Element<'_>; STRIDE],
) -> Result<(), NoSpace> {
    let mut packed = packed::EMPTY.to_vec();
    packed::push_row(&mut packed, cells);
    key.replace(SMALL, &packed)
}

/// Converts a small set to a large one.
pub(super) fn enlarge(key: &mut KeyMut<'_, '_>, encoding: Encoding) -> Result<(), NoSpace> {
    let mut gathered = Gathered::default();
    let mut cells = PackedList::new(key.bytes()).iter();
    while let (score @ Some(_), Some(member)) = (cells.next(), cells.next()) {
        gathered.push(member, score_of(score));
    }
    put_large(key, &gathered, encoding)
}
