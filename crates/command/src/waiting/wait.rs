//! Begin of a wait, for handlers that find nothing.

use super::Timeout;
use crate::row::{Call, Outcome, Row, Turn, Unanswered};
use base::mutex::Mutex;
use session::{
    Args, Client, ClientState, DatabaseKey, Instance, Late, Needs, Refusal, ReplyMode, Request,
    State, Waiter, Wants,
};
use smallvec::SmallVec;
use std::sync::Arc;

/// Command that waits if it finds nothing. Made before it locks its keys.
pub struct Wait<'c> {
    instance: &'c Instance,
    client: Arc<Client>,
    args: Args<'c>,
    row: &'static Row,
    client_state: ClientState,
    timeout: Timeout,
    wants: Wants,
    late: Late,
    turn: Turn,
}

impl<'c> Call<'c> {
    /// Prepares to wait for a kind of value until a timeout.
    pub fn wait(&self, timeout: Timeout, wants: Wants) -> Wait<'c> {
        let session = &*self.session;
        Wait {
            instance: self.instance,
            client: Arc::clone(&session.client),
            args: self.args,
            row: self.row,
            client_state: ClientState {
                database: session.database,
                protocol: session.protocol,
                modes: session.modes,
                grants: session.grants,
                is_answered: session.reply_mode == ReplyMode::On,
                user: session.user().cloned(),
                users_version: session.users_version(),
            },
            timeout,
            wants,
            late: Late::Null,
            turn: self.turn,
        }
    }
}

impl Wait<'_> {
    /// Chooses the answer when its time is over.
    pub fn late(self, late: Late) -> Self {
        Wait { late, ..self }
    }

    /// Makes the client wait for the keys at `positions`. To be called while the locks of the keys
    /// are held; the result is the handler's outcome.
    ///
    /// # Errors
    /// Always: that the client waits.
    pub fn begin(self, positions: impl Iterator<Item = usize>) -> Outcome {
        let words: SmallVec<[&[u8]; 8]> = self.args.from(0).collect();
        self.begin_with(positions, &words)
    }

    /// Like `begin`, but keeps another request, for arguments whose meaning changes while the
    /// client waits.
    ///
    /// # Errors
    /// Always: that the client waits, or that `request` takes 4 GiB or more, which no client can
    /// send but ids in place of `$` can cause.
    pub fn begin_with(self, positions: impl Iterator<Item = usize>, request: &[&[u8]]) -> Outcome {
        if self.turn != Turn::First {
            // The client stands in its lines already, or never will.
            return Err(Unanswered::Waits);
        }
        let key = |bytes: &[u8]| {
            DatabaseKey::new(self.client_state.database, bytes, self.instance.store.hash(bytes))
        };
        let keys: SmallVec<[DatabaseKey; 1]> = positions.map(|at| key(self.args.get(at))).collect();
        // The keys that it waits for come first.
        let named = (self.row.spec.find_keys)(self.row.spec.keys, request).unwrap_or_default();
        let others = named.iter().skip(keys.len()).map(|(bytes, _)| key(bytes)).collect();
        let is_other = !self.args.from(0).eq(request.iter().copied());
        let sent: SmallVec<[&[u8]; 8]> = self.args.from(0).collect();
        let waiters = &self.instance.waiters;
        let mut waiter = Waiter {
            ticket: waiters.ticket(),
            client: self.client.id,
            command: self.row.id,
            writes: self.row.needs.contains(Needs::PRIMARY),
            request: Request::of(request).ok_or(Refusal::OUT_OF_MEMORY)?,
            sent: is_other.then(|| Request::of(&sent)).flatten(),
            client_state: self.client_state,
            keys,
            others,
            wants: self.wants,
            late: self.late,
            deadline: self.timeout.0,
            bytes: 0,
            state: Mutex::new(State::Waits),
        };
        waiter.bytes = waiter.measure();
        let waiter = Arc::new(waiter);
        // It stands in its lines before others find it by its client: a thread that ends its wait
        // removes it from them. Nobody serves it yet, as the locks of its keys are held.
        waiters.add(&waiter);
        *self.client.waiter() = Some(waiter);
        Err(Unanswered::Waits)
    }
}
