//! Pairs of clients, driven by the calling thread.
//!
//! ```text
//! first                         server                         second
//!   │── LPUSH second, BLPOP first ─▶│── the element ──────────────▶│
//!   │   waits                       │                              │
//!   │◀────────────── the element ───│◀─ LPUSH first, BLPOP second ─│
//!   │                               │                       waits  │
//! ```

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;

use super::exchange::{Exchange, Keys};
use crate::control::Control;
use crate::generator::{Connection, Expected, Progress, shuffled};

/// Pairs of clients of one server. At rest, one client of each pair waits.
pub struct Pairs {
    epoll: OwnedFd,
    clients: Vec<Client>,
    /// Clients whose turn it is.
    ready: Vec<usize>,
    events: Vec<Event>,
    buffer: Box<[u8]>,
}

struct Client {
    connection: Connection,
    /// Requests of each turn: give, then wait.
    batch: Vec<u8>,
    expected: Expected,
}

/// Result of a measurement.
pub struct Played {
    /// Waits that were served.
    pub waits: u64,
    /// Duration.
    pub elapsed: Duration,
}

impl Pairs {
    /// Connects so many pairs, in an order that separates partners, and lets one client of each
    /// wait.
    ///
    /// # Errors
    /// If the server does not accept them all, or refuses the stock.
    pub fn open(port: u16, pairs: u64, exchange: &Exchange) -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let count = u32::try_from(2 * pairs)?;
        let mut control = Control::open(port)?;
        let mut clients = Vec::new();
        let mut ready = Vec::new();
        for number in shuffled(count, 1) {
            let keys = Keys::of(number as usize);
            let mut connection = Connection::open(port)?;
            let slot = clients.len();
            epoll::add(
                &epoll,
                connection.stream(),
                EventData::new_u64(slot as u64),
                EventFlags::IN,
            )?;
            if number % 2 == 0 {
                if let Some(command) = exchange.stocking(&keys) {
                    control.ask(&command)?;
                }
                ready.push(slot);
            } else {
                let (request, expected) = exchange.waiting(&keys);
                connection.send(&request, expected, Instant::now())?;
            }
            let (batch, expected) = exchange.giving_and_waiting(&keys);
            clients.push(Client { connection, batch, expected });
        }
        let events = Vec::with_capacity(clients.len().max(1));
        Ok(Self { epoll, clients, ready, events, buffer: vec![0; BUFFER_BYTES].into() })
    }

    /// Lets all pairs give and wait in turns for this long, and then until each pair is at rest.
    ///
    /// # Errors
    /// If a connection breaks, a reply is wrong, or a client waits for too long.
    pub fn play(&mut self, time: Duration) -> Result<Played> {
        let began = Instant::now();
        let mut waits = 0;
        self.send_ready(began)?;
        while self.ready.len() < self.clients.len() / 2 {
            waits += self.hear()?;
            let now = Instant::now();
            if now - began < time {
                self.send_ready(now)?;
            }
        }
        Ok(Played { waits, elapsed: began.elapsed() })
    }

    fn send_ready(&mut self, now: Instant) -> Result<()> {
        for slot in self.ready.drain(..) {
            let Client { connection, batch, expected } = &mut self.clients[slot];
            connection.send(batch, *expected, now)?;
            ensure!(!connection.has_unsent(), "a socket has no room for one request");
        }
        Ok(())
    }

    /// Reads all replies that have arrived. Returns the number of clients that got their element;
    /// it is their turn.
    fn hear(&mut self) -> Result<u64> {
        self.events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&SILENCE_MAX)) {
            Ok(0) => bail!("nobody was served for {} s", SILENCE_MAX.tv_sec),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut served = 0;
        for event in &self.events {
            let slot = event.data.u64() as usize;
            let connection = &mut self.clients[slot].connection;
            let Progress::Done { replies, .. } = connection.receive(&mut self.buffer)? else {
                continue;
            };
            if replies.error > 0 || replies.nil > 0 {
                let error = connection.first_error().context("a wait ended with nothing")?;
                bail!("{error}");
            }
            served += 1;
            self.ready.push(slot);
        }
        Ok(served)
    }
}

