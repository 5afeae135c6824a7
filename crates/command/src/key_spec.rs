//! Key specifications: places of the keys in a request, and what a command does to them.
//!
//! ```text
//! row.keys: specifications, told by COMMAND INFO ──┐
//! request ─────────────────────────────────────────┴─▶ row.find_keys ──▶ keys with their flags
//! ```
//! Most rows have `find` for `find_keys`. If a specification does not tell which argument is the
//! key, the row names a function of its own, which stands beside the handler.

use bitflags::bitflags;

bitflags! {
    /// Use of a key by a command, as COMMAND GETKEYSANDFLAGS shows it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct KeyFlags: u16 {
        /// Reads.
        const RO = 1 << 0;
        /// Reads and writes.
        const RW = 1 << 1;
        /// Writes without reading.
        const OW = 1 << 2;
        /// Removes.
        const RM = 1 << 3;
        /// Returns the value or something from it.
        const ACCESS = 1 << 4;
        /// Changes the value depending on what it was.
        const UPDATE = 1 << 5;
        /// Adds to the value.
        const INSERT = 1 << 6;
        /// Takes from the value.
        const DELETE = 1 << 7;
        /// The flags depend on the arguments.
        const VARIABLE = 1 << 8;
        /// The specification does not find all keys, or others than keys.
        const INCOMPLETE = 1 << 9;
        /// No key, but routed as one in a cluster.
        const NOT_KEY = 1 << 10;
    }
}

/// Key specification, as COMMAND INFO shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySpec {
    /// Rule by which the keys are found.
    pub search: KeySearch,
    /// Use of the keys by the command.
    pub flags: KeyFlags,
}

/// Rule by which keys are found. Positions count arguments; the name of the command is argument
/// zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySearch {
    /// Keys from one position to another.
    Range {
        /// Position of the first key.
        first: i16,
        /// Position of the last key; a negative one counts from the end.
        last: i16,
        /// Step from one key to the next, in arguments.
        step: i16,
    },
    /// Keys behind an argument that tells their number.
    Counted {
        /// Position of that argument.
        at: i16,
        /// Step from one key to the next, in arguments.
        step: i16,
    },
    /// One key behind a keyword, which is searched from a position on. If it occurs several times,
    /// the row's `find_keys` decides.
    Keyword {
        /// The keyword.
        word: &'static str,
        /// First position at which it may stand.
        from: i16,
    },
    /// The first half of the arguments behind a keyword, which is searched from a position on.
    FirstHalf {
        /// The keyword.
        word: &'static str,
        /// First position at which it may stand.
        from: i16,
    },
    /// All arguments behind a keyword, which is searched from a position on, from the end if it is
    /// negative. The row's `find_keys` decides.
    Rest {
        /// The keyword.
        word: &'static str,
        /// First position at which it may stand.
        from: i16,
    },
    /// Keys that no rule of this list finds.
    Unknown,
}

/// Keys of a request, each with its flags.
pub type FoundKeys<'r> = Vec<(&'r [u8], KeyFlags)>;

/// Function that finds the keys of a request; returns `None` if the request does not tell them.
pub type FindKeys = for<'r> fn(&[KeySpec], &[&'r [u8]]) -> Option<FoundKeys<'r>>;

impl KeySpec {
    /// Specifies the first argument.
    pub const fn one(flags: KeyFlags) -> KeySpec {
        KeySpec::at(1, flags)
    }

    /// Specifies the argument at a position.
    pub const fn at(position: i16, flags: KeyFlags) -> KeySpec {
        KeySpec::range(position, position, 1, flags)
    }

    /// Specifies every argument.
    pub const fn all(flags: KeyFlags) -> KeySpec {
        KeySpec::from(1, flags)
    }

    /// Specifies every argument from a position on.
    pub const fn from(position: i16, flags: KeyFlags) -> KeySpec {
        KeySpec::range(position, -1, 1, flags)
    }

    /// Specifies the arguments from one position to another, in steps.
    pub const fn range(first: i16, last: i16, step: i16, flags: KeyFlags) -> KeySpec {
        KeySpec { search: KeySearch::Range { first, last, step }, flags }
    }

    /// Specifies keys behind the argument that tells their number, in steps.
    pub const fn counted(at: i16, step: i16, flags: KeyFlags) -> KeySpec {
        KeySpec { search: KeySearch::Counted { at, step }, flags }
    }

    /// Specifies one key behind a keyword.
    pub const fn keyword(word: &'static str, from: i16, flags: KeyFlags) -> KeySpec {
        KeySpec { search: KeySearch::Keyword { word, from }, flags }
    }

