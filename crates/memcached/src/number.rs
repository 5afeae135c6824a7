//! Numbers as text, in the spellings that each place takes.
//!
//! ```text
//! unsigned32, unsigned64   digits, leading zeros too           F C E D J, cas, delta, levels
//! signed32, block_length   a minus, digits                     expiry but of set; lengths
//! item_flags, item_expiry  blanks, a sign, digits, and then    flags and expiry of set
//! stored                   nothing, or a blank or NUL and any  what incr finds in an item
//! ```

/// Reads a number of up to 22 digits that fits into 64 bits.
#[inline]
pub fn unsigned64(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > DIGITS_64_MAX { None } else { digits_value(text) }
}

/// Reads a number of up to 11 digits that fits into 32 bits.
#[inline]
pub fn unsigned32(text: &[u8]) -> Option<u32> {
    if text.is_empty() || text.len() > DIGITS_32_MAX {
        return None;
    }
    u32::try_from(digits_value(text)?).ok()
}

/// Reads a number of up to 11 characters, of which the first may be a minus. A minus alone is 0, as
/// in Memcached 1.6.45.
#[inline]
pub fn signed32(text: &[u8]) -> Option<i32> {
    if text.is_empty() || text.len() > DIGITS_32_MAX {
        return None;
    }
    let value = match text {
        [b'-', digits @ ..] => -(digits_value(digits)?.cast_signed()),
        digits => digits_value(digits)?.cast_signed(),
    };
    i32::try_from(value).ok()
}

/// Reads the length of a data block, in bytes.
#[inline]
pub fn block_length(text: &[u8]) -> Option<u32> {
    u32::try_from(signed32(text)?).ok().filter(|len| *len <= BLOCK_BYTES_MAX)
}

/// Reads the flags of a text command that stores an item, taken modulo 2^32.
#[inline]
pub fn item_flags(text: &[u8]) -> Option<u32> {
    plain(text).or_else(|| leading(text)?.wrapped()).map(narrow::low_u32)
}

/// Reads the expiry of a text command that stores an item: a number of 64 bits, of which the lower
/// 32 count.
#[inline]
pub fn item_expiry(text: &[u8]) -> Option<i32> {
    let lower = |value: u64| narrow::low_u32(value).cast_signed();
    plain(text).or_else(|| leading(text)?.signed()).map(lower)
}

/// Reads the number that an item holds, for arithmetic with 64 bits without a sign.
#[inline]
pub fn stored(value: &[u8]) -> Option<u64> {
    leading(value)?.wrapped()
}

/// Meaning of an expiry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiry {
    /// Never.
    Never,
    /// At once.
    AtOnce,
    /// In this many seconds.
    InSeconds(u32),
    /// At this time, in seconds since 1970; at once if that is past.
    AtUnixSeconds(u32),
}

impl Expiry {
    /// Returns what a number means.
    #[inline]
    pub fn of(number: i32) -> Expiry {
        match u32::try_from(number) {
            Err(_) => Expiry::AtOnce,
            Ok(0) => Expiry::Never,
            Ok(seconds) if seconds <= RELATIVE_SECONDS_MAX => Expiry::InSeconds(seconds),
            Ok(seconds) => Expiry::AtUnixSeconds(seconds),
        }
    }
}

/// Number at the beginning of a text, behind blanks, with what stands before its digits.
struct Leading {
    magnitude: u64,
    is_negative: bool,
}

impl Leading {
    /// Returns it in 64 bits without a sign, into which a negative number is wrapped: refused if
    /// the result still has the highest bit.
    fn wrapped(&self) -> Option<u64> {
        if !self.is_negative {
            return Some(self.magnitude);
        }
        Some(self.magnitude.wrapping_neg()).filter(|value| value.cast_signed() >= 0)
    }

    /// Returns the bits of it as a number of 64 bits with a sign, if it fits.
    fn signed(&self) -> Option<u64> {
        let most = i64::MAX.unsigned_abs() + u64::from(self.is_negative);
        let bits = if self.is_negative { self.magnitude.wrapping_neg() } else { self.magnitude };
        (self.magnitude <= most).then_some(bits)
    }
}

/// Reads a number behind blanks; a blank or NUL must follow, or nothing.
fn leading(text: &[u8]) -> Option<Leading> {
    let mut rest = text;
    while let [blank, tail @ ..] = rest
        && is_blank(*blank)
    {
        rest = tail;
    }
    let is_negative = rest.first() == Some(&b'-');
    let digits = match rest {
        [b'-' | b'+', digits @ ..] => digits,
        digits => digits,
    };
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let ends_well = digits.get(end).is_none_or(|byte| is_blank(*byte) || *byte == 0);
    if end == 0 || !ends_well {
        return None;
    }
    Some(Leading { magnitude: digits_value(&digits[..end])?, is_negative })
}

/// Reads a short number of digits alone.
#[inline]
fn plain(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > DIGITS_32_MAX { None } else { digits_value(text) }
}

#[inline]
fn digits_value(digits: &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// Returns true for what the C library calls space.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Digits of 64 bits, and two more that may be zeros.
const DIGITS_64_MAX: usize = 22;
/// Digits of 32 bits, and one more that may be a zero or a minus.
const DIGITS_32_MAX: usize = 11;
/// Most bytes of a data block.
const BLOCK_BYTES_MAX: u32 = i32::MAX as u32 - 2;
/// Largest number of seconds that counts from now: 30 days.
const RELATIVE_SECONDS_MAX: u32 = 60 * 60 * 24 * 30;

#[cfg(test)]
mod tests;
