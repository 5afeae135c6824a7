//! Serving others while the worker's pipeline is in the middle of something long: a script, or a
//! wait for a lock or for the gate.
//!
//! ```text
//! pipeline ──▶ executor ──▶ a long command ──▶ meanwhile::serve ──▶ this event loop again
//!                                                                     └─▶ second pipeline
//! ```
//! The second pipeline has a thread context, a place at the gate and a lane of the journal of its
//! own. It never waits: what wants a lock that is taken, room that must be made, the gate or a
//! script is put off, and tried again each time. Connections that are away stay so, and the first
//! message about one of them waits with all messages behind it, so that all come in order.

use super::EventLoop;
use crate::pipeline::{Lender, Pipeline, Served};
use crate::poller::Poller;
use base::meanwhile::{self, Others};
use std::time::Duration;

/// Most events that are looked at at a time.
const EVENTS: usize = 256;

/// Makes the second pipeline of a worker; `None` if there are too many threads.
pub type MakeSecond = Box<dyn FnMut() -> Option<Pipeline> + Send>;

/// The second pipeline of a worker, made at its first use.
pub struct Second<P: Poller> {
    make: MakeSecond,
    made: Option<Box<(Pipeline, P::Events)>>,
    /// True if it has put off requests that are to be tried again.
    pub(super) has_put_off: bool,
}

impl<P: Poller> Second<P> {
    /// A second pipeline that is made at its first use.
    pub fn new(make: MakeSecond) -> Second<P> {
        Second { make, made: None, has_put_off: false }
    }

    fn take(&mut self) -> Option<Box<(Pipeline, P::Events)>> {
        let made = self.made.take();
        made.or_else(|| Some(Box::new(((self.make)()?, P::room(EVENTS)))))
    }
}

impl<P: Poller> Others for EventLoop<P> {
    fn serve(&mut self) {
        let Some(mut second) = self.second.take() else { return };
        let (pipeline, events) = &mut *second;
        // A poller that is broken ends the worker when it waits the next time.
        if self.poller.wait(events, Duration::ZERO).is_ok() {
            self.take_events(events);
            self.is_nested = true;
            self.serve_meanwhile(pipeline);
            self.is_nested = false;
        }
        self.second.made = Some(second);
    }
}

impl<P: Poller> EventLoop<P> {
    /// Does something that may take long, and serves others meanwhile.
    #[inline]
    pub(super) fn lending<T>(&mut self, act: impl FnOnce() -> T) -> T {
        if self.is_nested { act() } else { meanwhile::lend(self, act) }
    }

    /// Enters the gate, at the begin of a loop iteration. Returns the reading of the stopwatch that
    /// `Pipeline::leave` takes.
    #[inline(always)]
    pub fn enter(&mut self, pipeline: &mut Pipeline) -> u64 {
        let began = pipeline.begin();
        if !pipeline.try_enter() {
            self.lending(|| pipeline.enter());
        }
        began
    }

    fn serve_meanwhile(&mut self, pipeline: &mut Pipeline) {
        pipeline.enter_if_open();
        if let Some(limits) = pipeline.follow_settings() {
            self.follow_limits(&limits, pipeline);
        }
        self.serve_ready(pipeline);
        self.keep_time(pipeline);
        self.evict_if_grown(pipeline);
        pipeline.leave_meanwhile();
    }

    /// Serves the requests that were put off, in the order in which they came.
    #[cold]
    pub(super) fn try_put_off(&mut self, pipeline: &mut Pipeline) {
        self.second.has_put_off = false;
        self.serve_postponed(pipeline);
        if !self.is_nested {
            self.on_safe(pipeline);
        }
    }

    /// Does what the second pipeline owes for the changes that it has made: it pays for nothing
    /// itself.
    #[cold]
    pub(super) fn settle_second(&mut self) {
        if let Some(second) = &mut self.second.made {
            second.0.settle();
        }
    }
}

impl<P: Poller> Lender for EventLoop<P> {
    fn take_back(&mut self, served: Served) {
        let Served { at, mut connection, .. } = served;
        self.look_again(at, &mut connection);
        self.connections.put(at, connection);
    }
}
