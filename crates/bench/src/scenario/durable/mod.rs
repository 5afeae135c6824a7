//! What durability costs: the log and its rotation, snapshots, and the start from files. Each
//! server has a folder of its own on one disk. Peers run among the files of this process, not in
//! the root of their own.
//!
//! | file | question |
//! |---|---|
//! | `less` | memory, stalls and throughput while the log is rotated (LESS, Figs. 1, 3 and 4) |
//! | `save` | a snapshot alone and beside clients: pause, memory, latency of others, speed |
//! | `restart` | time until data of a snapshot or a log is there again |
//! | `always` | SETs that wait for the disk, and GETs beside them |
//! | `disk` | the disk without a server |

pub mod always;
mod disk;
pub mod less;
pub mod restart;
pub mod save;
