//! What is known of a value, and of the script as a whole.

use super::site::{CallSite, Source, Word};

/// What a register may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nil.
    Nil,
    /// Any value from which nothing of what matters can be reached.
    Other,
    /// This text of the source.
    Literal(usize),
    /// An element of `KEYS`, or nil.
    Key,
    /// The argument at this place, counted from zero, or nil.
    Argument(usize),
    /// The table of keys.
    Keys,
    /// The table of arguments.
    Arguments,
    /// The table `redis`.
    Redis,
    /// `redis.call` or `redis.pcall`.
    Call,
    /// `redis.register_function`.
    Register,
    /// `unpack`.
    Unpack,
    /// `pairs` or `ipairs`.
    Pairs,
    /// What `pairs` and `ipairs` return first for the keys or the arguments.
    Iterator,
    /// `pcall`.
    Protect,
    /// A function that reads the tables that it is given, and nothing more.
    Reader,
    /// The library `table`.
    TableLibrary,
    /// `cjson` or `cmsgpack`.
    Codec,
    /// The function that is made of this one within the present one.
    Closure(usize),
    /// The table that this instruction has made, with such a function as its field `callback`.
    Fields(usize, Option<usize>),
    /// One of several of these, of which one has to be followed.
    Mixed,
}

impl Value {
    /// Returns the value of a global.
    pub fn of_global(name: &[u8], source: Source) -> Option<Value> {
        Some(match name {
            // What makes code of texts, or leads to all globals, ends the proof.
            b"_G" | b"load" | b"loadstring" | b"getfenv" | b"setfenv" => return None,
            b"redis" | b"server" => Value::Redis,
            b"KEYS" if source == Source::Script => Value::Keys,
            b"ARGV" if source == Source::Script => Value::Arguments,
            b"unpack" => Value::Unpack,
            b"pairs" | b"ipairs" => Value::Pairs,
            b"pcall" => Value::Protect,
            b"type" | b"tostring" | b"next" => Value::Reader,
            b"table" => Value::TableLibrary,
            b"cjson" | b"cmsgpack" => Value::Codec,
            _ => Value::Other,
        })
    }

    /// Returns the field of a value, by a name if that is known; `None` ends the proof.
    pub fn field(self, name: Option<&[u8]>) -> Option<Value> {
        match (self, name) {
            (Value::Redis, Some(b"call" | b"pcall")) => Some(Value::Call),
            (Value::Redis, Some(b"register_function")) => Some(Value::Register),
            (Value::Redis, None) | (Value::Mixed, _) => None,
            (Value::Keys, _) => Some(Value::Key),
            (Value::TableLibrary, Some(b"concat" | b"getn" | b"maxn")) => Some(Value::Reader),
            (Value::Codec, Some(b"encode" | b"pack")) => Some(Value::Reader),
            _ => Some(Value::Other),
        }
    }

    /// Returns true for the tables that a script is given.
    pub fn is_given(self) -> bool {
        matches!(self, Value::Keys | Value::Arguments)
    }

    /// Returns true if it has to be followed wherever it goes.
    pub fn is_followed(self) -> bool {
        matches!(
            self,
            Value::Keys
                | Value::Arguments
                | Value::Redis
                | Value::Call
                | Value::Register
                | Value::Mixed
        )
    }

    /// Returns what is known where two ways meet. What is not followed any more is put in `lost`.
    pub fn or(self, other: Value, lost: &mut Vec<Value>) -> Value {
        if self == other {
            return self;
        }
        if self.is_followed() || other.is_followed() {
            return Value::Mixed;
        }
        lost.extend([self, other]);
        match (self, other) {
            (Value::Nil, Value::Key) | (Value::Key, Value::Nil) => Value::Key,
            _ => Value::Other,
        }
    }
}

/// What is known of a script so far.
#[derive(Debug)]
pub struct Known {
    pub source: Source,
    /// Texts of the source.
    pub texts: Vec<Vec<u8>>,
    /// True if the table of arguments may not be what it was.
    pub arguments_change: bool,
    pub sites: Vec<CallSite>,
    /// Work that may still be done.
    work_left: usize,
}

/// Most instructions that are walked and registers that are compared: some milliseconds.
const WORK_MAX: usize = 1 << 20;

impl Known {
    /// Nothing is known of a source yet.
    pub fn of(source: Source) -> Known {
        let (texts, sites) = (Vec::new(), Vec::new());
        Known { source, texts, arguments_change: false, sites, work_left: WORK_MAX }
    }

    /// Counts work that is about to be done; `None` if it is too much.
    pub fn count_work(&mut self, work: usize) -> Option<()> {
        self.work_left = self.work_left.checked_sub(work)?;
        Some(())
    }

    /// Returns the call sites; `None` if one of them may call anything.
    pub fn into_sites(self) -> Option<Vec<CallSite>> {
        let is_told = |site: &CallSite| match site.words.first() {
            Some(Word::Literal(_)) => true,
            Some(Word::Argument(_)) => !self.arguments_change,
            _ => false,
        };
        self.sites.iter().all(is_told).then_some(self.sites)
    }
}
