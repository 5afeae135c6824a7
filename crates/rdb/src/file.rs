//! Files: what stands around keys and values.

use crate::error::{Error, Flaw};
use crate::format::{
    CHECKSUM_BYTES, CHECKSUM_SINCE, Dialect, HEADER_BYTES, MAGIC, VALKEY_MAGIC, ValueType, Version,
    module_name, opcode,
};
use crate::input::Input;
use crate::output::Output;
use std::borrow::Cow;
use std::io::Write;
use text::AttributeNote;

/// Begin of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Version of the file.
    pub version: Version,
}

/// What stands at one place of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A name and a text about the file.
    Aux {
        /// The name.
        name: Cow<'a, [u8]>,
        /// The text.
        text: Cow<'a, [u8]>,
    },
    /// Number of the database of the keys that follow.
    Select(u64),
    /// Sizes of the database, a hint.
    Sizes {
        /// Number of keys.
        keys: u64,
        /// Number of keys with a deadline.
        with_deadline: u64,
    },
    /// State of a slot of a cluster, which means nothing to data.
    Slot,
    /// Source of a function library.
    Function(Cow<'a, [u8]>),
    /// A key; its value follows.
    Key(KeyFacts<'a>),
    /// End of the file; behind it stands the checksum of all bytes before.
    End,
}

/// What is told of a key before its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFacts<'a> {
    /// Name of the key.
    pub name: Cow<'a, [u8]>,
    /// Type of its value.
    pub value_type: ValueType,
    /// Its deadline in milliseconds since the Unix epoch.
    pub deadline: Option<u64>,
    /// Seconds since its last access.
    pub idle: Option<u64>,
    /// Frequency of access, from 0 to 255.
    pub frequency: Option<u8>,
    /// What a string has besides its value.
    pub attributes: Option<AttributeNote>,
}

/// Facts of a key that stand before its type, in the order in which they are written. Readers take
/// them for the next key, however much that is none stands between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// Deadline in milliseconds since the Unix epoch.
    pub deadline: Option<u64>,
    /// Seconds since the last access.
    pub idle: Option<u64>,
    /// Frequency of access, from 0 to 255.
    pub frequency: Option<u8>,
    /// What a string has besides its value.
    pub attributes: Option<AttributeNote>,
}

impl Header {
    /// Returns true if a checksum stands behind the file.
    pub fn has_checksum(self) -> bool {
        self.version.0 >= CHECKSUM_SINCE
    }

    /// Bytes of the checksum behind the file.
    pub const CHECKSUM_BYTES: usize = CHECKSUM_BYTES;
}

/// Reads the begin of a file.
///
/// # Errors
/// When the file is none of this format or, with `checks_version`, of a version that is not known.
pub fn read_header(input: &mut Input<'_>, checks_version: bool) -> Result<Header, Error> {
    let begin = input.clone();
    let bytes: [u8; HEADER_BYTES] = input.array()?;
    let digits = bytes.strip_prefix(MAGIC).or_else(|| bytes.strip_prefix(VALKEY_MAGIC));
    let digits = digits.filter(|it| it.iter().all(u8::is_ascii_digit));
    let digits = digits.ok_or_else(|| begin.damaged("this is no RDB file"))?;
    let number = digits.iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0'));
    let version = Version(number);
    if checks_version && !version.is_known() {
        return Err(begin.error(Flaw::UnknownVersion(number)));
    }
    Ok(Header { version })
}

/// Reads facts of a key, as many as stand here one behind the other, over those that `opening` has.
///
/// # Errors
/// When they do not end; `opening` is as it was then.
pub fn read_opening(input: &mut Input<'_>, opening: &mut Opening) -> Result<(), Error> {
    let (mut ahead, mut found) = (input.clone(), *opening);
    loop {
        let begin = ahead.clone();
        match ahead.byte()? {
            opcode::DEADLINE_MILLIS => {
                found.deadline = deadline(i64::from_le_bytes(ahead.array()?))
            }
            opcode::DEADLINE_SECONDS => {
                let seconds = i64::from(i32::from_le_bytes(ahead.array()?));
                found.deadline = deadline(seconds * 1000);
            }
            opcode::IDLE => found.idle = Some(ahead.length()?),
            opcode::FREQUENCY => found.frequency = Some(ahead.byte()?),
            opcode::AUX if let Some(attributes) = read_attributes(&mut ahead)? => {
                found.attributes = Some(attributes);
            }
            _ => {
                (*input, *opening) = (begin, found);
                return Ok(());
            }
        }
    }
}

