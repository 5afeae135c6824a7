//! Being asked to stop by SIGINT or SIGTERM: at once, or behind what may not be sent twice.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// What a signal does. By itself nothing: `listen` connects it with the signals.
#[derive(Clone, Debug)]
pub struct Stop {
    /// True if a signal ends the process, as it does by default.
    at_once: Arc<AtomicBool>,
    /// True once one has come that did not.
    asked: Arc<AtomicBool>,
}

impl Default for Stop {
    fn default() -> Stop {
        Stop { at_once: Arc::new(AtomicBool::new(true)), asked: Arc::default() }
    }
}

impl Stop {
    /// Connects it with the signals.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn listen(&self) -> io::Result<()> {
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, Arc::clone(&self.at_once))?;
            // Once one signal was noted, a second one ends the program at once.
            flag::register_conditional_default(signal, Arc::clone(&self.asked))?;
            flag::register(signal, Arc::clone(&self.asked))?;
        }
        Ok(())
    }

    /// True once a signal has come while signals waited.
    pub fn is_asked(&self) -> bool {
        self.asked.load(SeqCst)
    }

    /// Has signals wait until `work` is done. Returns true if one has come meanwhile.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn wait_for<E>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<bool, E> {
        self.at_once.store(false, SeqCst);
        let done = work();
        self.at_once.store(true, SeqCst);
        done.map(|()| self.asked.load(SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_waits_for_what_is_under_way() {
        let stop = Stop::default();
        assert!(!stop.wait_for(|| Ok::<(), ()>(())).expect("done"));
        let asked = stop.wait_for(|| {
            assert!(!stop.at_once.load(SeqCst));
            stop.asked.store(true, SeqCst);
            Ok::<(), ()>(())
        });
        assert!(asked.expect("done") && stop.at_once.load(SeqCst));
    }
}
