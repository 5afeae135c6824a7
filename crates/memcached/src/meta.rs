//! Flags of the meta commands: `mg`, `ms`, `md` and `ma`.
//!
//! All four read the same flags with the same checks, and each makes of them what it knows. A flag
//! that a command does not know, but another does, means nothing to it.
//!
//! ```text
//! flags: a letter, and what is behind it
//!     first letters   of any flag at all, else the line is no meta command
//!     all letters     known, and none of them twice
//!     then values     of b C D E F J N R T; the last that is wrong names the refusal
//!     at last         the mode of ms or ma, then the length of O
//! ```

mod flags;

use crate::Refusal;
use flags::Reader;
pub(crate) use flags::have_first_letters;
pub use flags::{Common, Echoes, OPAQUE_BYTES_MAX, WORDS_MAX};

/// Flags of `mg`. It echoes c, f, h, k, l, O, s and t.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GetFlags<'a> {
    /// b, q, O, and what is echoed.
    pub common: Common<'a>,
    /// v: the value is wanted.
    pub wants_value: bool,
    /// u: the item's history stays as it is.
    pub keeps_history: bool,
    /// C: the value is not wanted of an item that has this CAS value.
    pub compare: Option<u64>,
    /// E: CAS value for an item that N makes.
    pub new_cas: Option<u64>,
    /// N: a missing item is made, empty, with this expiry.
    pub vivify: Option<i32>,
    /// R: below so many seconds to live, a client is told to write the item anew.
    pub recache: Option<i32>,
    /// T: expiry to set.
    pub expiry: Option<i32>,
}

impl<'a> GetFlags<'a> {
    /// Reads the words behind the key.
    ///
    /// # Errors
    /// The reason to refuse the line.
    pub fn parse(
        key: &[u8],
        words: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Result<Self, Refusal> {
        let flags = Reader::GET.read(key, words)?;
        Ok(GetFlags {
            common: flags.common(),
            wants_value: flags.has(b'v'),
            keeps_history: flags.has(b'u'),
            compare: flags.compare,
            new_cas: flags.new_cas(),
            vivify: flags.vivify,
            recache: flags.recache,
            expiry: flags.expiry,
        })
    }
}

/// Mode of `ms`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SetMode {
    /// S, and without a mode.
    #[default]
    Set,
    /// E: only under a key that has no item.
    Add,
    /// R: only under a key that has one.
    Replace,
    /// A: behind the bytes that are there.
    Append,
    /// P: before them.
    Prepend,
}

/// Flags of `ms`. It echoes c, k, O and s.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SetFlags<'a> {
    /// b, q, O, and what is echoed.
    pub common: Common<'a>,
    /// C: the item must have this CAS value; 0 is that of none.
    pub compare: Option<u64>,
    /// E: CAS value for the item.
    pub new_cas: Option<u64>,
    /// F: flags of the item.
    pub item_flags: u32,
    /// I: with a C below the item's value, the item is stored, and stale.
    pub invalidates: bool,
    /// T: expiry of the item.
    pub expiry: Option<i32>,
    /// M: how it is stored.
    pub mode: SetMode,
    /// N: a missing item is made by append and prepend, with this expiry.
    pub vivify: Option<i32>,
}

impl<'a> SetFlags<'a> {
    /// Returns true if it depends on the CAS of the item whether the block is stored: a mode that
    /// adds looks at none, and to an item that is extended 0 is none.
    pub fn looks_at_cas(&self) -> bool {
        match self.mode {
            SetMode::Add => false,
            SetMode::Append | SetMode::Prepend => self.compare.is_some_and(|cas| cas != 0),
            SetMode::Set | SetMode::Replace => self.compare.is_some(),
        }
    }

