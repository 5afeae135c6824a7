//! Transactions of many clients on a few keys, whose replies must be those of some order of whole
//! transactions.
//!
//! ```text
//! play ──commands──▶ server ──replies──▶ history ──▶ checker ──▶ a cycle, or none
//! ```
//!
//! | file | what |
//! |---|---|
//! | `play` | clients: single commands, MULTI to EXEC, scripts, WATCH and another attempt |
//! | `action` | one command, and what its reply tells |
//! | `script` | some commands as one script |
//! | `history` | what a transaction read and wrote, as replies tell it |
//! | `checker` | which transaction must come before which, and whether such an order exists |
//! | `runs` | what stood in one key without a gap |
//! | `filler` | a client that fills the memory, so that keys are evicted |
//!
//! Each value is written once, so a transaction that reads it is behind its writer, and one that
//! replaces it is behind its readers. A command alone is a transaction too. Keys expire, are
//! evicted and flushed meanwhile. In every other round databases change places: what was in one is
//! a space, and holds its number, which transactions read before they read or write anything else
//! there.

mod action;
mod checker;
mod filler;
mod history;
mod play;
mod runs;
mod script;

#[cfg(test)]
mod tests;

use crate::client::Client;
use crate::hammer::process::Server;
use crate::hammer::words::{fine, words};
use action::{APART, NUMBER};
use anyhow::{Context, Result, ensure};
use history::{History, SPACES};
pub use play::Fault;
use play::{Counts, PATIENCE, Place, play};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Arguments of `varve-torture histories`.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// Program of the server
    #[arg(long, default_value = "target/debug/varve-server")]
    server: PathBuf,
    /// Worker threads of the server
    #[arg(long, default_value_t = 4)]
    threads: usize,
    /// Every other connection speaks TLS
    #[arg(long)]
    tls: bool,
    /// Duration in seconds
    #[arg(long, default_value_t = 60.0)]
    seconds: f64,
    /// Duration in seconds of what is checked at once
    #[arg(long, default_value_t = 1.0)]
    round: f64,
    /// Seed of all choices; the interleaving of threads is not repeated
    #[arg(long)]
    seed: Option<u64>,
    /// Clients with transactions
    #[arg(long, default_value_t = 12)]
    connections: usize,
    /// Breaks a rule on purpose, so that the run must fail
    #[arg(long, value_enum)]
    fault: Option<Fault>,
    /// Further options of the server, as `--name value`
    #[arg(last = true)]
    options: Vec<String>,
}

/// Seconds beyond its time for which a run goes on in which something did not happen yet.
const EXTRA_SECONDS: f64 = 60.0;

/// Runs until the time is over, and checks each round.
///
/// # Errors
/// If the server cannot be started or ends by itself, or if a history has no order.
pub fn run(arguments: &Arguments) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let seed = arguments.seed.unwrap_or(u64::from(now.subsec_nanos()) ^ now.as_secs());
    println!("histories: seed {seed}, {} threads", arguments.threads);
    let options = [&SETTINGS.map(str::to_owned)[..], &arguments.options].concat();
    let server = Server::start(&arguments.server, arguments.threads, &options, arguments.tls)?;
    let began = Instant::now();
    let mut counts = Counts::default();
    for round in 0.. {
        // A busy machine comes to little in the time; what has to happen is waited for.
        let has_all = counts.watches_failed > 0 && counts.swapped > 0;
        let most = if has_all { arguments.seconds } else { arguments.seconds + EXTRA_SECONDS };
        if round > 0 && began.elapsed().as_secs_f64() >= most {
            break;
        }
        let (own, has_swaps) = (seed.wrapping_add(round << 32), round % 2 == 1);
        let place = Place::new(server.addresses.clone(), own, arguments.fault, has_swaps);
        if round == 0 {
            filler::fill_up(&place)?;
        }
        counts.add(&one_round(arguments, &place).with_context(|| {
            format!("seed {seed}, round {round}; the server's log is {}", server.log_tail())
        })?);
    }
    ensure!(counts.watches_failed > 0, "no watched key changed: {counts:?}");
    ensure!(counts.swapped > 0, "no databases changed places: {counts:?}");
    for field in ["scripts_beside_others", "scripts_one_at_a_time"] {
        ensure!(server.count(field)? > 0, "{field} is 0: {counts:?}");
    }
    let [expired, evicted] = ["expired_keys", "evicted_keys"].map(|field| server.count(field));
    let (expired, evicted) = (expired?, evicted?);
    ensure!(expired > 0 && evicted > 0, "{expired} keys have expired, {evicted} were evicted");
    server.end(false)?;
    println!("histories: each equals some order of whole transactions: {counts:?}");
    println!("  {expired} keys have expired, {evicted} were evicted");
    Ok(())
}

fn one_round(arguments: &Arguments, place: &Place) -> Result<Counts> {
    let mut client = Client::open(place.addresses.next(), PATIENCE)?;
    for database in 0..=APART {
        fine(&client.ask(&words!["SELECT", database])?)?;
        fine(&client.ask(&words!["FLUSHDB"])?)?;
        if database < SPACES {
            fine(&client.ask(&words!["SET", NUMBER, database])?)?;
        }
    }
    let end = Instant::now() + Duration::from_secs_f64(arguments.round);
    let played = thread::scope(|scope| {
        let filler = scope.spawn(|| filler::fill(place, end));
        let players: Vec<_> = (0..arguments.connections)
            .map(|number| scope.spawn(move || play(place, number, end)))
            .collect();
        let played: Vec<_> = players.into_iter().map(joined).collect();
        joined(filler)?;
        played.into_iter().collect::<Result<Vec<_>>>()
    })?;
    let mut counts = Counts::default();
    let mut history = History::default();
    for (mut some, counted) in played {
        counts.add(&counted);
        if arguments.fault == Some(Fault::Forget) {
            some.remove(some.len() / 2);
        }
        history.add(some);
    }
    counts.transactions = history.len();
    checker::check(&history)?;
    Ok(counts)
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().unwrap_or_else(|_| anyhow::bail!("a client panicked"))
}

const SETTINGS: [&str; 4] = ["--maxmemory", "48mb", "--maxmemory-policy", "volatile-ttl"];
