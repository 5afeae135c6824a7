//! Processes as the kernel counts them: CPU time, memory and ancestors; and the cores they run on.

use std::fs;
use std::iter::successors;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use procfs::process::{Process, Stat, Task};
use procfs::{CurrentSI, KernelStats};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

mod cores;

pub use cores::{bound_command, core, cores, first_cores, pin_this_thread};

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
pub fn thread_times(pid: u32) -> Result<Vec<ThreadTimes>> {
    let times = |task: Task| {
        // A thread may end between the listing and the reading.
        let times = task.schedstat().ok()?;
        let [on_core, waiting] =
            [times.sum_exec_runtime, times.run_delay].map(Duration::from_nanos);
        Some(ThreadTimes { thread: task.tid.cast_unsigned(), on_core, waiting })
    };
    Ok(process(pid)?.tasks()?.map_while(Result::ok).filter_map(times).collect())
}

/// Name of a thread of a process; empty if it has ended.
pub fn thread_name(pid: u32, thread: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/task/{thread}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// User and system time of the calling thread.
pub fn cpu_time_of_this_thread() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}

/// User and system time of a process, in whole clock ticks.
pub fn user_and_system_time(pid: u32) -> Result<(Duration, Duration)> {
    stat(pid).map(|stat| (ticks_to_time(stat.utime), ticks_to_time(stat.stime)))
}

/// User and system time of the children of this process that have ended and were waited for, in
/// whole clock ticks.
pub fn ended_children_time() -> Result<Duration> {
    time_of_ended_children(std::process::id())
}

/// User and system time of the children of a process that have ended and were waited for, in whole
/// clock ticks.
pub fn time_of_ended_children(pid: u32) -> Result<Duration> {
    stat(pid).map(|stat| ticks_to_time((stat.cutime + stat.cstime).unsigned_abs()))
}

/// Resident memory of a process in bytes; zero after its end, until its parent waits for it.
pub fn resident_bytes(pid: u32) -> Result<u64> {
    let pages = process(pid)?.statm().context(GONE)?.resident;
    Ok(pages * rustix::param::page_size() as u64)
}

/// Resident memory of a process without what it has of files, as its program; otherwise as
/// [`resident_bytes`].
pub fn anonymous_bytes(pid: u32) -> Result<u64> {
    let pages = process(pid)?.statm().context(GONE)?;
    Ok(pages.resident.saturating_sub(pages.shared) * rustix::param::page_size() as u64)
}

/// Resident memory of a process, and what its children have for themselves: pages that a child
/// shares with its parent count once.
pub fn memory_with_children(pid: u32) -> Result<u64> {
    let resident = resident_bytes(pid)?;
    let children = process(pid)?.task_main_thread()?.children().unwrap_or_default();
    // A child may end between the listing and the reading.
    Ok(resident + children.into_iter().filter_map(|child| private_bytes(child).ok()).sum::<u64>())
}

/// Resident memory that a process shares with no other. The kernel walks all its pages and holds up
/// changes to its memory map meanwhile, so this is not for servers.
fn private_bytes(pid: u32) -> Result<u64> {
    let sums = process(pid)?.smaps_rollup()?.memory_map_rollup;
    let sizes = sums.0.iter().flat_map(|map| &map.extension.map);
    Ok(sizes.filter(|(name, _)| name.starts_with("Private_")).map(|(_, bytes)| bytes).sum())
}

/// Raises the limit of open files of this process as far as the kernel allows it, up to a million.
pub fn raise_descriptor_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let current = Some(maximum.unwrap_or(1 << 20).min(1 << 20));
    // Where that is not allowed, a connection fails and reports it.
    let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
}

/// Returns true if a process has ended, even if its parent has not yet waited for it.
pub fn has_ended(pid: u32) -> bool {
    process(pid).map_or(true, |process| !process.is_alive())
}

/// Returns true if a process is the other one or a descendant of it; all processes between the two
/// must still run.
pub fn descends_from(pid: u32, ancestor: u32) -> bool {
    let parent = |pid: &u32| stat(*pid).ok().map(|stat| stat.ppid.cast_unsigned());
    successors(Some(pid), parent).any(|pid| pid == ancestor)
}

