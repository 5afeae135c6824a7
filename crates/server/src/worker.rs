//! A worker: a thread that owns connections and runs their commands. It has two parts: the pipeline
//! has what commands need, the event loop what they are waited for with.

use crate::accept::Acceptor;
use crate::event_loop::EventLoop;
use crate::executor::Executor;
use crate::mail::{Inbox, Mailbox};
use crate::pipeline::Pipeline;
use crate::poller::Poller;
use base::Stopwatch;
use command::Instance;
use std::io;
use std::sync::Arc;
use store::ThreadContext;

/// Events that one loop iteration handles.
const EVENTS: usize = 256;

/// See the module page.
pub struct Worker<P> {
    pub(crate) pipeline: Pipeline,
    pub(crate) event_loop: EventLoop<P>,
}

/// What a worker is made of.
pub struct WorkerParts<P> {
    /// What all workers share.
    pub instance: Arc<Instance>,
    /// Its way to the store.
    pub thread: ThreadContext,
    /// Measures its commands and loop iterations.
    pub stopwatch: Stopwatch,
    /// Tells it which sockets are ready.
    pub poller: P,
    /// The way to it.
    pub mailbox: Mailbox,
    /// The end of that way.
    pub inbox: Inbox,
    /// Where connections come in, if it is the one that accepts them.
    pub acceptor: Option<Acceptor>,
}

impl<P: Poller> Worker<P> {
    /// A worker without connections.
    pub fn new(parts: WorkerParts<P>) -> Worker<P> {
        let WorkerParts { instance, thread, stopwatch, poller, mailbox, inbox, acceptor } = parts;
        let executor = Executor::new(Arc::clone(&instance), thread, stopwatch);
        Worker {
            pipeline: Pipeline::new(executor),
            event_loop: EventLoop::new(instance, poller, (mailbox, inbox), acceptor),
        }
    }

    /// Iterates until the server stops.
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

    /// Waits, and does what is to be done then.
    pub(crate) fn iterate(&mut self, events: &mut P::Events) -> io::Result<()> {
        let Worker { pipeline, event_loop } = self;
        event_loop.wait(events)?;
        let began = pipeline.enter();
        if let Some(limit) = pipeline.follow_settings() {
            event_loop.follow_limit(limit);
        }
        if P::ready(events).next().is_none() {
            pipeline.executor.read_clock();
        }
        event_loop.serve_ready(pipeline, events);
        event_loop.keep_time(pipeline);
        pipeline.leave(began);
        Ok(())
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
