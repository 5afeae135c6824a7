//! Another run of the request of a waiter.

use super::{Served, Waker, observer, seen};
use crate::admission::{Purpose, Rejection, UNKNOWN_NEED, admit, granted_for_batch};
use crate::call::{Environment, Invocation};
use crate::observer::Seen;
use crate::row::{Call, Turn, Unanswered};
use crate::waiting::touched::{Touched, begin_of_lines};
use base::mutex::MutexGuard;
use session::{Client, ClientFlags, Notice, Session, State, Waiter};
use settings::limits::CLIENT_OUTPUT_BUFFER_LIMIT;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use store::{Author, ShardSet, ThreadContext};
use wire::Reply;

impl Waker<'_> {
    /// Runs the request of a waiter that was postponed like a new one, and serves the waiters that
    /// it wakes.
    pub fn resume(&self, thread: &mut ThreadContext, waiter: &Arc<Waiter>) {
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
        if *state == State::Over {
            return false;
        }
        let Some(client) = self.client_of(waiter) else { return false };
        let (row, mut reply) = (self.row_of(waiter), Vec::new());
        let most = self.reply_room(&client);
        let mut session = Session::resume(Arc::clone(&client), &waiter.client_state);
        session.take_new_rules(&self.environment.instance.access);
        let again = Invocation::new(row, waiter.args()).with_turn(turn);
        let writer = Reply::with_limit(&mut reply, waiter.client_state.protocol, most);
        let mut call = Call::new(self.environment, thread, &mut session, again, writer);
        let granted = granted_for_batch(call.instance);
        let rejection = admit(&mut call, granted, Purpose::Rerun).err();
        if rejection == Some(Rejection::Postponed) {
            drop(state);
            self.waiters().postpone(waiter);
            return false;
        }
        let (mark, began) = (call.reply.mark(), self.environment.instance.stopwatch.read());
        let author = Author { client: client.id, is_served: true };
        let others = std::mem::replace(&mut call.thread.author, author);
        let is_rejected = rejection.is_some();
        let outcome = match rejection {
            Some(Rejection::Refused(refusal)) => Err(refusal.into()),
            Some(_) => Err(UNKNOWN_NEED.into()),
            None => (row.spec.run)(&mut call),
        };
        call.thread.author = others;
        match outcome {
            Ok(()) => {}
            Err(Unanswered::ByMail | Unanswered::Waits | Unanswered::Part | Unanswered::GoesOn) => {
                if turn == Turn::First {
                    self.leave_to_next(waiter, &client, state);
                }
                return false;
            }
            Err(Unanswered::Refused(refusal)) => {
                call.reply.truncate(mark);
                call.reply.error(refusal.text());
                self.environment.instance.statistics.count_error(refusal.code());
                let counts = &self.environment.statistics.commands[row.id];
                let count = if is_rejected { &counts.rejected } else { &counts.failed };
                count.add(1);
            }
        }
        if !is_rejected {
            call.args = waiter.sent_args();
            observer(&call).count(&call, seen(&call, began, 0));
        }
        if call.reply.is_over_limit() {
            self.give_up(waiter, &client);
        }
        *state = State::Over;
        drop(state);
        self.waiters().remove_answered(waiter, &client);
        self.add_answer(client, reply);
        true
    }

    /// The client of a waiter, unless it is to be closed.
    fn client_of(&self, waiter: &Waiter) -> Option<Arc<Client>> {
        let clients = &self.environment.instance.clients;
        clients.find(waiter.client).filter(|client| !client.is_doomed())
    }

    /// Closes a client whose reply went beyond its limit; one that it does not get is dropped when
    /// it arrives.
    #[cold]
    fn give_up(&self, waiter: &Waiter, client: &Client) {
        if waiter.client_state.is_answered {
            self.environment.statistics.server.output_limit_closed.add(1);
            client.kill();
        }
    }

    /// Removes a waiter whose client waits anew, as another one.
    fn leave_to_next(
        &self,
        waiter: &Arc<Waiter>,
        client: &Client,
        mut state: MutexGuard<'_, State>,
    ) {
        *state = State::Over;
        drop(state);
        self.waiters().remove(waiter);
        client.notify(Notice::Deadline(client.id));
    }

    fn add_answer(&self, client: Arc<Client>, reply: Vec<u8>) {
        let is_tracking = client.flags().contains(ClientFlags::TRACKING);
        if is_tracking {
            self.environment.instance.tracking.begin_answer();
        }
        self.answers.borrow_mut().push(Served { client, reply, is_tracking });
    }

    /// Bytes that a reply to a client may take before the client is over its limit.
    fn reply_room(&self, client: &Client) -> usize {
        let limits = CLIENT_OUTPUT_BUFFER_LIMIT.get(&self.environment.instance.settings);
        let is_subscriber = client.flags().contains(ClientFlags::PUBSUB);
        let limit = if is_subscriber { &limits.pubsub } else { &limits.normal };
        match limit.hard_output() {
            None => usize::MAX,
            Some(hard) => {
                narrow::to_usize(hard.saturating_sub(client.output_room.load(Relaxed)).max(1))
            }
        }
    }
}

/// Counts the command of a waiter whose wait ended without another run of it: its time was over, or
/// CLIENT UNBLOCK ended it.
pub fn count_unserved(
    environment: Environment<'_>,
    thread: &mut ThreadContext,
    (waiter, client): (&Waiter, &Arc<Client>),
    seen: Seen,
) {
    let mut session = Session::resume(Arc::clone(client), &waiter.client_state);
    let mut reply = Vec::new();
    let sent = Invocation::new(&environment.table.all_rows()[waiter.command], waiter.sent_args());
    let reply = Reply::new(&mut reply, waiter.client_state.protocol);
    let call = Call::new(environment, thread, &mut session, sent.with_turn(Turn::Again), reply);
    observer(&call).count(&call, seen);
}
