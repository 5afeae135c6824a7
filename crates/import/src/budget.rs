//! Bytes that may be on their way at once.

use base::mutex::{Condvar, Mutex, MutexGuard};

/// Bytes that may be on their way. Something larger than all of them goes alone.
#[derive(Debug)]
pub struct Budget {
    total: usize,
    taken: Mutex<usize>,
    given_back: Condvar,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(total: usize) -> Budget {
        Budget { total, taken: Mutex::new(0), given_back: Condvar::new() }
    }

    /// Waits until bytes can be taken.
    pub fn take(&self, bytes: usize) {
        let bytes = bytes.min(self.total);
        let mut taken = self.taken();
        while *taken + bytes > self.total {
            taken = self.given_back.wait(taken);
        }
        *taken += bytes;
    }

    /// Gives bytes back.
    pub fn give_back(&self, bytes: usize) {
        *self.taken() -= bytes.min(self.total);
        self.given_back.notify_all();
    }

    fn taken(&self) -> MutexGuard<'_, usize> {
        self.taken.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_goes_alone() {
        let budget = Budget::new(10);
        budget.take(1000);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| budget.take(1));
            budget.give_back(1000);
            waits.join().expect("it went on");
        });
        assert_eq!(*budget.taken(), 1);
    }
}
