//! Largest sizes of the compact forms of a set.

use crate::key::Encoding;

/// Most members of an integer array, whatever the setting.
const INTEGERS_MAX: u64 = 1 << 30;

/// Settings for the forms of sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetLimit {
    /// Most members of a set of integers, `set-max-intset-entries`.
    pub integers: u64,
    /// Most members of any other compact set, `set-max-listpack-entries`.
    pub members: u64,
    /// Most bytes of a member of a compact set, `set-max-listpack-value`.
    pub member_bytes: u64,
}

/// Facts about a member to be added.
#[derive(Clone, Copy, Debug)]
pub(super) struct Added {
    /// True if the text is an integer.
    pub is_integer: bool,
    /// Bytes of the text.
    pub bytes: usize,
}

impl SetLimit {
    /// Returns true if a set of integers may have this number of members.
    pub(super) fn allows_integers(self, len: u64) -> bool {
        len <= self.integers.min(INTEGERS_MAX)
    }

    /// Encoding of a new set to which `count` members will be added.
    pub(super) fn of_new(self, first_is_integer: bool, count: u64) -> Encoding {
        if first_is_integer && count <= self.integers {
            Encoding::Intset
        } else if count <= self.members {
            Encoding::Listpack
        } else {
            Encoding::Hashtable
        }
    }

    /// Encoding of a set before `count` members are added, some of which it may already have.
    pub(super) fn before_adding(self, encoding: Encoding, count: u64) -> Encoding {
        match encoding {
            Encoding::Intset if count > self.integers => Encoding::Hashtable,
            Encoding::Listpack if count > self.members => Encoding::Hashtable,
            encoding => encoding,
        }
    }

    /// Encoding of a set of `len` members once another one is added. `longest` computes the bytes
    /// of the longest text among the present members.
    #[inline]
    pub(super) fn with(
        self,
        encoding: Encoding,
        len: u64,
        added: Added,
        longest: impl FnOnce() -> usize,
    ) -> Encoding {
        let is_short = |bytes: usize| bytes as u64 <= self.member_bytes;
        let is_listpack = len < self.members && is_short(added.bytes);
        match encoding {
            Encoding::Intset if added.is_integer && self.allows_integers(len + 1) => encoding,
            Encoding::Intset if added.is_integer => Encoding::Hashtable,
            Encoding::Intset if is_listpack && is_short(longest()) => Encoding::Listpack,
            Encoding::Listpack if is_listpack => encoding,
            _ => Encoding::Hashtable,
        }
    }
}

/// Encoding of a set that starts empty and receives members one by one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    pub encoding: Encoding,
    len: u64,
    longest: usize,
}

impl Growth {
    pub fn new(encoding: Encoding) -> Growth {
        Growth { encoding, len: 0, longest: 0 }
    }

    pub fn add(&mut self, limit: SetLimit, added: Added) {
        let longest = self.longest;
        self.encoding = limit.with(self.encoding, self.len, added, || longest);
        self.len += 1;
        self.longest = longest.max(added.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: SetLimit = SetLimit { integers: 4, members: 3, member_bytes: 8 };

    fn grown(texts: &[&str]) -> Encoding {
        let mut growth = Growth::new(Encoding::Intset);
        for text in texts {
            let is_integer = text.parse::<i64>().is_ok();
            growth.add(LIMIT, Added { is_integer, bytes: text.len() });
        }
        growth.encoding
    }

    #[test]
    fn a_set_changes_its_form_when_its_members_ask_for_it() {
        let rows: [(&[&str], Encoding); 8] = [
            (&["1", "2", "3", "4"], Encoding::Intset),
            (&["1", "2", "3", "4", "5"], Encoding::Hashtable),
            (&["1", "2", "a"], Encoding::Listpack),
            (&["1", "2", "3", "a"], Encoding::Hashtable),
            (&["1", "2", "123456789", "a"], Encoding::Hashtable),
            (&["a", "b", "c"], Encoding::Listpack),
            (&["a", "b", "c", "d"], Encoding::Hashtable),
            (&["abcdefghi"], Encoding::Hashtable),
        ];
        for (texts, encoding) in rows {
            assert_eq!(grown(texts), encoding, "{texts:?}");
        }
    }

    #[test]
    fn a_new_set_is_made_for_as_many_members_as_were_sent() {
        assert_eq!(LIMIT.of_new(true, 4), Encoding::Intset);
        assert_eq!(LIMIT.of_new(true, 5), Encoding::Hashtable);
        assert_eq!(LIMIT.of_new(false, 3), Encoding::Listpack);
        assert_eq!(LIMIT.before_adding(Encoding::Listpack, 4), Encoding::Hashtable);
        assert_eq!(LIMIT.before_adding(Encoding::Intset, 4), Encoding::Intset);
    }
}
