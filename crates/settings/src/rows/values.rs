//! Settings of values: sizes up to which collections keep their compact form.

use crate::row::{integer, memory};

const LONG_MAX: i128 = i64::MAX as i128;

super::declare::rows! { from super::limits::END;
    LIST_MAX_LISTPACK_SIZE: i32 = integer("list-max-listpack-size", -2147483648..=2147483647, -2,
        "Size of a node of a list: a number of elements, or -1 to -5 for 4, 8, 16, 32 or 64 KiB.")
        .alias("list-max-ziplist-size");
    LIST_COMPRESS_DEPTH: u32 = integer("list-compress-depth", 0..=2147483647, 0,
        "Nodes at each end of a list that stay uncompressed. 0: no compression.")
        .idle("lists are not compressed");
    HASH_MAX_LISTPACK_ENTRIES: u64 = integer("hash-max-listpack-entries", 0..=LONG_MAX, 512,
        "Fields up to which a hash is kept compact.").alias("hash-max-ziplist-entries");
    HASH_MAX_LISTPACK_VALUE: u64 = memory("hash-max-listpack-value", 0..=LONG_MAX, 64,
        "Bytes of a field or value up to which a hash is kept compact.")
        .alias("hash-max-ziplist-value");
    SET_MAX_INTSET_ENTRIES: u64 = integer("set-max-intset-entries", 0..=LONG_MAX, 512,
        "Members up to which a set of integers is kept compact.");
    SET_MAX_LISTPACK_ENTRIES: u64 = integer("set-max-listpack-entries", 0..=LONG_MAX, 128,
        "Members up to which a set is kept compact.");
    SET_MAX_LISTPACK_VALUE: u64 = integer("set-max-listpack-value", 0..=LONG_MAX, 64,
        "Bytes of a member up to which a set is kept compact.");
    ZSET_MAX_LISTPACK_ENTRIES: u64 = integer("zset-max-listpack-entries", 0..=LONG_MAX, 128,
        "Members up to which a sorted set is kept compact.").alias("zset-max-ziplist-entries");
    ZSET_MAX_LISTPACK_VALUE: u64 = memory("zset-max-listpack-value", 0..=LONG_MAX, 64,
        "Bytes of a member up to which a sorted set is kept compact.")
        .alias("zset-max-ziplist-value");
    STREAM_NODE_MAX_BYTES: u64 = memory("stream-node-max-bytes", 0..=LONG_MAX, 4096,
        "Bytes in one node of a stream. 0: no limit.");
    STREAM_NODE_MAX_ENTRIES: u64 = integer("stream-node-max-entries", 0..=LONG_MAX, 100,
        "Entries in one node of a stream. 0: no limit.");
    HLL_SPARSE_MAX_BYTES: u64 = memory("hll-sparse-max-bytes", 0..=LONG_MAX, 3000,
        "Bytes up to which a HyperLogLog is kept sparse.");
}
