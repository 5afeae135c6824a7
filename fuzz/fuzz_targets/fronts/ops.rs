//! What is done to a store and its model.

use crate::model::{Expiry, GIVEN};
use arbitrary::Arbitrary;
use base::Millis;

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Ttl {
    Never,
    Seconds(u8),
    AtOnce,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Number {
    Told,
    Given(u8),
    Zero,
    One,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Content {
    Number(u64),
    Letters {
        byte: u8,
        len: u16,
    },
    /// As long as one piece may be, or so many bytes more or less.
    Border {
        byte: u8,
        more: i8,
    },
    Long(u8),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Storing {
    Set,
    Add,
    Replace,
    Cas(Number),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Mode {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
}

/// Flags that all meta commands know.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Common {
    pub key: u8,
    /// True if the key is given in base64.
    pub is_base64: bool,
    pub is_quiet: bool,
    pub with_cas: bool,
    /// CAS that is given.
    pub new_cas: Option<u8>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct MetaGet {
    pub common: Common,
    pub vivify: Option<Ttl>,
    pub recache: Option<u8>,
    pub expiry: Option<Ttl>,
    pub keeps_history: bool,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct MetaSet {
    pub common: Common,
    pub mode: Mode,
    pub compare: Option<Number>,
    pub invalidates: bool,
    pub flags: u32,
    pub expiry: Ttl,
    pub vivify: Option<Ttl>,
    pub content: Content,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct MetaDelete {
    pub common: Common,
    pub compare: Option<Number>,
    pub invalidates: bool,
    pub drops: bool,
    pub flags: u32,
    pub expiry: Option<Ttl>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct MetaReckon {
    pub common: Common,
    pub compare: Option<Number>,
    pub vivify: Option<Ttl>,
    pub initial: u64,
    pub delta: u64,
    pub is_decrement: bool,
    pub expiry: Option<Ttl>,
}

/// Line of the text protocol. Of these with a key, `is_quiet` is noreply.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Text {
    Get { with_cas: bool, expiry: Option<Ttl> },
    Store { how: Storing, flags: u32, expiry: Ttl, content: Content },
    Extend { is_append: bool, content: Content },
    Touch { expiry: Ttl },
    Delete,
    Reckon { delta: u64, is_decrement: bool },
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Resp {
    Get,
    Set,
    SetKeepTtl,
    Append,
    /// SETRANGE.
    SetRange(u32),
    Incr,
    Del,
    Persist,
    Expire(u8),
    /// GETEX.
    GetEx(u8),
    Rename,
    Copy,
    /// VARVE.ATTRIBUTES.
    Attributes,
    /// VARVE.NOTED with SET, or with EXISTS.
    Noted(Noted),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Noted {
    pub is_mark: bool,
    pub flags: u32,
    pub cas: Option<u8>,
    pub is_stale: bool,
    pub is_won: bool,
    pub is_key_in_base64: bool,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Op {
    Text {
        key: u8,
        is_quiet: bool,
        line: Text,
    },
    MetaGet(MetaGet),
    MetaSet(MetaSet),
    MetaDelete(MetaDelete),
    MetaReckon(MetaReckon),
    FlushAll,
    Resp {
        key: u8,
        other: u8,
        what: Resp,
        content: Content,
    },
    Advance {
        millis: u16,
    },
    Clean,
    Sweep,
    /// From now on long values come apart from their requests, or with them.
    ReceiveApart(bool),
    /// A snapshot that is taken during so many operations, after so many steps of it.
    Snapshot {
        steps: u8,
        ops: u8,
    },
}

impl Content {
    pub fn bytes(self) -> Vec<u8> {
        match self {
            Content::Number(number) => (number >> (number % 64)).to_string().into_bytes(),
            Content::Letters { byte, len } => vec![byte; usize::from(len % 300)],
            Content::Border { byte, more } => {
                vec![byte; PIECE_MAX.saturating_add_signed(isize::from(more % 4))]
            }
            Content::Long(byte) => vec![byte; 600_000],
        }
    }
}

impl Ttl {
    pub fn word(self) -> String {
        match self {
            Ttl::Never => "0".to_owned(),
            Ttl::Seconds(seconds) => (1 + u32::from(seconds)).to_string(),
            Ttl::AtOnce => "-1".to_owned(),
        }
    }

    pub fn expiry(self, now: Millis) -> Expiry {
        match self {
            Ttl::Never => Some(None),
            Ttl::Seconds(seconds) => Some(Some(Millis(now.0 + 1000 * (1 + u64::from(seconds))))),
            Ttl::AtOnce => None,
        }
    }
}

impl Common {
    pub fn key(self) -> usize {
        key_of(self.key)
    }

    /// True if the key is given in base64, as one must be that no line can name.
    pub fn is_base64(self) -> bool {
        self.is_base64 || !is_word(self.key())
    }

    /// The key as it is given, and as it is echoed where that is so.
    pub fn name(self) -> String {
        meta_name(self.key(), self.is_base64())
    }

    pub fn new_cas(self) -> Option<u64> {
        self.new_cas.map(|low| GIVEN + u64::from(low))
    }

    /// What stands behind the key: what is asked for comes first, so k and c are told first.
    pub fn words(self) -> String {
        let base64 = if self.is_base64() { " b" } else { "" };
        let quiet = if self.is_quiet { " q" } else { "" };
        let cas = if self.with_cas { " c" } else { "" };
        let given = self.new_cas().map_or(String::new(), |it| format!(" E{it}"));
        format!("{base64}{quiet} k{cas}{given}")
    }
}

/// A key in a meta command or its answer: in base64 with the flag that says so, or as it is.
pub fn meta_name(key: usize, is_base64: bool) -> String {
    match is_base64 {
        true => BASE64[key].to_owned(),
        false => NAMES[key].to_owned(),
    }
}

/// True if a line can name the key as it is.
pub fn is_word(key: usize) -> bool {
    !NAMES[key].contains([' ', '\n'])
}

pub fn key_of(key: u8) -> usize {
    usize::from(key) % NAMES.len()
}

pub const NAMES: [&str; 5] = ["key:0", "key:1", "key:2", "key:3", "a key\r\nEN"];
const BASE64: [&str; 5] = ["a2V5OjA=", "a2V5OjE=", "a2V5OjI=", "a2V5OjM=", "YSBrZXkNCkVO"];
/// Most bytes of a string in one piece.
pub const PIECE_MAX: usize = 512 << 10;
/// Values do not grow beyond this.
pub const VALUE_MAX: usize = 1 << 20;
