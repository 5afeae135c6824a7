//! Server CPU when clients wait for each other: in each pair one pushes an element for which the
//! other waits in a blocking command, and then waits for the element that it pushes back.
//!
//! ```text
//! first                         server                         second
//!   │── LPUSH second, BLPOP first ─▶│── the element ──────────────▶│
//!   │   waits                       │                              │
//!   │◀────────────── the element ───│◀─ LPUSH first, BLPOP second ─│
//!   │                               │                       waits  │
//! ```

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

use super::rounds::show_in_turns;
use super::{Bench, Scenario, milliseconds, peers_missing, pin_client};
use crate::control::encode_line;
use crate::generator::{Answer, Batch, Client, EventLoop, Heard, Protocol, Turn, shuffled};
use crate::measure::{send_each, settled_cpu_time};
use crate::process;
use crate::report::Section;
use crate::servers::{Launch, Server};

/// Number of clients, their commands, and thoroughness of the CPU measurement.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pairs: u32,
    /// Interleaved rounds.
    rounds: usize,
    /// Length of one measurement, in milliseconds.
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    time: Duration,
    exchanges: Vec<Exchange>,
}

/// Commands of a client; `OWN` and `PARTNER` stand for its number and its partner's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    name: String,
    /// Request that hands an element to the partner.
    give: String,
    /// Request that waits for the partner's element.
    wait: String,
    /// Request that puts an element where the first client of pair `{n}` takes it from to give it.
    stock: Option<String>,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(COLUMNS);
        section.note(if process::cores() < 3 {
            "Two workers have two cores, of which the client takes one: a wait across workers \
             then also waits for a core."
        } else {
            "Two workers have two cores; the client has one of its own."
        });
        peers_missing(section, bench);
        let mut servers = Vec::new();
        for (threads, label) in [(1, "varve, 1 worker"), (2, "varve, 2 workers")] {
            let mut server = bench.varve.start(&Launch::on(threads, threads))?;
            label.clone_into(&mut server.label);
            servers.push(server);
        }
        if let Some(valkey) = &bench.valkey {
            servers.push(valkey.start(&Launch::default())?);
        }
        for exchange in &self.exchanges {
            let open = |server| Ok((server, Pairs::open(server, self.pairs, exchange)?));
            let mut all = servers.iter().map(open).collect::<Result<Vec<_>>>()?;
            let label = |(server, _): &(&Server, _)| server.label.clone();
            show_in_turns(section, &exchange.name, &mut all, label, self.rounds, |open, _| {
                let (server, (event_loop, pairs)) = open;
                pairs.play(server, event_loop, self.time / 5)?;
                pairs.play(server, event_loop, self.time)
            });
        }
        Ok(())
    }
}

/// Clients of all pairs of a server, in an order that separates partners. At rest, one of each pair
/// waits.
struct Pairs {
    clients: Vec<Sends>,
    /// Time after which nobody gives.
    end: Instant,
    /// Waits that were served.
    served: u64,
}

/// What one client sends.
struct Sends {
    /// True if it waits first; its partner gives first.
    only_waits: bool,
    give: (String, Answer),
    wait: (String, Answer),
}

impl Pairs {
    fn new(pairs: u32, exchange: &Exchange) -> Self {
        let request = |line: &str, client| (encode_line(&words(line, client)), Answer::to(line));
        let turn = |client: u32| Sends {
            only_waits: client % 2 == 1,
            give: request(&exchange.give, client),
            wait: request(&exchange.wait, client),
        };
        let clients = shuffled(2 * pairs, 1).into_iter().map(turn).collect();
        Self { clients, end: Instant::now(), served: 0 }
    }

    /// Connects the clients and lets one of each pair wait.
    fn open(server: &Server, pairs: u32, exchange: &Exchange) -> Result<(EventLoop, Self)> {
        if let Some(stock) = &exchange.stock {
            send_each(server, stock, u64::from(pairs))?;
        }
        let mut event_loop = EventLoop::new()?;
        event_loop.connect(server.port, Protocol::Resp, 2 * pairs as usize)?;
        let mut opened = Self::new(pairs, exchange);
        event_loop.run(&mut [&mut opened])?;
        Ok((event_loop, opened))
    }