/// CPU time that the hypervisor took from all cores since boot, in whole clock ticks; zero where
/// the kernel does not report it.
pub fn stolen() -> Duration {
    KernelStats::current().ok().and_then(|all| all.total.steal_duration()).unwrap_or_default()
}

/// Share of all cores that was in use by any process during `time`, 0 to 1; zero where the kernel
/// does not report it. Waiting for a disk is not use.
pub fn busy_share(time: Duration) -> f64 {
    let unused = || {
        let all = KernelStats::current().ok()?;
        let unused = all.total.idle_duration() + all.total.iowait_duration().unwrap_or_default();
        Some(unused.as_secs_f64() / all.cpu_time.len() as f64)
    };
    let (before, began) = (unused(), Instant::now());
    std::thread::sleep(time);
    let unused = unused().zip(before).map(|(after, before)| after - before);
    unused.map_or(0.0, |unused| (1.0 - unused / began.elapsed().as_secs_f64()).max(0.0))
}

fn process(pid: u32) -> Result<Process> {
    Process::new(pid.cast_signed()).context(GONE)
}

fn stat(pid: u32) -> Result<Stat> {
    process(pid)?.stat().context(GONE)
}

fn ticks_to_time(ticks: u64) -> Duration {
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// User and system time of a process since its start by its CPU clock: the scheduler's times of all
/// its threads, ended ones included, to the nanosecond.
pub fn cpu_time(pid: u32) -> Result<Duration> {
    // Below one are names of the calling process.
    let pid = i32::try_from(pid).ok().filter(|pid| *pid > 0).context(GONE)?;
    let clock = nix::time::clock_getcpuclockid(nix::unistd::Pid::from_raw(pid)).context(GONE)?;
    Ok(clock.now().context(GONE)?.into())
}

const GONE: &str = "the server is gone";

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A shell that has done some work and waits for its end, and a word that it printed.
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
        let before = ended_children_time().unwrap();
        let (mut child, _) = shell(&format!("{BUSY}; echo done"));
        let exact = cpu_time(child.id()).unwrap();
        let (user, system) = user_and_system_time(child.id()).unwrap();
        assert!(exact > Duration::from_millis(20), "{exact:?}");
        // Two times in whole ticks, which some machines take by sampling.
        let difference = exact.abs_diff(user + system);
        assert!(difference < exact / 2 + Duration::from_millis(20), "{exact:?} {difference:?}");
        drop(child.stdin.take());
        while !has_ended(child.id()) {
            std::thread::yield_now();
        }
        assert_eq!(resident_bytes(child.id()).unwrap(), 0, "nobody has waited for it");
        child.wait().unwrap();
        assert!(ended_children_time().unwrap() > before, "it counts once it has ended");
    }

    #[test]
    fn a_grandchild_descends_and_its_memory_counts() {
        let (mut child, grandchild) = shell("sh -c 'echo $$; cat'");
        let (child_pid, grandchild) = (child.id(), grandchild.parse().unwrap());
        let this = std::process::id();
        assert!(descends_from(grandchild, child_pid) && descends_from(grandchild, this));
        assert!(descends_from(this, this));
        assert!(!descends_from(child_pid, grandchild) && !descends_from(this, child_pid));
        assert!(!descends_from(u32::MAX, this));
        let [alone, private] = [resident_bytes(child_pid), private_bytes(grandchild)];
        let (alone, private) = (alone.unwrap(), private.unwrap());
        assert!(alone > 100_000 && private > 10_000 && private < resident_bytes(this).unwrap());
        assert_eq!(memory_with_children(child_pid).unwrap(), alone + private);
        assert!(!has_ended(child_pid));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn an_absent_process_is_an_error() {
        let absent = u32::MAX;
        assert!(resident_bytes(absent).is_err() && memory_with_children(absent).is_err());
        assert!(cpu_time(absent).is_err() && has_ended(absent));
    }

    #[test]
    fn a_thread_that_ended_still_counts() {
        let cpu_time = || cpu_time(std::process::id()).unwrap();
        let before = cpu_time();
        let burn = || while cpu_time_of_this_thread() < Duration::from_millis(100) {};
        std::thread::spawn(burn).join().unwrap();
        let used = cpu_time() - before;
        assert!(used >= Duration::from_millis(100), "{used:?}");
    }

    const BUSY: &str = "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done";
}
