//! Removal of random members.

use super::build::{Kept, UNKNOWN, put_members};
use super::limit::{Added, Growth};
use super::read::Set;
use super::remove::remove_at;
use super::sample::choose;
use super::{Leaf, SetLimit};
use crate::access::Access;
use crate::fault::Fault;
use crate::key::{Encoding, Key, Kind};
use crate::shard::{KeyMut, Reason};
use packed::Element;
use tree::{Rows, resolve};

/// A prepared removal of random members from a set.
#[derive(Debug)]
pub struct Pop<'g, 'a> {
    key: KeyMut<'g, 'a>,
    len: u64,
    count: u64,
    limit: SetLimit,
}

/// Prepares the removal of up to `count` random members from the set of a key. `None` if there is
/// no set.
///
/// # Errors
/// When the key holds something else.
pub fn pop<'g, 'a>(
    access: &'g mut Access<'a>,
    key: &Key<'g>,
    count: u64,
    limit: SetLimit,
) -> Result<Option<Pop<'g, 'a>>, Fault> {
    let Some(key) = access.open(key, Kind::Set)?.existing() else { return Ok(None) };
    let len = Set::of(key.value()).len();
    Ok(Some(Pop { key, len, count: count.min(len), limit }))
}

/// Removed members per remaining one from which on a set is built anew from the rest.
const REST_PART: u64 = 5;

impl Pop<'_, '_> {
    /// Number of members that will be removed.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns true if no member will be left, and the key goes too.
    pub fn takes_all(&self) -> bool {
        self.count == self.len
    }

    /// Passes each chosen member to `each` and removes it; the last member of the set takes the key
    /// with it.
    ///
    /// # Errors
    /// When there is no room for the remaining members; nothing has changed then.
    pub fn finish(mut self, each: impl FnMut(Element<'_>)) -> Result<(), Fault> {
        let rest = self.len - self.count;
        if self.count == 0 {
            Ok(())
        } else if rest == 0 {
            Set::of(self.key.value()).members().for_each(each);
            self.key.remove(Reason::Deleted);
            Ok(())
        } else if self.count == 1 {
            self.take_one(each)
        } else if rest * REST_PART <= self.count {
            self.leave_few(rest, each)
        } else if self.key.value_tag().is_tree() {
            self.take_from_tree(each)
        } else {
            self.take_from_small(each)
        }
    }

    fn take_one(self, mut each: impl FnMut(Element<'_>)) -> Result<(), Fault> {
        let Pop { mut key, len, .. } = self;
        let at = key.guard().random().below(len);
        if !key.value_tag().is_tree() {
            Set::of(key.value()).get(at).into_iter().for_each(each);
            remove_at(&mut key, narrow::to_usize(at));
            return Ok(());
        }
        key.change_tree::<Leaf, _>(0, |tree| {
            let view = tree.view();
            let (path, row) = view.find_position(at);
            if let Some(cell) = Rows::new(view.leaf(&path)).cell(narrow::to_usize(row), 0) {
                each(resolve(view.nodes, cell));
            }
            tree.remove_rows(&path, narrow::to_usize(row), 1);
            Ok(())
        })
    }

    fn take_from_tree(self, mut each: impl FnMut(Element<'_>)) -> Result<(), Fault> {
        let Pop { mut key, len, count, .. } = self;
        let chosen = choose(key.guard().random(), len, count);
        key.change_tree::<Leaf, _>(0, |tree| {
            // In descending order, so that each removal leaves the remaining positions valid.
            let mut left = &chosen[..];
            while let Some(last) = left.last() {
                let view = tree.view();
                let (path, last_row) = view.find_position(*last);
                let begin = last - last_row;
                let rows = Rows::new(view.leaf(&path));
                let here = left.partition_point(|at| *at < begin);
                let cells =
                    left[here..].iter().filter_map(|at| rows.cell(narrow::to_usize(at - begin), 0));
                cells.for_each(|cell| each(resolve(view.nodes, cell)));
                let taken: Vec<usize> =
                    left[here..].iter().map(|at| narrow::to_usize(at - begin)).collect();
                tree.remove_some_rows(&path, &taken);
                left = &left[..here];
            }
            Ok(())
        })
    }

    fn take_from_small(self, each: impl FnMut(Element<'_>)) -> Result<(), Fault> {
        let Pop { mut key, len, count, .. } = self;
        let chosen = choose(key.guard().random(), len, count);
        let encoding = key.value_tag().encoding();
        let (mut kept, set) = (Kept::default(), Set::of(key.value()));
        each_other(&set, &chosen, |element| kept.push(UNKNOWN, element));
        set.each_at(&chosen, each);
        put_members(&mut key, encoding, &mut kept.members())?;
        Ok(())
    }

    fn leave_few(self, rest: u64, each: impl FnMut(Element<'_>)) -> Result<(), Fault> {
        let Pop { mut key, len, limit, .. } = self;
        let left = choose(key.guard().random(), len, rest);
        let (mut kept, set) = (Kept::default(), Set::of(key.value()));
        // The rest of a large set may be a small one again.
        let begun = match set.encoding {
            Encoding::Hashtable => Encoding::Listpack,
            encoding => encoding,
        };
        let mut growth = Growth::new(begun);
        set.each_at(&left, |element| {
            let is_integer = matches!(element, Element::Integer(_));
            growth.add(limit, Added { is_integer, bytes: element.text_len() });
            kept.push(UNKNOWN, element);
        });
        each_other(&set, &left, each);
        put_members(&mut key, growth.encoding, &mut kept.members())?;
        Ok(())
    }
}

/// Passes all members except those at these ascending positions to `each`.
fn each_other<'x>(set: &Set<'x>, positions: &[u64], mut each: impl FnMut(Element<'x>)) {
    let mut positions = positions.iter().copied().peekable();
    for (at, member) in (0..).zip(set.members()) {
        if positions.next_if_eq(&at).is_none() {
            each(member);
        }
    }
}
