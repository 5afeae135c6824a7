//! Connections of one worker, found by entry number (from their token) and by client.

use crate::connection::{Connection, Life};
use std::collections::HashMap;

/// Table of the connections of one worker.
#[derive(Debug, Default)]
pub struct Connections {
    /// Connections; empty where one is away, being served, or where there is none.
    entries: Vec<Option<Box<Connection>>>,
    /// Entries without a connection.
    free: Vec<usize>,
    /// Entries whose connections have left since the last wait: events of theirs may still be
    /// served.
    left: Vec<usize>,
    by_client: HashMap<u64, usize>,
}

impl Connections {
    /// Returns a free entry for a new connection.
    pub fn reserve(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() - 1
        })
    }

    /// Gives back a reserved entry that is not used.
    pub fn release(&mut self, at: usize) {
        self.free.push(at);
    }

    /// Puts a new connection into an entry that was reserved for it.
    pub fn add(&mut self, at: usize, connection: Box<Connection>) {
        self.by_client.insert(connection.session.client.id, at);
        self.put(at, connection);
    }

    /// Removes a connection that is away and does not come back. Its entry stays empty until
    /// `free_left`.
    pub fn remove(&mut self, at: usize, connection: &Connection) {
        self.by_client.remove(&connection.session.client.id);
        self.left.push(at);
    }

    /// Frees the entries of connections that have left. To be called when no event of theirs is to
    /// be served any more.
    #[inline]
    pub fn free_left(&mut self) {
        if !self.left.is_empty() {
            self.free.append(&mut self.left);
        }
    }

    /// Puts back a connection that was away.
    #[inline]
    pub fn put(&mut self, at: usize, connection: Box<Connection>) {
        self.entries[at] = Some(connection);
    }

    /// Returns the number of entries, including free ones.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Returns the entry of the connection of a client.
    pub fn find(&self, client: u64) -> Option<usize> {
        self.by_client.get(&client).copied()
    }

    /// Returns the entry of the connection of a client, which may be the one that is hinted at. A
    /// hint that was given while the connection was on its way here is none.
    #[inline]
    pub fn find_near(&self, client: u64, hint: usize) -> Option<usize> {
        let connection = self.entries.get(hint).and_then(Option::as_ref);
        match connection {
            Some(connection) if connection.session.client.id == client => Some(hint),
            _ => self.find(client),
        }
    }

    /// Returns true if a client's connection is away, being served.
    pub fn is_away(&self, client: u64) -> bool {
        self.find(client).is_some_and(|at| self.entries[at].is_none())
    }

    /// Returns the connection in an entry, unless it is away.
    #[inline]
    pub fn get_mut(&mut self, at: usize) -> Option<&mut Connection> {
        self.entries.get_mut(at)?.as_deref_mut()
    }

    /// Takes the connection out of an entry, unless it is away.
    #[inline]
    pub fn take(&mut self, at: usize) -> Option<Box<Connection>> {
        self.entries.get_mut(at)?.take()
    }

    /// Takes the connection out of an entry if `choose` returns true for it.
    #[inline]
    pub fn take_if(
        &mut self,
        at: usize,
        choose: impl FnOnce(&Connection) -> bool,
    ) -> Option<Box<Connection>> {
        self.entries.get_mut(at)?.take_if(|connection| choose(connection))
    }

    /// Returns the entries of those that are postponed, in the order of their line.
    pub fn postponed(&self) -> Vec<usize> {
        let all =
            self.entries.iter().enumerate().filter_map(|(at, entry)| Some((at, entry.as_ref()?)));
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
        self.entries.iter_mut().flatten().map(|connection| &mut **connection)
    }
}
