//! Limits up to which collections stay small, and the version in which they are written, as the
//! settings say.

use rdb::Version;
use settings::snapshots::{RDB_READER, RDB_VERSION_CHECK};
use settings::values::{
    HASH_MAX_LISTPACK_ENTRIES, HASH_MAX_LISTPACK_VALUE, LIST_MAX_LISTPACK_SIZE,
    SET_MAX_INTSET_ENTRIES, SET_MAX_LISTPACK_ENTRIES, SET_MAX_LISTPACK_VALUE,
    ZSET_MAX_LISTPACK_ENTRIES, ZSET_MAX_LISTPACK_VALUE,
};
use settings::{RdbReader, Settings, VersionCheck};
use snapshot::Limits;
use store::value::hash::HashLimit;
use store::value::list::ListLimit;
use store::value::set::SetLimit;
use store::value::sorted_set::SortedSetLimit;

/// Version in which deadlines of fields are written.
pub fn timed_version(settings: &Settings) -> Version {
    match RDB_READER.get(settings) {
        RdbReader::Valkey => Version::VALKEY,
        RdbReader::Redis => Version::REDIS,
    }
}

/// True if versions that are not known are refused.
pub fn checks_version(settings: &Settings) -> bool {
    RDB_VERSION_CHECK.get(settings) == VersionCheck::Strict
}

/// Limits of all kinds.
pub fn value_limits(settings: &Settings) -> Limits {
    Limits {
        list: list_limit(settings),
        set: set_limit(settings),
        sorted_set: sorted_set_limit(settings),
        hash: hash_limit(settings),
    }
}

/// Limit of a node of a list.
#[inline]
pub fn list_limit(settings: &Settings) -> ListLimit {
    ListLimit::of_setting(LIST_MAX_LISTPACK_SIZE.get(settings))
}

/// Limits up to which a set stays compact.
#[inline]
pub fn set_limit(settings: &Settings) -> SetLimit {
    SetLimit {
        integers: SET_MAX_INTSET_ENTRIES.get(settings),
        members: SET_MAX_LISTPACK_ENTRIES.get(settings),
        member_bytes: SET_MAX_LISTPACK_VALUE.get(settings),
    }
}

/// Limits up to which a sorted set stays packed.
#[inline]
pub fn sorted_set_limit(settings: &Settings) -> SortedSetLimit {
    SortedSetLimit {
        members_max: ZSET_MAX_LISTPACK_ENTRIES.get(settings),
        member_bytes_max: ZSET_MAX_LISTPACK_VALUE.get(settings),
    }
}

/// Limits up to which a hash stays packed.
#[inline]
pub fn hash_limit(settings: &Settings) -> HashLimit {
    HashLimit {
        fields: HASH_MAX_LISTPACK_ENTRIES.get(settings),
        text_bytes: HASH_MAX_LISTPACK_VALUE.get(settings),
    }
}
