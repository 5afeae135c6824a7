//! The cores of the machine that this process may use, and threads on them.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// Cores, numbered from zero.
pub struct Cores(Vec<usize>);

impl Cores {
    pub fn allowed() -> io::Result<Cores> {
        let allowed = sched_getaffinity(None)?;
        Ok(Cores((0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect()))
    }

    /// Keeps the calling thread on a core from now on.
    pub fn pin(&self, core: usize) {
        let mut set = CpuSet::new();
        set.set(self.0[core % self.0.len()]);
        sched_setaffinity(None, &set).expect("the core is allowed");
    }
}
