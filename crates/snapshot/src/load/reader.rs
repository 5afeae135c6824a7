//! The reader of a file: finds where keys end, and keeps what is no key.

use super::error::LoadError;
use super::file_input::FileInput;
use super::large::LargeValue;
use super::loader::{Block, Loader};
use super::progress::Progress;
use super::team::{Large, Team};
use rdb::{
    Checks, Dialect, Error, Flaw, Header, Input, Item, KeyFacts, Opening, ValueReader, read_header,
    read_item,
};
use std::io::Read;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes of a value from which on it is read in pieces, if it has rows.
const LARGE_FROM: usize = 1 << 20;

/// Least bytes of a key with its value: type, and two texts with a length of one byte.
const KEY_BYTES_MIN: u64 = 3;

/// What a file holds besides keys.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Sources of function libraries.
    pub functions: Vec<Vec<u8>>,
    /// Length of the file; something else may follow.
    pub bytes: u64,
}

/// Reader of a file.
#[derive(Debug)]
pub(crate) struct Reader<R> {
    input: FileInput<R>,
    header: Header,
    checks: Checks,
    database: u64,
    /// Facts that were read of the next key.
    opening: Opening,
    /// Keys that announced counts may still promise.
    promised_max: u64,
    loaded: Loaded,
}

/// What stands behind the whole keys that are there.
enum Next {
    /// Something else than a key.
    Item,
    /// A key or an item of which more is to be read.
    More,
}

impl<R: Read> Reader<R> {
    /// Reads the begin of a file.
    ///
    /// # Errors
    /// When it cannot be read, or is no RDB file.
    pub fn open(file: R, checks: Checks) -> Result<Reader<R>, LoadError> {
        let mut input = FileInput::new(file);
        let read = |input: &mut Input<'_>| read_header(input, checks.version);
        let header = next(&mut input, FileInput::fill, read)?;
        let (opening, loaded) = (Opening::default(), Loaded::default());
        Ok(Reader { input, header, checks, database: 0, opening, promised_max: 0, loaded })
    }

    /// Tells how many bytes there are, as far as known.
    pub fn expect_bytes(&mut self, bytes: u64) {
        self.promised_max = bytes / KEY_BYTES_MIN;
    }

    pub fn dialect(&self) -> Dialect {
        self.header.version.dialect()
    }

    /// What was read besides keys.
    pub fn into_loaded(self) -> Loaded {
        self.loaded
    }

