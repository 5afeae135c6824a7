//! Counters of the running server. Each worker counts for itself; sums are made on request.

use crate::count::Count;
use crate::memcached_counts::{MemcachedCounts, MemcachedTotals};
use crate::observing::{Distribution, Histogram};
use crate::rates::{Rates, Sampler};
use crate::refusal::Refusal;
use base::Steady;
use base::mutex::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use store::Totals;

/// One command's counts, found and changed together: in one cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct CommandCounts {
    /// Number of runs.
    pub calls: Count,
    /// Nanoseconds spent in runs.
    pub nanos: Count,
    /// Number of requests that were refused before the command ran.
    pub rejected: Count,
    /// Number of runs that ended with a refusal.
    pub failed: Count,
    /// Times of runs; made by the first one.
    histogram: OnceLock<Histogram>,
}

impl CommandCounts {
    /// The times of runs. For the owning thread only.
    #[inline]
    pub fn histogram(&self) -> &Histogram {
        self.histogram.get_or_init(Histogram::default)
    }
}

macro_rules! server_counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts of a worker that are not about one command.
        #[derive(Debug, Default)]
        pub struct ServerCounts {
            $($(#[$doc])* pub $name: Count,)*
        }

        /// The sums of `ServerCounts` over workers.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct ServerTotals {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl ServerTotals {
            fn add(&mut self, counts: &ServerCounts) {
                $(self.$name += counts.$name.get();)*
            }

            fn subtract(&mut self, earlier: &ServerTotals) {
                $(self.$name = self.$name.saturating_sub(earlier.$name);)*
            }
        }
    };
}

server_counts! {
    /// Bytes read from clients.
    input_bytes,
    /// Bytes written to clients.
    output_bytes,
    /// Reads from sockets that returned bytes.
    reads,
    /// Writes to sockets that sent bytes.
    writes,
    /// Refusals that were written as replies.
    refusals,
    /// Loop iterations.
    iterations,
    /// Nanoseconds of them, without the wait for events.
    iteration_nanos,
    /// Nanoseconds of commands whose clients waited for another thread.
    outstanding_nanos,
    /// Nanoseconds of background jobs.
    background_nanos,
    /// Nanoseconds in which keys past their deadline were looked for.
    sweep_nanos,
    /// Clients closed for a query buffer that grew too large.
    query_limit_closed,
    /// Clients closed for output that grew too large.
    output_limit_closed,
    /// Clients closed since all of them took too much memory.
    evicted_clients,
    /// Clients closed for their silence.
    timed_out_clients,
    /// Scripts that were proven to keep to their keys, and ran beside others.
    scripts_beside_others,
    /// Scripts that ran one at a time.
    scripts_one_at_a_time,
}

/// One worker's counts.
#[derive(Debug)]
pub struct WorkerStatistics {
    /// Counts of commands, by id of the row.
    pub commands: Box<[CommandCounts]>,
    /// Counts that are not about one command.
    pub server: ServerCounts,
    /// Counts of commands of Memcached's protocol, by their outcome.
    pub memcached: MemcachedCounts,
}

/// Counts of one command, summed over workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandTotals {
    /// Number of runs.
    pub calls: u64,
    /// Nanoseconds spent in runs.
    pub nanos: u64,
    /// Number of requests that were refused before the command ran.
    pub rejected: u64,
    /// Number of runs that ended with a refusal.
    pub failed: u64,
}

/// Counts summed over workers.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// Counts of commands, by id of the row.
    pub commands: Vec<CommandTotals>,
    /// Sums of counts that are not about one command.
    pub server: ServerTotals,
}

impl Sums {
    /// Nanoseconds of all commands.
    pub fn command_nanos(&self) -> u64 {
        self.commands.iter().map(|sum| sum.nanos).sum()
    }

    /// Number of commands that ran.
    pub fn calls(&self) -> u64 {
        self.commands.iter().map(|sum| sum.calls).sum()
    }
}

/// Sums that Memcached's `stats reset` restarts from zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemcachedSums {
    /// Those of commands.
    pub commands: MemcachedTotals,
    /// Those of the server, for clients of both protocols.
    pub server: ServerTotals,
    /// Those of the store, for clients of both protocols.
    pub store: Totals,
    /// Connections accepted.
    pub connections: u64,
    /// Connections turned away because of `maxclients`.
    pub rejected_connections: u64,
}

impl MemcachedSums {
    fn since(&self, earlier: &MemcachedSums) -> MemcachedSums {
        let MemcachedSums { commands, mut server, store, connections, rejected_connections } =
            *self;
        server.subtract(&earlier.server);
        MemcachedSums {
            commands: commands.since(&earlier.commands),
            server,
            store: store.since(&earlier.store),
            connections: connections.saturating_sub(earlier.connections),
            rejected_connections: rejected_connections.saturating_sub(earlier.rejected_connections),
        }
    }
}

