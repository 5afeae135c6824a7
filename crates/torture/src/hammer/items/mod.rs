//! Connections to the port of Memcached's protocol, beside those of RESP.
//!
//! | file | what |
//! |---|---|
//! | `connection` | lines and their answers |
//! | `item` | an item as its clients know it, and what they are told of it |
//! | `own`, `lines`, `commands` | items that one thread alone writes, by either protocol |
//! | `shared` | items that all write: sums by CAS, and stale items that one wins |
//! | `evicted` | items that may be gone at any time |

mod commands;
mod connection;
mod evicted;
mod item;
mod lines;
mod own;
mod shared;

pub(super) use evicted::play as play_evicted;
pub(super) use own::play as play_own;
pub(super) use shared::{Shared, play as play_shared, verify};
