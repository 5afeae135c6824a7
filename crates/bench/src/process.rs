//! Resources of a process as the kernel counts them, its ancestors, and the core of this thread.

use std::fs;
use std::iter::successors;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

mod children;
mod cores;
mod meter;

pub use children::memory_with_children;
pub use cores::{core, cores, first_cores, pin_this_thread};
pub use meter::CpuMeter;

/// Scheduler times of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadTimes {
    /// Number of the thread.
    pub thread: u32,
    /// User and system time, up to the last time the thread left its core or the clock ticked.
    pub on_core: Duration,
    /// Time in which the thread was ready to run and waited for a core.
    pub waiting: Duration,
}

/// The scheduler's times of all live threads of a process, to the nanosecond.
///
/// # Errors
/// If the process does not exist or the kernel does not count.
pub fn thread_times(pid: u32) -> Result<Vec<ThreadTimes>> {
    let mut threads = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/task")).context("the server is gone")? {
        let entry = entry?;
        let thread = entry.file_name().to_string_lossy().parse()?;
        // A thread may end between the listing and the reading.
        let Ok(text) = fs::read_to_string(entry.path().join("schedstat")) else { continue };
        let mut fields = text.split_whitespace();
        let mut next = || fields.next().context("schedstat")?.parse().context("schedstat");
        let (on_core, waiting) = (Duration::from_nanos(next()?), Duration::from_nanos(next()?));
        threads.push(ThreadTimes { thread, on_core, waiting });
    }
    Ok(threads)
}

/// Returns the name of a thread of a process; empty if it has ended.
#[must_use]
pub fn thread_name(pid: u32, thread: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/task/{thread}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// User and system time of the calling thread.
#[must_use]
pub fn cpu_time_of_this_thread() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}

/// User and system time of a process, in whole clock ticks.
///
/// # Errors
/// If the process does not exist.
pub fn user_and_system_time(pid: u32) -> Result<(Duration, Duration)> {
    let [user, system, ..] = times_of_stat(pid)?;
    Ok((user, system))
}

/// User and system time of the children of this process that have ended and were waited for, in
/// whole clock ticks.
///
/// # Errors
/// If the kernel does not tell.
pub fn ended_children_time() -> Result<Duration> {
    let [_, _, user, system] = times_of_stat(std::process::id())?;
    Ok(user + system)
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

/// Raises the limit of open files of this process to so many connections, if it is lower and the
/// kernel allows it.
pub fn raise_descriptor_limit(connections: u64) {
    let limit = getrlimit(Resource::Nofile);
    let wanted = connections + OTHER_DESCRIPTORS;
    if limit.current.is_some_and(|current| current < wanted) {
        let maximum = limit.maximum.map(|maximum| maximum.max(wanted));
        // Where that is not allowed, the next connection fails and reports it.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}

/// Returns true if a process has ended: it is listed, without memory, until its parent waits for
/// it.
#[must_use]
pub fn has_ended(pid: u32) -> bool {
    resident_bytes(pid).map_or(true, |bytes| bytes == 0)
}

/// Returns true if a process is the other one or a descendant of it; all processes between the two
/// must still run.
#[must_use]
pub fn descends_from(pid: u32, ancestor: u32) -> bool {
    let mut ancestors = successors(Some(pid), |pid| parent(*pid));
    ancestors.any(|pid| pid == ancestor)
}

fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let number = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    number.trim().parse().ok()
}

/// Returns the CPU time that the hypervisor took from all cores since boot, in whole clock ticks;
/// zero where the kernel does not report it.
pub fn stolen() -> Duration {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let field = stat.lines().next().and_then(|all| all.split_whitespace().nth(8));
    let ticks = field.and_then(|ticks| ticks.parse().ok()).unwrap_or(0);
    ticks_to_time(ticks)
}

/// Returns the share of all cores that was in use by any process during `time`, 0 to 1; zero where
/// the kernel does not report it.
pub fn busy_share(time: Duration) -> f64 {
    let before = used_and_all_ticks();
    std::thread::sleep(time);
    let after = used_and_all_ticks();
    let [used, all] = [0, 1].map(|at| after[at].saturating_sub(before[at]));
    if all == 0 { 0.0 } else { used as f64 / all as f64 }
}

/// Returns the ticks of all cores since boot: those in use, and all.
fn used_and_all_ticks() -> [u64; 2] {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let ticks: Vec<u64> = ticks.filter_map(|ticks| ticks.parse().ok()).collect();
    // The first eight fields do not contain each other; idle and waiting for a disk are two of
    // them.
    let all: u64 = ticks.iter().take(8).sum();
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    [all - idle, all]
}

/// Returns user and system time of a process, and of its ended children.
fn times_of_stat(pid: u32) -> Result<[Duration; 4]> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).context("the server is gone")?;
    // The name of the program is in parentheses and may contain spaces.
    let behind_name = stat.rsplit_once(')').context("stat")?.1;
    let mut fields = behind_name.split_whitespace().skip(11);
    let mut times = [Duration::ZERO; 4];
    for time in &mut times {
        *time = ticks_to_time(fields.next().context("stat")?.parse().context("stat")?);
    }
    Ok(times)
}