/// Counts of all workers, and shared counts of events that are rare.
#[derive(Debug)]
pub struct Statistics {
    /// Number of row ids in the table.
    ids: usize,
    workers: Mutex<Vec<Arc<WorkerStatistics>>>,
    errors: Mutex<BTreeMap<String, u64>>,
    /// Waits that ended with an error, by id of the row, where no worker has answered.
    refused_waits: Mutex<BTreeMap<usize, u64>>,
    /// Number of refusals, of all codes.
    refusals: AtomicU64,
    /// Counts at the last CONFIG RESETSTAT, which are subtracted from later ones.
    reset: Mutex<(Sums, Totals)>,
    /// Times of runs before that.
    reset_times: Mutex<BTreeMap<usize, Distribution>>,
    /// What Memcached's `stats reset` subtracts from what `stats` tells.
    memcached_reset: Mutex<MemcachedSums>,
    rates: Mutex<Sampler>,
    /// Nanoseconds of the longest loop iteration of a worker.
    pub longest_iteration_nanos: AtomicU64,
    /// Most commands in one loop iteration of a worker.
    pub most_commands: AtomicU64,
    /// Connections accepted.
    pub connections: AtomicU64,
    /// Connections turned away because of `maxclients`.
    pub rejected_connections: AtomicU64,
    /// How often a connection moved from one worker to another.
    pub moved_connections: AtomicU64,
}

/// Maximum number of distinct error codes that are counted, in case clients make codes up.
const ERROR_CODES_MAX: usize = 128;
/// Name under which errors from outside with further codes are counted.
const OTHER_CODES: &str = "ERRORSTATS_OVERFLOW";

impl Statistics {
    /// Creates statistics with all counts zero, for rows with `ids` ids.
    pub fn new(ids: usize) -> Statistics {
        Statistics {
            ids,
            workers: Mutex::default(),
            errors: Mutex::default(),
            refused_waits: Mutex::default(),
            refusals: AtomicU64::new(0),
            reset: Mutex::default(),
            reset_times: Mutex::default(),
            memcached_reset: Mutex::default(),
            rates: Mutex::default(),
            longest_iteration_nanos: AtomicU64::new(0),
            most_commands: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            rejected_connections: AtomicU64::new(0),
            moved_connections: AtomicU64::new(0),
        }
    }

    /// Adds the counts of one more worker and returns them.
    pub fn worker(&self) -> Arc<WorkerStatistics> {
        let commands = (0..self.ids).map(|_| CommandCounts::default()).collect();
        let (server, memcached) = (ServerCounts::default(), MemcachedCounts::default());
        let worker = Arc::new(WorkerStatistics { commands, server, memcached });
        lock(&self.workers).push(Arc::clone(&worker));
        worker
    }

    /// Counts a refusal by its code.
    pub fn count_error(&self, code: &str) {
        self.refusals.fetch_add(1, Relaxed);
        let mut errors = lock(&self.errors);
        if let Some(count) = errors.get_mut(code) {
            *count += 1;
        } else {
            errors.insert(code.to_owned(), 1);
        }
    }

    /// Counts a wait of a command that has ended with a refusal, which no worker has written.
    pub fn count_refused_wait(&self, command: usize, refusal: &Refusal) {
        self.count_error(refusal.code());
        *lock(&self.refused_waits).entry(command).or_default() += 1;
    }

    /// Counts an error that a script or another server has made, whose code may be any: those
    /// beyond the first ones are counted together.
    pub fn count_error_from_outside(&self, code: &str) {
        let errors = lock(&self.errors);
        let is_one_too_many = errors.len() >= ERROR_CODES_MAX && !errors.contains_key(code);
        drop(errors);
        self.count_error(if is_one_too_many { OTHER_CODES } else { code });
    }

    /// Number of refusals of each code since the last reset.
    pub fn errors(&self) -> BTreeMap<String, u64> {
        lock(&self.errors).clone()
    }

    /// Number of refusals since the last reset, also with codes that are not counted.
    pub fn refusals(&self) -> u64 {
        self.refusals.load(Relaxed)
    }

