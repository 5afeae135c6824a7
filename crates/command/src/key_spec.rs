//! Where the keys of a request are, and what happens to them.
//!
//! ```text
//! row.keys: specifications, told by COMMAND INFO ──┐
//! request ─────────────────────────────────────────┴─▶ row.find_keys ──▶ keys with their flags
//! ```
//! `find` is what most rows have for `find_keys`. Where a specification does not say which argument
//! is the key, the row names a function of its own, which stands beside the handler.

use bitflags::bitflags;

bitflags! {
    /// What a command does to a key, as COMMAND GETKEYSANDFLAGS tells.
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
    }
}

/// A key specification, as COMMAND INFO tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySpec {
    /// How the keys are found.
    pub search: KeySearch,
    /// What happens to them.
    pub flags: KeyFlags,
}

/// How keys are found. Positions count arguments, the name of the command is argument zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySearch {
    /// From one position to another.
    Range {
        /// Position of the first key.
        first: i16,
        /// Position of the last key; a negative one counts from the end.
        last: i16,
        /// Arguments from one key to the next.
        step: i16,
    },
    /// Behind an argument that says how many there are.
    Counted {
        /// Position of that argument.
        at: i16,
        /// Arguments from one key to the next.
        step: i16,
    },
    /// One key behind a keyword, which is looked for from a position on. Which of several counts,
    /// the row's `find_keys` knows.
    Keyword {
        /// The keyword.
        word: &'static str,
        /// Where it may stand first.
        from: i16,
    },
    /// The first half of the arguments behind a keyword, which is looked for from a position on.
    FirstHalf {
        /// The keyword.
        word: &'static str,
        /// Where it may stand first.
        from: i16,
    },
    /// In a way that cannot be told.
    Unknown,
}

/// Keys of a request, and what happens to each.
pub type FoundKeys<'r> = Vec<(&'r [u8], KeyFlags)>;

/// Finds the keys of a request; `None` when it does not say where they are.
pub type FindKeys = for<'r> fn(&[KeySpec], &[&'r [u8]]) -> Option<FoundKeys<'r>>;

impl KeySpec {
    /// The first argument.
    pub const fn one(flags: KeyFlags) -> KeySpec {
        KeySpec::at(1, flags)
    }

    /// The argument at a position.
    pub const fn at(position: i16, flags: KeyFlags) -> KeySpec {
        KeySpec::range(position, position, 1, flags)
    }

    /// Every argument.
    pub const fn all(flags: KeyFlags) -> KeySpec {
        KeySpec::from(1, flags)
    }

    /// Every argument from a position on.
    pub const fn from(position: i16, flags: KeyFlags) -> KeySpec {
        KeySpec::range(position, -1, 1, flags)
    }

    /// The arguments from one position to another, in steps.
    pub const fn range(first: i16, last: i16, step: i16, flags: KeyFlags) -> KeySpec {
        KeySpec { search: KeySearch::Range { first, last, step }, flags }
    }

    /// Arguments behind the one that says how many keys there are, in steps.
    pub const fn counted(at: i16, step: i16, flags: KeyFlags) -> KeySpec {
        KeySpec { search: KeySearch::Counted { at, step }, flags }
    }

    /// One key behind a keyword.
    pub const fn keyword(word: &'static str, from: i16, flags: KeyFlags) -> KeySpec {
        KeySpec { search: KeySearch::Keyword { word, from }, flags }
    }

    /// The first half of what stands behind a keyword.
    pub const fn first_half(word: &'static str, from: i16, flags: KeyFlags) -> KeySpec {
        KeySpec { search: KeySearch::FirstHalf { word, from }, flags }
    }

    /// Keys that no position tells.
    pub const fn unknown(flags: KeyFlags) -> KeySpec {
        KeySpec { search: KeySearch::Unknown, flags }
    }

    /// Whether it names one key, at the same position in every request.
    pub fn is_one(&self) -> bool {
        matches!(self.search, KeySearch::Range { first, last, .. } if first == last && first > 0)
    }

    /// Position of the first key, if it is the same in every request.
    pub fn first_position(&self) -> Option<usize> {
        match self.search {
            KeySearch::Range { first, .. } => usize::try_from(first).ok(),
            _ => None,
        }
    }
}

/// Finds keys by their specifications alone.
pub fn find<'r>(specs: &[KeySpec], request: &[&'r [u8]]) -> Option<FoundKeys<'r>> {
    let mut found = Vec::new();
    for KeySpec { search, flags } in specs {
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
            KeySearch::Keyword { .. } | KeySearch::Unknown => {}
        }
    }
    Some(found)
}

/// The same, where this very request says what happens to the keys.
pub fn find_with_flags<'r>(
    flags: KeyFlags,
    specs: &[KeySpec],
    request: &[&'r [u8]],
) -> Option<FoundKeys<'r>> {
    let found = find(specs, request)?;
    Some(found.into_iter().map(|(key, _)| (key, flags)).collect())
}

/// Position of the first key, the last one and the step between, as the first version of COMMAND
/// INFO told them: of all keys in one, if they follow a pattern.
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

/// Whether a look at the arguments is needed to find the keys.
pub fn are_movable(specs: &[KeySpec]) -> bool {
    specs.iter().any(|spec| !matches!(spec.search, KeySearch::Range { .. }))
}
