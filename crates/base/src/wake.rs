//! State that shows if a thread with an event loop has to be woken for new mail.
//!
//! ```text
//!            fall_asleep                   notify: the waker is called
//!  Awake ◀──────────────────▶ Asleep ──────────────────────────┐
//!    │            wake          │ notify_later                 ▼
//!    │                          └────────────▶ Uncalled ─▶ Notified ── take_notice ──▶ Awake
//!    │                                           └────── take_notice, as from Notified ─▶ Awake
//!    └──── notify: no call is made ────────────────────────▶ Notified
//! ```
//! A thread that holds locks leaves mail first and calls the waker when they are given back. Until
//! then the thread is `Uncalled`, and others who notify it make the call themselves.
//!
//! Waking an event loop is a system call, so it is done only while the loop sleeps or is about to.
//! All steps read and change one word atomically, so none can miss another.

use crate::sync::{AtomicU32, Ordering};

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;
/// It has mail, and is awake or was called.
const NOTIFIED: u32 = 2;
/// It has mail, and the waker is not called yet.
const UNCALLED: u32 = 3;

/// Wake state of one thread, which sleeps; any thread notifies it.
#[derive(Debug)]
pub struct WakeState(AtomicU32);

impl Default for WakeState {
    fn default() -> WakeState {
        WakeState::new()
    }
}

impl WakeState {
    /// Returns the state of a thread that is awake, with nothing to read.
    pub fn new() -> WakeState {
        WakeState(AtomicU32::new(AWAKE))
    }

    /// Notes that mail was put into the mailbox. Returns true if the caller must wake the thread.
    pub fn notify(&self) -> bool {
        // Releases the mail to `take_notice`.
        matches!(self.0.swap(NOTIFIED, Ordering::AcqRel), ASLEEP | UNCALLED)
    }

    /// Notes that mail was put into the mailbox. Returns true if the caller must wake the thread,
    /// for which it may take its time.
    pub fn notify_later(&self) -> bool {
        let may_sleep = |state| matches!(state, ASLEEP | UNCALLED);
        let next = |state| Some(if may_sleep(state) { UNCALLED } else { NOTIFIED });
        self.0.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next).is_ok_and(may_sleep)
    }

    /// Notes that the thread is about to sleep. Returns false if it must not, as it was notified.
    #[inline]
    pub fn fall_asleep(&self) -> bool {
        self.0.compare_exchange(AWAKE, ASLEEP, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Returns true if the thread sleeps, or will before it does anything else.
    pub fn is_asleep(&self) -> bool {
        matches!(self.0.load(Ordering::Relaxed), ASLEEP | UNCALLED)
    }

    /// Notes that the thread is awake.
    #[inline]
    pub fn wake(&self) {
        // Fails if the thread was notified, which `take_notice` finds.
        let _ = self.0.compare_exchange(ASLEEP, AWAKE, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Returns true if the mailbox is to be read. It must then be read until it is empty, or at
    /// least all that it holds at this moment.
    #[inline(always)]
    pub fn take_notice(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= NOTIFIED
            && self.0.swap(AWAKE, Ordering::Acquire) >= NOTIFIED
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::WakeState;

    #[test]
    fn only_the_first_who_notifies_a_sleeper_wakes_it() {
        let state = WakeState::new();
        assert!(state.fall_asleep());
        assert!(state.notify());
        assert!(!state.notify());
        state.wake();
        assert!(state.take_notice());
        assert!(!state.take_notice());
    }

    #[test]
    fn others_make_the_call_that_somebody_leaves_for_later() {
        let state = WakeState::new();
        assert!(state.fall_asleep());
        assert!(state.notify_later());
        assert!(state.notify_later());
        assert!(state.notify());
        assert!(!state.notify());
        assert!(!state.notify_later());
        state.wake();
        assert!(state.take_notice());
        assert!(!state.notify_later());
        assert!(!state.fall_asleep());
    }

    #[test]
    fn whoever_wakes_by_itself_finds_what_was_left() {
        let state = WakeState::new();
        assert!(state.fall_asleep());
        assert!(state.notify_later());
        state.wake();
        assert!(!state.fall_asleep());
        assert!(state.take_notice());
        assert!(!state.take_notice());
    }

    #[test]
    fn whoever_was_notified_while_awake_does_not_sleep() {
        let state = WakeState::new();
        assert!(!state.notify());
        assert!(!state.fall_asleep());
        assert!(state.take_notice());
        assert!(state.fall_asleep());
    }
}

/// Tests with a mailbox that counts its messages, and a waker that remembers, as an eventfd does.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::{Arc, Notify};

    #[test]
    fn no_message_is_slept_through() {
        loom::model(|| {
            let shared = Arc::new((WakeState::new(), AtomicU32::new(0), Notify::new()));
            // One calls the waker at once, the other later.
            let senders = [WakeState::notify, WakeState::notify_later].map(|notify| {
                let shared = Arc::clone(&shared);
                loom::thread::spawn(move || {
                    shared.1.fetch_add(1, Ordering::Relaxed);
                    if notify(&shared.0) {
                        shared.2.notify();
                    }
                })
            });
            let (state, mailbox, waker) = (&shared.0, &shared.1, &shared.2);
            let mut received = 0;
            while received < 2 {
                if state.fall_asleep() {
                    // Loom reports a deadlock if the waker is not called.
                    waker.wait();
                    state.wake();
                }
                if state.take_notice() {
                    received += mailbox.swap(0, Ordering::Relaxed);
                }
            }
            senders.into_iter().for_each(|sender| sender.join().unwrap());
        });
    }
}

#[cfg(all(test, shuttle))]
mod shuttle_tests {
    use super::*;
    use crate::sync::{park, unpark_one};
    use std::sync::Arc;

    const SENDERS: u32 = 3;
    const MESSAGES: u32 = 3;

    struct Shared {
        state: WakeState,
        mailbox: AtomicU32,
        /// Calls of the waker that the sleeper has not seen.
        calls: AtomicU32,
    }

    #[test]
    fn no_message_is_slept_through_and_each_sleep_costs_one_call() {
        shuttle::check_random(
            || {
                let shared = Arc::new(Shared {
                    state: WakeState::new(),
                    mailbox: AtomicU32::new(0),
                    calls: AtomicU32::new(0),
                });
                let sender = |_| {
                    let shared = Arc::clone(&shared);
                    shuttle::thread::spawn(move || {
                        for _ in 0..MESSAGES {
                            shared.mailbox.fetch_add(1, Ordering::Relaxed);
                            if shared.state.notify() {
                                let calls = shared.calls.fetch_add(1, Ordering::SeqCst);
                                assert_eq!(calls, 0, "two calls for one sleep");
                                unpark_one(&shared.calls);
                            }
                        }
                    })
                };
                let senders: Vec<_> = (0..SENDERS).map(sender).collect();
                let mut received = 0;
                while received < SENDERS * MESSAGES {
                    if shared.state.fall_asleep() {
                        while shared.calls.load(Ordering::SeqCst) == 0 {
                            park(&shared.calls, 0);
                        }
                        shared.calls.store(0, Ordering::SeqCst);
                        shared.state.wake();
                    }
                    if shared.state.take_notice() {
                        received += shared.mailbox.swap(0, Ordering::Relaxed);
                    }
                }
                senders.into_iter().for_each(|sender| sender.join().unwrap());
            },
            5_000,
        );
    }
}
