//! The session's transaction: its queue is opened, filled, run and discarded.

use super::Session;
use crate::args::Args;
use crate::client::ClientFlags;
use crate::needs::Needs;
use crate::transaction::Queue;
use base::PositionHash;
use std::sync::atomic::Ordering::Relaxed;

impl Session {
    /// Returns the queue of the open transaction, if there is one.
    pub fn open_queue(&mut self) -> Option<&mut Queue> {
        let is_open = !self.grants.contains(Needs::NO_TRANSACTION);
        self.queue.as_deref_mut().filter(|_| is_open)
    }

    /// Returns the database in which its next command runs: in a transaction, where those queued
    /// before it leave it.
    pub fn database_of_next(&self) -> usize {
        let is_open = !self.grants.contains(Needs::NO_TRANSACTION);
        let of_queue = self.queue.as_ref().filter(|_| is_open);
        of_queue.map_or(self.database, |queue| queue.database)
    }

    /// Returns what is needed to run the open transaction, if there is one: of one that is void no
    /// command runs.
    pub fn needs_of_queue(&mut self) -> Option<Needs> {
        let is_void = self.client.flags().contains(ClientFlags::CHANGED);
        let needs = self.open_queue()?.needs();
        Some(if is_void { Needs::empty() } else { needs })
    }

    /// Opens a transaction.
    pub fn begin_queue(&mut self) {
        self.queue.get_or_insert_default().database = self.database;
        self.grants.remove(Needs::NO_TRANSACTION);
        self.client.set_flag(ClientFlags::MULTI, true);
        self.client.queued.store(0, Relaxed);
    }

    /// Notes that a command was refused, so that the open transaction runs none.
    pub fn spoil_queue(&mut self) {
        let database = self.database;
        if let Some(queue) = self.open_queue() {
            queue.spoil();
            queue.database = database;
            self.show_queue();
        }
    }

    /// Adds a command, by the id of its row and its needs, to the open transaction. One that will
    /// not run, since a watched key has changed, keeps none.
    pub fn enqueue(
        &mut self,
        command: (usize, Needs),
        args: Args<'_>,
        first_hash: Option<PositionHash>,
    ) {
        let is_void = self.client.flags().contains(ClientFlags::CHANGED);
        let queue = self.queue.get_or_insert_default();
        if is_void {
            queue.drop_commands()
        } else {
            queue.push(command, args, first_hash)
        }
        self.show_queue();
    }

    /// Shows other threads how large the queue is.
    fn show_queue(&mut self) {
        let Some(queue) = &self.queue else { return };
        self.client.queued.store(queue.len() as u64, Relaxed);
        self.client.queue_bytes.store(queue.bytes() as u64, Relaxed);
        self.client.queue_room.store(queue.room() as u64, Relaxed);
        self.memory_changed = true;
    }

    /// Takes the queue of the open transaction, to be run: what is sent from now on is not queued.
    /// Other threads see the transaction until the queue is back.
    pub fn take_queue(&mut self) -> Option<Box<Queue>> {
        self.open_queue()?;
        self.grants.insert(Needs::NO_TRANSACTION);
        self.queue.take()
    }

    /// Ends the transaction whose queue was taken. The memory is kept for the next one, if it is
    /// little.
    pub fn keep_queue(&mut self, mut queue: Box<Queue>) {
        queue.clear();
        self.queue = Some(queue);
        self.client.set_flag(ClientFlags::MULTI, false);
        self.show_queue();
    }

    /// Ends the transaction without a run; returns false if there was none.
    pub fn discard_queue(&mut self) -> bool {
        let queue = self.take_queue();
        let was_open = queue.is_some();
        queue.into_iter().for_each(|queue| self.keep_queue(queue));
        was_open
    }

    /// Returns true while the queue of its transaction runs.
    pub fn runs_queue(&self) -> bool {
        let flags = self.client.flags();
        flags.contains(ClientFlags::MULTI) && self.grants.contains(Needs::NO_TRANSACTION)
    }

    /// Returns the bytes of the queue of an open transaction that count for the limit of query
    /// buffers.
    #[inline]
    pub fn queue_counted(&self) -> u64 {
        if self.grants.contains(Needs::NO_TRANSACTION) {
            return 0;
        }
        self.queue.as_ref().map_or(0, |queue| queue.counted())
    }
}
