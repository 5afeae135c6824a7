//! Numbers of the format: versions, opcodes, types of values and of texts. They appear nowhere
//! else.

/// First bytes of a file of Redis, and of Valkey up to version 11.
pub(crate) const MAGIC: &[u8; 5] = b"REDIS";
/// First bytes of a file of Valkey 9 and later; the version has three digits.
pub(crate) const VALKEY_MAGIC: &[u8; 6] = b"VALKEY";
/// Bytes of magic and version together, of either.
pub(crate) const HEADER_BYTES: usize = 9;
/// Bytes of the checksum behind a file or payload.
pub(crate) const CHECKSUM_BYTES: usize = 8;
/// First version with a checksum behind the file.
pub(crate) const CHECKSUM_SINCE: u16 = 5;
/// First version that is Valkey's own; Redis counts on below.
const VALKEY_SINCE: u16 = 80;

/// Version of a file or payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u16);

impl Version {
    /// Version that Redis 7.2 and Valkey 7.2 and later read.
    pub const COMMON: Version = Version(11);
    /// Version of Redis 7.4 and 8, with deadlines of fields.
    pub const REDIS: Version = Version(12);
    /// Version of Valkey 9, with deadlines of fields.
    pub const VALKEY: Version = Version(80);
    /// Highest version of Redis that can be read.
    const REDIS_MAX: Version = Version(13);
    /// Highest version of Valkey that can be read.
    const VALKEY_MAX: Version = Version(81);

    /// Returns true if files of this version can be read.
    pub fn is_known(self) -> bool {
        self >= Version(1) && self <= Version::REDIS_MAX
            || self >= Version::VALKEY && self <= Version::VALKEY_MAX
    }

    /// Returns true if a payload of this version is taken without being asked for: the versions
    /// that Valkey 9 takes.
    pub fn is_of_payloads(self) -> bool {
        self >= Version(1) && self <= Version::COMMON || self == Version::VALKEY
    }

    /// The dialect in which a file numbers types and opcodes.
    pub fn dialect(self) -> Dialect {
        if self.0 >= VALKEY_SINCE { Dialect::Valkey } else { Dialect::Redis }
    }

    /// The dialect in which a payload numbers types: only above the common versions are there two.
    pub(crate) fn dialect_of_payload(self) -> Dialect {
        if self <= Version::COMMON { Dialect::Valkey } else { self.dialect() }
    }
}

/// Numbering of types: Redis and Valkey gave the same numbers to different forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Redis, and all versions up to 11.
    Redis,
    /// Valkey from version 80 on.
    Valkey,
}

/// Kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the kinds of values that TYPE names")]
pub enum Kind {
    String,
    List,
    Set,
    SortedSet,
    Hash,
    Stream,
    Module,
}

impl Kind {
    /// True for collections that go when their last element does.
    pub fn is_never_empty(self) -> bool {
        matches!(self, Kind::List | Kind::Set | Kind::SortedSet | Kind::Hash)
    }
}

/// Type of a value: its kind and the form in which it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// A text.
    String,
    /// Elements one after the other.
    List,
    /// Members one after the other.
    Set,
    /// Members, each with its score as text.
    SortedSetText,
    /// Fields, each with its value.
    Hash,
    /// Members, each with its score as eight bytes.
    SortedSet,
    /// A module's value before modules could be skipped.
    ModuleOld,
    /// A module's value.
    Module,
    /// A zipmap of fields and values.
    HashZipmap,
    /// A ziplist of elements.
    ListZiplist,
    /// An array of integers in ascending order.
    SetIntset,
    /// A ziplist of members and scores.
    SortedSetZiplist,
    /// A ziplist of fields and values.
    HashZiplist,
    /// Ziplists of elements.
    ListZiplists,
    /// Entries in listpacks; groups without active times and counts.
    Stream1,
    /// A listpack of fields and values.
    HashListpack,
    /// A listpack of members and scores.
    SortedSetListpack,
    /// Listpacks of elements, and elements that stand alone.
    ListListpacks,
    /// As `Stream1`, with first id, highest deleted id, and counts.
    Stream2,
    /// A listpack of members.
    SetListpack,
    /// As `Stream2`, with active times of consumers.
    Stream3,
    /// Valkey: fields, each with its value and its deadline as eight bytes.
    HashTimed,
    /// Redis: deadlines as distances from the earliest; the latter is missing in release
    /// candidates.
    HashSpans {
        /// True if the earliest deadline stands before the count.
        has_earliest: bool,
    },
    /// Redis: a listpack of fields, values and deadlines, the earliest deadline before it.
    HashTimedListpack {
        /// True if the earliest deadline stands before the listpack.
        has_earliest: bool,
    },
}