    /// Reads the words behind the length of the data block.
    ///
    /// # Errors
    /// The reason to refuse the line.
    pub fn parse(
        key: &[u8],
        words: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Result<Self, Refusal> {
        let flags = Reader::SET.read(key, words)?;
        let mode = match flags.mode {
            None => SetMode::Set,
            Some([b'S', ..]) => SetMode::Set,
            Some([b'E', ..]) => SetMode::Add,
            Some([b'R', ..]) => SetMode::Replace,
            Some([b'A', ..]) => SetMode::Append,
            Some([b'P', ..]) => SetMode::Prepend,
            Some(_) => return Err(Refusal::SetMode),
        };
        flags.check_opaque()?;
        Ok(SetFlags {
            common: flags.common(),
            compare: flags.compare,
            new_cas: flags.new_cas(),
            item_flags: flags.item_flags.unwrap_or(0),
            invalidates: flags.has(b'I'),
            expiry: flags.expiry,
            mode,
            vivify: flags.vivify,
        })
    }
}

/// Flags of `md`. It echoes k and O.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeleteFlags<'a> {
    /// b, q, O, and what is echoed.
    pub common: Common<'a>,
    /// C: the item must have this CAS value; 0 is that of none.
    pub compare: Option<u64>,
    /// E: CAS value for an item that stays.
    pub new_cas: Option<u64>,
    /// I: the item stays, and is stale.
    pub invalidates: bool,
    /// x: the item stays, without its value.
    pub drops_value: bool,
    /// F: flags of an item that stays without its value.
    pub item_flags: Option<u32>,
    /// T: expiry of an item that stays.
    pub expiry: Option<i32>,
}

impl<'a> DeleteFlags<'a> {
    /// Reads the words behind the key.
    ///
    /// # Errors
    /// The reason to refuse the line.
    pub fn parse(
        key: &[u8],
        words: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Result<Self, Refusal> {
        let flags = Reader::DELETE.read(key, words)?;
        Ok(DeleteFlags {
            common: flags.common(),
            compare: flags.compare,
            new_cas: flags.new_cas(),
            invalidates: flags.has(b'I'),
            drops_value: flags.has(b'x'),
            item_flags: flags.item_flags,
            expiry: flags.expiry,
        })
    }
}

/// Flags of `ma`. It echoes c, k, O and t.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ArithmeticFlags<'a> {
    /// b, q, O, and what is echoed.
    pub common: Common<'a>,
    /// C: the item must have this CAS value; 0 is that of none.
    pub compare: Option<u64>,
    /// E: CAS value for the item.
    pub new_cas: Option<u64>,
    /// D: what is added or subtracted; 1 if it is not given.
    pub delta: u64,
    /// J: number of an item that N makes; 0 if it is not given.
    pub initial: u64,
    /// M: true if it is subtracted.
    pub is_decrement: bool,
    /// N: a missing item is made, with this expiry.
    pub vivify: Option<i32>,
    /// T: expiry to set.
    pub expiry: Option<i32>,
    /// v: the number is wanted.
    pub wants_value: bool,
}

impl<'a> ArithmeticFlags<'a> {
    /// Reads the words behind the key.
    ///
    /// # Errors
    /// The reason to refuse the line.
    pub fn parse(
        key: &[u8],
        words: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Result<Self, Refusal> {
        let flags = Reader::ARITHMETIC.read(key, words).map_err(|_| Refusal::ArithmeticFlags)?;
        let is_decrement = match flags.mode {
            None | Some([b'I' | b'+', ..]) => false,
            Some([b'D' | b'-', ..]) => true,
            Some(_) => return Err(Refusal::ArithmeticMode),
        };
        flags.check_opaque()?;
        Ok(ArithmeticFlags {
            common: flags.common(),
            compare: flags.compare,
            new_cas: flags.new_cas(),
            delta: flags.delta.unwrap_or(1),
            initial: flags.initial.unwrap_or(0),
            is_decrement,
            vivify: flags.vivify,
            expiry: flags.expiry,
            wants_value: flags.has(b'v'),
        })
    }
}

#[cfg(test)]
mod tests;
