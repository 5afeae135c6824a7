//! Worker: a thread that owns connections and runs their commands. It has two parts: the pipeline
//! reads and executes requests, the event loop waits for them.
//!
//! A loop iteration enters the gate, serves what is ready, and leaves the gate. Between connections
//! it lets a thread that waits to close the gate go first.

use crate::accept::Acceptor;
use crate::event_loop::{EventLoop, MakeSecond, Seat};
use crate::executor::{Executor, ExecutorParts};
use crate::journal::Journal;
use crate::mail::{Inbox, Mailbox};
use crate::pipeline::Pipeline;
use crate::poller::Poller;
use base::Stopwatch;
use command::Table;
use session::Instance;
use std::io;
use std::sync::Arc;
use store::ThreadContext;

/// Most events that one loop iteration handles.
const EVENTS: usize = 256;

/// A worker: its pipeline and its event loop.
pub struct Worker<P: Poller> {
    pub(crate) pipeline: Pipeline,
    pub(crate) event_loop: EventLoop<P>,
}

/// Parts of a worker.
pub struct WorkerParts<P> {
    /// State that all workers share.
    pub instance: Arc<Instance>,
    /// The journal.
    pub journal: Arc<Journal>,
    /// The commands that the server knows.
    pub table: &'static Table,
    /// Thread context for the store.
    pub thread: ThreadContext,
    /// Stopwatch for its commands and loop iterations.
    pub stopwatch: Stopwatch,
    /// Source of events of sockets.
    pub poller: P,
    /// Sending end of its mailbox.
    pub mailbox: Mailbox,
    /// Receiving end of its mailbox.
    pub inbox: Inbox,
    /// Acceptor, if it is the worker that accepts connections.
    pub acceptor: Option<Acceptor>,
    /// Its part in how connections are shared among the workers.
    pub seat: Seat,
}

/// Returns what makes the pipeline that serves others while that of the worker is in the middle of
/// something long.
fn make_second(parts: &ExecutorParts) -> MakeSecond {
    let parts = parts.clone();
    Box::new(move || {
        let mut thread = parts.instance.store.thread_context()?;
        parts.journal.join(&mut thread);
        Some(Pipeline::new(Executor::second(parts.clone(), thread)))
    })
}

impl<P: Poller> Worker<P> {
    /// Returns a worker without connections.
    pub fn new(parts: WorkerParts<P>) -> Worker<P> {
        let WorkerParts {
            instance,
            journal,
            table,
            thread,
            stopwatch,
            poller,
            mailbox,
            inbox,
            acceptor,
            seat,
        } = parts;
        let statistics = instance.statistics.worker();
        let parts = ExecutorParts {
            instance: Arc::clone(&instance),
            table,
            journal,
            statistics,
            stopwatch,
        };
        let seat = (seat, make_second(&parts));
        Worker {
            pipeline: Pipeline::new(Executor::new(parts, thread)),
            event_loop: EventLoop::new(instance, poller, (mailbox, inbox), acceptor, seat),
        }
    }

    /// Runs loop iterations until the server stops.
    ///
    /// # Errors
    /// When the event loop itself fails.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = P::room(EVENTS);
        while !self.event_loop.is_stopping {
            self.iterate(&mut events)?;
        }
        self.event_loop.close_all();
        Ok(())
    }

    /// Runs one loop iteration: waits, serves, and does what is due.
    pub(crate) fn iterate(&mut self, events: &mut P::Events) -> io::Result<()> {
        let Worker { pipeline, event_loop } = self;
        event_loop.wait(events)?;
        let began = event_loop.enter(pipeline);
        if let Some(limits) = pipeline.follow_settings() {
            event_loop.follow_limits(&limits, pipeline);
        }
        if event_loop.is_quiet() {
            pipeline.executor.read_clock();
        }
        event_loop.serve_ready(pipeline);
        event_loop.keep_time(pipeline);
        event_loop.evict_if_grown(pipeline);
        event_loop.keep_balance(pipeline, began);
        pipeline.leave(began);
        Ok(())
    }
}

#[cfg(test)]
mod apart_tests;
#[cfg(test)]
mod clock_tests;
#[cfg(test)]
mod closing_tests;
#[cfg(test)]
mod count_tests;
#[cfg(test)]
mod memory_tests;
#[cfg(test)]
mod message_tests;
#[cfg(test)]
mod monitor_tests;
#[cfg(test)]
mod output_tests;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod users_tests;
#[cfg(test)]
mod waiting_tests;
