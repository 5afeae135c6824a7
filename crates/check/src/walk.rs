//! Walking through an RDB file once, from front to back, with memory for one item and no more.

use rdb::{
    Checksum, Dialect, Error, Flaw, Header, Input, Item, Miscount, Opening, Part, ValueReader,
    ValueType, Version, read_header, read_item, read_opening, skip_module_data, skip_module_value,
};
use std::io::{self, Read};
use text::AttributeNote;
use thiserror::Error as ThisError;

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1 << 20;
/// Longest text or blob that is looked for. A length of more is taken for damage, so that a wrong
/// one does not bring the whole file into memory.
const ITEM_BYTES_MAX: usize = 4 << 30;

/// Reason why a file could not be read to its end.
#[derive(Debug, ThisError)]
pub enum WalkError {
    /// The system refused to read.
    #[error("reading: {0}")]
    Read(#[from] io::Error),
    /// The file is damaged.
    #[error("{0}")]
    File(#[from] Error),
}

/// What stands at one place of a file.
#[derive(Debug)]
pub enum Entry {
    /// A name and a text about the file.
    Note(Vec<u8>, Vec<u8>),
    /// Number of the database of the keys that follow.
    Database(u64),
    /// Announced sizes, of which nothing depends.
    Sizes,
    /// State of a slot of a cluster.
    Slot,
    /// Source of a function library.
    Function(Vec<u8>),
    /// Data of a module that belongs to no key, by the name of its type.
    ModuleData(String),
    /// A key; its value follows, and is to be read next.
    Key(KeyEntry),
    /// End of the data; the checksum follows.
    End,
}

/// A key, before its value.
#[derive(Clone, Debug)]
pub struct KeyEntry {
    /// Its name.
    pub name: Vec<u8>,
    /// Type of its value.
    pub value_type: ValueType,
    /// Its deadline in milliseconds since the Unix epoch.
    pub deadline: Option<u64>,
    /// Seconds since its last access.
    pub idle: Option<u64>,
    /// Frequency of access, from 0 to 255.
    pub frequency: Option<u8>,
    /// What a string has besides its value, as clients of Memcached give it.
    pub attributes: Option<AttributeNote>,
}

/// What was found out about a value besides its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueNotes {
    /// The type of a value of a module, which has no parts here.
    pub module: Option<String>,
    /// The wrong number of entries of a stream.
    pub miscount: Option<Miscount>,
}

/// What the checksum behind a file is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// It agrees with the bytes.
    Right,
    /// It is zero, as with `rdbchecksum no`.
    NotWritten,
    /// Versions below 5 have none.
    None,
}

/// Walk through a file.
#[derive(Debug)]
pub struct Walk<R> {
    file: R,
    buffer: Vec<u8>,
    /// Index in the buffer of the first byte that is not consumed.
    from: usize,
    /// Offset of that byte in the file.
    at: u64,
    checksum: Checksum,
    header: Header,
    /// Facts that were read of the next key.
    opening: Opening,
}

impl<R: Read> Walk<R> {
    /// Begins with the header, of which any version is taken.
    ///
    /// # Errors
    /// When the file is no RDB file.
    pub fn begin(file: R) -> Result<Walk<R>, WalkError> {
        let mut walk = Walk {
            file,
            buffer: Vec::new(),
            from: 0,
            at: 0,
            checksum: Checksum::default(),
            header: Header { version: Version(0) },
            opening: Opening::default(),
        };
        walk.header = walk.take(|input| read_header(input, false))?;
        Ok(walk)
    }

    /// Version of the file.
    pub fn version(&self) -> Version {
        self.header.version
    }

    fn dialect(&self) -> Dialect {
        self.header.version.dialect()
    }

