//! Facts about this process and its machine, as the kernel tells them.

use std::fs;

/// Bytes of this process that are resident now; zero where the kernel does not say.
pub fn resident_bytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

/// Bytes of memory of the machine.
pub fn machine_bytes() -> u64 {
    let info = rustix::system::sysinfo();
    (info.totalram as u64).saturating_mul(u64::from(info.mem_unit))
}

/// Whether transparent huge pages of 2 MiB are given to those who ask for them.
pub fn has_huge_pages() -> bool {
    let folder = "/sys/kernel/mm/transparent_hugepage";
    let enabled = fs::read_to_string(format!("{folder}/enabled")).unwrap_or_default();
    let size = fs::read_to_string(format!("{folder}/hpage_pmd_size")).unwrap_or_default();
    !enabled.is_empty() && !enabled.contains("[never]") && size.trim() == "2097152"
}

/// Processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