/// Reads a name and a text; `None` if they do not tell attributes.
fn read_attributes(input: &mut Input<'_>) -> Result<Option<AttributeNote>, Error> {
    let name = input.bytes()?;
    Ok(if name[..] == *AttributeNote::FIELD { AttributeNote::parse(&input.bytes()?) } else { None })
}

/// Reads what stands at one place of a file. Of a key all before its value is read, and the facts
/// in `opening` are its own; anything else leaves them to the next key.
///
/// # Errors
/// When it is damaged, unknown, of a module, or does not end; `opening` is as it was then.
pub fn read_item<'a>(
    input: &mut Input<'a>,
    dialect: Dialect,
    opening: &mut Opening,
) -> Result<Item<'a>, Error> {
    let mut found = *opening;
    read_opening(input, &mut found)?;
    let item = read_behind_opening(input, dialect, found)?;
    *opening = if matches!(item, Item::Key(_)) { Opening::default() } else { found };
    Ok(item)
}

fn read_behind_opening<'a>(
    input: &mut Input<'a>,
    dialect: Dialect,
    Opening { deadline, idle, frequency, attributes }: Opening,
) -> Result<Item<'a>, Error> {
    let begin = input.clone();
    Ok(match input.byte()? {
        opcode::AUX => Item::Aux { name: input.bytes()?, text: input.bytes()? },
        opcode::SELECT => Item::Select(input.length()?),
        opcode::RESIZE => Item::Sizes { keys: input.length()?, with_deadline: input.length()? },
        opcode::SLOT_INFO => {
            [(); 3].iter().try_for_each(|()| input.length().map(drop))?;
            Item::Slot
        }
        opcode::SLOT_IMPORT if dialect == Dialect::Valkey => {
            input.bytes()?;
            let ranges = input.length()?;
            (0..ranges.saturating_mul(2)).try_for_each(|_| input.length().map(drop))?;
            Item::Slot
        }
        opcode::FUNCTION => Item::Function(input.bytes()?),
        opcode::FUNCTION_OLD => return Err(begin.damaged("functions of a release candidate")),
        opcode::MODULE_AUX => {
            let name = module_name(input.length()?);
            return Err(begin.error(Flaw::Module(name)));
        }
        opcode::EOF => Item::End,
        number => {
            let value_type = ValueType::of(number, dialect);
            let value_type = value_type.ok_or_else(|| begin.error(Flaw::UnknownType(number)))?;
            let name = input.bytes()?;
            Item::Key(KeyFacts { name, value_type, deadline, idle, frequency, attributes })
        }
    })
}

/// Deadline in a file, where -1 is none; one before the epoch has passed as one at its begin has.
fn deadline(millis: i64) -> Option<u64> {
    (millis != -1).then(|| u64::try_from(millis).unwrap_or(0))
}

impl Output {
    /// Writes the begin of a file.
    pub fn header(&mut self, version: Version) {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        // Writing to a vector cannot fail.
        let _ = match version.dialect() {
            Dialect::Redis => write!(bytes, "REDIS{:04}", version.0),
            Dialect::Valkey => write!(bytes, "VALKEY{:03}", version.0),
        };
        self.raw(&bytes);
    }

    /// Writes a name and a text about the file.
    pub fn aux(&mut self, name: &str, text: &[u8]) {
        self.byte(opcode::AUX);
        self.text(name.as_bytes());
        self.text(text);
    }

    /// Writes the number of the database of the keys that follow.
    pub fn select(&mut self, number: u64) {
        self.byte(opcode::SELECT);
        self.length(number);
    }