    /// Lets all pairs give and wait in turns for this long, and then until each pair is at rest;
    /// returns microseconds of the server per exchange, exchanges per second, and microseconds of
    /// the client.
    fn play(
        &mut self,
        server: &Server,
        event_loop: &mut EventLoop,
        time: Duration,
    ) -> Result<[f64; 3]> {
        self.check_rest(server)?;
        let before = settled_cpu_time(server)?;
        let client = process::cpu_time_of_this_thread();
        let began = Instant::now();
        (self.end, self.served) = (began + time, 0);
        event_loop.run(&mut [self])?;
        let elapsed = began.elapsed();
        let client = process::cpu_time_of_this_thread() - client;
        let used = settled_cpu_time(server)?.saturating_sub(before);
        self.check_rest(server)?;
        let exchanges = self.served as f64 / 2.0;
        let micros = |time: Duration| time.as_secs_f64() * 1e6 / exchanges;
        Ok([micros(used), exchanges / elapsed.as_secs_f64(), micros(client)])
    }

    /// Waits until one client of each pair waits; the server may still be reading the last request.
    fn check_rest(&self, server: &Server) -> Result<()> {
        let (mut control, began) = (server.control()?, Instant::now());
        loop {
            let waiting = control.info_number("blocked_clients")?.unwrap_or_default();
            if waiting == self.left_waiting() as f64 {
                return Ok(());
            }
            ensure!(began.elapsed() < REST_MAX, "at rest {waiting} clients wait");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Client for Pairs {
    fn next(&mut self, connection: usize, now: Instant, batch: &mut Batch) -> Result<Turn> {
        let Sends { only_waits, give, wait } = &mut self.clients[connection];
        let give = (!std::mem::take(only_waits)).then_some(&*give);
        if now >= self.end && give.is_some() {
            return Ok(Turn::Over);
        }
        for (request, answer) in give.into_iter().chain([&*wait]) {
            batch.bytes.extend_from_slice(request.as_bytes());
            batch.expected.count(*answer);
        }
        Ok(Turn::Send(now, 1))
    }

    fn heard(&mut self, _: usize, heard: &Heard<'_>) -> Result<bool> {
        if heard.replies.error > 0 || heard.replies.nil > 0 {
            bail!("{}", heard.first_error.unwrap_or("a wait ended with nothing"));
        }
        self.served += 1;
        Ok(false)
    }

    fn left_waiting(&self) -> usize {
        self.clients.len() / 2
    }
}

/// Returns a client's request; partners have the numbers `2n` and `2n + 1`.
fn words(request: &str, client: u32) -> String {
    let [own, partner] = [client, client ^ 1].map(|client| format!("{client:08}"));
    request.replace("OWN", &own).replace("PARTNER", &partner)
}

const COLUMNS: &str = "exchange | server | CPU us/exchange .3 | exchanges/s .0 | \
    client us/exchange .3 | of valkey .2";
const REST_MAX: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what each client sends next: the keys to which it gives, and at which it waits.
    fn ask(pairs: &mut Pairs) -> Vec<Vec<String>> {
        let (now, mut batch) = (Instant::now(), Batch::default());
        let next = |connection| {
            batch.bytes.clear();
            pairs.next(connection, now, &mut batch).unwrap();
            let text = String::from_utf8_lossy(&batch.bytes).into_owned();
            text.lines().filter(|word| word.starts_with("to:")).map(str::to_owned).collect()
        };
        (0..6).map(next).collect()
    }

    #[test]
    fn a_client_gives_where_its_partner_waits_and_one_of_each_pair_is_left_waiting() {
        let (give, wait) = ("LPUSH to:PARTNER x".to_owned(), "BLPOP to:OWN 0".to_owned());
        let mut pairs = Pairs::new(3, &Exchange { name: String::new(), give, wait, stock: None });
        let mut sent: Vec<_> = ask(&mut pairs).iter().map(Vec::len).collect();
        sent.sort_unstable();
        assert_eq!((sent, pairs.left_waiting()), (vec![0, 0, 0, 1, 1, 1], 3));

        pairs.end = Instant::now() + Duration::from_secs(60);
        let all = ask(&mut pairs);
        assert!(all.iter().all(|keys| keys[0] != keys[1]), "{all:?}");
        for keys in &all {
            let partner = [keys[1].clone(), keys[0].clone()];
            assert!(all.iter().any(|it| **it == partner), "{partner:?} is missing");
        }
    }
}