    /// Offset of the next byte.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The next entry.
    ///
    /// # Errors
    /// When the file is damaged or ends.
    pub fn next_entry(&mut self) -> Result<Entry, WalkError> {
        let (dialect, opening) = (self.dialect(), self.opening);
        let (entry, opening) = self.take(|input| {
            let mut opening = opening;
            read_opening(input, &mut opening)?;
            if let Some(name) = skip_module_data(input)? {
                return Ok((Entry::ModuleData(name), opening));
            }
            let entry = match read_item(input, dialect, &mut opening)? {
                Item::Aux { name, text } => Entry::Note(name.into_owned(), text.into_owned()),
                Item::Select(number) => Entry::Database(number),
                Item::Sizes { .. } => Entry::Sizes,
                Item::Slot => Entry::Slot,
                Item::Function(source) => Entry::Function(source.into_owned()),
                Item::Key(facts) => Entry::Key(KeyEntry {
                    name: facts.name.into_owned(),
                    value_type: facts.value_type,
                    deadline: facts.deadline,
                    idle: facts.idle,
                    frequency: facts.frequency,
                    attributes: facts.attributes,
                }),
                Item::End => Entry::End,
            };
            Ok((entry, opening))
        })?;
        self.opening = opening;
        Ok(entry)
    }

    /// Reads a value: passes its bytes to `raw`, and each of its parts to `part`.
    ///
    /// # Errors
    /// When the value is damaged or does not end.
    pub fn value(
        &mut self,
        value_type: ValueType,
        mut raw: impl FnMut(&[u8]),
        mut part: impl FnMut(Part<'_>),
    ) -> Result<ValueNotes, WalkError> {
        if value_type == ValueType::Module {
            let from = self.at;
            let name = self.take_with(skip_module_value, &mut raw)?;
            debug_assert!(self.at > from);
            return Ok(ValueNotes { module: Some(name), miscount: None });
        }
        let mut reader = ValueReader::counting(value_type);
        loop {
            let mut rest = self.input();
            let is_complete = reader.read(&mut rest, |it| {
                part(it);
                Ok::<(), Error>(())
            })?;
            let to = rest.at();
            self.consume_to(to, &mut raw);
            if is_complete {
                return Ok(ValueNotes { module: None, miscount: reader.miscount() });
            }
            self.fill()?;
        }
    }

    /// Compares the checksum. To be called behind `Entry::End`.
    ///
    /// # Errors
    /// When it is wrong or not there.
    pub fn end(&mut self) -> Result<Sum, WalkError> {
        if !self.header.has_checksum() {
            return Ok(Sum::None);
        }
        let (expected, at) = (self.checksum.value(), self.at);
        let bytes = self.take(|input| Ok(input.take(Header::CHECKSUM_BYTES as u64)?.to_vec()))?;
        let found = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        match found {
            0 => Ok(Sum::NotWritten),
            _ if found == expected => Ok(Sum::Right),
            _ => Err(Error { at, flaw: Flaw::Checksum { found, expected } }.into()),
        }
    }

    fn input(&self) -> Input<'_> {
        Input::new(&self.buffer[self.from..], self.at)
    }

    fn take<T>(
        &mut self,
        read: impl Fn(&mut Input<'_>) -> Result<T, Error>,
    ) -> Result<T, WalkError> {
        self.take_with(read, |_| ())
    }

    /// Reads what cannot be divided, with as many more bytes of the file as that takes.
    fn take_with<T>(
        &mut self,
        read: impl Fn(&mut Input<'_>) -> Result<T, Error>,
        raw: impl FnMut(&[u8]),
    ) -> Result<T, WalkError> {
        loop {
            let mut input = self.input();
            match read(&mut input) {
                Ok(found) => {
                    let to = input.at();
                    self.consume_to(to, raw);
                    return Ok(found);
                }
                Err(error) if error.is_end() => self.fill()?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn consume_to(&mut self, at: u64, mut raw: impl FnMut(&[u8])) {
        let count = narrow::to_usize(at - self.at);
        let bytes = &self.buffer[self.from..self.from + count];
        self.checksum.add(bytes);
        raw(bytes);
        self.from += count;
        self.at = at;
    }

    /// Reads more bytes: at least as many as are there, so that an item of any length takes few
    /// tries.
    fn fill(&mut self) -> Result<(), WalkError> {
        self.buffer.drain(..self.from);
        self.from = 0;
        let begin = self.buffer.len();
        if begin > ITEM_BYTES_MAX {
            let flaw = Flaw::Damaged("something longer than 4 GiB");
            return Err(Error { at: self.at, flaw }.into());
        }
        let wanted = PIECE_BYTES.max(begin) as u64;
        self.file.by_ref().take(wanted).read_to_end(&mut self.buffer)?;
        if self.buffer.len() == begin {
            return Err(Error { at: self.at, flaw: Flaw::Ends }.into());
        }
        Ok(())
    }
}
