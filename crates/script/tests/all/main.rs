//! Scripts as a host sees them, held against what Valkey 9.1.2 answered.

mod any_bytes;
mod guards;
mod host;
mod killing;
mod libraries;
mod memory;
mod proofs;
mod recorded;
mod running;
