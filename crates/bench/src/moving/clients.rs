//! Clients that write at a rate, to the one of two servers that takes it.

use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::address::Address;
use crate::control::Control;
use crate::protocol::Protocol;
use crate::replies::Value;
use crate::servers::Server;

/// What clients do meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Writers {
    /// Connections.
    pub connections: usize,
    /// Operations per second of all together.
    pub rate: u64,
    /// Keys of each kind that they write.
    pub keys: u64,
}

/// What all clients share.
struct Shared {
    ports: [u16; 2],
    /// The one that is written to.
    port: AtomicU16,
    is_over: AtomicBool,
    done: AtomicU64,
    errors: AtomicU64,
    /// Microseconds.
    longest: AtomicU64,
    /// Sockets, to end what waits at a server.
    sockets: Mutex<Vec<TcpStream>>,
}

/// Clients, each a thread.
pub struct Clients {
    shared: Arc<Shared>,
    /// Each returns the increments of its own counter that were answered.
    threads: Vec<JoinHandle<u64>>,
}

impl Clients {
    /// Begins to write to the first of two ports.
    pub fn begin(ports: [u16; 2], writers: Writers) -> Result<Self> {
        let shared = Arc::new(Shared {
            ports,
            port: AtomicU16::new(ports[0]),
            is_over: AtomicBool::new(false),
            done: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            longest: AtomicU64::new(0),
            sockets: Mutex::new(Vec::new()),
        });
        let between = Duration::from_secs(1) * writers.connections as u32 / writers.rate as u32;
        let client = |number: usize| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || write(&shared, number, between, writers.keys))
        };
        let threads = (0..writers.connections).map(client).collect();
        Ok(Self { shared, threads })
    }

    /// Operations that were answered.
    pub fn done(&self) -> u64 {
        self.shared.done.load(SeqCst)
    }

    /// The longest time of a client between two answers since the last call.
    pub fn forget_longest(&self) -> Duration {
        Duration::from_micros(self.shared.longest.swap(0, SeqCst))
    }

    /// Has all clients write to another port, and ends what waits at the present one.
    pub fn switch(&self, port: u16) {
        self.shared.port.store(port, SeqCst);
        let sockets = self.shared.sockets.lock();
        let sockets = std::mem::take(&mut *sockets.unwrap_or_else(|it| it.into_inner()));
        for socket in sockets {
            // It may be closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Ends all; how many answered increments the server lacks, and errors.
    pub fn end(self, server: &Server) -> Result<(f64, f64)> {
        self.shared.is_over.store(true, SeqCst);
        let (mut control, mut lost) = (server.control()?, 0);
        for (number, thread) in self.threads.into_iter().enumerate() {
            let answered = thread.join().map_err(|_| anyhow!("a client broke"))?;
            let counter = control.ask(["GET", &counter(number)])?.text().unwrap_or_default();
            lost += answered.saturating_sub(counter.parse().unwrap_or(0));
        }
        Ok((lost as f64, self.shared.errors.load(SeqCst) as f64))
    }
}

fn counter(number: usize) -> String {
    format!("varve-bench:counter:{number}")
}

/// Writes until it is over; returns how often the own counter was incremented.
fn write(shared: &Shared, number: usize, between: Duration, keys: u64) -> u64 {
    let mut random = SmallRng::seed_from_u64(number as u64);
    let (counter, mut counted, mut turn) = (counter(number), 0, number as u64);
    let (mut last, mut due) = (Instant::now(), Instant::now());
    while !shared.is_over.load(SeqCst) {
        let Ok(mut control) = connect(shared) else {
            shared.try_other();
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        while !shared.is_over.load(SeqCst) {
            turn += 1;
            let is_counter = turn.is_multiple_of(10);
            let request = match is_counter {
                true => format!("INCR {counter}"),
                false => request(turn, random.random_range(0..keys.max(1))),
            };
            match control.ask(request.split(' ')) {
                Ok(Value::Error(error)) => {
                    let is_of_replica = ["READONLY", "UNBLOCKED", "LOADING", "MASTERDOWN"];
                    if !is_of_replica.iter().any(|it| error.starts_with(it)) {
                        shared.errors.fetch_add(1, SeqCst);
                    }
                    shared.try_other();
                    break;
                }
                Ok(_) => {}
                Err(_) => break,
            }
            counted += u64::from(is_counter);
            let now = Instant::now();
            shared.done.fetch_add(1, SeqCst);
            shared.longest.fetch_max((now - last).as_micros() as u64, SeqCst);
            last = now;
            // What a pause has missed is not made up for.
            due = (due + between).max(now - MADE_UP_FOR);
            thread::sleep(due.saturating_duration_since(now));
        }
    }
    counted
}

fn connect(shared: &Shared) -> Result<Control> {
    let port = shared.port.load(SeqCst);
    let control = Control::open(&Address::from(port), Protocol::Resp)?;
    let socket = control.stream.socket().try_clone()?;
    shared.sockets.lock().unwrap_or_else(|it| it.into_inner()).push(socket);
    // A client that is moved meanwhile does not stay.
    anyhow::ensure!(port == shared.port.load(SeqCst), "the port is another one now");
    Ok(control)
}

impl Shared {
    /// Goes to the other server, where the present one does not take writes.
    fn try_other(&self) {
        let port = self.port.load(SeqCst);
        let other = if port == self.ports[0] { self.ports[1] } else { self.ports[0] };
        // Another client may have gone there.
        let _ = self.port.compare_exchange(port, other, SeqCst, SeqCst);
    }
}

/// A write of some type.
fn request(turn: u64, key: u64) -> String {
    match turn % 9 {
        0 => format!("SET string:{key:015} value{turn}"),
        1 => format!("HSET hash:{key:015} field{} {turn}", turn % 7),
        2 => format!("RPUSH list:{key:015} {turn}"),
        3 => format!("LPOP list:{key:015}"),
        4 => format!("SADD set:{key:015} {}", turn % 13),
        5 => format!("ZADD zset:{key:015} {turn} member{}", turn % 11),
        6 => format!("XADD stream:{key:015} MAXLEN ~ 16 * field {turn}"),
        7 => format!("EXPIRE string:{key:015} 3600"),
        _ => format!("GET string:{key:015}"),
    }
}

/// Delay of a client that it makes up for by asking without a wait.
const MADE_UP_FOR: Duration = Duration::from_millis(5);
