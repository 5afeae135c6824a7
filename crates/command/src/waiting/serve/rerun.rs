//! Another run of the request of a waiter.

#[cfg(test)]
mod tests;

use super::{Served, Server, observer, row_of, seen};
use crate::call::{Call, Row, Turn, Unanswered};
use crate::clients::{Client, ClientFlags, Notice};
use crate::instance::Instance;
use crate::needs::Needs;
use crate::observing::Seen;
use crate::refusal::Refusal;
use crate::session::{ReplyMode, Session};
use crate::statistics::WorkerStatistics;
use crate::waiting::Waiter;
use crate::waiting::touched::{Touched, begin_of_lines};
use crate::waiting::waiter::State;
use base::Millis;
use base::mutex::MutexGuard;
use settings::limits::CLIENT_OUTPUT_BUFFER_LIMIT;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use store::{Author, ShardSet, ThreadContext};
use wire::Reply;

impl Server<'_> {
    /// Runs the request of a waiter that was held back like a new one, and serves those whom it
    /// wakes.
    pub fn resume(&self, thread: &mut ThreadContext, waiter: &Arc<Waiter>) {
        if self.is_held_back(row_of(waiter)) {
            return self.waiters().hold_back(waiter);
        }
        let mut shards = ShardSet::new();
        waiter.all_keys().for_each(|key| shards.add(key.hash));
        let touched = begin_of_lines(waiter.others.iter().cloned());
        let rest = self.in_hold(thread, touched, shards, |thread, held, touched| {
            match self.try_again(thread, waiter, Turn::First) {
                true => self.serve_held(thread, held, touched),
                false => Touched::new(),
            }
        });
        self.serve(thread, rest);
    }

    /// Runs the request of a waiter again; returns true if that has answered it. With `Turn::First`
    /// one that finds nothing waits anew. A client that is to be closed takes nothing.
    pub fn try_again(&self, thread: &mut ThreadContext, waiter: &Arc<Waiter>, turn: Turn) -> bool {
        let mut state = waiter.state();
        if *state == State::Over || waiter.client.is_doomed() {
            return false;
        }
        let (row, mut reply) = (row_of(waiter), Vec::new());
        let most = self.reply_room(&waiter.client);
        let mut session = session_of(waiter);
        let mut call = Call {
            instance: self.instance,
            thread,
            session: &mut session,
            statistics: self.statistics,
            args: waiter.args(),
            reply: Reply::with_limit(&mut reply, waiter.client_state.protocol, most),
            now: self.now,
            row,
            first_hash: None,
            turn,
        };
        let (mark, began) = (call.reply.mark(), self.instance.stopwatch.read());
        let author = Author { client: waiter.client.id, is_served: true };
        let others = std::mem::replace(&mut call.thread.author, author);
        let rejection = self.refusal_of(row);
        let is_rejected = rejection.is_some();
        let outcome = match rejection {
            Some(refusal) => Err(refusal.into()),
            None => (row.spec.run)(&mut call),
        };
        call.thread.author = others;
        match outcome {
            Ok(()) => {}
            Err(Unanswered::ByMail | Unanswered::Waits) => {
                if turn == Turn::First {
                    self.leave_to_next(waiter, state);
                }
                return false;
            }
            Err(Unanswered::Refused(refusal)) => {
                call.reply.truncate(mark);
                call.reply.error(refusal.text());
                self.instance.statistics.count_error(refusal.code());
                let counts = &self.statistics.commands[row.id];
                let count = if is_rejected { &counts.rejected } else { &counts.failed };
                count.add(1);
            }
        }
        if !is_rejected {
            call.args = waiter.sent_args();
            observer(&call).count(&call, seen(&call, began, 0));
        }
        if call.reply.is_cut() {
            self.give_up(waiter);
        }
        *state = State::Over;
        drop(state);
        self.waiters().remove_answered(waiter);
        self.add_answer(waiter, reply);
        true
    }

    /// Closes a client whose reply went beyond its limit; one that it does not get is dropped when
    /// it arrives.
    #[cold]
    fn give_up(&self, waiter: &Waiter) {
        if waiter.client_state.is_answered {
            self.statistics.server.output_limit_closed.add(1);
            waiter.client.kill();
        }
    }

    /// Removes a waiter whose client waits anew, as another one.
    fn leave_to_next(&self, waiter: &Arc<Waiter>, mut state: MutexGuard<'_, State>) {
        *state = State::Over;
        drop(state);
        self.waiters().remove(waiter);
        waiter.client.notify(Notice::Deadline(waiter.client.id));
    }

    fn add_answer(&self, waiter: &Waiter, reply: Vec<u8>) {
        let is_told = waiter.client.flags().contains(ClientFlags::TRACKING);
        if is_told {
            self.instance.tracking.begin_answer();
        }
        let client = Arc::clone(&waiter.client);
        self.answers.borrow_mut().push(Served { client, reply, is_told });
    }

    /// Bytes that a reply to a client may take before the client is over its limit.
    fn reply_room(&self, client: &Client) -> usize {
        let limits = CLIENT_OUTPUT_BUFFER_LIMIT.get(&self.instance.settings);
        let is_subscriber = client.flags().contains(ClientFlags::PUBSUB);
        let limit = if is_subscriber { &limits.pubsub } else { &limits.normal };
        match limit.hard_output() {
            None => usize::MAX,
            Some(hard) => {
                narrow::to_usize(hard.saturating_sub(client.output_room.load(Relaxed)).max(1))
            }
        }
    }

    /// Returns the refusal of a command that was admitted when its client came, and is not now.
    fn refusal_of(&self, row: &Row) -> Option<Refusal> {
        if row.needs.contains(Needs::MEMORY) && !self.instance.has_memory() {
            return Some(Refusal::OUT_OF_MEMORY);
        }
        let lacks_disk = !self.instance.grants.get().contains(row.needs & Needs::DISK);
        lacks_disk.then(|| self.instance.refusal_of_writes()).flatten()
    }
}

/// Counts the command of a waiter whose wait ended without another run of it: its time was over, or
/// CLIENT UNBLOCK ended it.
pub fn count_unserved(
    instance: &Instance,
    thread: &mut ThreadContext,
    statistics: &WorkerStatistics,
    now: Millis,
    waiter: &Waiter,
    seen: Seen,
) {
    let (mut session, mut reply) = (session_of(waiter), Vec::new());
    let call = Call {
        instance,
        thread,
        session: &mut session,
        statistics,
        args: waiter.sent_args(),
        reply: Reply::new(&mut reply, waiter.client_state.protocol),
        now,
        row: row_of(waiter),
        first_hash: None,
        turn: Turn::Again,
    };
    observer(&call).count(&call, seen);
}

/// Returns a session in the state in which the client began to wait.
fn session_of(waiter: &Waiter) -> Session {
    let mut session = Session::new(Arc::clone(&waiter.client), true);
    session.database = waiter.client_state.database;
    session.protocol = waiter.client_state.protocol;
    session.modes = waiter.client_state.modes;
    let is_answered = waiter.client_state.is_answered;
    session.reply_mode = if is_answered { ReplyMode::On } else { ReplyMode::Off };
    session
}