fn cpu_time_in_ticks(pid: u32) -> Result<Duration> {
    user_and_system_time(pid).map(|(user, system)| user + system)
}

fn ticks_to_time(ticks: u64) -> Duration {
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// File descriptors for files, logs of servers and control connections.
const OTHER_DESCRIPTORS: u64 = 100;

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    use super::{
        CpuMeter, cpu_time_in_ticks, descends_from, ended_children_time, has_ended, resident_bytes,
    };

    /// Starts a shell that does some work, prints a word and waits for its end.
    fn shell(work: &str) -> (Child, String) {
        let mut child = Command::new("sh")
            .args(["-c", &format!("{work}; cat > /dev/null")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        (child, said.trim_end().to_owned())
    }

    #[test]
    fn the_scheduler_and_the_clock_agree_on_what_a_process_used() {
        let (mut child, _) = shell(&format!("{BUSY}; echo done"));
        let pid = child.id();
        let exact = CpuMeter::new(pid).read().unwrap();
        let ticks = cpu_time_in_ticks(pid).unwrap();
        assert!(exact > Duration::from_millis(20), "{exact:?}");
        // Two times in whole ticks, which some machines take by sampling.
        assert!(
            exact.abs_diff(ticks) < exact / 2 + Duration::from_millis(20),
            "{exact:?} {ticks:?}"
        );
        assert!(resident_bytes(pid).unwrap() > 100_000);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_time_of_a_child_counts_once_it_has_ended() {
        let before = ended_children_time().unwrap();
        Command::new("sh").args(["-c", BUSY]).status().unwrap();
        assert!(ended_children_time().unwrap() > before);
    }

    #[test]
    fn a_grandchild_descends_and_a_stranger_does_not() {
        let (mut child, grandchild) = shell("sh -c 'echo $$; cat'");
        let grandchild = grandchild.parse().unwrap();
        let this = std::process::id();
        assert!(descends_from(grandchild, child.id()) && descends_from(grandchild, this));
        assert!(descends_from(this, this));
        assert!(!descends_from(child.id(), grandchild) && !descends_from(this, child.id()));
        assert!(!descends_from(u32::MAX, this));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_nobody_has_waited_for_has_ended() {
        let (mut child, _) = shell("echo");
        assert!(!has_ended(child.id()));
        drop(child.stdin.take());
        while !has_ended(child.id()) {
            std::thread::yield_now();
        }
        assert!(resident_bytes(child.id()).is_ok(), "it is still listed");
        child.wait().unwrap();
    }

    #[test]
    fn an_absent_process_is_an_error() {
        assert!(resident_bytes(u32::MAX).is_err() && CpuMeter::new(u32::MAX).read().is_err());
        assert!(has_ended(u32::MAX));
    }

    const BUSY: &str = "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done";
}
