//! What an append-only file holds.

use crate::rdb_file::{self, RdbFacts};
use crate::servers::{Asked, SET_WORDS};
use crate::source::Source;
use crate::walk::WalkError;
use journal::disk::File;
use journal::inspect::{Inspection, State, inspect};
use journal::reader::{AofReader, ReadError, Why};
use journal::sync_line::ReplicationId;
use std::collections::BTreeMap;
use std::io;

/// Longest name of a command that is counted by itself.
const NAME_BYTES_MAX: usize = 64;
/// Number of different names that are counted.
const NAMES_MAX: usize = 1000;

/// What a file holds.
#[derive(Debug, Default)]
pub struct AofFacts {
    /// The RDB part at its begin.
    pub preamble: Option<RdbFacts>,
    /// What is wrong with that.
    pub preamble_error: Option<WalkError>,
    /// Bytes of the file.
    pub bytes: u64,
    /// Units: commands, or transactions.
    pub units: u64,
    /// Transactions among them.
    pub transactions: u64,
    /// Commands for whose strings attributes are noted.
    pub noted: u64,
    /// Commands by name, in capitals.
    pub commands: BTreeMap<String, u64>,
    /// Databases that are selected.
    pub databases: BTreeMap<u64, u64>,
    /// Position and identity of the stream at the end, if the file tells.
    pub position: Option<(u64, ReplicationId)>,
    /// Offset up to which the file is whole.
    pub whole: u64,
    /// What is wrong behind it.
    pub broken: Option<Broken>,
    /// Bytes behind the end of an RDB file, which no server reads.
    pub unread: u64,
    /// What a server must know.
    pub asked: Asked,
}

/// What may stand behind an RDB part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// Commands, as in the files of a manifest.
    Commands,
    /// Commands where it was written to stand before some, or something begins as they do.
    Either,
    /// Nothing that is read, unless it was written to stand before commands.
    Nothing,
}

impl Behind {
    /// True if commands stand behind an RDB part, of which the first byte is given.
    pub fn is_commands(self, is_base: bool, first: u8) -> bool {
        match self {
            Behind::Commands => true,
            Behind::Either => is_base || matches!(first, b'*' | b'#'),
            Behind::Nothing => is_base,
        }
    }
}

/// A break in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Where it is.
    pub offset: u64,
    /// What it is.
    pub why: Why,
    /// True if what is behind it was never safe, as after the machine's death.
    pub is_torn: bool,
}

/// Reads a file, of which the begin may be an RDB part.
///
/// # Errors
/// Those of the disk.
pub fn describe(
    source: &Source,
    has_preamble: bool,
    behind: Behind,
    largest: usize,
) -> io::Result<AofFacts> {
    let mut facts = AofFacts { bytes: source.bytes()?, ..AofFacts::default() };
    let mut begin = 0;
    if has_preamble {
        let (preamble, error) = rdb_file::describe(source.from(0), largest);
        begin = preamble.end;
        let mut first = [0; 1];
        if error.is_none()
            && source.read_at(begin, &mut first)? == 1
            && !behind.is_commands(preamble.is_base, first[0])
        {
            facts.unread = facts.bytes - begin;
        }
        facts.asked.version = preamble.version;
        facts.asked.preamble = true;
        facts.preamble = Some(preamble);
        if let Some(WalkError::Read(error)) = error {
            return Err(error);
        }
        facts.preamble_error = error;
    }
    facts.whole = begin;
    if facts.preamble_error.is_none() && facts.unread == 0 {
        facts.read(source, begin)?;
    }
    Ok(facts)
}

impl AofFacts {
    fn read(&mut self, source: &Source, begin: u64) -> io::Result<()> {
        self.asked.lines = begin < self.bytes && has_line(source, begin)?;
        let mut reader = AofReader::new(source, begin)?;
        let is_broken = loop {
            match reader.next_unit() {
                Ok(Some(unit)) => {
                    self.transactions += u64::from(unit.is_framed);
                    self.noted += unit.notes() as u64;
                    for mut command in unit.commands() {
                        let name = command.next().unwrap_or_default();
                        self.count(name, command);
                    }
                }
                Ok(None) => break false,
                Err(ReadError::Disk(error)) => return Err(error),
                Err(ReadError::Broken { .. }) => break true,
            }
        };
        let verified = reader.verified();
        self.asked.lines |= verified.line.is_some();
        (self.whole, self.units) = (reader.whole(), reader.units());
        self.position = reader.position().zip(verified.line.map(|line| line.id));
        if is_broken {
            self.take(&inspect(source, begin)?);
        }
        self.asked.commands = self.commands.clone();
        Ok(())
    }

    fn take(&mut self, inspection: &Inspection) {
        (self.whole, self.units) = (inspection.whole, inspection.units);
        self.position = inspection.position;
        self.broken = match inspection.state {
            State::Whole => None,
            State::Torn { offset, why } => Some(Broken { offset, why, is_torn: true }),
            State::Damaged { offset, why } => Some(Broken { offset, why, is_torn: false }),
        };
    }

    fn count<'a>(&mut self, name: &[u8], mut args: impl Iterator<Item = &'a [u8]> + Clone) {
        let name = &name[..name.len().min(NAME_BYTES_MAX)];
        let name = String::from_utf8_lossy(name).to_ascii_uppercase();
        match name.as_str() {
            "SELECT" => {
                if let Some(number) = args.clone().next().and_then(text::parse_u64) {
                    *self.databases.entry(number).or_default() += 1;
                    self.asked.ask_database(number);
                }
            }
            "SET" => {
                for arg in args.by_ref().skip(2).filter(|arg| arg.len() <= 7) {
                    let word = SET_WORDS.iter().find(|it| arg.eq_ignore_ascii_case(it.as_bytes()));
                    self.asked.words.extend(word);
                }
            }
            _ => {}
        }
        if self.commands.len() < NAMES_MAX || self.commands.contains_key(&name) {
            *self.commands.entry(name).or_default() += 1;
        }
    }

    /// Bytes behind what is whole.
    pub fn bytes_behind(&self) -> u64 {
        self.bytes.saturating_sub(self.whole)
    }

    /// Everything that a server must know, the RDB part included.
    pub fn asked(&self) -> Asked {
        let mut asked = Asked {
            commands: self.asked.commands.clone(),
            words: self.asked.words.clone(),
            modules: self.asked.modules.clone(),
            ..self.asked
        };
        if let Some(preamble) = &self.preamble {
            asked.slots |= preamble.asked.slots;
            asked.timed_fields |= preamble.asked.timed_fields;
            asked.functions |= preamble.asked.functions;
            asked.miscounted |= preamble.asked.miscounted;
            asked.database = asked.database.max(preamble.asked.database);
            asked.modules.extend(preamble.asked.modules.iter().cloned());
        }
        asked
    }
}

/// True if a file begins with a line that is skipped. Lines further on are of the writer of this
/// one, or stand behind the first unit.
fn has_line(source: &Source, begin: u64) -> io::Result<bool> {
    let mut first = [0; 1];
    Ok(source.read_at(begin, &mut first)? == 1 && first == *b"#")
}