    /// Reads the file, and has its keys loaded, by others or by the `own` loader.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn run(&mut self, own: &mut Loader<'_>, team: &mut Team<'_>) -> Result<(), LoadError> {
        own.rules.progress.bytes.fetch_add(self.input.at(), Relaxed);
        loop {
            if own.rules.progress.is_given_up.load(Relaxed) {
                return Err(LoadError::GivenUp);
            }
            if team.has_failed() {
                return Ok(());
            }
            let (end, opening, next) = self.pass_over_keys(own.rules.progress);
            if end > self.input.at() {
                let (piece, database) = (self.input.take_to(end), self.database);
                let opening = std::mem::replace(&mut self.opening, opening);
                team.take(Block { piece, database, opening }, own)?;
            }
            match next? {
                Next::More if self.begins_large() => self.read_large(own, team)?,
                Next::More => {
                    if !own.outside(|| self.input.fill())? {
                        return Err(self.ends_too_early());
                    }
                }
                Next::Item => {
                    if !self.read_item(own)? {
                        return self.check_end(own);
                    }
                }
            }
        }
    }

    /// Passes over the whole keys that are there, and what is told of the file between them, which
    /// may be something for each key; returns the offset behind it all, and the facts known there.
    fn pass_over_keys(&self, progress: &Progress) -> (u64, Opening, Result<Next, Error>) {
        let (mut ahead, dialect) = (self.input.input(), self.dialect());
        let (mut end, mut opening) = (ahead.at(), self.opening);
        loop {
            let mut opening_next = opening;
            let passed = match read_item(&mut ahead, dialect, &mut opening_next) {
                Ok(Item::Key(facts)) => ValueReader::new(facts.value_type).skip(&mut ahead),
                Ok(Item::Slot) => Ok(true),
                Ok(Item::Aux { name, text }) => {
                    if &name[..] == b"used-mem" {
                        let bytes = text::parse_u64(&text).unwrap_or(0);
                        progress.used_memory.store(bytes, Relaxed);
                    } else {
                        progress.stream.lock().note(&name, &text);
                    }
                    Ok(true)
                }
                Ok(_) => return (end, opening, Ok(Next::Item)),
                Err(error) if error.is_end() => Ok(false),
                Err(error) => Err(error),
            };
            match passed {
                Ok(true) => (end, opening) = (ahead.at(), opening_next),
                Ok(false) => return (end, opening, Ok(Next::More)),
                Err(error) => return (end, opening, Err(error)),
            }
        }
    }

    /// Reads what comes next, of a key all before its value.
    fn next_item(&mut self, own: &Loader<'_>) -> Result<Item<'static>, LoadError> {
        let (dialect, opening) = (self.dialect(), self.opening);
        let fill = |input: &mut FileInput<R>| own.outside(|| input.fill());
        let (item, opening) = next(&mut self.input, fill, |input| {
            let mut opening = opening;
            Ok((owned(read_item(input, dialect, &mut opening)?), opening))
        })?;
        self.opening = opening;
        Ok(item)
    }

    /// Reads what is no key; returns false at the end of the file.
    fn read_item(&mut self, own: &mut Loader<'_>) -> Result<bool, LoadError> {
        let began = self.input.at();
        let item = self.next_item(own)?;
        own.rules.progress.bytes.fetch_add(self.input.at() - began, Relaxed);
        match item {
            Item::Function(source) => self.loaded.functions.push(source.into_owned()),
            Item::Select(number) => {
                own.keyspace(number, began)?;
                self.database = number;
            }
            Item::Sizes { keys, .. } => {
                let keys = keys.min(self.promised_max);
                self.promised_max -= keys;
                own.expect_keys(self.database, keys);
            }
            Item::Aux { .. } | Item::Slot | Item::Key(_) => {}
            Item::End => return Ok(false),
        }
        Ok(true)
    }

    /// True if a large value begins that can be read in pieces.
    fn begins_large(&self) -> bool {
        let mut input = self.input.input();
        if input.rest().len() < LARGE_FROM {
            return false;
        }
        let item = read_item(&mut input, self.dialect(), &mut self.opening.clone());
        let Ok(Item::Key(facts)) = item else { return false };
        let mut value = ValueReader::new(facts.value_type);
        value.skip(&mut input).is_ok() && value.has_rows()
    }

    /// Reads a value in pieces, each of whole rows.
    fn read_large(&mut self, own: &mut Loader<'_>, team: &mut Team<'_>) -> Result<(), LoadError> {
        let at = self.input.at();
        let Item::Key(facts) = self.next_item(own)? else { return Ok(()) };
        own.rules.progress.bytes.fetch_add(self.input.at() - at, Relaxed);
        let value = ValueReader::new(facts.value_type);
        let large = LargeValue::new(facts, self.database, at, &own.rules);
        let mut large = team.begin_large(Box::new(large), own);
        match self.read_pieces(value, &mut large, own) {
            Ok(()) => large.finish(own),
            Err(error) => {
                large.give_up(own);
                Err(error)
            }
        }
    }

    fn read_pieces(
        &mut self,
        mut value: ValueReader,
        large: &mut Large,
        own: &mut Loader<'_>,
    ) -> Result<(), LoadError> {
        loop {
            let mut rest = self.input.input();
            let is_complete = value.skip(&mut rest)?;
            let end = rest.at();
            if end > self.input.at() {
                large.take(self.input.take_to(end), own)?;
            }
            if is_complete {
                return Ok(());
            }
            if !own.outside(|| self.input.fill())? {
                return Err(self.ends_too_early());
            }
        }
    }

    fn ends_too_early(&self) -> LoadError {
        Error { at: self.input.at(), flaw: Flaw::Ends }.into()
    }

    /// Compares the checksum behind the file, if there is one; zero stands for none.
    fn check_end(&mut self, own: &Loader<'_>) -> Result<(), LoadError> {
        if self.header.has_checksum() {
            let (expected, at) = (self.input.checksum(), self.input.at());
            let take =
                |input: &mut Input<'_>| Ok(input.take(Header::CHECKSUM_BYTES as u64)?.to_vec());
            let fill = |input: &mut FileInput<R>| own.outside(|| input.fill());
            let bytes = next(&mut self.input, fill, take)?;
            let found = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            if self.checks.checksum && found != 0 && found != expected {
                return Err(Error { at, flaw: Flaw::Checksum { found, expected } }.into());
            }
            own.rules.progress.bytes.fetch_add(bytes.len() as u64, Relaxed);
        }
        self.loaded.bytes = self.input.at();
        Ok(())
    }
}

/// Reads something that is whole, with as many more bytes as it takes.
fn next<R: Read, T>(
    file: &mut FileInput<R>,
    mut fill: impl FnMut(&mut FileInput<R>) -> Result<bool, LoadError>,
    read: impl Fn(&mut Input<'_>) -> Result<T, Error>,
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
                if !fill(file)? {
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
