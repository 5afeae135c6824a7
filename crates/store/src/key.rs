//! Keys as commands name them, and values as they are found.

use base::{KeyspaceId, Millis, PositionHash};
use index::TIMED_PARTS;

/// A key in a keyspace, hashed once.
#[derive(Clone, Copy, Debug)]
pub struct Key<'k> {
    /// The key's bytes.
    pub bytes: &'k [u8],
    /// Position hash, the same in every keyspace.
    pub hash: PositionHash,
    /// Keyspace of the key.
    pub keyspace: KeyspaceId,
}

/// Kind of value, as TYPE names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Bytes; integers and bitmaps too.
    String = 0,
    /// Elements by position.
    List = 1,
    /// Distinct members.
    Set = 2,
    /// Distinct members, each with a score.
    SortedSet = 3,
    /// Fields with values.
    Hash = 4,
    /// Entries by id, and groups of consumers.
    Stream = 5,
}

impl Kind {
    /// Every kind, in the order of their numbers.
    pub const ALL: [Kind; 6] =
        [Kind::String, Kind::List, Kind::Set, Kind::SortedSet, Kind::Hash, Kind::Stream];

    /// The name that TYPE answers.
    pub fn name(self) -> &'static str {
        match self {
            Kind::String => "string",
            Kind::List => "list",
            Kind::Set => "set",
            Kind::SortedSet => "zset",
            Kind::Hash => "hash",
            Kind::Stream => "stream",
        }
    }

    #[inline]
    pub(crate) fn of(bits: u8) -> Kind {
        match bits & 7 {
            TIMED_PARTS => Kind::Hash,
            bits => Kind::ALL.get(usize::from(bits)).copied().unwrap_or(Kind::String),
        }
    }
}

/// Effect of a write on the deadline of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Leaves the deadline; a new key has none.
    Keep,
    /// Removes the deadline.
    Never,
    /// Sets the deadline.
    At(Millis),
}

impl Expiry {
    /// Returns the deadline after a write over a value that had `old`.
    #[inline(always)]
    pub(crate) fn after(self, old: impl FnOnce() -> Option<Millis>) -> Option<Millis> {
        match self {
            Expiry::Keep => old(),
            Expiry::Never => None,
            Expiry::At(at) => Some(at),
        }
    }
}

/// Encoding of a value, as OBJECT ENCODING names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// A string that was changed in place before, or is too long to be embedded.
    Raw,
    /// A string as it was set, whatever its length; `Value::encoding_under` tells which are called
    /// raw.
    Embedded,
    /// The decimal text of a 64-bit integer.
    Int,
    /// A small collection, in one packed list of elements.
    Listpack,
    /// A small set of integers.
    Intset,
    /// A large list.
    Quicklist,
    /// A large hash or set.
    Hashtable,
    /// A large sorted set.
    Skiplist,
    /// A stream.
    Stream,
}

/// Longest object in bytes that is called embedded: its header, deadline, key and value together.
const EMBEDDED_OBJECT_MAX: usize = 128;
/// Longest value in bytes that is called embedded.
const EMBEDDED_VALUE_MAX: usize = 255;

impl Encoding {
    /// Encoding of a string that was just set.
    #[inline]
    pub fn of_new(value: &[u8]) -> Encoding {
        let may_be_int = value.len() <= 20 && matches!(value, [b'0'..=b'9' | b'-', ..]);
        if may_be_int && text::parse_i64(value).is_some() {
            Encoding::Int
        } else {
            Encoding::Embedded
        }
    }

    /// Encoding to show for a string under a key of `key_len` bytes: clients know strings as
    /// embedded while everything about them fits into two cache lines.
    fn as_shown(self, key_len: usize, value_len: usize, has_deadline: bool) -> Encoding {
        if self != Encoding::Embedded {
            return self;
        }
        let key_head = match key_len {
            0..32 => 1,
            32..256 => 3,
            256..65_536 => 5,
            _ => 9,
        };
        let (head, key_bytes, value_bytes) = (8, 1 + key_head + key_len + 1, 3 + value_len + 1);
        let deadline = if has_deadline { 8 } else { 0 };
        let object = head + deadline + key_bytes + value_bytes;
        let fits = value_len <= EMBEDDED_VALUE_MAX && object <= EMBEDDED_OBJECT_MAX;
        if fits { Encoding::Embedded } else { Encoding::Raw }
    }

