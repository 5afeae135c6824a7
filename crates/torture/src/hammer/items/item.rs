//! An item as its clients know it, and what they are told of it.

use anyhow::{Context, Result, ensure};
use std::collections::HashMap;

/// Item of Memcached's clients, string of RESP's.
#[derive(Clone, Debug, Default)]
pub(super) struct Item {
    pub(super) value: Vec<u8>,
    pub(super) flags: u32,
    pub(super) cas: Cas,
    pub(super) is_stale: bool,
    pub(super) is_won: bool,
    pub(super) is_fetched: bool,
    pub(super) has_deadline: bool,
}

/// Number of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Cas {
    /// None: who asks next draws one.
    #[default]
    None,
    /// A client gave it.
    Given(u64),
    /// It is drawn by a line that has this place among all lines, and told by its answer.
    Drawn(u64),
}

/// Numbers that clients give are above those that are drawn.
pub(super) const GIVEN: u64 = 9_000_000_000_000_000_000;

/// Answer to a line. A number that is drawn stands between the two parts.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) before: Vec<u8>,
    pub(super) cas: Option<Cas>,
    pub(super) after: Vec<u8>,
}

impl Expected {
    pub(super) fn exactly(answer: impl Into<Vec<u8>>) -> Self {
        Self { before: answer.into(), cas: None, after: Vec::new() }
    }
}

/// Numbers that were told.
#[derive(Debug, Default)]
pub(super) struct Told {
    numbers: HashMap<u64, u64>,
    drawn_max: u64,
}

impl Told {
    /// Returns the number of an item, if it has one and it was told.
    pub(super) fn number(&self, cas: Cas) -> Option<u64> {
        match cas {
            Cas::None => None,
            Cas::Given(number) => Some(number),
            Cas::Drawn(line) => self.numbers.get(&line).copied(),
        }
    }

    /// Compares an answer with what was expected; a number that is told first is higher than all
    /// that were told before.
    pub(super) fn check(&mut self, expected: &Expected, answer: &[u8]) -> Result<()> {
        let wanted = || {
            let after = expected.after[..expected.after.len().min(100)].escape_ascii();
            let before = expected.before[..expected.before.len().min(100)].escape_ascii();
            format!("instead of {before} {:?} {after}", expected.cas)
        };
        let rest = answer.strip_prefix(&expected.before[..]).with_context(wanted)?;
        let Some(cas) = expected.cas else {
            ensure!(rest.is_empty(), "more {}", wanted());
            return Ok(());
        };
        let number = rest.strip_suffix(&expected.after[..]).with_context(wanted)?;
        let number: u64 = std::str::from_utf8(number)?.parse().with_context(wanted)?;
        let Cas::Drawn(line) = cas else {
            ensure!(cas == Cas::Given(number), "CAS {number} {}", wanted());
            return Ok(());
        };
        match self.numbers.get(&line) {
            Some(told) => ensure!(*told == number, "CAS {number} instead of {told}"),
            None => {
                let most = self.drawn_max;
                ensure!(most < number && number < GIVEN, "CAS {number} behind {most}");
                self.drawn_max = number;
                self.numbers.insert(line, number);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_told_once_and_stays() {
        let mut told = Told::default();
        let expected =
            |cas| Expected { before: b"HD c".to_vec(), cas: Some(cas), after: b" s1\r\n".to_vec() };
        assert!(told.check(&expected(Cas::Drawn(1)), b"HD c70 s1\r\n").is_ok());
        assert_eq!(told.number(Cas::Drawn(1)), Some(70));
        assert!(told.check(&expected(Cas::Drawn(1)), b"HD c70 s1\r\n").is_ok());
        assert!(told.check(&expected(Cas::Drawn(1)), b"HD c71 s1\r\n").is_err());
        assert!(told.check(&expected(Cas::Drawn(2)), b"HD c70 s1\r\n").is_err(), "it is another");
        assert!(told.check(&expected(Cas::Drawn(2)), b"HD c71 s1\r\n").is_ok());
        assert!(told.check(&expected(Cas::Given(5)), b"HD c5 s1\r\n").is_ok());
        assert!(told.check(&expected(Cas::Given(5)), b"HD c6 s1\r\n").is_err());
        assert!(told.check(&expected(Cas::Given(5)), b"HD c5 s2\r\n").is_err());
        assert!(told.check(&Expected::exactly("EN\r\n"), b"EN\r\n").is_ok());
        assert!(told.check(&Expected::exactly("EN\r\n"), b"EN\r\nEN\r\n").is_err());
    }
}
