//! `varve-bench`: load on a server, and the tables of the benchmark.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match bench::cli::run(bench::cli::Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("varve-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
