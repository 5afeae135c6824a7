//! The store as commands use it, from one thread and from many.
//! One program, since each is linked with all that it tests.

mod aside;
mod attributes;
mod background_jobs;
mod beside;
mod collections;
mod eviction;
mod full;
mod holds;
mod journaled;
mod lists;
mod model;
mod no_room;
mod stress;
mod windows;
