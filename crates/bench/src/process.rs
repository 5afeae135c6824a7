//! What a process uses, as the kernel counts it; and on which core this thread runs.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::thread::{CpuSet, sched_setaffinity};

/// What the scheduler counted for all live threads of a process. The time of threads that ended
/// is not in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SchedulerTimes {
    /// User and system time.
    pub on_core: Duration,
    /// Time in which a thread was ready to run and waited for a core.
    pub waiting: Duration,
}

/// Reads the scheduler's times, to the nanosecond.
///
/// # Errors
/// If the process does not exist or the kernel does not count.
pub fn scheduler_times(pid: u32) -> Result<SchedulerTimes> {
    let mut sum = SchedulerTimes::default();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).context("the server is gone")? {
        // A thread may end between the listing and the reading.
        let Ok(text) = fs::read_to_string(thread?.path().join("schedstat")) else { continue };
        let mut fields = text.split_whitespace();
        let mut next = || fields.next().context("schedstat")?.parse().context("schedstat");
        sum.on_core += Duration::from_nanos(next()?);
        sum.waiting += Duration::from_nanos(next()?);
    }
    Ok(sum)
}

/// User and system time of a process: from the scheduler where it counts, else in clock ticks.
///
/// # Errors
/// If the process does not exist.
pub fn cpu_time(pid: u32) -> Result<Duration> {
    match scheduler_times(pid) {
        Ok(times) if !times.on_core.is_zero() => Ok(times.on_core),
        _ => cpu_time_in_ticks(pid),
    }
}

/// Resident memory of a process in bytes.
///
/// # Errors
/// If the process does not exist.
pub fn resident_bytes(pid: u32) -> Result<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).context("the server is gone")?;
    let pages: u64 = statm.split(' ').nth(1).context("statm")?.parse()?;
    Ok(pages * rustix::param::page_size() as u64)
}

/// Binds the calling thread to one core; without effect where that core is not allowed.
pub fn pin_this_thread(core: usize) {
    let mut cores = CpuSet::new();
    cores.set(core);
    if let Err(error) = sched_setaffinity(None, &cores) {
        eprintln!("not pinned to core {core}: {error}");
    }
}

/// Number of cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn cpu_time_in_ticks(pid: u32) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).context("the server is gone")?;
    // The name of the program stands in parentheses and may hold spaces.
    let behind_name = stat.rsplit_once(')').context("stat")?.1;
    let mut fields = behind_name.split_whitespace().skip(11);
    let mut ticks = || fields.next().context("stat")?.parse::<u64>().context("stat");
    let ticks = ticks()? + ticks()?;
    Ok(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

#[cfg(test)]
mod tests {
    use super::{cpu_time, cpu_time_in_ticks, resident_bytes};

    #[test]
    fn this_process_has_memory_and_cpu_time() {
        let pid = std::process::id();
        assert!(resident_bytes(pid).unwrap() > 100_000);
        assert!(cpu_time(pid).is_ok() && cpu_time_in_ticks(pid).is_ok());
    }

    #[test]
    fn an_absent_process_is_an_error() {
        assert!(resident_bytes(u32::MAX).is_err() && cpu_time(u32::MAX).is_err());
    }
}
