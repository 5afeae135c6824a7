//! Files, read into a store.
//!
//! Nobody else uses the store meanwhile. Keys stay past their deadline, but for those that a file
//! without a journal behind it holds: they are left out.

use crate::collect::Collector;
use crate::file_input::FileInput;
use crate::load_error::LoadError;
use crate::restore::Limits;
use base::Millis;
use rdb::{Checks, Error, Flaw, Header, Item, KeyFacts, read_header, read_item};
use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use store::eviction::Use;
use store::{NoSpace, Store, ThreadContext};

/// How far loading has come; others may read it meanwhile.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes read.
    pub bytes: AtomicU64,
    /// Keys stored.
    pub keys: AtomicU64,
    /// Keys left out, as they are past their deadline.
    pub expired: AtomicU64,
    /// Keys left out, as their collections are empty.
    pub empty: AtomicU64,
    /// Set by others: nothing more is to be loaded.
    pub is_given_up: AtomicBool,
}

/// What a file holds besides keys.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Sources of function libraries.
    pub functions: Vec<Vec<u8>>,
    /// Names and texts about the file.
    pub notes: Vec<(Vec<u8>, Vec<u8>)>,
    /// Length of the file; something else may follow.
    pub bytes: u64,
}

/// Loading of one file.
#[derive(Debug)]
pub struct Load<'a> {
    /// The store.
    pub store: &'a Store,
    /// Thread that loads, inside the gate.
    pub thread: &'a mut ThreadContext,
    /// Limits up to which collections stay small.
    pub limits: Limits,
    /// Present time.
    pub now: Millis,
    /// True if keys past their deadline are left out.
    pub drops_expired: bool,
    /// True if a key that is there already is replaced.
    pub replaces: bool,
    /// What is compared before and after.
    pub checks: Checks,
    /// Where to tell how far it has come.
    pub progress: &'a Progress,
}

impl Load<'_> {
    /// Reads an RDB file.
    ///
    /// # Errors
    /// See [`LoadError`]; the store holds a part of the keys then.
    pub fn read(&mut self, file: impl Read) -> Result<Loaded, LoadError> {
        let mut input = FileInput::new(file);
        let header = next(&mut input, |input| read_header(input, self.checks.version))?;
        let dialect = header.version.dialect();
        let (mut loaded, mut database) = (Loaded::default(), 0);
        let mut told = 0;
        loop {
            let at = input.at();
            self.progress.bytes.fetch_add(at - told, Relaxed);
            told = at;
            if self.progress.is_given_up.load(Relaxed) {
                return Err(LoadError::GivenUp);
            }
            let item = next(&mut input, |input| Ok(owned(read_item(input, dialect)?)))?;
            match item {
                Item::Aux { name, text } => {
                    loaded.notes.push((name.into_owned(), text.into_owned()));
                }
                Item::Function(source) => loaded.functions.push(source.into_owned()),
                Item::Select(number) => database = number,
                Item::Sizes { .. } | Item::Slot => {}
                Item::Key(facts) => self.read_key(&mut input, &facts, database, at)?,
                Item::End => break,
            }
        }
        self.check_end(&mut input, header)?;
        loaded.bytes = input.at();
        self.progress.bytes.fetch_add(loaded.bytes - told, Relaxed);
        Ok(loaded)
    }

    fn read_key(
        &mut self,
        input: &mut FileInput<impl Read>,
        facts: &KeyFacts<'_>,
        database: u64,
        at: u64,
    ) -> Result<(), LoadError> {
        let mut collector = Collector::new(facts.value_type);
        loop {
            let mut rest = input.input();
            let is_complete = collector.read(&mut rest)?;
            let read_to = rest.at();
            input.consume_to(read_to);
            if is_complete {
                break;
            }
            if !input.fill()? {
                return Err(Error { at: input.at(), flaw: Flaw::Ends }.into());
            }
        }
        if self.drops_expired && facts.deadline.is_some_and(|deadline| deadline <= self.now.0) {
            self.progress.expired.fetch_add(1, Relaxed);
            return Ok(());
        }
        match collector.finish(self.store.hasher(), at) {
            Err(Error { flaw: Flaw::Empty, .. }) => {
                self.progress.empty.fetch_add(1, Relaxed);
                Ok(())
            }
            Err(error) => Err(error.into()),
            Ok(value) => self.store_key(&value, facts, database, at),
        }
    }

    fn store_key(
        &mut self,
        value: &crate::Collected,
        facts: &KeyFacts<'_>,
        database: u64,
        at: u64,
    ) -> Result<(), LoadError> {
        let number = usize::try_from(database).ok();
        let keyspace = number.and_then(|number| self.store.keyspace(number));
        let keyspace = keyspace.ok_or(LoadError::Database { at, number: database })?;
        let key = self.store.key(keyspace, &facts.name);
        let no_space = |NoSpace| LoadError::NoSpace { at };
        let bytes = value.byte_len() + facts.name.len();
        self.store.reserve(self.thread, bytes, self.now).map_err(no_space)?;
        let mut access = self.store.lock(self.thread, &key, self.now).unheard();
        access.show_expired();
        if !self.replaces && access.lookup_without_touch(&key).is_some() {
            return Err(LoadError::Twice { at });
        }
        value
            .store(&mut access, &key, facts.deadline.map(Millis), &self.limits)
            .map_err(no_space)?;
        let used = facts.idle.map(Use::Idle).or(facts.frequency.map(Use::Frequency));
        if let Some(used) = used {
            access.set_use(&key, used);
        }
        self.progress.keys.fetch_add(1, Relaxed);
        drop(access);
        self.store.pass(self.thread);
        Ok(())
    }

    /// Compares the checksum behind the file, if there is one; zero stands for none.
    fn check_end(&self, input: &mut FileInput<impl Read>, header: Header) -> Result<(), LoadError> {
        if !header.has_checksum() {
            return Ok(());
        }
        let (expected, at) = (input.checksum(), input.at());
        let bytes = next(input, |input| Ok(input.take(Header::CHECKSUM_BYTES as u64)?.to_vec()))?;
        let found = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        if self.checks.checksum && found != 0 && found != expected {
            return Err(Error { at, flaw: Flaw::Checksum { found, expected } }.into());
        }
        Ok(())
    }
}

/// Reads something that is whole, with as many more bytes as it takes.
fn next<T>(
    file: &mut FileInput<impl Read>,
    read: impl Fn(&mut rdb::Input<'_>) -> Result<T, Error>,
) -> Result<T, LoadError> {
    loop {
        let mut input = file.input();
        match read(&mut input) {
            Ok(found) => {
                let at = input.at();
                file.consume_to(at);
                return Ok(found);
            }
            Err(error) if error.is_end() => {
                if !file.fill()? {
                    return Err(error.into());
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The item with bytes of its own.
fn owned(item: Item<'_>) -> Item<'static> {
    match item {
        Item::Aux { name, text } => {
            Item::Aux { name: name.into_owned().into(), text: text.into_owned().into() }
        }
        Item::Function(source) => Item::Function(source.into_owned().into()),
        Item::Key(facts) => Item::Key(KeyFacts { name: facts.name.into_owned().into(), ..facts }),
        Item::Select(number) => Item::Select(number),
        Item::Sizes { keys, with_deadline } => Item::Sizes { keys, with_deadline },
        Item::Slot => Item::Slot,
        Item::End => Item::End,
    }
}