/// Highest number of a type that both dialects know.
pub(crate) const COMMON_TYPE_MAX: u8 = 21;

/// Numbers of the types that both dialects know.
const COMMON_TYPES: [(u8, ValueType); 21] = [
    (0, ValueType::String),
    (1, ValueType::List),
    (2, ValueType::Set),
    (3, ValueType::SortedSetText),
    (4, ValueType::Hash),
    (5, ValueType::SortedSet),
    (6, ValueType::ModuleOld),
    (7, ValueType::Module),
    (9, ValueType::HashZipmap),
    (10, ValueType::ListZiplist),
    (11, ValueType::SetIntset),
    (12, ValueType::SortedSetZiplist),
    (13, ValueType::HashZiplist),
    (14, ValueType::ListZiplists),
    (15, ValueType::Stream1),
    (16, ValueType::HashListpack),
    (17, ValueType::SortedSetListpack),
    (18, ValueType::ListListpacks),
    (19, ValueType::Stream2),
    (20, ValueType::SetListpack),
    (21, ValueType::Stream3),
];

const VALKEY_TYPES: [(u8, ValueType); 1] = [(22, ValueType::HashTimed)];

const REDIS_TYPES: [(u8, ValueType); 4] = [
    (22, ValueType::HashSpans { has_earliest: false }),
    (23, ValueType::HashTimedListpack { has_earliest: false }),
    (24, ValueType::HashSpans { has_earliest: true }),
    (25, ValueType::HashTimedListpack { has_earliest: true }),
];

impl Dialect {
    fn types(self) -> impl Iterator<Item = (u8, ValueType)> {
        let own: &[(u8, ValueType)] = match self {
            Dialect::Redis => &REDIS_TYPES,
            Dialect::Valkey => &VALKEY_TYPES,
        };
        COMMON_TYPES.iter().chain(own).copied()
    }
}

impl ValueType {
    /// Type with a number; `None` if the dialect has none.
    pub fn of(number: u8, dialect: Dialect) -> Option<ValueType> {
        dialect.types().find(|(it, _)| *it == number).map(|(_, value_type)| value_type)
    }

    /// True if the value is one text: a string, or a blob of all elements.
    pub(crate) fn is_one_text(self) -> bool {
        matches!(
            self,
            ValueType::String
                | ValueType::HashZipmap
                | ValueType::ListZiplist
                | ValueType::SetIntset
                | ValueType::SortedSetZiplist
                | ValueType::HashZiplist
                | ValueType::HashListpack
                | ValueType::SortedSetListpack
                | ValueType::SetListpack
                | ValueType::HashTimedListpack { .. }
        )
    }

    /// Number of the type; `None` if the dialect has none for it.
    pub fn number(self, dialect: Dialect) -> Option<u8> {
        dialect.types().find(|(_, it)| *it == self).map(|(number, _)| number)
    }

    /// Kind of values of this type.
    pub fn kind(self) -> Kind {
        match self {
            ValueType::String => Kind::String,
            ValueType::List
            | ValueType::ListZiplist
            | ValueType::ListZiplists
            | ValueType::ListListpacks => Kind::List,
            ValueType::Set | ValueType::SetIntset | ValueType::SetListpack => Kind::Set,
            ValueType::SortedSet
            | ValueType::SortedSetText
            | ValueType::SortedSetZiplist
            | ValueType::SortedSetListpack => Kind::SortedSet,
            ValueType::Hash
            | ValueType::HashZipmap
            | ValueType::HashZiplist
            | ValueType::HashListpack
            | ValueType::HashTimed
            | ValueType::HashSpans { .. }
            | ValueType::HashTimedListpack { .. } => Kind::Hash,
            ValueType::Stream1 | ValueType::Stream2 | ValueType::Stream3 => Kind::Stream,
            ValueType::ModuleOld | ValueType::Module => Kind::Module,
        }
    }
}

