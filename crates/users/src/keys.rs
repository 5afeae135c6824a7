//! Keys that a selector allows.

use crate::pattern::{Known, Pattern};
use crate::rule::{RuleError, has_blanks};
use bitflags::bitflags;

bitflags! {
    /// What is done to a key.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Access: u8 {
        /// Its value is told, or something of it.
        const READ = 1 << 0;
        /// It is changed.
        const WRITE = 1 << 1;
    }
}

/// Keys that a selector allows, and what may be done to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// All.
    All,
    /// Those that one of these matches which allows what is done.
    Matching(Vec<(Access, Pattern)>, Known),
}

impl Keys {
    /// No keys.
    pub const NONE: Keys = Keys::Matching(Vec::new(), Known::NONE);

    /// Adds the pattern of a rule, which begins with `~` or `%`.
    ///
    /// # Errors
    /// Where the rule is none, or all keys are allowed already.
    pub fn add(&mut self, rule: &[u8]) -> Result<(), RuleError> {
        let Keys::Matching(patterns, known) = self else { return Err(RuleError::BehindAllKeys) };
        let (access, text) = split(rule).ok_or(RuleError::Syntax)?;
        if has_blanks(text) {
            return Err(RuleError::Syntax);
        }
        match known.place(text, patterns.len(), |at| patterns[at].1.text()) {
            Some(at) => patterns[at].0 |= access,
            None => patterns.push((access, Pattern::new(text))),
        }
        Ok(())
    }

    pub(crate) fn shrink(&mut self) {
        if let Keys::Matching(patterns, _) = self {
            patterns.shrink_to_fit();
        }
    }

    /// Returns true if this may be done to a key.
    #[inline]
    pub fn allow(&self, key: &[u8], access: Access) -> bool {
        match self {
            Keys::All => true,
            Keys::Matching(patterns, _) => {
                for (allowed, pattern) in patterns {
                    if allowed.contains(access) && pattern.matches(key) {
                        return true;
                    }
                }
                false
            }
        }
    }

    /// Returns true if this may be done to any key, by one pattern.
    pub fn allow_all(&self, access: Access) -> bool {
        match self {
            Keys::All => true,
            Keys::Matching(patterns, _) => patterns
                .iter()
                .any(|(allowed, pattern)| allowed.contains(access) && pattern.is_star()),
        }
    }

    /// Appends the patterns as rules, parted by blanks. A star among others is printed so that it
    /// may be read again, which `~*` may not.
    pub fn describe(&self, out: &mut Vec<u8>) {
        let Keys::Matching(patterns, _) = self else { return out.extend_from_slice(b"~*") };
        for (at, (access, pattern)) in patterns.iter().enumerate() {
            if at > 0 {
                out.push(b' ');
            }
            out.extend_from_slice(match *access {
                Access::READ => b"%R~",
                Access::WRITE => b"%W~",
                _ if pattern.is_star() && patterns.len() > 1 => b"%RW~",
                _ => b"~",
            });
            out.extend_from_slice(pattern.text());
        }
    }
}

/// Splits a rule into what it allows and the pattern. Without a second `~` the pattern is empty.
fn split(rule: &[u8]) -> Option<(Access, &[u8])> {
    let mut rest = match rule {
        [b'~', pattern @ ..] => return Some((Access::all(), pattern)),
        [b'%', rest @ ..] => rest,
        _ => return None,
    };
    let mut access = Access::empty();
    while let [letter, behind @ ..] = rest {
        rest = behind;
        let more = match letter {
            b'R' | b'r' => Access::READ,
            b'W' | b'w' => Access::WRITE,
            b'~' => break,
            _ => return None,
        };
        if access.contains(more) {
            return None;
        }
        access |= more;
    }
    (!access.is_empty()).then_some((access, rest))
}
