//! A process that is measured: a store with its data, and threads that work on it when told to.

use crate::background;
use crate::cores::Cores;
use crate::numbers::{Choice, Numbers};
use crate::process::{Load, Measured};
use crate::work::{DATABASES, MEASURED, OVER, Operation, WARMING, Worker};
use base::{KeyHasher, contention};
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use store::{Store, StoreConfig};

/// Part of the measured time that goes before it.
const WARM_PART: u32 = 5;

struct Child {
    store: Arc<Store>,
    uniform: Numbers,
    zipf: Numbers,
    keys: u32,
    cores: Cores,
}

/// Serves loads until its input ends.
pub fn serve(keys: u32, operations: &[Operation]) -> Result<(), Box<dyn Error>> {
    let child = Child::new(keys, operations)?;
    background::start(&child.store);
    println!("ready");
    for line in io::stdin().lines() {
        let measured = child.measure(&Load::parse(&line?)?);
        println!("{}", measured.to_line());
        io::stdout().flush()?;
    }
    Ok(())
}

/// Written before and after the batches of each worker, so that they are found in a trace of memory
/// accesses.
static MARK: AtomicU64 = AtomicU64::new(0);

/// Runs batches of two workers, one after the other in this thread, without background work.
pub fn run_batches(
    keys: u32,
    operations: &[Operation],
    batches: u64,
) -> Result<(), Box<dyn Error>> {
    let child = Child::new(keys, operations)?;
    println!("mark {:x}", &raw const MARK as usize);
    for operation in operations {
        for choice in operation.choices() {
            let worker = |core| {
                let numbers = child.numbers(*choice).of_core(core);
                Worker::new(&child.store, *operation, numbers, keys)
            };
            let mut workers = [worker(0), worker(1)];
            for worker in &mut workers {
                MARK.fetch_add(1, Relaxed);
                worker.run_batches(batches);
            }
            MARK.fetch_add(1, Relaxed);
            workers.into_iter().for_each(Worker::retire);
        }
    }
    Ok(())
}

impl Child {
    fn new(keys: u32, operations: &[Operation]) -> io::Result<Child> {
        let hasher = KeyHasher::from_seed(1);
        let config = StoreConfig { databases: DATABASES, hasher, address_space: None };
        let store = Arc::new(Store::new(config)?);
        let uniform = Numbers::draw(Choice::Uniform, keys);
        for operation in operations {
            if store.len(operation.database()) == 0 {
                let mut worker = Worker::new(&store, *operation, uniform.clone(), keys);
                worker.load();
                worker.retire();
            }
        }
        let zipf = Numbers::draw(Choice::Zipf, keys);
        Ok(Child { store, uniform, zipf, keys, cores: Cores::allowed()? })
    }

    fn numbers(&self, choice: Choice) -> &Numbers {
        match choice {
            Choice::Uniform => &self.uniform,
            Choice::Zipf => &self.zipf,
        }
    }

    fn measure(&self, load: &Load) -> Measured {
        let phase = AtomicU8::new(WARMING);
        let before = contention::waits();
        let mut measured = thread::scope(|scope| {
            let cores = load.core..load.core + load.threads;
            let work = |core| {
                let phase = &phase;
                scope.spawn(move || self.work(load, core, phase))
            };
            let threads: Vec<_> = cores.map(work).collect();
            let millis = Duration::from_millis(load.millis);
            thread::sleep(millis / WARM_PART);
            phase.store(MEASURED, Relaxed);
            thread::sleep(millis);
            phase.store(OVER, Relaxed);
            threads.into_iter().map(|it| it.join().expect("no thread panics")).sum::<Measured>()
        });
        measured.waits = contention::waits() - before;
        measured
    }

    /// Work of one thread, on the core of this number.
    fn work(&self, load: &Load, core: usize, phase: &AtomicU8) -> Measured {
        self.cores.pin(core);
        let numbers = self.numbers(load.choice).of_core(core);
        let mut worker = Worker::new(&self.store, load.operation, numbers, self.keys);
        worker.run(phase, WARMING);
        let (began, cpu_before) = (Instant::now(), cpu_time());
        let operations = worker.run(phase, MEASURED);
        let (seconds, cpu) = (began.elapsed().as_secs_f64(), cpu_time() - cpu_before);
        worker.retire();
        Measured::of_thread(operations, seconds, cpu.as_secs_f64())
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("it is not negative")
}
