//! Cores that this process may use. Their numbers may have gaps and need not begin with zero:
//! callers name them by their index in the list.

use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::thread::available_parallelism;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Number of cores that this process may use; at least one.
pub fn cores() -> usize {
    CORES.len()
}

/// Returns the kernel's number of the core at `index`, counted from zero; that of the last core if
/// there are fewer.
pub fn core(index: usize) -> usize {
    CORES[index.min(CORES.len() - 1)]
}

/// Returns the first `count` cores, at least one and at most all, in the form that `taskset -c`
/// takes.
pub fn first_cores(count: usize) -> String {
    let numbers = (0..count.clamp(1, cores())).map(|index| core(index).to_string());
    numbers.collect::<Vec<_>>().join(",")
}

/// Creates a command that runs on these cores, in the form that `taskset -c` takes, and is killed
/// when this process ends. The program and its arguments are to be added.
pub fn bound_command(cores: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "taskset", "-c", cores]).stdin(Stdio::null());
    command
}

/// Binds the calling thread to one core, named as in [`core()`]. On failure it prints a message and
/// the thread runs on.
pub fn pin_this_thread(index: usize) {
    let core = core(index);
    let mut cores = CpuSet::new();
    cores.set(core);
    if let Err(error) = sched_setaffinity(None, &cores) {
        eprintln!("not pinned to core {core}: {error}");
    }
}

/// Cores of this process. Read once, since a thread that is bound to a core would see that core
/// alone.
static CORES: LazyLock<Vec<usize>> = LazyLock::new(allowed);

/// Returns the cores that the calling thread may run on, less those that a quota takes away.
fn allowed() -> Vec<usize> {
    let count = available_parallelism().map_or(1, usize::from);
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).take(count).collect(),
        // The machine has more cores than the set holds.
        Err(_) => (0..count).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{allowed, core, cores, first_cores, pin_this_thread};

    #[test]
    fn cores_are_named_by_their_place_among_those_that_may_be_used() {
        let all = allowed();
        for (index, number) in all.iter().enumerate() {
            assert_eq!(core(index), *number);
            let bound = || {
                pin_this_thread(index);
                (allowed(), cores())
            };
            let (told, known) = std::thread::scope(|scope| scope.spawn(bound).join().unwrap());
            assert_eq!((told, known), (vec![*number], all.len()), "a bound thread knows all");
        }
        assert_eq!(core(usize::MAX), *all.last().unwrap());
        assert_eq!(first_cores(0), first_cores(1), "a server has at least one");
        assert_eq!(first_cores(1), all[0].to_string());
        assert_eq!(first_cores(usize::MAX).split(',').count(), all.len());
    }
}