/// What stands before a key, or instead of one.
pub(crate) mod opcode {
    /// Valkey: an import of a slot has begun.
    pub const SLOT_IMPORT: u8 = 243;
    /// Sizes of a slot of a cluster.
    pub const SLOT_INFO: u8 = 244;
    /// Source of a function library.
    pub const FUNCTION: u8 = 245;
    /// A function library as release candidates of 7.0 wrote it.
    pub const FUNCTION_OLD: u8 = 246;
    /// Data of a module that belongs to no key.
    pub const MODULE_AUX: u8 = 247;
    /// Seconds since the last access of the next key.
    pub const IDLE: u8 = 248;
    /// Frequency of access of the next key.
    pub const FREQUENCY: u8 = 249;
    /// A name and a text about the file.
    pub const AUX: u8 = 250;
    /// Number of keys, and of keys with a deadline, of the database.
    pub const RESIZE: u8 = 251;
    /// Deadline of the next key in milliseconds.
    pub const DEADLINE_MILLIS: u8 = 252;
    /// Deadline of the next key in seconds.
    pub const DEADLINE_SECONDS: u8 = 253;
    /// Number of the database of the keys that follow.
    pub const SELECT: u8 = 254;
    /// End of the file.
    pub const EOF: u8 = 255;
}

/// First bits of a length.
pub(crate) mod length {
    /// Bits by which forms of a length differ.
    pub const FORM_SHIFT: u8 = 6;
    /// Six bits in this byte.
    pub const SIX_BITS: u8 = 0;
    /// Six bits in this byte and eight in the next.
    pub const FOURTEEN_BITS: u8 = 1;
    /// Four bytes follow, or eight.
    pub const WIDE: u8 = 2;
    /// A text in another form; the other bits tell which.
    pub const SPECIAL: u8 = 3;
    /// The whole byte before four bytes, most significant first.
    pub const FOUR_BYTES: u8 = 0x80;
    /// The whole byte before eight bytes, most significant first.
    pub const EIGHT_BYTES: u8 = 0x81;
}

/// Forms of a text, in the six bits behind `length::SPECIAL`.
pub(crate) mod text_form {
    /// An integer of one byte.
    pub const BYTE: u8 = 0;
    /// An integer of two bytes, least significant first.
    pub const SHORT: u8 = 1;
    /// An integer of four bytes, least significant first.
    pub const WORD: u8 = 2;
    /// Compressed length, length, compressed bytes.
    pub const LZF: u8 = 3;
}

/// What stands before each datum of a module.
pub(crate) mod module_opcode {
    /// Nothing follows.
    pub const END: u64 = 0;
    /// A number with a sign.
    pub const SIGNED: u64 = 1;
    /// A number without a sign.
    pub const UNSIGNED: u64 = 2;
    /// Four bytes.
    pub const FLOAT: u64 = 3;
    /// Eight bytes.
    pub const DOUBLE: u64 = 4;
    /// A text.
    pub const TEXT: u64 = 5;
}

/// Letters of the names of module types, six bits each.
const MODULE_LETTERS: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Name of a module type: nine letters above ten bits of version.
pub(crate) fn module_name(id: u64) -> String {
    let letter = |at: u32| char::from(MODULE_LETTERS[(id >> (10 + 6 * at) & 0x3f) as usize]);
    (0..9).rev().map(letter).collect()
}

/// Containers in a list of listpacks.
pub(crate) mod container {
    /// One element that stands alone.
    pub const PLAIN: u64 = 1;
    /// A listpack of elements.
    pub const PACKED: u64 = 2;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_found_by_its_number_in_its_dialect() {
        for dialect in [Dialect::Redis, Dialect::Valkey] {
            for (number, value_type) in dialect.types() {
                assert_eq!(ValueType::of(number, dialect), Some(value_type));
                assert_eq!(value_type.number(dialect), Some(number));
            }
        }
        assert_eq!(ValueType::of(8, Dialect::Redis), None);
        assert_eq!(ValueType::of(24, Dialect::Valkey), None);
        assert_eq!(ValueType::HashTimed.number(Dialect::Redis), None);
    }

    #[test]
    fn versions_between_those_of_redis_and_valkey_are_unknown() {
        let known: Vec<u16> = (0..200).filter(|it| Version(*it).is_known()).collect();
        let expected: Vec<u16> = (1..=13).chain(80..=81).collect();
        assert_eq!(known, expected);
        let taken: Vec<u16> = (0..200).filter(|it| Version(*it).is_of_payloads()).collect();
        let expected: Vec<u16> = (1..=11).chain([80]).collect();
        assert_eq!(taken, expected);
    }
}
