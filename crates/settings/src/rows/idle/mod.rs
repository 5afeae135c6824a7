//! Settings of Valkey that are accepted and kept, and have no effect here: what they shape does not
//! exist in this server, or needs no setting.
//!
//! With a configuration file from Valkey the server starts, and logs a line for each of them that
//! differs from its default. A setting belongs here only if nothing is lost and nothing becomes
//! open by ignoring it; the others are in `absent.rs`, and are refused.

pub(crate) mod cluster;
pub(crate) mod other;
pub(crate) mod replication;
