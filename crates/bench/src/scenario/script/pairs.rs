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

use anyhow::{Result, ensure};
use serde::Deserialize;

use crate::control::encode;
use crate::generator::{Batch, Client, EventLoop, Received, Turn, shuffled};
use crate::measure::cpu_time_at_rest;
use crate::process;
use crate::replies::{Answer, ReplyReader};
use crate::servers::Server;

/// Commands of a client; `OWN` and `PARTNER` stand for its number and its partner's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// Beginning of the names of its values.
    pub name: String,
    pub pairs: u32,
    /// Milliseconds; a fifth of them to warm up.
    pub ms: u64,
    /// Request that hands an element to the partner.
    give: String,
    /// Request that waits for the partner's element.
    wait: String,
}

/// Clients of all pairs of a server, in an order that separates partners. At rest, one of each pair
/// waits.
pub struct Pairs {
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
    fn new(exchange: &Exchange) -> Self {
        let turn = |client: u32| Sends {
            only_waits: client % 2 == 1,
            give: request(&exchange.give, client),
            wait: request(&exchange.wait, client),
        };
        let clients = shuffled(2 * exchange.pairs, 1).into_iter().map(turn).collect();
        Self { clients, end: Instant::now(), served: 0 }
    }

    /// Connects the clients, and lets one of each pair wait.
    pub fn connect(server: &Server, exchange: &Exchange) -> Result<(Self, EventLoop)> {
        let mut event_loop = EventLoop::new()?;
        let (port, count) = (server.port, 2 * exchange.pairs as usize);
        event_loop.connect(&port.into(), count, &[], &ReplyReader::default())?;
        let mut pairs = Self::new(exchange);
        event_loop.run(&mut [&mut pairs])?;
        Ok((pairs, event_loop))
    }

    /// Connects clients and measures their exchanges: returns microseconds of the server per
    /// exchange, exchanges per second, and microseconds of the client.
    pub fn measure(server: &Server, exchange: &Exchange) -> Result<[(&'static str, f64); 3]> {
        let (mut pairs, mut event_loop) = Self::connect(server, exchange)?;
        let time = Duration::from_millis(exchange.ms);
        pairs.play(server, &mut event_loop, time / 5)?;
        let before = cpu_time_at_rest(server)?;
        let client = process::cpu_time_of_this_thread();
        let began = Instant::now();
        let exchanges = pairs.play(server, &mut event_loop, time)?;
        let elapsed = began.elapsed();
        let client = process::cpu_time_of_this_thread() - client;
        let used = cpu_time_at_rest(server)?.saturating_sub(before);
        let micros = |time: Duration| time.as_secs_f64() * 1e6 / exchanges;
        let per_second = exchanges / elapsed.as_secs_f64();
        Ok([("us", micros(used)), ("per_second", per_second), ("client_us", micros(client))])
    }

    /// Lets all pairs give and wait in turns for this long, and then until each pair is at rest;
    /// returns the number of exchanges.
    pub fn play(
        &mut self,
        server: &Server,
        event_loop: &mut EventLoop,
        time: Duration,
    ) -> Result<f64> {
        self.check_rest(server)?;
        (self.end, self.served) = (Instant::now() + time, 0);
        event_loop.run(&mut [self])?;
        self.check_rest(server)?;
        Ok(self.served as f64 / 2.0)
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

    fn on_replies(&mut self, _: usize, received: &Received<'_>) -> Result<bool> {
        let is_served = received.replies.error + received.replies.nil == 0;
        ensure!(is_served, "{}", received.first_error.unwrap_or("a wait ended with nothing"));
        self.served += 1;
        Ok(false)
    }

    fn left_waiting(&self) -> usize {
        self.clients.len() / 2
    }
}

/// Returns a client's request and its answer; partners have the numbers `2n` and `2n + 1`.
fn request(line: &str, client: u32) -> (String, Answer) {
    let [own, partner] = [client, client ^ 1].map(|client| format!("{client:08}"));
    let words = line.replace("OWN", &own).replace("PARTNER", &partner);
    (encode(words.split(' ')), Answer::to(line))
}

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
        let mut pairs = Pairs::new(&Exchange { name: String::new(), pairs: 3, ms: 0, give, wait });
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