const BUFFER_BYTES: usize = 4096;
const SILENCE_MAX: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::io::{BufReader, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
    use std::thread;
    use std::time::Duration;

    use super::super::exchange::EXCHANGES;
    use super::Pairs;
    use crate::control::{Reply, encode};

    /// Model of the server: lists of equal elements, and the clients that wait for them.
    #[derive(Default)]
    struct Model {
        elements: HashMap<String, u64>,
        waiting: HashMap<String, TcpStream>,
        pushes: u64,
        waits: u64,
    }

    impl Model {
        fn answer(&mut self, words: &[&str], client: &mut TcpStream) {
            let popped = |key: &str| encode(&[key, "x"]);
            match *words {
                ["LPUSH", key, _] => {
                    self.pushes += 1;
                    client.write_all(b":1\r\n").unwrap();
                    match self.waiting.remove(key) {
                        Some(mut waiting) => waiting.write_all(popped(key).as_bytes()).unwrap(),
                        None => *self.elements.entry(key.to_owned()).or_default() += 1,
                    }
                }
                ["BLPOP", key, "0"] => match self.elements.get_mut(key).filter(|left| **left > 0) {
                    Some(left) => {
                        *left -= 1;
                        client.write_all(popped(key).as_bytes()).unwrap();
                    }
                    None => {
                        self.waits += 1;
                        self.waiting.insert(key.to_owned(), client.try_clone().unwrap());
                    }
                },
                _ => client.write_all(b"-ERR unknown command\r\n").unwrap(),
            }
        }
    }

    fn serve(model: &Mutex<Model>, mut client: TcpStream) {
        let mut requests = BufReader::new(client.try_clone().unwrap());
        while let Ok(Reply::Array(words)) = Reply::read(&mut requests) {
            let words = words.iter().map(|word| match word {
                Reply::Text(text) => text.as_str(),
                other => panic!("{other:?}"),
            });
            let mut model = model.lock().unwrap_or_else(PoisonError::into_inner);
            model.answer(&words.collect::<Vec<_>>(), &mut client);
        }
    }

    fn model_server() -> (u16, Arc<Mutex<Model>>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let model = Arc::new(Mutex::new(Model::default()));
        let served = Arc::clone(&model);
        thread::spawn(move || {
            for client in listener.incoming() {
                let model = Arc::clone(&served);
                thread::spawn(move || serve(&model, client.unwrap()));
            }
        });
        (port, model)
    }

    /// Waits until three clients wait, then returns the locked model.
    fn at_rest(model: &Mutex<Model>) -> MutexGuard<'_, Model> {
        loop {
            let model = model.lock().unwrap();
            if model.waiting.len() == 3 {
                return model;
            }
            drop(model);
            thread::yield_now();
        }
    }

    #[test]
    fn whoever_gives_waits_until_its_partner_gave() {
        let (port, model) = model_server();
        let mut pairs = Pairs::open(port, 3, &EXCHANGES[0]).unwrap();
        let mut waits = 0;
        for _ in 0..2 {
            drop(at_rest(&model));
            waits += pairs.play(Duration::from_millis(20)).unwrap().waits;
            let model = at_rest(&model);
            assert_eq!(model.pushes, waits, "an element for each wait that was served");
            // A client that comes late finds an element in the list and does not wait for it.
            assert!(
                model.waits <= waits + 3,
                "nobody waits for more than was served, and for the next"
            );
        }
        assert!(waits >= 6, "each pair played");
    }

    #[test]
    fn a_server_that_lacks_the_commands_is_an_error() {
        let (port, _) = model_server();
        let mut pairs = Pairs::open(port, 3, &EXCHANGES[1]).unwrap();
        let error = pairs.play(Duration::from_millis(20)).err().unwrap().to_string();
        assert!(error.contains("unknown command"), "{error}");
    }
}
