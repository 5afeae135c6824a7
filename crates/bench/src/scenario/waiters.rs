//! Server CPU when clients wait for each other: in each pair one pushes an element for which the
//! other waits in a blocking command, and then waits for the element that it pushes back.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::measure::settled_cpu_time;
use super::{Bench, Scale, Scenario, milliseconds, peers_missing, pin_client};
use crate::process;
use crate::report::{Figure, Section};
use crate::servers::{Launch, Server};
use crate::statistics::median;

mod exchange;
mod pairs;

use exchange::{EXCHANGES, Exchange};
use pairs::Pairs;

/// Number of clients, and thoroughness of the CPU measurement.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Pairs of clients.
    pub pairs: u64,
    /// Interleaved rounds.
    pub rounds: usize,
    /// Length of one measurement, in milliseconds.
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    pub time: Duration,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self {
            pairs: scale.of(self.pairs),
            rounds: scale.rounds(self.rounds),
            time: scale.time(self.time),
        }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        section.note(format!(
            "{} pairs of clients, each client with a key of its own. An exchange is there and \
             back: two elements given and two waits served. A client sends what it gives and its \
             next wait in one write. Medians of interleaved rounds.",
            self.pairs
        ));
        section.note(if process::cores() < 3 {
            "Two workers have two cores, of which the client takes one: a wait across workers \
             then also waits for a core."
        } else {
            "Two workers have two cores; the client has one of its own."
        });
        peers_missing(section, bench);
        let servers = start(bench)?;
        process::raise_descriptor_limit(2 * self.pairs * servers.len() as u64);
        for exchange in &EXCHANGES {
            let sampled = self.interleaved(&servers, exchange)?;
            show(section, exchange, &servers, &sampled);
        }
        Ok(())
    }
}

/// Starts Varve with one worker and with two, and Valkey if it is available.
fn start(bench: &Bench) -> Result<Vec<Server>> {
    let mut servers = Vec::new();
    for (threads, label) in (1..).zip(WORKERS) {
        let launch = Launch::default().with_threads(threads).on_cores(threads);
        let mut server = bench.varve.start(&launch)?;
        server.label = format!("{}, {label}", bench.varve.label);
        servers.push(server);
    }
    if let Some(valkey) = &bench.valkey {
        servers.push(valkey.start(&Launch::default())?);
    }
    Ok(servers)
}

/// One measurement on one server: microseconds per exchange, and exchanges per second.
struct Sample {
    server_us: f64,
    client_us: f64,
    per_second: f64,
}

impl Plan {
    fn interleaved(&self, servers: &[Server], exchange: &Exchange) -> Result<Vec<Vec<Sample>>> {
        let open = |server: &Server| Pairs::open(server.port, self.pairs, exchange);
        let mut pairs = servers.iter().map(open).collect::<Result<Vec<_>>>()?;
        let mut sampled: Vec<Vec<Sample>> = servers.iter().map(|_| Vec::new()).collect();
        for _ in 0..self.rounds {
            for ((server, pairs), samples) in servers.iter().zip(&mut pairs).zip(&mut sampled) {
                self.check_rest(server)?;
                pairs.play(self.time / 5)?;
                samples.push(self.sample(server, pairs)?);
            }
        }
        Ok(sampled)
    }

    fn sample(&self, server: &Server, pairs: &mut Pairs) -> Result<Sample> {
        let server_before = settled_cpu_time(server)?;
        let client_before = process::cpu_time_of_this_thread();
        let played = pairs.play(self.time)?;
        let client = process::cpu_time_of_this_thread() - client_before;
        let used = settled_cpu_time(server)?.saturating_sub(server_before);
        self.check_rest(server)?;
        let exchanges = played.waits as f64 / 2.0;
        Ok(Sample {
            server_us: used.as_secs_f64() * 1e6 / exchanges,
            client_us: client.as_secs_f64() * 1e6 / exchanges,
            per_second: exchanges / played.elapsed.as_secs_f64(),
        })
    }

    /// Waits until one client of each pair waits; the server may still be reading the last request.
    fn check_rest(&self, server: &Server) -> Result<()> {
        let mut control = server.control()?;
        let began = Instant::now();
        loop {
            let waiting = control.info_number("blocked_clients")?;
            if waiting == Some(self.pairs as f64) {
                return Ok(());
            }
            let told = waiting.unwrap_or_default();
            ensure!(began.elapsed() < REST_MAX, "{}: at rest {told} clients wait", server.label);
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn show(section: &mut Section, exchange: &Exchange, servers: &[Server], sampled: &[Vec<Sample>]) {
    let server_us = |samples: &[Sample]| -> Vec<f64> {
        samples.iter().map(|sample| sample.server_us).collect()
    };
    let valkey = sampled.get(WORKERS.len()).map(|samples| server_us(samples));
    for (server, samples) in servers.iter().zip(sampled) {
        let of = |value: fn(&Sample) -> f64| median(samples.iter().map(value).collect());
        let own = of(|sample| sample.server_us);
        let ratio = valkey.as_ref().map(|valkey| own / median(valkey.clone()));
        section.row([
            exchange.name.to_owned(),
            server.label.clone(),
            format!("{own:.3}"),
            ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            format!("{:.0}", of(|sample| sample.per_second)),
            format!("{:.3}", of(|sample| sample.client_us)),
        ]);
    }
    for (workers, samples) in WORKERS.iter().zip(sampled) {
        let what = format!("CPU of {} pairs, {workers} / Valkey", exchange.name);
        let theirs = valkey.as_deref().unwrap_or_default();
        section.figures.push(Figure::ratio(what, &server_us(samples), theirs));
    }
}

const COLUMNS: [&str; 6] =
    ["exchange", "server", "CPU us/exchange", "of Valkey", "exchanges/s", "client us/exchange"];
const REST_MAX: Duration = Duration::from_secs(5);
/// Labels of the servers that are Varve, which come first.
const WORKERS: [&str; 2] = ["1 worker", "2 workers"];
