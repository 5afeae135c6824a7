//! Processor cores on which snapshots are made.

use super::job::JobKind;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use session::Instance;
use settings::journal::AOF_REWRITE_CPULIST;
use settings::snapshots::BGSAVE_CPULIST;
use std::sync::Arc;

/// Keeps the thread, and those that it starts, on the cores of a setting; dropped, it is where it
/// was before.
#[derive(Debug)]
pub struct Bound {
    before: Option<CpuSet>,
}

impl Bound {
    /// Binds the thread to the cores that the settings name for work of a kind; where they name
    /// none, or the system refuses, it stays where it is.
    pub fn for_job(kind: JobKind, instance: &Instance) -> Bound {
        let (name, list): (_, Arc<str>) = match kind {
            JobKind::Rotation => {
                ("aof-rewrite-cpulist", AOF_REWRITE_CPULIST.get(&instance.settings))
            }
            JobKind::Background | JobKind::Foreground | JobKind::Replicas => {
                ("bgsave-cpulist", BGSAVE_CPULIST.get(&instance.settings))
            }
        };
        if list.is_empty() {
            return Bound { before: None };
        }
        let Some(cores) = parse(&list) else {
            tracing::warn!("{name}: '{list}' is no list of cores, so any are used");
            return Bound { before: None };
        };
        let bound = sched_getaffinity(None)
            .and_then(|before| sched_setaffinity(None, &cores).map(|()| before));
        if let Err(error) = bound {
            tracing::warn!("{name}: the cores '{list}' cannot be used: {error}");
        }
        Bound { before: bound.ok() }
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if let Some(before) = &self.before
            && let Err(error) = sched_setaffinity(None, before)
        {
            tracing::warn!("the thread that saves stays on the cores that it had: {error}");
        }
    }
}

/// Reads cores: numbers and ranges, with steps if wanted, as in `0,2-5` or `0-7:2`.
fn parse(list: &str) -> Option<CpuSet> {
    let mut cores = CpuSet::new();
    for item in list.split(',') {
        let (range, step) = item.split_once(':').unwrap_or((item, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let [first, last, step] = [first, last, step].map(|it| it.trim().parse::<usize>().ok());
        let (first, last, step) = (first?, last?, step?);
        if step == 0 || first > last || last >= CpuSet::MAX_CPU {
            return None;
        }
        (first..=last).step_by(step).for_each(|core| cores.set(core));
    }
    Some(cores)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(list: &str) -> Option<Vec<usize>> {
        let set = parse(list)?;
        Some((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect())
    }

    #[test]
    fn cores_are_numbers_and_ranges_with_steps() {
        assert_eq!(cores("0").expect("one"), [0]);
        assert_eq!(cores("1, 3-5").expect("four"), [1, 3, 4, 5]);
        assert_eq!(cores("0-7:2,9").expect("five"), [0, 2, 4, 6, 9]);
        for wrong in ["", "x", "1-", "3-1", "0-4:0", "1024", "-1", "1,,2"] {
            assert_eq!(cores(wrong), None, "{wrong}");
        }
    }
}
