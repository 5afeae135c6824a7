//! What transactions read and wrote, as their replies tell it.

use anyhow::{Result, ensure};

/// Number of a key: those of one space, then those of the other, then that of the number of swaps.
/// A space is what SWAPDB gives to another database.
pub(super) type Key = usize;

/// Keys of a space, of which half get deadlines.
pub(super) const KEYS: usize = 10;
/// Spaces, one in each of the first databases.
pub(super) const SPACES: usize = 2;
/// How often these have changed places.
pub(super) const SWAPS: Key = SPACES * KEYS;

/// What a key held: a value, which is written once, or nothing.
pub(super) type Held = Option<u64>;

/// A transaction that was executed: a command alone, or those from MULTI to EXEC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Transaction {
    pub(super) client: usize,
    /// When it was sent and when its reply had been read, on the clock of all clients.
    pub(super) sent: u64,
    pub(super) answered: u64,
    /// The space in which its next command is, as far as replies have told.
    pub(super) space: usize,
    /// What keys held before it, as far as it says.
    reads: Vec<(Key, Held)>,
    /// What keys hold behind it.
    writes: Vec<(Key, Held)>,
}

impl Transaction {
    pub(super) fn new(client: usize, sent: u64, answered: u64) -> Self {
        Self { client, sent, answered, ..Self::default() }
    }

    /// Returns a key of the present space.
    pub(super) fn key(&self, name: usize) -> Key {
        self.space * KEYS + name
    }

    /// Returns how often databases had changed places at its end, as far as it says.
    pub(super) fn swaps(&self) -> u64 {
        self.written(SWAPS).or_else(|| self.read(SWAPS)).flatten().unwrap_or(0)
    }

    /// Notes that a key was seen to hold something.
    ///
    /// # Errors
    /// If the transaction itself left something else there: nobody comes between its commands.
    pub(super) fn reads(&mut self, key: Key, held: Held) -> Result<()> {
        match self.written(key).or_else(|| self.read(key)) {
            Some(own) => {
                ensure!(own == held, "key {key} holds {held:?} inside, not {own:?}: {self:?}");
            }
            None => self.reads.push((key, held)),
        }
        Ok(())
    }

    /// Notes that a key was made to hold something.
    pub(super) fn writes(&mut self, key: Key, held: Held) {
        self.writes.retain(|(written, _)| *written != key);
        self.writes.push((key, held));
    }

    /// Returns what the key held before, if the transaction says so.
    pub(super) fn read(&self, key: Key) -> Option<Held> {
        self.reads.iter().find(|(read, _)| *read == key).map(|(_, held)| *held)
    }

    /// Returns what the key holds behind it, if it writes it.
    pub(super) fn written(&self, key: Key) -> Option<Held> {
        self.writes.iter().find(|(written, _)| *written == key).map(|(_, held)| *held)
    }

    /// Returns the keys that it reads or writes, each once.
    pub(super) fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<_> = self.reads.iter().chain(&self.writes).map(|(key, _)| *key).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

/// Transactions of all clients, those of one client in its order.
#[derive(Debug, Default)]
pub(super) struct History(Vec<Transaction>);

impl History {
    /// Adds the transactions of one client.
    pub(super) fn add(&mut self, of_one_client: Vec<Transaction>) {
        self.0.extend(of_one_client);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn all(&self) -> &[Transaction] {
        &self.0
    }
}