    /// Sums since the last reset.
    pub fn sums(&self) -> Sums {
        let mut sums = self.all_sums();
        let reset = lock(&self.reset);
        for (sum, before) in sums.commands.iter_mut().zip(&reset.0.commands) {
            // A reset may have happened in between, so the subtracted sum may be the larger one.
            sum.calls = sum.calls.saturating_sub(before.calls);
            sum.nanos = sum.nanos.saturating_sub(before.nanos);
            sum.rejected = sum.rejected.saturating_sub(before.rejected);
            sum.failed = sum.failed.saturating_sub(before.failed);
        }
        sums.server.subtract(&reset.0.server);
        sums
    }

    /// The store's totals since the last reset.
    pub fn since_reset(&self, totals: &Totals) -> Totals {
        totals.since(&lock(&self.reset).1)
    }

    /// Sums that Memcached's `stats` tells: those since the last `stats reset`.
    pub fn memcached(&self, store: Totals) -> MemcachedSums {
        self.memcached_sums(store).since(&lock(&self.memcached_reset))
    }

    /// Restarts them from zero. What INFO tells stays.
    pub fn reset_memcached(&self, store: Totals) {
        *lock(&self.memcached_reset) = self.memcached_sums(store);
    }

    fn memcached_sums(&self, store: Totals) -> MemcachedSums {
        let mut commands = MemcachedTotals::default();
        lock(&self.workers).iter().for_each(|worker| commands.add(&worker.memcached));
        let connections = self.connections.load(Relaxed);
        let rejected_connections = self.rejected_connections.load(Relaxed);
        let server = self.all_sums().server;
        MemcachedSums { commands, server, store, connections, rejected_connections }
    }

    /// Restarts all counts from zero, but for those of Memcached's commands.
    pub fn reset(&self, totals: Totals) {
        *lock(&self.reset) = (self.all_sums(), totals);
        *lock(&self.reset_times) = self.all_times();
        lock(&self.errors).clear();
        self.refusals.store(0, Relaxed);
        *lock(&self.rates) = Sampler::default();
        self.longest_iteration_nanos.store(0, Relaxed);
        self.most_commands.store(0, Relaxed);
        self.connections.store(0, Relaxed);
        self.rejected_connections.store(0, Relaxed);
        self.moved_connections.store(0, Relaxed);
    }

    /// Notes the length and the commands of a loop iteration, if they are the largest so far.
    #[inline]
    pub fn note_iteration(&self, nanos: u64, commands: u64) {
        for (most, seen) in
            [(&self.longest_iteration_nanos, nanos), (&self.most_commands, commands)]
        {
            if seen > most.load(Relaxed) {
                most.fetch_max(seen, Relaxed);
            }
        }
    }

    /// Returns the nanoseconds since the last reset in which workers did not wait for events.
    pub fn active_nanos(&self) -> u64 {
        self.sums().server.iteration_nanos
    }

    /// Takes a sample of the sums, from which rates are computed. To be called several times a
    /// second.
    pub fn sample(&self, now: Steady) {
        let sums = self.all_sums();
        let ServerTotals { input_bytes, output_bytes, iterations, iteration_nanos, .. } =
            sums.server;
        let done = [sums.calls(), input_bytes, output_bytes, iterations, iteration_nanos];
        lock(&self.rates).note(now, done);
    }

    /// Returns the present rates per second: means over the last samples.
    pub fn rates(&self) -> Rates {
        lock(&self.rates).rates()
    }

    /// Times of runs since the last reset, in nanoseconds, by id of the row; of commands that ran.
    pub fn times(&self) -> BTreeMap<usize, Distribution> {
        let mut times = self.all_times();
        for (id, before) in lock(&self.reset_times).iter() {
            times.entry(*id).or_default().subtract(before);
        }
        times.retain(|_, distribution| distribution.total() > 0);
        times
    }

    fn all_times(&self) -> BTreeMap<usize, Distribution> {
        let mut times = BTreeMap::<usize, Distribution>::new();
        for worker in lock(&self.workers).iter() {
            let made = worker.commands.iter().enumerate();
            for (id, histogram) in made.filter_map(|(id, it)| Some((id, it.histogram.get()?))) {
                times.entry(id).or_default().add(histogram);
            }
        }
        times
    }

    fn all_sums(&self) -> Sums {
        let commands = vec![CommandTotals::default(); self.ids];
        let mut sums = Sums { commands, server: ServerTotals::default() };
        for worker in lock(&self.workers).iter() {
            for (sum, counts) in sums.commands.iter_mut().zip(&worker.commands) {
                sum.calls += counts.calls.get();
                sum.nanos += counts.nanos.get();
                sum.rejected += counts.rejected.get();
                sum.failed += counts.failed.get();
            }
            sums.server.add(&worker.server);
        }
        for (id, refused) in lock(&self.refused_waits).iter() {
            sums.commands[*id].rejected += refused;
        }
        sums
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
