//! Databases that a selector allows.

use crate::rule::RuleError;

/// Databases that a selector allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Databases {
    /// All.
    All,
    /// Those of these numbers, in order.
    Only(Box<[u32]>),
}

impl Databases {
    /// No databases.
    pub fn none() -> Databases {
        Databases::Only(Box::default())
    }

    /// Reads numbers between commas.
    ///
    /// # Errors
    /// Where one of them is missing, no number, or too large.
    pub fn parse(list: &[u8]) -> Result<Databases, RuleError> {
        if list.starts_with(b",") || list.ends_with(b",") {
            return Err(RuleError::Syntax);
        }
        let numbers = list.split(|byte| *byte == b',').map(parse_number);
        let mut numbers = numbers.collect::<Result<Vec<_>, _>>()?;
        numbers.sort_unstable();
        numbers.dedup();
        Ok(Databases::Only(numbers.into()))
    }

    /// Returns true if a database is allowed.
    #[inline]
    pub fn allow(&self, database: u32) -> bool {
        match self {
            Databases::All => true,
            Databases::Only(numbers) => numbers.binary_search(&database).is_ok(),
        }
    }

    /// Appends the numbers as a rule; nothing where there are none.
    pub fn describe(&self, out: &mut Vec<u8>) {
        match self {
            Databases::All => out.extend_from_slice(b"alldbs"),
            Databases::Only(numbers) => {
                for (at, number) in numbers.iter().enumerate() {
                    out.extend_from_slice(if at > 0 { b"," } else { b"db=" });
                    out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes());
                }
            }
        }
    }
}

/// Reads a number as `strtoll` does: behind blanks, with a sign or without.
fn parse_number(text: &[u8]) -> Result<u32, RuleError> {
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
    let text = &text[text.iter().take_while(|byte| is_blank(byte)).count()..];
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(RuleError::Syntax);
    }
    let significant = &digits[digits.iter().take_while(|digit| **digit == b'0').count()..];
    let number = match significant {
        [] => Some(0),
        _ if is_negative => None,
        digits => text::parse_u64(digits).and_then(|number| i32::try_from(number).ok()),
    };
    number.and_then(|number| u32::try_from(number).ok()).ok_or(RuleError::NoSuchDatabase)
}