    /// The name that OBJECT ENCODING answers.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Raw => "raw",
            Encoding::Embedded => "embstr",
            Encoding::Int => "int",
            Encoding::Listpack => "listpack",
            Encoding::Intset => "intset",
            Encoding::Quicklist => "quicklist",
            Encoding::Hashtable => "hashtable",
            Encoding::Skiplist => "skiplist",
            Encoding::Stream => "stream",
        }
    }
}

/// Value tag: seven bits of a record that belong to the store.
///
/// ```text
/// | is tree 1 | encoding 3 | kind 3 |                       of a collection
/// | is tree 1 | is fetched 1 | encoding 2 | kind 3 |        of a string
/// ```
/// A hash with fields that expire has a kind of its own here and in the index, so that the sweep
/// over deadlines looks at it. So has a string in chunks, so that one look tells it from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueTag(pub u8);

const CODE_RAW: u8 = 0;
const CODE_EMBEDDED: u8 = 1;
const CODE_INT: u8 = 2;
const CODE_LISTPACK: u8 = 3;
const CODE_INTSET: u8 = 4;
/// Code of the large form, whose name depends on the kind.
const CODE_LARGE: u8 = 5;
const CODE_SHIFT: u8 = 3;
const IS_TREE: u8 = 1 << 6;
/// Bit of a string that a client of Memcached has fetched; strings need no more than two bits for
/// their encoding.
const IS_FETCHED: u8 = 1 << 5;
const STRING_CODES: u8 = 3;
const _: () = assert!((CODE_RAW | CODE_EMBEDDED | CODE_INT) & !STRING_CODES == 0);
const KIND_BITS: u8 = 7;
/// Kind bits of a string in chunks.
const LONG_STRING: u8 = 7;
const _: () = assert!(LONG_STRING != TIMED_PARTS && LONG_STRING as usize >= Kind::ALL.len());

impl ValueTag {
    /// Value tag of a record that tells where the chunks of a string are.
    pub const OF_LONG_STRING: ValueTag = ValueTag(LONG_STRING | CODE_RAW << CODE_SHIFT | IS_TREE);

    #[inline]
    pub const fn new(kind: Kind, encoding: Encoding) -> ValueTag {
        let code = match encoding {
            Encoding::Raw => CODE_RAW,
            Encoding::Embedded => CODE_EMBEDDED,
            Encoding::Int => CODE_INT,
            Encoding::Listpack => CODE_LISTPACK,
            Encoding::Intset => CODE_INTSET,
            Encoding::Quicklist | Encoding::Hashtable | Encoding::Skiplist | Encoding::Stream => {
                CODE_LARGE
            }
        };
        ValueTag(kind as u8 | code << CODE_SHIFT)
    }

    /// Value tag of a record that holds the roots of trees.
    #[inline]
    pub fn of_tree(kind: Kind, encoding: Encoding) -> ValueTag {
        ValueTag(ValueTag::new(kind, encoding).0 | IS_TREE)
    }

    /// Value tag of the same hash, with or without fields that expire.
    #[inline]
    pub fn with_timed_parts(self, is_timed: bool) -> ValueTag {
        let kind = if is_timed { TIMED_PARTS } else { Kind::Hash as u8 };
        ValueTag(self.0 & !KIND_BITS | kind)
    }

    /// Returns true for a string in one piece.
    #[inline]
    pub fn is_whole_string(self) -> bool {
        self.0 & KIND_BITS == Kind::String as u8
    }

    /// Returns true for a string that was fetched.
    #[inline]
    pub fn is_fetched(self) -> bool {
        self.kind() == Kind::String && self.0 & IS_FETCHED != 0
    }

    /// Returns true for a string that nobody has fetched.
    pub fn is_unfetched_string(self) -> bool {
        self.kind() == Kind::String && self.0 & IS_FETCHED == 0
    }

