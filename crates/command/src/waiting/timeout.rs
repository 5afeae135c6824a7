//! Until when a client waits.

use crate::call::Call;
use crate::refusal::Refusal;
use base::Millis;

/// When a client gives up; `None` for never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout(pub Option<Millis>);

const NEGATIVE: Refusal = Refusal::of("ERR timeout is negative");
const OUT_OF_RANGE: Refusal = Refusal::of("ERR timeout is out of range");

impl Timeout {
    /// The timeout in seconds, which may have a fraction, at a position of the request.
    ///
    /// # Errors
    /// When it is no number, negative, or too far away.
    pub fn seconds(call: &Call<'_>, at: usize) -> Result<Timeout, Refusal> {
        let word = call.args.get(at);
        let seconds =
            text::parse_f64(word).or_else(|| beyond_f64(word)).or_else(|| hexadecimal(word));
        let seconds = seconds.ok_or(Refusal::of("ERR timeout is not a float or out of range"))?;
        let millis = (seconds * 1000.0).ceil();
        if millis >= i64::MAX as f64 {
            return Err(OUT_OF_RANGE);
        }
        Timeout::from_now(call, millis as i64)
    }

    /// The timeout in milliseconds at a position of the request.
    ///
    /// # Errors
    /// As `seconds`.
    pub fn millis(call: &Call<'_>, at: usize) -> Result<Timeout, Refusal> {
        let millis = text::parse_i64(call.args.get(at));
        let refusal = Refusal::of("ERR timeout is not an integer or out of range");
        Timeout::from_now(call, millis.ok_or(refusal)?)
    }

    fn from_now(call: &Call<'_>, millis: i64) -> Result<Timeout, Refusal> {
        let millis = u64::try_from(millis).map_err(|_| NEGATIVE)?;
        if millis == 0 {
            return Ok(Timeout(None));
        }
        let until = call.now.0.checked_add(millis).filter(|until| i64::try_from(*until).is_ok());
        // The clock tells whole milliseconds, of which one has begun: nobody gives up early.
        Ok(Timeout(Some(Millis(until.ok_or(OUT_OF_RANGE)? + 1))))
    }
}

/// A number that is larger than any double.
fn beyond_f64(word: &[u8]) -> Option<f64> {
    let begins_as_number = word.first().is_some_and(u8::is_ascii_digit);
    let number = std::str::from_utf8(word).ok()?.parse::<f64>().ok()?;
    (begins_as_number && number.is_infinite()).then_some(number)
}

/// A number such as `0x1.8p3`: its digits are of sixteen, its exponent is of two.
fn hexadecimal(word: &[u8]) -> Option<f64> {
    let word = std::str::from_utf8(word).ok()?.to_ascii_lowercase();
    let (sign, unsigned) = match word.strip_prefix('-') {
        Some(unsigned) => (-1.0, unsigned),
        None => (1.0, word.strip_prefix('+').unwrap_or(&word)),
    };
    let digits = unsigned.strip_prefix("0x")?;
    let (mantissa, exponent) = digits.split_once('p').unwrap_or((digits, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let exponent = exponent.parse::<i32>().ok()?.saturating_sub(4 * fraction.len() as i32);
    Some(sign * value * f64::from(exponent).exp2())
}
