//! What durability costs: the log and its rotation, snapshots, and the start from files.
//!
//! | file | question |
//! |---|---|
//! | `less` | memory, stalls and throughput while the log is rotated (LESS, Figs. 1, 3 and 4) |
//! | `save` | a snapshot of many keys: pause, memory, latency of others, speed |
//! | `save_trees` | a hash and a sorted set that are written while they are saved |
//! | `restart` | time until data of a snapshot or a log is there again |
//! | `always` | SETs that wait for the disk, and GETs beside them |
//!
//! Each server has a folder of its own on one disk; `disk` is that disk without a server, and
//! `watch` sees memory and the end of snapshots. Peers run among the files of this process, not in
//! the root of their own.

pub mod always;
mod disk;
pub mod less;
pub mod restart;
pub mod save;
pub mod save_trees;
mod watch;
