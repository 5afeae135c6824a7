//! One measurement: load on a running server, and its cost for the server.

use std::thread;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use crate::generator::{
    Drawn, Generator, KeyChoice, Keys, Operation, Outcome, Protocol, RequestShape, Requests,
    Source, Stop, ValueSize,
};
use crate::servers::{Kind, Server};

/// A load.
#[derive(Clone, Debug)]
pub struct Load {
    /// Protocol for a server whose kind does not determine it.
    pub protocol: Protocol,
    /// Connections.
    pub connections: usize,
    /// Shape of the requests.
    pub shape: RequestShape,
    /// Choice of keys.
    pub keys: KeyChoice,
    /// Number of keys.
    pub key_count: u64,
    /// End of the load.
    pub stop: Stop,
    /// True if keys that are asked for may be missing. Otherwise the measurement fails after a
    /// miss, since a miss costs less than a hit.
    pub misses: bool,
    /// Duration of the same load beforehand, which is not measured.
    pub warm_up: Duration,
    /// Seed of all random choices.
    pub seed: u64,
}

impl Load {
    /// Creates a load in RESP with 50 connections, values of 16 bytes and uniform keys, for one
    /// second.
    pub fn new(operation: Operation, pipeline: usize, key_count: u64) -> Self {
        let shape = RequestShape { operation, value: ValueSize::Fixed(16), pipeline };
        Self {
            protocol: Protocol::Resp,
            connections: 50,
            shape,
            keys: KeyChoice::Uniform,
            key_count,
            misses: false,
            stop: Stop::After(Duration::from_secs(1)),
            warm_up: Duration::ZERO,
            seed: 1,
        }
    }

    /// Creates the load that sets new keys `0..key_count`, in order.
    pub fn fill(key_count: u64, value: ValueSize) -> Self {
        let mut load = Self::new(Operation::Set, 100, key_count);
        load.connections = 8;
        load.shape.value = value;
        load.keys = KeyChoice::Sequential;
        load.stop = Stop::Operations(key_count);
        load
    }

    /// Opens the connections and prepares the requests.
    ///
    /// # Errors
    /// If the load is impossible or the server does not accept.
    pub fn prepare(&self, server: &Server) -> Result<(Generator, Requests, Keys)> {
        let protocol = match server.kind {
            Kind::Memcached => Protocol::Memcached,
            _ => self.protocol,
        };
        let generator = Generator::connect_speaking(server.port, self.connections, protocol)?;
        let requests = Requests::speaking(protocol, &self.shape, self.seed)?;
        let keys = Keys::new(&self.keys, self.key_count, self.seed)?;
        Ok((generator, requests, keys))
    }
}

/// Result of a measurement.
pub struct Measured {
    /// User and system time of the server per operation, in microseconds.
    pub server_us: f64,
    /// Average number of cores that the server used.
    pub server_share: f64,
    /// Measurements of the generator.
    pub outcome: Outcome,
}

/// Runs a load and measures its cost for the server.
///
/// # Errors
/// If a connection breaks, or the server answers with errors.
pub fn measure(server: &Server, load: &Load) -> Result<Measured> {
    let (mut generator, mut requests, mut keys) = load.prepare(server)?;
    if !load.warm_up.is_zero() {
        generator.run(&mut requests, &mut keys, Stop::After(load.warm_up))?;
    }
    let mut source = Drawn { requests: &mut requests, keys: &mut keys };
    let measured = measure_source(server, &mut generator, &mut source, load.stop)?;
    let missed = measured.outcome.replies.nil;
    ensure!(load.misses || missed == 0, "{}: {missed} keys were missing", server.label);
    Ok(measured)
}

/// Measures batches of any source on open connections; otherwise as [`measure`].
///
/// # Errors
/// As [`measure`].
pub fn measure_source(
    server: &Server,
    generator: &mut Generator,
    source: &mut impl Source,
    stop: Stop,
) -> Result<Measured> {
    let before = settled_cpu_time(server)?;
    let outcome = generator.drive(source, stop)?;
    let used = settled_cpu_time(server)?.saturating_sub(before);
    if outcome.replies.error > 0 {
        bail!("{} errors, the first: {:?}", outcome.replies.error, outcome.first_error);
    }
    Ok(Measured {
        server_us: used.as_secs_f64() * 1e6 / outcome.operations.max(1) as f64,
        server_share: used.as_secs_f64() / outcome.elapsed.as_secs_f64(),
        outcome,
    })
}

/// Fills a server with keys `0..key_count`, without measuring.
///
/// # Errors
/// As [`measure`].
pub fn fill(server: &Server, key_count: u64, value: ValueSize) -> Result<()> {
    measure(server, &Load::fill(key_count, value)).map(|_| ())
}

/// Returns the server's CPU time after a short pause: the kernel adds up the time of a running
/// thread when it leaves the core, so the server must go to sleep first.
///
/// # Errors
/// If the server ended.
pub fn settled_cpu_time(server: &Server) -> Result<Duration> {
    thread::sleep(Duration::from_millis(2));
    server.cpu_time()
}
