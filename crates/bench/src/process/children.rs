//! Memory of a process and of those that it forked.

use std::fs;

use anyhow::{Context, Result};

use super::resident_bytes;

/// Returns the resident memory of a process, and what its children have for themselves: pages that
/// a child shares with its parent count once.
///
/// # Errors
/// If the process does not exist.
pub fn memory_with_children(pid: u32) -> Result<u64> {
    let resident = resident_bytes(pid)?;
    let listed = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let listed = listed.unwrap_or_default();
    let children = listed.split_whitespace().filter_map(|child| child.parse().ok());
    // A child may end between the listing and the reading.
    Ok(resident + children.filter_map(|child| private_bytes(child).ok()).sum::<u64>())
}

/// Returns the resident memory that a process shares with no other. The kernel walks all its pages
/// and holds up changes to its memory map meanwhile, so this is not for servers.
fn private_bytes(pid: u32) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).context("it is gone")?;
    Ok(private_kilobytes(&text) * 1024)
}

fn private_kilobytes(rollup: &str) -> u64 {
    let private = rollup.lines().filter_map(|line| line.strip_prefix("Private_"));
    let sizes = private.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::{memory_with_children, private_kilobytes, resident_bytes};

    #[test]
    fn clean_and_dirty_pages_of_its_own_count() {
        let text = "Rss: 900 kB\nShared_Clean: 5 kB\nPrivate_Clean: 20 kB\nPrivate_Dirty: 300 kB\n\
                    Private_Hugetlb: 0 kB\n";
        assert_eq!(private_kilobytes(text), 320);
    }

    #[test]
    fn a_process_alone_has_its_resident_memory() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let resident = resident_bytes(child.id()).unwrap();
        assert!(memory_with_children(child.id()).unwrap() >= resident);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(memory_with_children(u32::MAX).is_err());
    }
}