    /// Specifies the first half of the arguments behind a keyword.
    pub const fn first_half(word: &'static str, from: i16, flags: KeyFlags) -> KeySpec {
        KeySpec { search: KeySearch::FirstHalf { word, from }, flags }
    }

    /// Specifies all arguments behind a keyword.
    pub const fn rest(word: &'static str, from: i16, flags: KeyFlags) -> KeySpec {
        KeySpec { search: KeySearch::Rest { word, from }, flags }
    }

    /// Specifies keys that no rule finds.
    pub const fn unknown(flags: KeyFlags) -> KeySpec {
        KeySpec { search: KeySearch::Unknown, flags }
    }

    /// Returns true if what it finds are keys.
    pub fn is_key(&self) -> bool {
        !self.flags.contains(KeyFlags::NOT_KEY)
    }

    /// Returns true if it names one key, at the same position in every request.
    pub fn is_one(&self) -> bool {
        let is_one = |first, last| first == last && first > 0;
        self.is_key()
            && matches!(self.search, KeySearch::Range { first, last, .. } if is_one(first, last))
    }

    /// Position of the first key, if there are any, behind the argument that tells their number.
    pub fn counted_position(&self) -> Option<usize> {
        match self.search {
            KeySearch::Counted { at, .. } if self.is_key() => usize::try_from(at + 1).ok(),
            _ => None,
        }
    }

    /// Position of the first key, if it is the same in every request.
    pub fn first_position(&self) -> Option<usize> {
        match self.search {
            KeySearch::Range { first, .. } if self.is_key() => usize::try_from(first).ok(),
            _ => None,
        }
    }
}

/// Finds keys by their specifications alone.
pub fn find<'r>(specs: &[KeySpec], request: &[&'r [u8]]) -> Option<FoundKeys<'r>> {
    let mut found = Vec::new();
    let keys = specs.iter().filter(|spec| spec.is_key());
    for KeySpec { search, flags } in keys {
        let mut add = |keys: &mut dyn Iterator<Item = &&'r [u8]>| {
            let before = found.len();
            found.extend(keys.map(|key| (*key, *flags)));
            found.len() - before
        };
        match *search {
            KeySearch::Range { first, last, step } => {
                let last =
                    if last < 0 { request.len() as i64 + i64::from(last) } else { last.into() };
                let end = usize::try_from(last + 1).ok()?.min(request.len());
                let range = request.get(usize::try_from(first).ok()?..end)?;
                if add(&mut range.iter().step_by(usize::try_from(step).ok()?)) == 0 {
                    return None;
                }
            }
            KeySearch::Counted { at, step } => {
                let (at, step) = (usize::try_from(at).ok()?, usize::try_from(step).ok()?);
                let count = text::parse_i64(request.get(at)?).filter(|count| *count > 0)?;
                let count = usize::try_from(count).ok()?;
                if add(&mut request[at + 1..].iter().step_by(step).take(count)) < count {
                    return None;
                }
            }
            KeySearch::FirstHalf { word, from } => {
                let mut rest = request.iter().skip(usize::try_from(from).ok()?);
                rest.find(|it| it.eq_ignore_ascii_case(word.as_bytes()))?;
                // Of an odd number, the argument in the middle is no key.
                let half = rest.len() / 2;
                if add(&mut rest.take(half)) == 0 {
                    return None;
                }
            }
            KeySearch::Keyword { .. } | KeySearch::Rest { .. } | KeySearch::Unknown => {}
        }
    }
    Some(found)
}

/// Finds keys as `find` does, but with `flags` for each of them.
pub fn find_with_flags<'r>(
    flags: KeyFlags,
    specs: &[KeySpec],
    request: &[&'r [u8]],
) -> Option<FoundKeys<'r>> {
    let found = find(specs, request)?;
    Some(found.into_iter().map(|(key, _)| (key, flags)).collect())
}

/// Returns the positions of the first and last key and the step, as the oldest fields of COMMAND
/// INFO show them: one range for all specifications that are ranges, zeros if none is.
pub fn as_one_range(specs: &[KeySpec]) -> (i16, i16, i16) {
    let mut ranges = specs.iter().filter_map(|spec| match spec.search {
        KeySearch::Range { first, last, step } => Some((first, last, step)),
        _ => None,
    });
    match (ranges.clone().next(), ranges.next_back()) {
        (Some((first, ..)), Some((_, last, step))) => (first, last, step),
        _ => (0, 0, 0),
    }
}

/// Returns true if the keys cannot be found without reading arguments.
pub fn are_movable(specs: &[KeySpec]) -> bool {
    specs.iter().any(|spec| !matches!(spec.search, KeySearch::Range { .. }))
}