    /// Value tag of the same string, fetched.
    #[inline]
    pub fn with_fetched(self) -> ValueTag {
        debug_assert!(self.kind() == Kind::String);
        ValueTag(self.0 | IS_FETCHED)
    }

    /// Value tag of the same string, not fetched.
    #[inline]
    pub fn without_fetched(self) -> ValueTag {
        debug_assert!(self.kind() == Kind::String);
        ValueTag(self.0 & !IS_FETCHED)
    }

    /// Value tag of a string that was changed, fetched if it was before.
    #[inline]
    pub fn fetched_as(self, before: ValueTag) -> ValueTag {
        debug_assert!(self.kind() == Kind::String && before.kind() == Kind::String);
        ValueTag(self.0 | before.0 & IS_FETCHED)
    }

    /// Returns true for a value that grows bit by bit.
    #[inline]
    pub fn grows(self) -> bool {
        !self.is_whole_string()
    }

    /// Returns true for a hash with fields that expire.
    #[inline]
    pub fn has_timed_parts(self) -> bool {
        self.0 & KIND_BITS == TIMED_PARTS
    }

    #[inline]
    pub fn kind(self) -> Kind {
        Kind::of(self.0)
    }

    #[inline]
    pub fn is_tree(self) -> bool {
        self.0 & IS_TREE != 0
    }

    #[inline]
    pub fn encoding(self) -> Encoding {
        let (code, kind) = (self.0 >> CODE_SHIFT & 7, self.kind());
        let code = if kind == Kind::String { code & STRING_CODES } else { code };
        match (code, kind) {
            (CODE_RAW, _) => Encoding::Raw,
            (CODE_INT, _) => Encoding::Int,
            (CODE_LISTPACK, _) => Encoding::Listpack,
            (CODE_INTSET, _) => Encoding::Intset,
            (CODE_LARGE, Kind::List) => Encoding::Quicklist,
            (CODE_LARGE, Kind::SortedSet) => Encoding::Skiplist,
            (CODE_LARGE, Kind::Stream) => Encoding::Stream,
            (CODE_LARGE, _) => Encoding::Hashtable,
            _ => Encoding::Embedded,
        }
    }
}

/// A value as it stands in its record.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    /// Kind of the value.
    pub kind: Kind,
    /// Encoding of the value.
    pub encoding: Encoding,
    /// True if the value is kept in nodes; its bytes tell where they are.
    pub(crate) is_tree: bool,
    /// Bytes of the value: for a string in one piece what clients see, otherwise in the format of
    /// its kind.
    pub bytes: &'a [u8],
    /// Deadline of the key.
    pub deadline: Option<Millis>,
}

impl Value<'_> {
    /// Returns true if the value is kept in nodes, whatever its encoding.
    pub fn is_large(&self) -> bool {
        self.is_tree
    }

    /// Encoding that OBJECT ENCODING names, for the value of `key`.
    pub fn encoding_under(&self, key: &Key<'_>) -> Encoding {
        self.encoding.as_shown(key.bytes.len(), self.bytes.len(), self.deadline.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::Encoding;

    #[test]
    fn a_string_is_shown_as_embedded_while_key_value_and_deadline_fit() {
        let rows = [
            (1, 112, false, Encoding::Embedded),
            (1, 113, false, Encoding::Raw),
            (1, 104, true, Encoding::Embedded),
            (1, 105, true, Encoding::Raw),
            (31, 82, false, Encoding::Embedded),
            (32, 82, false, Encoding::Raw),
            (32, 79, false, Encoding::Embedded),
            (200, 0, false, Encoding::Raw),
        ];
        for (key, value, deadline, expected) in rows {
            let shown = Encoding::Embedded.as_shown(key, value, deadline);
            assert_eq!(shown, expected, "{key} {value} {deadline}");
        }
    }

    #[test]
    fn integers_and_strings_changed_in_place_are_shown_as_such() {
        assert_eq!(Encoding::of_new(b"12").as_shown(200, 2, false), Encoding::Int);
        assert_eq!(Encoding::Raw.as_shown(1, 1, false), Encoding::Raw);
        assert_eq!(Encoding::of_new(&[b'x'; 1000]), Encoding::Embedded);
    }
}
