//! Pages that heads have asked for, and that are not yet resident.

use base::SegmentId;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Pages that may be waited for. Who asks for more than the thread gets round to touches them.
const WANTS_MAX: usize = 64;

/// What heads have asked for.
#[derive(Debug, Default)]
pub(crate) struct Wants {
    queue: Mutex<Queue>,
    bell: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    wants: VecDeque<Want>,
    is_over: bool,
}

/// A huge page of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Want {
    pub id: SegmentId,
    pub from: u32,
    /// Bytes of the slot that count as touched as long as the page is wanted.
    pub touched: u32,
}

impl Wants {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Never waits: the thread that is asked may have the lock, and no core.
    pub fn ask(&self, want: Want) {
        if let Ok(mut queue) = self.queue.try_lock()
            && queue.wants.len() < WANTS_MAX
        {
            queue.wants.push_back(want);
            self.bell.notify_one();
        }
    }

    /// Waits until a page is asked for; `None` when no more are to be made resident.
    pub fn next(&self) -> Option<Want> {
        let is_idle = |queue: &mut Queue| queue.wants.is_empty() && !queue.is_over;
        let queue = self.bell.wait_while(self.queue(), is_idle);
        let mut queue = queue.unwrap_or_else(PoisonError::into_inner);
        if queue.is_over { None } else { queue.wants.pop_front() }
    }

    /// Makes `next` return `None` from now on.
    pub fn end(&self) {
        self.queue().is_over = true;
        self.bell.notify_all();
    }

    /// Forgets all; how many there were.
    #[cfg(test)]
    pub fn clear(&self) -> usize {
        self.queue().wants.drain(..).count()
    }
}
