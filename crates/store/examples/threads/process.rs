//! Processes that are measured, and what is said to them and by them: a line each.

use crate::numbers::Choice;
use crate::work::Operation;
use base::contention::Waits;
use clap::ValueEnum;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What a process is to do.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub operation: Operation,
    pub choice: Choice,
    pub threads: usize,
    /// Number of the first thread's core.
    pub core: usize,
    pub millis: u64,
}

/// What threads did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    pub operations: u64,
    pub per_second: f64,
    pub cpu_seconds: f64,
    pub waits: Waits,
}

/// A process that waits for loads.
pub struct Process {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Load {
    fn to_line(self) -> String {
        let Load { operation, choice, threads, core, millis } = self;
        let (operation, choice) = (name_of(operation), name_of(choice));
        format!("{operation} {choice} {threads} {core} {millis}")
    }

    pub fn parse(line: &str) -> Result<Load, Box<dyn Error>> {
        let words: Vec<_> = line.split(' ').collect();
        let [operation, choice, threads, core, millis] = words[..] else {
            return Err(format!("not a load: {line}").into());
        };
        Ok(Load {
            operation: Operation::from_str(operation, false)?,
            choice: Choice::from_str(choice, false)?,
            threads: threads.parse()?,
            core: core.parse()?,
            millis: millis.parse()?,
        })
    }
}

/// Name of a value in the options.
pub fn name_of(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |it| it.get_name().to_owned())
}

impl Measured {
    pub fn of_thread(operations: u64, seconds: f64, cpu_seconds: f64) -> Measured {
        let per_second = operations as f64 / seconds;
        Measured { operations, per_second, cpu_seconds, waits: Waits::default() }
    }

    /// Processor time of an operation, of all threads that work.
    pub fn cpu_nanos(&self) -> f64 {
        self.cpu_seconds * 1e9 / self.operations as f64
    }

    pub fn to_line(self) -> String {
        let Measured { operations, per_second, cpu_seconds, waits } = self;
        let Waits { locks, lock_nanos, mutexes, mutex_nanos } = waits;
        format!(
            "{operations} {per_second} {cpu_seconds} {locks} {lock_nanos} {mutexes} {mutex_nanos}"
        )
    }

    fn parse(line: &str) -> Result<Measured, Box<dyn Error>> {
        let words: Vec<_> = line.split(' ').collect();
        let [operations, per_second, cpu, locks, lock_nanos, mutexes, mutex_nanos] = words[..]
        else {
            return Err(format!("a process said: {line}").into());
        };
        let waits = Waits {
            locks: locks.parse()?,
            lock_nanos: lock_nanos.parse()?,
            mutexes: mutexes.parse()?,
            mutex_nanos: mutex_nanos.parse()?,
        };
        Ok(Measured {
            operations: operations.parse()?,
            per_second: per_second.parse()?,
            cpu_seconds: cpu.parse()?,
            waits,
        })
    }
}

impl std::iter::Sum for Measured {
    fn sum<I: Iterator<Item = Measured>>(all: I) -> Measured {
        all.fold(Measured::default(), |sum, one| Measured {
            operations: sum.operations + one.operations,
            per_second: sum.per_second + one.per_second,
            cpu_seconds: sum.cpu_seconds + one.cpu_seconds,
            waits: sum.waits + one.waits,
        })
    }
}

impl Process {
    /// Starts a process and waits until it has its data.
    pub fn start(keys: u32, operations: &[Operation]) -> Result<Process, Box<dyn Error>> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--child", "--keys", &keys.to_string(), "--workloads"]);
        command.arg(operations.iter().map(|it| name_of(*it)).collect::<Vec<_>>().join(","));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let to = child.stdin.take().ok_or("no pipe")?;
        let from = BufReader::new(child.stdout.take().ok_or("no pipe")?);
        let mut process = Process { child, to, from };
        process.read()?;
        Ok(process)
    }

    fn read(&mut self) -> Result<String, Box<dyn Error>> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended already needs no signal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Gives each process the load, the first one on the first core and so on, and returns the sum of
/// what they did at the same time.
pub fn measure(processes: &mut [Process], load: &Load) -> Result<Measured, Box<dyn Error>> {
    let threads = load.threads / processes.len();
    for (core, process) in processes.iter_mut().enumerate() {
        let load = Load { threads, core, ..*load };
        writeln!(process.to, "{}", load.to_line())?;
    }
    processes.iter_mut().map(|process| Measured::parse(&process.read()?)).sum()
}
