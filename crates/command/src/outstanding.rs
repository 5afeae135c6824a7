//! Commands that are answered by another thread when it has done its work, as that of SAVE.
//!
//! Their clients wait, but for no key, so no waiter keeps the request. It is kept here until the
//! answer, with which the command is counted: its time is all the time until then.

use crate::call::{Environment, Invocation};
use crate::flags::Flags;
use crate::observer::{Observer, Seen};
use crate::row::{Call, Row};
use session::{Args, Instance, Session, WorkerStatistics};
use store::ThreadContext;
use wire::{Reply, Span};

/// Command that has begun, and is answered later by another thread.
#[derive(Debug)]
pub struct Outstanding {
    row: &'static Row,
    /// Its request, and the places of the arguments in it.
    request: Vec<u8>,
    spans: Vec<Span>,
    /// Reading of the stopwatch when it began.
    began: u64,
}

impl Outstanding {
    /// The command of a call whose client waits; `None` if it waits in lines, where a waiter keeps
    /// the request.
    #[cold]
    pub fn of(call: &Call<'_>, began: u64) -> Option<Box<Outstanding>> {
        if call.row.spec.flags.contains(Flags::BLOCKING) {
            return None;
        }
        let (mut request, mut spans) = (Vec::new(), Vec::new());
        call.args.copy_to(&mut request, &mut spans);
        Some(Box::new(Outstanding { row: call.row, request, spans, began }))
    }

    /// Counts the command, which ends with this answer.
    pub fn count(
        &self,
        instance: &Instance,
        thread: &mut ThreadContext,
        statistics: &WorkerStatistics,
        session: &mut Session,
        answer: &[u8],
    ) {
        let (mut reply, protocol) = (Vec::new(), session.protocol);
        let environment = Environment {
            instance,
            table: self.row.table(),
            statistics,
            now: instance.clock.now(),
        };
        let sent = Invocation::new(self.row, Args::new(&self.request, &self.spans));
        let reply = Reply::new(&mut reply, protocol);
        let call = Call::new(environment, thread, session, sent, reply);
        let nanos = instance.stopwatch.nanos_between(self.began, instance.stopwatch.read());
        let seen = Seen { nanos, reply_bytes: answer.len() as u64 };
        Observer::of(&instance.settings).count(&call, seen);
        statistics.server.outstanding_nanos.add(nanos);
        // In both versions of the protocol an error begins so.
        if answer.starts_with(b"-") {
            statistics.commands[self.row.id].failed.add(1);
        }
    }
}
