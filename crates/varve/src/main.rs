//! The program `varve-server`: a server with the commands of all families.
//!
//! Owner: nobody; it starts, and ends with its server.
//! Not here: anything that a server does (`server`), and what its commands mean (`families`).
//! Start at: `server::run`.
#![forbid(unsafe_code)]

use std::panic;
use std::process::{self, ExitCode};

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    end_at_a_panic();
    match server::run(std::env::args_os().skip(1), families::table()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Has a panic end the process, whatever the profile: a worker that is gone would leave its clients
/// waiting, and what it was about to change half done.
fn end_at_a_panic() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        report(panic);
        process::abort();
    }));
}
