//! Facts from the kernel about this process and its machine.

use rustix::process::{Resource, getrlimit};
use std::fs;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Resident memory of this process, in bytes; zero where the kernel does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    /// All of it.
    pub bytes: u64,
    /// Without pages of files, as the program's own: the kernel drops those when it needs memory.
    pub anonymous: u64,
}

/// Returns the resident memory of this process.
pub fn resident() -> Resident {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let mut pages = statm.split_whitespace().skip(1).map(|word| word.parse::<u64>().unwrap_or(0));
    let mut next = || pages.next().unwrap_or(0) * page_bytes();
    let (bytes, of_files) = (next(), next());
    Resident { bytes, anonymous: bytes.saturating_sub(of_files) }
}

/// Returns the resident bytes of this process; zero where the kernel does not tell.
pub fn resident_bytes() -> u64 {
    resident().bytes
}

/// Returns the bytes of a page.
fn page_bytes() -> u64 {
    // SAFETY: it only looks up a number.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096)
}

/// Returns the bytes of memory of the machine.
pub fn machine_bytes() -> u64 {
    let info = rustix::system::sysinfo();
    (info.totalram as u64).saturating_mul(u64::from(info.mem_unit))
}

/// Returns the bytes of address space that this process could still take when this was first asked;
/// `None` where nothing limits it. The limits are that of the process (`ulimit -v`) and, on a
/// system that promises no more memory than it has, what it has left.
pub fn address_space() -> Option<u64> {
    static LEFT: OnceLock<Option<u64>> = OnceLock::new();
    *LEFT.get_or_init(|| {
        // The interpreter has neither.
        if cfg!(miri) { None } else { left_of_limit().into_iter().chain(left_of_system()).min() }
    })
}

/// Bytes that `keep_address_space` keeps.
static KEPT: AtomicU64 = AtomicU64::new(0);

/// Keeps so many bytes of limited address space out of what reservations share: for the allocator.
/// To be called before there are any.
pub fn keep_address_space(bytes: u64) {
    KEPT.store(bytes, Relaxed);
}

/// Returns the bytes of address space that reservations share; `None` where nothing limits it.
pub(crate) fn shared_address_space() -> Option<u64> {
    address_space().map(|left| left.saturating_sub(KEPT.load(Relaxed)))
}

/// Keeps the allocator of the C library from reserving 64 MiB or more for each thread. To be called
/// before there are threads, where address space is limited: they may have to wait for each other.
pub fn share_c_allocator() {
    #[cfg(all(target_env = "gnu", not(miri)))]
    // SAFETY: it sets a number that the allocator reads when a thread first asks it for memory.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

fn left_of_limit() -> Option<u64> {
    let limit = getrlimit(Resource::As).current?;
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
    Some(limit.saturating_sub(pages.unwrap_or(0) * page_bytes()))
}

fn left_of_system() -> Option<u64> {
    let mode = fs::read_to_string("/proc/sys/vm/overcommit_memory").unwrap_or_default();
    let facts = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    if mode.trim() == "2" { uncommitted(&facts) } else { None }
}

/// Reads from `meminfo` how much more memory the system promises at most.
fn uncommitted(facts: &str) -> Option<u64> {
    let bytes = |name: &str| {
        let line = facts.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    };
    Some(bytes("CommitLimit:")?.saturating_sub(bytes("Committed_AS:")?))
}

/// Returns true if the kernel gives transparent huge pages of 2 MiB, at least on `madvise`.
pub fn has_huge_pages() -> bool {
    let folder = "/sys/kernel/mm/transparent_hugepage";
    let enabled = fs::read_to_string(format!("{folder}/enabled")).unwrap_or_default();
    let size = fs::read_to_string(format!("{folder}/hpage_pmd_size")).unwrap_or_default();
    !enabled.is_empty() && !enabled.contains("[never]") && size.trim() == "2097152"
}

/// Returns the number of processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Returns the number of processors on which this process may run, however little of their time it
/// gets: by that allocators choose how much memory they keep apart.
pub fn bound_processors() -> usize {
    let bound = rustix::thread::sched_getaffinity(None).map(|bound| bound.count());
    bound.map_or_else(|_| processors(), |count| count as usize)
}

/// Lets the calling thread run only on idle cores (`SCHED_IDLE`), which it yields at once. Best
/// effort: elsewhere than on Linux it keeps its priority. Such a thread should take no lock for
/// which others wait.
pub fn run_when_idle() {
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: zeros are the parameters that this policy asks for, and the kernel only reads them.
    unsafe {
        let parameters: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters);
    }
}

