//! Versions that clients are told.

/// Version of Valkey, whose commands these are.
pub const VALKEY: &str = "9.1.2";
/// Version of Redis that they are compatible with.
pub const REDIS: &str = "7.2.4";
