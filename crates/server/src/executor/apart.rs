//! Long arguments that are received into the store, apart from their requests.
//!
//! ```text
//! *3 $3 SET $3 key $10000000 ──▶ begin_apart    the query keeps this part of the request
//! bytes, bytes, ...          ──▶ receive_apart  chunks of a staged string, under the key's shard
//! the line end               ──▶ the request runs, with an empty argument, and takes the string
//! ```
//! So a value of any size is copied once, while it arrives, and no buffer has to hold it. Where
//! something needs the argument with its request (a transaction, MONITOR, the journal) or there is
//! no room in the store, it is put back into the query buffer, and all is as if it had been
//! received there.

use super::Executor;
use crate::connection::{Connection, Life};
use crate::front::{Again, Arriving};
use command::LAST_WORD;
use session::{Apart, Needs};
use store::value::long_string::WHOLE_BYTES_MAX;

/// Bytes of an argument that may have come before it is received into the store: with more, it was
/// put back from there.
const BEGUN_BYTES_MAX: usize = 128 << 10;
/// Bytes that a staged string takes besides those that are added to it, at most.
const STAGED_OVERHEAD: usize = 64 << 10;

impl Executor {
    /// Begins to receive the argument that a client is sending into the store, if it is long and
    /// becomes a value as it is.
    #[cold]
    #[inline(never)]
    pub(super) fn begin_apart(&mut self, connection: &mut Connection) {
        let query = connection.query.waiting();
        let Some(arriving) = connection.front.arriving(self.table, query) else { return };
        let Arriving { row, at, len, .. } = arriving;
        // A data block is the last word of its line.
        let is_value = [at, LAST_WORD].contains(&row.spec.value_apart);
        let is_value = at > 0 && is_value && len > WHOLE_BYTES_MAX;
        let offset = connection.front.taken();
        let has_just_begun = query.len() - offset <= BEGUN_BYTES_MAX;
        if !(is_value && has_just_begun && self.may_be_apart(connection)) {
            return;
        }
        self.read_clock();
        let hash = self.instance.store.hash(&arriving.key);
        let (store, now) = (&self.instance.store, self.now);
        // A client that has just begun must not hold up the worker: what is not free is not waited
        // for, and the argument is received as others are.
        let room = BEGUN_BYTES_MAX + STAGED_OVERHEAD;
        if !store.reserve_at_once(&mut self.thread, room, now) {
            return;
        }
        let Some(mut access) = store.try_lock_hash(&mut self.thread, hash, now) else { return };
        let Ok(mut staged) = access.stage(hash) else { return };
        let begun = &query[offset..];
        if access.add_staged(&mut staged, begun).is_err() {
            return;
        }
        drop(access);
        let begun = connection.query.split_off(offset);
        connection.front.leave_out();
        let mut apart = Apart::new(at, len, offset, staged);
        apart.note(&begun);
        connection.session.apart = Some(Box::new(apart));
    }

    /// Adds bytes that were received to the argument that the client is sending, and what is behind
    /// it to the query buffer.
    pub fn receive_apart(&mut self, connection: &mut Connection, bytes: &[u8]) {
        let Some(apart) = connection.session.apart.as_mut() else {
            return connection.query.keep(bytes);
        };
        let (of_argument, rest) = bytes.split_at(bytes.len().min(apart.missing()));
        apart.note(of_argument);
        let Some(staged) = &mut apart.staged else { return connection.query.keep(bytes) };
        let (instance, now, before) = (&*self.instance, self.now, staged.len());
        let room = staged.room_for(of_argument.len()) + STAGED_OVERHEAD;
        let reserved =
            instance.note_eviction(&mut self.thread, |it| instance.store.reserve(it, room, now));
        let added = reserved.and_then(|()| {
            let mut access = instance.store.lock_hash(&mut self.thread, staged.hash(), now);
            access.add_staged(staged, of_argument)
        });
        if added.is_err() {
            let taken = staged.len() - before;
            self.put_back(connection);
            connection.query.keep(&of_argument[taken..]);
        }
        connection.query.keep(rest);
        if self.thread.owes_upkeep() {
            self.pay_upkeep(now);
        }
    }

    /// Returns true if the thread may wait for a shard now, to add what is received.
    pub fn may_receive_apart(&mut self) -> bool {
        self.read_clock();
        !self.is_second && self.thread.may_touch_data()
    }

    /// Returns true if an argument need not be with its request, as far as one can tell before that
    /// runs.
    pub fn may_be_apart(&self, connection: &Connection) -> bool {
        let session = &connection.session;
        !self.is_second
            && self.thread.may_touch_data()
            && session.is_authenticated()
            && session.grants.contains(Needs::NO_TRANSACTION)
            && matches!(connection.life, Life::Serving | Life::SliceOver)
            && !self.instance.store.wants_effects()
            && self.instance.monitors.count() == 0
    }

    /// Puts an argument that was received apart back into its request, as far as it has come. The
    /// request is parsed again.
    #[cold]
    pub fn put_back(&mut self, connection: &mut Connection) {
        let Some(apart) = connection.session.apart.take() else { return };
        let Some(staged) = &apart.staged else { return };
        let mut bytes = Vec::with_capacity(staged.len());
        self.instance
            .store
            .lock_hash(&mut self.thread, staged.hash(), self.now)
            .copy_staged(staged, &mut bytes);
        connection.query.insert(apart.offset, &bytes);
        connection.front.go_back(Again::default());
    }
}