/// Lets the calling thread get a tenth of a core that others want too. Best effort: where the
/// system refuses, it keeps its priority.
pub fn lower_priority() {
    const NICE: i32 = 10;
    // Of the process it is the calling thread whose priority Linux sets.
    let _ = rustix::process::setpriority_process(None, NICE);
}

/// Processor time, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// Time in user mode.
    pub user: u64,
    /// Time in the kernel, on behalf of the process.
    pub system: u64,
    /// Time in user mode of children that have ended.
    pub user_children: u64,
    /// Time in the kernel of children that have ended.
    pub system_children: u64,
}

/// Returns the processor time that this process has used; zeros where the kernel does not tell.
pub fn processor_time() -> ProcessorTime {
    processor_time_in(&fs::read_to_string("/proc/self/stat").unwrap_or_default())
}

/// Returns the processor time that the calling thread has used; zeros where the kernel does not
/// tell.
pub fn processor_time_of_thread() -> ProcessorTime {
    processor_time_in(&fs::read_to_string("/proc/thread-self/stat").unwrap_or_default())
}

/// Returns the processor time that the calling thread has used, to the nanosecond: a system call.
pub fn precise_time_of_thread() -> Duration {
    Duration::from_nanos(crate::clock::thread_nanos())
}

/// Reads fields 14 to 17 of a `stat` file, which are in ticks.
fn processor_time_in(stat: &str) -> ProcessorTime {
    let tick_micros = 1_000_000 / rustix::param::clock_ticks_per_second().max(1);
    // The second field is a name in brackets that may hold blanks and brackets.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let mut micros = fields
        .split(' ')
        .skip(11)
        .map(|word| word.parse::<u64>().unwrap_or(0).saturating_mul(tick_micros));
    let mut next = || micros.next().unwrap_or(0);
    ProcessorTime { user: next(), system: next(), user_children: next(), system_children: next() }
}

/// Returns name, release and machine of the system: `Linux 6.1.0 x86_64`.
pub fn system_name() -> String {
    let name = rustix::system::uname();
    let parts = [name.sysname(), name.release(), name.machine()];
    parts.map(|part| part.to_string_lossy().into_owned()).join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_has_left_is_read_from_its_facts() {
        let facts = "MemTotal: 9 kB\nCommitLimit:    10 kB\nCommitted_AS:     4 kB\n";
        assert_eq!(uncommitted(facts), Some(6 * 1024));
        assert_eq!(uncommitted("CommitLimit: 4 kB\nCommitted_AS: 9 kB"), Some(0));
        assert_eq!((uncommitted(""), uncommitted("CommitLimit: x")), (None, None));
    }

    #[test]
    #[cfg_attr(miri, ignore = "asks the system for its ticks")]
    fn processor_time_is_found_behind_any_name() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 90 0 0 0 25 50 1 2 20 0 1 0 5";
        let tick = 1_000_000 / rustix::param::clock_ticks_per_second();
        let time = processor_time_in(stat);
        assert_eq!((time.user, time.system), (25 * tick, 50 * tick));
        assert_eq!((time.user_children, time.system_children), (tick, 2 * tick));
        assert_eq!(processor_time_in("nonsense"), ProcessorTime::default());
    }
}
