//! Up to where everything has arrived, though jobs are finished in any order.

use base::mutex::{Mutex, MutexGuard};
use std::collections::BTreeMap;

/// Jobs that are not finished, in the order in which they began.
#[derive(Debug)]
pub struct Ledger<M> {
    state: Mutex<State<M>>,
}

#[derive(Debug)]
struct State<M> {
    next: u64,
    /// Marks of jobs from the first on that is not finished, and true for those that are.
    open: BTreeMap<u64, (M, bool)>,
    safe: M,
}

impl<M: Clone> Ledger<M> {
    /// A ledger in which everything up to a mark has arrived.
    pub fn new(safe: M) -> Ledger<M> {
        Ledger { state: Mutex::new(State { next: 0, open: BTreeMap::new(), safe }) }
    }

    /// Begins a job, at whose end everything up to `mark` has arrived, if all before it has.
    pub fn begin(&self, mark: M) -> u64 {
        let mut state = self.state();
        let job = state.next;
        state.next += 1;
        state.open.insert(job, (mark, false));
        job
    }

    /// Ends a job.
    pub fn finish(&self, job: u64) {
        let mut state = self.state();
        if let Some((_, is_finished)) = state.open.get_mut(&job) {
            *is_finished = true;
        }
        while let Some(first) = state.open.first_entry().filter(|it| it.get().1) {
            state.safe = first.remove().0;
        }
    }

    /// The mark up to which everything has arrived.
    pub fn safe(&self) -> M {
        self.state().safe.clone()
    }

    fn state(&self) -> MutexGuard<'_, State<M>> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_safe_before_everything_in_front_of_it_is() {
        let ledger = Ledger::new(0);
        let jobs = [10, 20, 30].map(|mark| ledger.begin(mark));
        ledger.finish(jobs[1]);
        assert_eq!(ledger.safe(), 0);
        ledger.finish(jobs[0]);
        assert_eq!(ledger.safe(), 20);
        ledger.finish(jobs[2]);
        assert_eq!(ledger.safe(), 30);
    }
}
