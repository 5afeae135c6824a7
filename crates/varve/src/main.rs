//! The program `varve-server`: a server with the commands of all families.
//!
//! Owner: nobody; it starts, and ends with its server.
//! Not here: anything that a server does (`server`), and what its commands mean (`families`).
//! Start at: `server::run`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    match server::run(std::env::args_os().skip(1), families::table()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
