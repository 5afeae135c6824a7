//! `varve-torture`: random commands against a server.
#![forbid(unsafe_code)]

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use torture::{caches, differential, effects, hammer, histories, rounds};

#[derive(Parser)]
#[command(about = "Random commands against a server")]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Compares Varve with a reference server
    Differential(differential::Arguments),
    /// Changes the same keys from many connections, and checks what must hold at the end
    Hammer(hammer::Arguments),
    /// Caches what is read, and looks that no cache keeps an old value
    Caches(caches::Arguments),
    /// Runs transactions of many clients, and checks that some order of them explains all replies
    Histories(histories::Arguments),
    /// Executes the effects of commands elsewhere, and compares the data
    Effects(effects::Arguments),
    /// Plays random rounds on a server that runs already
    Rounds(rounds::Arguments),
}

fn main() -> ExitCode {
    let outcome = match &Arguments::parse().what {
        What::Differential(arguments) => differential::run(arguments),
        What::Hammer(arguments) => hammer::run(arguments),
        What::Caches(arguments) => caches::run(arguments),
        What::Histories(arguments) => histories::run(arguments),
        What::Effects(arguments) => effects::run(arguments),
        What::Rounds(arguments) => rounds::run(arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("varve-torture: {error:#}");
            ExitCode::FAILURE
        }
    }
}
