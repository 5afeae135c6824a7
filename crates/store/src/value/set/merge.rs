//! Merge of many streams of members in the order of their tags.

use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Members in the order of their tags.
pub(super) trait InTagOrder {
    type Member;

    /// Tag of the current member; `None` at the end.
    fn tag(&self) -> Option<u32>;

    /// Returns the current member.
    fn member(&mut self) -> Self::Member;

    /// Advances to the next member.
    fn advance(&mut self);

    /// Advances to the first member whose tag is not below `tag`.
    fn seek(&mut self, tag: u32);
}

/// Streams whose current members are known by their tags, so that a step looks at the one stream
/// that comes next, however many there are.
pub(super) struct Merge<S> {
    streams: SmallVec<[S; 4]>,
    /// Tag of the current member of each stream that is not at its end, and the stream's number.
    next: BinaryHeap<Reverse<(u32, usize)>>,
}

impl<S: InTagOrder> Merge<S> {
    pub fn new(streams: SmallVec<[S; 4]>) -> Merge<S> {
        let numbered = streams.iter().enumerate();
        let next = numbered.filter_map(|(at, stream)| Some(Reverse((stream.tag()?, at)))).collect();
        Merge { streams, next }
    }

    /// Lowest tag of a member that was not taken; `None` at the end of all streams.
    #[inline]
    pub fn tag(&self) -> Option<u32> {
        self.next.peek().map(|Reverse((tag, _))| *tag)
    }

    /// Takes the next member with a tag, those of the first stream first, and passes over members
    /// with lower ones; `None` if there are no more.
    #[inline]
    pub fn take(&mut self, tag: u32) -> Option<S::Member> {
        loop {
            let mut next = self.next.peek_mut().filter(|next| next.0.0 <= tag)?;
            let Reverse((current, number)) = *next;
            let stream = &mut self.streams[number];
            let member = (current == tag).then(|| stream.member());
            match member {
                Some(_) => stream.advance(),
                None => stream.seek(tag),
            }
            match stream.tag() {
                Some(behind) => next.0.0 = behind,
                None => {
                    PeekMut::pop(next);
                }
            }
            if member.is_some() {
                return member;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Random;
    use std::cell::Cell;
    use std::collections::BTreeSet;

    /// Stream of tags, each of which is its own member, that counts how often one is looked at.
    struct Counted<'c> {
        tags: Vec<u32>,
        at: usize,
        looks: &'c Cell<usize>,
    }

    impl InTagOrder for Counted<'_> {
        type Member = u32;

        fn tag(&self) -> Option<u32> {
            self.looks.set(self.looks.get() + 1);
            self.tags.get(self.at).copied()
        }

        fn member(&mut self) -> u32 {
            self.tags[self.at]
        }

        fn advance(&mut self) {
            self.at += 1;
        }

        fn seek(&mut self, tag: u32) {
            self.at += self.tags[self.at..].iter().take_while(|it| **it < tag).count();
        }
    }

    fn some_tags(random: &mut Random, most: u64, below: u64) -> Vec<u32> {
        let mut tags: Vec<_> = (0..random.below(most)).map(|_| random.below(below)).collect();
        tags.sort_unstable();
        tags.into_iter().map(narrow::low_u32).collect()
    }

    #[test]
    fn members_of_many_streams_are_taken_in_order_with_one_look_at_each() {
        let mut random = Random::from_seed(5);
        for streams in [0, 1, 2, 3, 8, 400] {
            let all: Vec<_> = (0..streams).map(|_| some_tags(&mut random, 30, 600)).collect();
            let looks = Cell::new(0);
            let counted = |tags: &Vec<u32>| Counted { tags: tags.clone(), at: 0, looks: &looks };
            let mut merge = Merge::new(all.iter().map(counted).collect());
            let mut taken = Vec::new();
            while let Some(tag) = merge.tag() {
                while let Some(member) = merge.take(tag) {
                    taken.push(member);
                }
            }
            let mut expected = all.concat();
            expected.sort_unstable();
            assert_eq!(taken, expected);
            assert_eq!(looks.get(), streams + expected.len());
        }
    }

    #[test]
    fn streams_that_have_no_wanted_tag_are_passed_over_with_few_looks() {
        let mut random = Random::from_seed(6);
        for streams in [1, 3, 400] {
            let all: Vec<_> = (0..streams).map(|_| some_tags(&mut random, 100, 9_000)).collect();
            let wanted: BTreeSet<u32> = some_tags(&mut random, 900, 9_100).into_iter().collect();
            let looks = Cell::new(0);
            let counted = |tags: &Vec<u32>| Counted { tags: tags.clone(), at: 0, looks: &looks };
            let mut merge = Merge::new(all.iter().map(counted).collect());
            for tag in wanted {
                let mut count = 0;
                while let Some(member) = merge.take(tag) {
                    assert_eq!(member, tag);
                    count += 1;
                }
                assert_eq!(count, all.iter().flatten().filter(|it| **it == tag).count());
            }
            assert!(looks.get() <= streams + all.concat().len());
        }
    }
}
