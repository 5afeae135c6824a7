//! The loader of one thread: decodes values, and stores them under their keys.

use super::error::LoadError;
use super::file_input::Piece;
use super::large::LargeValue;
use super::rules::Rules;
use crate::collect::{Collected, Collector};
use base::{KeyspaceId, Millis};
use rdb::{Error, Flaw, Input, Item, KeyFacts, Opening, Text, ValueReader, ValueType, read_item};
use std::sync::atomic::Ordering::Relaxed;
use store::eviction::Use;
use store::value::NotStored;
use store::{Access, Encoding, Expiry, Key, NoSpace, Sought, ThreadContext};
use text::IntegerText;

/// Keys whose places in the index are looked up together.
const AHEAD: usize = 32;

/// Whole keys with their values.
#[derive(Debug)]
pub(crate) struct Block {
    pub piece: Piece,
    /// Database of the keys.
    pub database: u64,
    /// Facts of the first key that stand before the block.
    pub opening: Opening,
}

/// Loader of one thread, which is inside the gate.
#[derive(Debug)]
pub(crate) struct Loader<'a> {
    pub rules: Rules<'a>,
    pub thread: &'a mut ThreadContext,
    /// Places in the index of the next keys.
    sought: Vec<Sought>,
    /// Keys stored since that was last told.
    stored: u64,
}

/// A key that was found, and where its value begins.
struct Found<'b> {
    facts: KeyFacts<'b>,
    value: Input<'b>,
    at: u64,
}

