//! Connections of one worker, found by slot number (from their token) and by client.

use crate::connection::{Connection, Life};
use std::collections::HashMap;

/// Table of the connections of one worker.
#[derive(Debug, Default)]
pub struct Connections {
    /// Connections by slot; empty where a connection is away, being served, or where there is none.
    slots: Vec<Option<Box<Connection>>>,
    /// Slots without a connection.
    free: Vec<usize>,
    /// Slots whose connections have left since the last wait: events of theirs may still be served.
    left: Vec<usize>,
    by_client: HashMap<u64, usize>,
}

impl Connections {
    /// Returns a free slot for a new connection.
    pub fn reserve(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        })
    }

    /// Gives back a reserved slot that is not used.
    pub fn release(&mut self, at: usize) {
        self.free.push(at);
    }

    /// Puts a new connection into a slot that was reserved for it.
    pub fn add(&mut self, at: usize, connection: Box<Connection>) {
        self.by_client.insert(connection.session.client.id, at);
        self.put(at, connection);
    }

    /// Removes a connection that is away and does not come back. Its slot stays empty until
    /// `free_left`.
    pub fn remove(&mut self, at: usize, connection: &Connection) {
        self.by_client.remove(&connection.session.client.id);
        self.left.push(at);
    }

    /// Frees the slots of connections that have left. To be called when no event of theirs is to be
    /// served any more.
    #[inline]
    pub fn free_left(&mut self) {
        if !self.left.is_empty() {
            self.free.append(&mut self.left);
        }
    }

    /// Puts back a connection that was away.
    #[inline]
    pub fn put(&mut self, at: usize, connection: Box<Connection>) {
        self.slots[at] = Some(connection);
    }

    /// Returns the number of slots, including free ones.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Returns the slot of the connection of a client.
    pub fn find(&self, client: u64) -> Option<usize> {
        self.by_client.get(&client).copied()
    }

    /// Returns the slot of the connection of a client, which may be the one that is hinted at. A
    /// hint that was given while the connection was on its way here is none.
    #[inline]
    pub fn find_near(&self, client: u64, hint: usize) -> Option<usize> {
        let connection = self.slots.get(hint).and_then(Option::as_ref);
        match connection {
            Some(connection) if connection.session.client.id == client => Some(hint),
            _ => self.find(client),
        }
    }

    /// Returns the connection in a slot, unless it is away.
    #[inline]
    pub fn get_mut(&mut self, at: usize) -> Option<&mut Connection> {
        self.slots.get_mut(at)?.as_deref_mut()
    }

    /// Takes the connection out of a slot, unless it is away.
    #[inline]
    pub fn take(&mut self, at: usize) -> Option<Box<Connection>> {
        self.slots.get_mut(at)?.take()
    }

    /// Takes the connection out of a slot if `choose` returns true for it.
    #[inline]
    pub fn take_if(
        &mut self,
        at: usize,
        choose: impl FnOnce(&Connection) -> bool,
    ) -> Option<Box<Connection>> {
        self.slots.get_mut(at)?.take_if(|connection| choose(connection))
    }

    /// Returns the slots of those that are postponed, in the order of their line.
    pub fn postponed(&self) -> Vec<usize> {
        let all = self.slots.iter().enumerate().filter_map(|(at, slot)| Some((at, slot.as_ref()?)));
        let mut line: Vec<_> = all
            .filter_map(|(at, connection)| match connection.life {
                Life::Postponed { place, .. } => Some((place, at)),
                _ => None,
            })
            .collect();
        line.sort_unstable();
        line.into_iter().map(|(_, at)| at).collect()
    }

    /// Returns all connections that are not away.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.slots.iter_mut().flatten().map(|connection| &mut **connection)
    }
}