    /// Writes the number and the sizes of the database of the keys that follow.
    pub fn database(&mut self, number: u64, keys: u64, with_deadline: u64) {
        self.select(number);
        self.byte(opcode::RESIZE);
        self.length(keys);
        self.length(with_deadline);
    }

    /// Writes the source of a function library.
    pub fn function(&mut self, source: &[u8]) {
        self.byte(opcode::FUNCTION);
        self.text(source);
    }

    /// Writes what stands before the type of a key's value.
    #[inline]
    pub fn opening(&mut self, opening: Opening) {
        if let Some(attributes) = opening.attributes {
            self.byte(opcode::AUX);
            self.text(AttributeNote::FIELD);
            self.text(&attributes.to_text());
        }
        if let Some(deadline) = opening.deadline {
            self.byte(opcode::DEADLINE_MILLIS);
            self.raw(&deadline.to_le_bytes());
        }
        if let Some(idle) = opening.idle {
            self.byte(opcode::IDLE);
            self.length(idle);
        }
        if let Some(frequency) = opening.frequency {
            self.byte(opcode::FREQUENCY);
            self.byte(frequency);
        }
    }

    /// Writes the end of a file; its checksum follows.
    pub fn end(&mut self) {
        self.byte(opcode::EOF);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_they_were_written() {
        for version in [Version(6), Version::COMMON, Version::REDIS, Version::VALKEY] {
            let mut output = Output::default();
            output.header(version);
            assert_eq!(output.bytes().len(), HEADER_BYTES);
            let header = read_header(&mut Input::new(output.bytes(), 0), true).expect("known");
            assert_eq!(header, Header { version });
        }
        for bytes in [b"REDIS00x1", b"REDIT0011", b"REDIS0014", b"VALKEY082", b"REDIS0000"] {
            assert!(read_header(&mut Input::new(bytes, 0), true).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn items_are_read_as_they_were_written() {
        let mut output = Output::default();
        output.aux("redis-bits", b"64");
        output.database(9, 1000, 3);
        let attributes = Some(AttributeNote { flags: 7, ..AttributeNote::default() });
        output.opening(Opening {
            deadline: Some(77),
            idle: None,
            frequency: Some(255),
            attributes,
        });
        output.byte(0);
        output.text(b"k");
        output.text(b"v");
        output.end();
        let mut input = Input::new(output.bytes(), 0);
        let mut held = Opening::default();
        let mut next = || read_item(&mut input, Dialect::Redis, &mut held).expect("whole");
        assert_eq!(next(), Item::Aux { name: b"redis-bits".into(), text: b"64".into() });
        assert_eq!(next(), Item::Select(9));
        assert_eq!(next(), Item::Sizes { keys: 1000, with_deadline: 3 });
        let facts = KeyFacts {
            name: b"k".into(),
            value_type: ValueType::String,
            deadline: Some(77),
            idle: None,
            frequency: Some(255),
            attributes,
        };
        assert_eq!(next(), Item::Key(facts));
        input.text().expect("the value");
        assert_eq!(read_item(&mut input, Dialect::Redis, &mut held), Ok(Item::End));
    }

    #[test]
    fn modules_are_refused_by_name() {
        let mut output = Output::default();
        output.byte(opcode::MODULE_AUX);
        output.length(0x9b49_8f92_1d1d_0c01);
        let mut input = Input::new(output.bytes(), 0);
        let error = read_item(&mut input, Dialect::Redis, &mut Opening::default());
        let Err(Error { flaw: Flaw::Module(name), .. }) = error else { panic!("{error:?}") };
        assert_eq!(name.len(), 9);
    }

    /// What may stand between the facts of a key and the key, each by its name.
    fn between(output: &mut Output, what: &str) {
        match what {
            "aux" => output.aux("mvcc-tstamp", b"1782800000000000"),
            "select" => output.select(3),
            "resize" => output.database(3, 9, 9),
            "slot info" => output.raw(&[opcode::SLOT_INFO, 7, 1, 1]),
            "slot import" => {
                output.byte(opcode::SLOT_IMPORT);
                output.text(b"job");
                output.raw(&[1, 3, 4]);
            }
            "function" => output.function(b"#!lua name=l"),
            "facts" => output.opening(Opening { idle: Some(1), ..Opening::default() }),
            _ => {}
        }
    }

    #[test]
    fn facts_hold_until_the_next_key_whatever_stands_between() {
        let attributes =
            Some(AttributeNote { flags: 300, is_won: true, ..AttributeNote::default() });
        let all = Opening { deadline: Some(77), idle: Some(300), frequency: Some(9), attributes };
        let words = ["nothing", "aux", "select", "resize", "slot info", "slot import", "function"];
        for word in words.into_iter().chain(["facts"]) {
            let mut output = Output::default();
            between(&mut output, word);
            output.opening(Opening { idle: None, frequency: None, ..all });
            between(&mut output, word);
            output.opening(Opening { deadline: None, attributes: None, ..all });
            if word != "facts" {
                between(&mut output, word);
            }
            [&b"\0"[..], b"\x01k\x01v", b"\0", b"\x01l\x01v"].iter().for_each(|it| output.raw(it));
            output.end();
            let (keys, _) = read_all(output.bytes());
            let facts = |at: usize| {
                let KeyFacts { deadline, idle, frequency, attributes, .. } = keys[at].clone();
                Opening { deadline, idle, frequency, attributes }
            };
            assert_eq!((facts(0), facts(1)), (all, Opening::default()), "{word}");
            for len in 0..output.bytes().len() {
                assert!(read_all(&output.bytes()[..len]).1, "{word} truncated to {len} bytes");
            }
        }
    }

    /// The keys of strings, and whether the bytes end too early.
    fn read_all(bytes: &[u8]) -> (Vec<KeyFacts<'_>>, bool) {
        let (mut input, mut held, mut keys) = (Input::new(bytes, 0), Opening::default(), vec![]);
        loop {
            match read_item(&mut input, Dialect::Valkey, &mut held) {
                Ok(Item::End) => return (keys, false),
                Ok(Item::Key(facts)) if input.text().is_ok() => keys.push(facts),
                Ok(Item::Key(_)) => return (keys, true),
                Ok(_) => {}
                Err(error) => return (keys, error.is_end()),
            }
        }
    }

    #[test]
    fn a_note_that_tells_no_attributes_is_one_of_the_file() {
        for (name, text) in [("va", "f5x"), ("v", "f5"), ("VA", "f5"), ("vaf", "5")] {
            let mut output = Output::default();
            output.aux(name, text.as_bytes());
            output.raw(b"\0\x01k\x01v");
            output.end();
            let mut input = Input::new(output.bytes(), 0);
            let item = read_item(&mut input, Dialect::Redis, &mut Opening::default());
            let (name, text) = (name.as_bytes().into(), text.as_bytes().into());
            assert_eq!(item, Ok(Item::Aux { name, text }));
            assert_eq!(read_all(output.bytes()).0[0].attributes, None);
        }
    }

    #[test]
    fn facts_without_a_key_behind_them_are_passed_over() {
        let mut output = Output::default();
        let facts = Opening { deadline: Some(77), idle: Some(300), ..Opening::default() };
        output.opening(Opening { frequency: Some(9), ..facts });
        output.end();
        assert_eq!(read_all(output.bytes()), (vec![], false));
    }

    #[test]
    fn a_deadline_of_minus_one_is_none_and_an_earlier_one_has_passed() {
        for (millis, expected) in [(-1_i64, None), (-2, Some(0)), (0, Some(0)), (5, Some(5))] {
            let bytes = [&[opcode::DEADLINE_MILLIS][..], &millis.to_le_bytes(), b"\0\x01k\x01v"];
            let bytes = [&bytes.concat()[..], &[opcode::EOF]].concat();
            assert_eq!(read_all(&bytes).0[0].deadline, expected, "{millis}");
        }
        let bytes = [&[opcode::DEADLINE_SECONDS][..], &(-1_i32).to_le_bytes(), b"\0\x01k\x01v"];
        assert_eq!(read_all(&bytes.concat()).0[0].deadline, Some(0));
    }
}
