//! Values that were read, collected until they are whole and checked.

use crate::groups::Groups;
use crate::id::id_of;
use base::{KeyHasher, Millis};
use rdb::{Error, Flaw, Input, Kind, Part, StreamFacts, StreamPart, ValueReader, ValueType};
use store::value::Texts;
use store::value::stream::Id;

/// A value in memory of its own, whole and checked.
#[derive(Debug)]
pub struct Collected(pub(crate) Contents);

/// What a value holds.
#[derive(Debug)]
pub(crate) enum Contents {
    String(Vec<u8>),
    List(Texts),
    Set { members: Texts, was_listpack: bool },
    SortedSet { members: Texts, scores: Vec<f64>, was_packed: bool },
    Hash { texts: Texts, deadlines: Vec<(usize, Millis)> },
    Stream(Box<StreamContents>),
}

/// What a stream holds.
#[derive(Debug, Default)]
pub(crate) struct StreamContents {
    /// Names and values of all entries.
    pub texts: Texts,
    /// Id of each entry, true if a node begins with it, and the number of texts up to its end.
    pub entries: Vec<(Id, bool, usize)>,
    pub facts: StreamFacts,
    pub groups: Groups,
}

/// Reader of one value that collects its parts.
#[derive(Debug)]
pub struct Collector {
    reader: ValueReader,
    contents: Contents,
}

impl Collector {
    /// Collector of a value of this type.
    pub fn new(value_type: ValueType) -> Collector {
        let contents = match value_type.kind() {
            Kind::String | Kind::Module => Contents::String(Vec::new()),
            Kind::List => Contents::List(Texts::default()),
            Kind::Set => Contents::Set {
                members: Texts::default(),
                was_listpack: value_type == ValueType::SetListpack,
            },
            Kind::SortedSet => Contents::SortedSet {
                members: Texts::default(),
                scores: Vec::new(),
                was_packed: matches!(
                    value_type,
                    ValueType::SortedSetListpack | ValueType::SortedSetZiplist
                ),
            },
            Kind::Hash => Contents::Hash { texts: Texts::default(), deadlines: Vec::new() },
            Kind::Stream => Contents::Stream(Box::default()),
        };
        Collector { reader: ValueReader::new(value_type), contents }
    }

    /// Reads what is there; returns true if the value is complete.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn read(&mut self, input: &mut Input<'_>) -> Result<bool, Error> {
        let at = input.at();
        let Collector { reader, contents } = self;
        reader.read(input, |part| contents.add(part, at))
    }

    /// Returns the complete value.
    ///
    /// # Errors
    /// When it holds nothing, or something twice. `at` is where it stands.
    pub fn finish(mut self, hasher: &KeyHasher, at: u64) -> Result<Collected, Error> {
        match self.contents.check(hasher) {
            Ok(()) => Ok(Collected(self.contents)),
            Err(EMPTY) => Err(Error { at, flaw: Flaw::Empty }),
            Err(what) => Err(Error { at, flaw: Flaw::Damaged(what) }),
        }
    }
}

impl Contents {
    fn add(&mut self, part: Part<'_>, at: u64) -> Result<(), Error> {
        match (self, part) {
            (Contents::String(bytes), Part::String(text)) => {
                *bytes = text.into_bytes().into_owned()
            }
            (Contents::List(elements), Part::Element(element)) => {
                element.with_text(|text| elements.push(text));
            }
            (Contents::Set { members, .. }, Part::Element(member)) => {
                member.with_text(|text| members.push(text));
            }
            (Contents::SortedSet { members, scores, .. }, Part::Member { member, score }) => {
                member.with_text(|text| members.push(text));
                scores.push(score);
            }
            (Contents::Hash { texts, deadlines }, Part::Field { field, value, deadline }) => {
                deadlines.extend(deadline.map(|it| (texts.len() / 2, Millis(it))));
                field.with_text(|text| texts.push(text));
                value.with_text(|text| texts.push(text));
            }
            (Contents::Stream(stream), Part::Stream(part)) => {
                let added = stream.add(part);
                return added.map_err(|what| Error { at, flaw: Flaw::Damaged(what) });
            }
            _ => unreachable!("the reader of a type gives parts of its kind"),
        }
        Ok(())
    }

    fn check(&mut self, hasher: &KeyHasher) -> Result<(), &'static str> {
        let (names, step) = match self {
            Contents::String(_) => return Ok(()),
            Contents::Stream(stream) => return stream.groups.check(),
            Contents::List(elements) if elements.is_empty() => return Err(EMPTY),
            Contents::List(_) => return Ok(()),
            Contents::Set { members, .. } | Contents::SortedSet { members, .. } => (members, 1),
            Contents::Hash { texts, .. } => (texts, 2),
        };
        if names.is_empty() {
            return Err(EMPTY);
        }
        if names.are_distinct(step, hasher) { Ok(()) } else { Err("the same member twice") }
    }
}

const EMPTY: &str = "a collection without elements";

impl StreamContents {
    /// Forgets the entries that were read.
    pub fn forget_entries(&mut self) {
        self.texts = Texts::default();
        self.entries.clear();
    }

    /// Adds what was read; refuses what does not fit what came before.
    pub fn add(&mut self, part: StreamPart<'_>) -> Result<(), &'static str> {
        match part {
            StreamPart::Entry { id, starts_node, texts } => {
                texts.iter().for_each(|it| it.with_text(|text| self.texts.push(text)));
                self.entries.push((id_of(id), starts_node, self.texts.len()));
            }
            StreamPart::Facts(facts) => self.facts = facts,
            part => self.groups.add(part)?,
        }
        Ok(())
    }
}
