//! Queue of the pages that heads have asked for and that are not yet resident.

use base::SegmentId;
use base::mutex::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;

/// Most pages that may wait in the queue. Beyond that, heads touch their pages themselves.
const WANTS_MAX: usize = 64;

/// Requests of heads for pages.
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

/// Request for a huge page of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Want {
    pub id: SegmentId,
    pub from: u32,
    /// Touched bytes of the slot when the page was asked for; where they differ since, it is not
    /// wanted.
    pub touched: u32,
}

impl Wants {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock()
    }

    /// Adds a request, unless the queue is full or locked. Never waits: the populating thread may
    /// hold the lock and have no core.
    pub fn ask(&self, want: Want) {
        if let Some(mut queue) = self.queue.try_lock()
            && queue.wants.len() < WANTS_MAX
        {
            queue.wants.push_back(want);
            self.bell.notify_one();
        }
    }

    /// Waits for a request; returns `None` once `end` was called.
    pub fn next(&self) -> Option<Want> {
        let is_idle = |queue: &mut Queue| queue.wants.is_empty() && !queue.is_over;
        let mut queue = self.bell.wait_while(self.queue(), is_idle);
        if queue.is_over { None } else { queue.wants.pop_front() }
    }

    /// Makes `next` return `None` from now on.
    pub fn end(&self) {
        self.queue().is_over = true;
        self.bell.notify_all();
    }

    /// Forgets all requests; returns their number.
    #[cfg(test)]
    pub fn clear(&self) -> usize {
        self.queue().wants.drain(..).count()
    }
}
