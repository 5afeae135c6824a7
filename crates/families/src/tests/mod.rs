//! Tests of what runs commands, with those of all families.

mod acknowledge;
mod admission;
mod applier;
mod client_eviction;
mod execute;
mod file_commands;
mod find_row;
mod monitor;
mod notifications;
mod pubsub;
mod recorded;
mod rerun;
mod rights;
mod secrets;
mod serve;
#[cfg(shuttle)]
mod shuttle_tests;
mod tracking;