impl<'a> Loader<'a> {
    pub fn new(rules: Rules<'a>, thread: &'a mut ThreadContext) -> Loader<'a> {
        Loader { rules, thread, sought: Vec::new(), stored: 0 }
    }

    /// Acts outside the gate, since that may have to wait for others.
    pub fn outside<T>(&self, act: impl FnOnce() -> T) -> T {
        self.rules.store.leave(self.thread);
        let done = act();
        self.rules.store.enter(self.thread);
        done
    }

    /// Loads the keys of a block.
    ///
    /// # Errors
    /// When they are damaged, there twice, or have no room.
    pub fn load(&mut self, block: &Block) -> Result<(), LoadError> {
        let (mut input, mut opening) = (block.piece.input(), block.opening);
        let keyspace = self.keyspace(block.database, input.at())?;
        let mut found = Vec::with_capacity(AHEAD);
        while self.look_ahead((&mut input, &mut opening), keyspace, &mut found)? {
            self.rules.store.prefetch_keys(&self.sought);
            for (at, key) in found.drain(..).enumerate() {
                let hash = self.sought[at].1;
                let name = key.facts.name.as_ref();
                self.load_key(&Key { bytes: name, hash, keyspace }, &key.facts, key.value, key.at)?;
                if self.rules.progress.is_slowed() {
                    self.pause()?;
                }
            }
        }
        self.count_progress(block.piece.len());
        Ok(())
    }

    /// Makes room for keys that are announced; what they are is told when they come.
    pub fn expect_keys(&mut self, database: u64, keys: u64) {
        if let Ok(keyspace) = self.keyspace(database, 0) {
            self.rules.store.reserve_index(self.thread, keyspace, keys);
        }
    }

    /// Counts how far loading has come, and lets a thread go first that wants the store for itself.
    fn count_progress(&mut self, bytes: u64) {
        let Rules { progress, store, .. } = self.rules;
        progress.keys.fetch_add(std::mem::take(&mut self.stored), Relaxed);
        progress.bytes.fetch_add(bytes, Relaxed);
        store.pass(self.thread);
    }

    /// Pauses outside the gate.
    #[cold]
    fn pause(&mut self) -> Result<(), LoadError> {
        let Rules { store, progress, .. } = self.rules;
        store.leave(self.thread);
        progress.pause();
        store.enter(self.thread);
        if progress.is_given_up.load(Relaxed) { Err(LoadError::GivenUp) } else { Ok(()) }
    }

    /// The keyspace of a database, of which the keys from an offset on are.
    ///
    /// # Errors
    /// When this server does not have it.
    pub fn keyspace(&self, number: u64, at: u64) -> Result<KeyspaceId, LoadError> {
        let keyspace = usize::try_from(number).ok().and_then(|it| self.rules.keyspace(it));
        keyspace.ok_or(LoadError::Database { at, number })
    }

    /// Finds the next keys; returns false if there are none.
    fn look_ahead<'b>(
        &mut self,
        (input, opening): (&mut Input<'b>, &mut Opening),
        keyspace: KeyspaceId,
        found: &mut Vec<Found<'b>>,
    ) -> Result<bool, LoadError> {
        self.sought.clear();
        while found.len() < AHEAD && !input.rest().is_empty() {
            let at = input.at();
            let Item::Key(facts) = read_item(input, self.rules.dialect, opening)? else { continue };
            let value = input.clone();
            if !ValueReader::new(facts.value_type).skip(input)? {
                return Err(Error { at, flaw: Flaw::Ends }.into());
            }
            self.sought.push((keyspace, self.rules.store.hash(&facts.name)));
            found.push(Found { facts, value, at });
        }
        Ok(!found.is_empty())
    }

    fn load_key(
        &mut self,
        key: &Key<'_>,
        facts: &KeyFacts<'_>,
        mut value: Input<'_>,
        at: u64,
    ) -> Result<(), LoadError> {
        if self.rules.drops(facts) {
            self.rules.progress.expired.fetch_add(1, Relaxed);
            return Ok(());
        }
        if facts.value_type == ValueType::String {
            return match value.text()? {
                Text::Bytes(bytes) => self.store_string(key, facts, &bytes, at),
                Text::Integer(number) => {
                    self.store_string(key, facts, IntegerText::new().format(number), at)
                }
            };
        }
        let mut collector = Collector::new(facts.value_type);
        if !collector.read(&mut value)? {
            return Err(Error { at, flaw: Flaw::Ends }.into());
        }
        self.finish(key, facts, collector, at)
    }

    /// Takes the next rows of a large value.
    ///
    /// # Errors
    /// As those of `load`.
    pub fn take_piece(&mut self, large: &mut LargeValue, piece: &Piece) -> Result<(), LoadError> {
        large.read(&mut piece.input())?;
        if large.has_piece() {
            let (name, limits) = (large.facts.name.clone(), self.rules.limits);
            let key = self.rules.store.key(self.keyspace(large.database, large.at)?, &name);
            let (is_new, bytes) = (!large.is_begun, large.byte_len());
            self.on_key(&key, is_new, bytes, large.at, |access| {
                large.append(access, &key, &limits)
            })?;
        }
        self.count_progress(piece.len());
        Ok(())
    }

    /// Stores a large value, of which all rows were taken; one that broke off is dropped.
    ///
    /// # Errors
    /// As those of `load`.
    pub fn finish_large(&mut self, mut large: LargeValue) -> Result<(), LoadError> {
        let ended = if large.is_complete { self.end_large(&mut large) } else { Ok(()) };
        if ended.is_err() || !large.is_complete {
            self.give_up_large(&large);
        }
        self.count_progress(0);
        ended
    }

    fn end_large(&mut self, large: &mut LargeValue) -> Result<(), LoadError> {
        if large.is_dropped() {
            self.rules.progress.expired.fetch_add(1, Relaxed);
            return Ok(());
        }
        if large.is_empty() {
            self.rules.progress.empty.fetch_add(1, Relaxed);
            return Ok(());
        }
        large.check()?;
        let facts = large.facts.clone();
        let key = self.rules.store.key(self.keyspace(large.database, large.at)?, &facts.name);
        let (is_new, bytes, at) = (!large.is_begun, large.byte_len() + facts.name.len(), large.at);
        self.on_key(&key, is_new, bytes, at, |access| {
            large.end(access, &key)?;
            set_use(access, &key, &facts);
            Ok(())
        })?;
        self.stored += 1;
        Ok(())
    }

    /// Removes what is stored of a large value that broke off.
    pub fn give_up_large(&mut self, large: &LargeValue) {
        let Rules { store, now, .. } = self.rules;
        if let (true, Ok(keyspace)) = (large.is_begun, self.keyspace(large.database, large.at)) {
            let key = store.key(keyspace, &large.facts.name);
            store.lock(self.thread, &key, now).muted().remove(&key);
        }
    }

    fn finish(
        &mut self,
        key: &Key<'_>,
        facts: &KeyFacts<'_>,
        collector: Collector,
        at: u64,
    ) -> Result<(), LoadError> {
        match collector.finish(self.rules.store.hasher(), at) {
            Err(Error { flaw: Flaw::Empty, .. }) => {
                self.rules.progress.empty.fetch_add(1, Relaxed);
                Ok(())
            }
            Err(error) => Err(error.into()),
            Ok(value) => self.store_collected(key, facts, &value, at),
        }
    }

    fn store_string(
        &mut self,
        key: &Key<'_>,
        facts: &KeyFacts<'_>,
        value: &[u8],
        at: u64,
    ) -> Result<(), LoadError> {
        let expiry = facts.deadline.map_or(Expiry::Never, |at| Expiry::At(Millis(at)));
        let bytes = value.len() + facts.name.len();
        let encoding = Encoding::of_new(value);
        self.store_key(key, facts, bytes, at, |access| match facts.attributes {
            None => Ok(access.set_string(key, value, encoding, expiry)?),
            Some(note) => Ok(access.set_string_with(key, value, encoding, expiry, note.into())?),
        })
    }

    fn store_collected(
        &mut self,
        key: &Key<'_>,
        facts: &KeyFacts<'_>,
        value: &Collected,
        at: u64,
    ) -> Result<(), LoadError> {
        let (limits, deadline) = (self.rules.limits, facts.deadline.map(Millis));
        let bytes = value.byte_len() + facts.name.len();
        self.store_key(key, facts, bytes, at, |access| {
            Ok(value.store(access, key, deadline, &limits)?)
        })
    }

    #[inline]
    fn store_key(
        &mut self,
        key: &Key<'_>,
        facts: &KeyFacts<'_>,
        bytes: usize,
        at: u64,
        put: impl FnOnce(&mut Access<'_>) -> Result<(), NotStored>,
    ) -> Result<(), LoadError> {
        self.on_key(key, true, bytes, at, |access| {
            put(access)?;
            set_use(access, key, facts);
            Ok(())
        })?;
        self.stored += 1;
        Ok(())
    }

    /// Changes a key, which may not be there yet if it is new.
    #[inline]
    fn on_key(
        &mut self,
        key: &Key<'_>,
        is_new: bool,
        bytes: usize,
        at: u64,
        change: impl FnOnce(&mut Access<'_>) -> Result<(), NotStored>,
    ) -> Result<(), LoadError> {
        let Rules { store, now, replaces, .. } = self.rules;
        let no_space = |NoSpace| LoadError::NoSpace { at };
        store.reserve(self.thread, bytes, now).map_err(no_space)?;
        let mut access = store.lock(self.thread, key, now).muted();
        access.show_expired();
        if is_new && !replaces && access.lookup_without_touch(key).is_some() {
            return Err(LoadError::Twice { at });
        }
        change(&mut access).map_err(|why| match why {
            NotStored::NoSpace => LoadError::NoSpace { at },
            NotStored::Twice => Error { at, flaw: Flaw::Damaged("the same member twice") }.into(),
        })
    }
}

/// Sets how a key was used, if the file tells.
fn set_use(access: &mut Access<'_>, key: &Key<'_>, facts: &KeyFacts<'_>) {
    let used = facts.idle.map(Use::Idle).or(facts.frequency.map(Use::Frequency));
    if let Some(used) = used {
        access.set_use(key, used);
    }
}
