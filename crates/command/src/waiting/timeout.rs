//! Timeout argument of blocking commands.

use crate::row::Call;
use base::Steady;
use session::Refusal;

/// Deadline at which a client stops waiting; `None` for never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout(pub Option<Steady>);

const NEGATIVE: Refusal = Refusal::of("ERR timeout is negative");
const OUT_OF_RANGE: Refusal = Refusal::of("ERR timeout is out of range");

impl Timeout {
    /// Reads the argument at `at` as a timeout in seconds, which may have a fraction.
    ///
    /// # Errors
    /// When it is no number, negative, or too far away.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "what is too large is refused before, and a text is never NaN"
    )]
    pub fn seconds(call: &Call<'_>, at: usize) -> Result<Timeout, Refusal> {
        let seconds = text::parse_f64_wide(call.args.get(at));
        let seconds = seconds.ok_or(Refusal::of("ERR timeout is not a float or out of range"))?;
        let millis = (seconds * 1000.0).ceil();
        if millis >= i64::MAX as f64 {
            return Err(OUT_OF_RANGE);
        }
        Timeout::from_now(call, millis as i64)
    }

    /// Reads the argument at `at` as a timeout in milliseconds.
    ///
    /// # Errors
    /// Those of `seconds`.
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
        let until = call.now.0.checked_add(millis);
        if until.is_none_or(|until| i64::try_from(until).is_err()) {
            return Err(OUT_OF_RANGE);
        }
        // The clock is rounded down to whole milliseconds; one is added so that no client stops
        // waiting early.
        Ok(Timeout(Some(call.instance.clock.steady().after(millis).after(1))))
    }
}
