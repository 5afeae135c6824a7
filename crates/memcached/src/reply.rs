//! Replies that are always the same bytes, each with its line end. Those to refused lines are in
//! [`Refusal`](crate::Refusal).

/// Item stored.
pub const STORED: &[u8] = b"STORED\r\n";
/// Condition of add, replace, append or prepend not met.
pub const NOT_STORED: &[u8] = b"NOT_STORED\r\n";
/// CAS value of an item changed since it was read.
pub const EXISTS: &[u8] = b"EXISTS\r\n";
/// No such item.
pub const NOT_FOUND: &[u8] = b"NOT_FOUND\r\n";
/// Item deleted.
pub const DELETED: &[u8] = b"DELETED\r\n";
/// Expiry set.
pub const TOUCHED: &[u8] = b"TOUCHED\r\n";
/// Command done, with nothing to tell. Also the first line of a dump.
pub const OK: &[u8] = b"OK\r\n";
/// End of the items of a line of keys, of statistics, of a metadump.
pub const END: &[u8] = b"END\r\n";
/// End of an mgdump.
pub const END_OF_REQUESTS: &[u8] = b"EN\r\n";
/// End of statistics that were set back.
pub const RESET: &[u8] = b"RESET\r\n";
/// Beginning of the line before each item of a line of keys.
pub const VALUE: &[u8] = b"VALUE ";
/// Beginning of a line of statistics.
pub const STAT: &[u8] = b"STAT ";
/// Meta: done, or found without its value. Flags stand between the word and the line end.
pub const HD: &[u8] = b"HD";
/// Meta: not stored.
pub const NS: &[u8] = b"NS";
/// Meta: exists, with another CAS value.
pub const EX: &[u8] = b"EX";
/// Meta: not found, of ms, md and ma.
pub const NF: &[u8] = b"NF";
/// Meta: not found, of mg and me.
pub const EN: &[u8] = b"EN";
/// Meta: beginning of the line before a value.
pub const VA: &[u8] = b"VA ";
/// Meta: beginning of the line of `me`.
pub const ME: &[u8] = b"ME ";
/// Meta: reply to `mn`.
pub const MN: &[u8] = b"MN\r\n";
/// Line end.
pub const LINE_END: &[u8] = b"\r\n";

/// Value that is to be added to is no number.
pub const NON_NUMERIC: &[u8] = b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
/// Name or password are wrong.
pub const AUTHENTICATION_FAILURE: &[u8] = b"CLIENT_ERROR authentication failure\r\n";
/// No memory for an item, and none to be won.
pub const OUT_OF_MEMORY: &[u8] = b"SERVER_ERROR out of memory storing object\r\n";
/// As many connections as there may be.
pub const TOO_MANY_CONNECTIONS: &[u8] = b"ERROR Too many open connections\r\n";
/// Memory limit below the least.
pub const MEMORY_LIMIT_TOO_SMALL: &[u8] =
    b"MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n";
/// Memory limit that was meant in bytes.
pub const MEMORY_LIMIT_IN_BYTES: &[u8] =
    b"MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n";
/// Memory limit that cannot be set.
pub const MEMORY_LIMIT_REFUSED: &[u8] =
    b"MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust\r\n";
/// Class of items of a dump that does not exist.
pub const INVALID_CLASS: &[u8] = b"BADCLASS invalid class id\r\n";
/// Statistics by prefix of keys.
pub const STATS_DETAIL_NOT_ALLOWED: &[u8] = b"CLIENT_ERROR stats detail not allowed\r\n";
/// Items of a class of sizes.
pub const STATS_CACHEDUMP_NOT_ALLOWED: &[u8] = b"CLIENT_ERROR stats cachedump not allowed\r\n";
