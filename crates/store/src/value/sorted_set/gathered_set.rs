//! Large sorted sets, gathered member by member and stored at once.
//!
//! ```text
//! member   | score 8 | name |                   in runs, by score and name
//! tag      | score 8 | run 4 | offset 4 |       by tag, with the place of the member
//! ```

use super::STRIDE;
use super::gathered::encoding_of_large;
use super::limit::SortedSetLimit;
use super::order::ByScore;
use super::score::{Score, sort_key};
use crate::access::Access;
use crate::fault::NoSpace;
use crate::key::{Key, Kind, ValueTag};
use crate::shard::WriteNodes;
use crate::value::collection::tag_by;
use crate::value::gathered::{NotStored, RowAt, RowOrder, Runs, Shares};
use base::KeyHasher;
use packed::Element;
use std::cmp::Ordering;
use tree::{Builder, ByTag, Root};

/// Members of a large sorted set, before it is stored.
#[derive(Debug)]
pub struct GatheredSortedSet {
    members: Runs<ByScoreAndName>,
    tags: Shares,
    /// Runs whose members have their tags.
    tagged: usize,
    hasher: KeyHasher,
    limit: SortedSetLimit,
    longest: usize,
    bytes: usize,
}

const SCORE_BYTES: usize = size_of::<f64>();
/// Bytes of score and place in a row of a tag.
const TAG_ROW_BYTES: usize = SCORE_BYTES + 2 * size_of::<u32>();

/// Order by score, then by the bytes of the name.
#[derive(Debug)]
enum ByScoreAndName {}

impl RowOrder for ByScoreAndName {
    #[inline]
    fn cmp(one: &[u8], other: &[u8]) -> Ordering {
        let (one, other) = (parse(one), parse(other));
        sort_key(one.0).cmp(&sort_key(other.0)).then_with(|| one.1.cmp(other.1))
    }
}

/// Score and name of a member.
#[inline]
fn parse(row: &[u8]) -> (f64, &[u8]) {
    row.split_first_chunk().map_or((0.0, &[]), |(score, name)| (f64::from_le_bytes(*score), name))
}

/// Score and place of the member in the row of a tag.
#[inline]
fn parse_tag(row: &[u8]) -> (f64, RowAt) {
    let word = |at: usize| row[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
    let at = RowAt { run: word(SCORE_BYTES), offset: word(SCORE_BYTES + size_of::<u32>()) };
    (parse(row).0, at)
}

impl GatheredSortedSet {
    /// A sorted set without members.
    pub fn new(hasher: &KeyHasher, limit: SortedSetLimit) -> GatheredSortedSet {
        GatheredSortedSet {
            members: Runs::new(),
            tags: Shares::new(),
            tagged: 0,
            hasher: hasher.clone(),
            limit,
            longest: 0,
            bytes: 0,
        }
    }

    /// Adds a member.
    ///
    /// # Errors
    /// When the system has no memory for it.
    pub fn push(&mut self, name: &[u8], score: f64) -> Result<(), NoSpace> {
        self.longest = self.longest.max(name.len());
        self.bytes += name.len();
        self.members.push(SCORE_BYTES + name.len(), |to| {
            to[..SCORE_BYTES].copy_from_slice(&score.to_le_bytes());
            to[SCORE_BYTES..].copy_from_slice(name);
        })?;
        self.tag_runs()
    }

    /// Gives the members of new runs their tags: only then do they have a place.
    #[inline]
    fn tag_runs(&mut self) -> Result<(), NoSpace> {
        while self.tagged < self.members.runs() {
            for (at, row) in self.members.rows_of(self.tagged) {
                let (score, name) = parse(row);
                self.tags.push(tag_by(&self.hasher, name), TAG_ROW_BYTES, |to| {
                    to[..SCORE_BYTES].copy_from_slice(&score.to_le_bytes());
                    to[SCORE_BYTES..][..4].copy_from_slice(&at.run.to_le_bytes());
                    to[SCORE_BYTES + 4..].copy_from_slice(&at.offset.to_le_bytes());
                })?;
            }
            self.tagged += 1;
        }
        Ok(())
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns true if there are no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all members, and about those of their scores.
    pub fn byte_len(&self) -> usize {
        self.bytes + 2 * SCORE_BYTES * self.len()
    }

    /// Puts the sorted set under a key, in place of any other value, without a deadline. It becomes
    /// trees, under whatever encoding clients know it.
    ///
    /// # Errors
    /// When there is no room, or a member is there twice; nothing has changed then.
    pub fn store(mut self, access: &mut Access<'_>, key: &Key<'_>) -> Result<(), NotStored> {
        self.members.close()?;
        self.tag_runs()?;
        let encoding = encoding_of_large(self.limit.allows(self.len() as u64, self.longest));
        let GatheredSortedSet { members, tags, .. } = self;
        let value_tag = ValueTag::of_tree(Kind::SortedSet, encoding);
        access.open_to_replace(key).put_gathered(value_tag, |nodes| {
            // The tags first: whether members are distinct shows as long as they have their places.
            let tags = build_tags(nodes, &members, tags)?;
            Ok([build_scores(nodes, members)?, tags])
        })
    }
}

fn build_tags(
    nodes: &mut WriteNodes<'_, '_>,
    members: &Runs<ByScoreAndName>,
    tags: Shares,
) -> Result<Root, NotStored> {
    let mut tree: Builder<'_, _, ByTag> = Builder::new(nodes, 1)?;
    let name = |row: &[u8]| parse(members.row_at(parse_tag(row).1)).1;
    tags.try_each(
        |one, other| name(one).cmp(name(other)),
        |tag, row| Ok(tree.push(tag, &[Score::new(parse_tag(row).0).element()])?),
    )?;
    Ok(tree.finish()?)
}

fn build_scores(
    nodes: &mut WriteNodes<'_, '_>,
    members: Runs<ByScoreAndName>,
) -> Result<Root, NotStored> {
    let mut tree: Builder<'_, _, ByScore> = Builder::new(nodes, STRIDE)?;
    members.try_merge(|row| {
        let (score, name) = parse(row);
        Ok(tree.push(0, &[Score::new(score).element(), Element::of(name)])?)
    })?;
    Ok(tree.finish()?)
}
