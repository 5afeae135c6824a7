//! Deadlines in arguments and in replies.

use base::Millis;
use command::Call;
use session::Refusal;

/// Unit and origin of a deadline that is given as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Milliseconds per unit.
    pub unit: i64,
    /// True if counted from now rather than from the epoch.
    pub is_relative: bool,
}

pub const SECONDS: Scale = Scale { unit: 1000, is_relative: true };
pub const MILLIS: Scale = Scale { unit: 1, is_relative: true };
pub const UNIX_SECONDS: Scale = Scale { unit: 1000, is_relative: false };
pub const UNIX_MILLIS: Scale = Scale { unit: 1, is_relative: false };

/// Reads the argument at `at` as a deadline, in milliseconds since the epoch.
///
/// # Errors
/// When it is no number, negative, or beyond the range of 64 bits.
pub fn parse(call: &Call<'_>, at: usize, scale: Scale) -> Result<Millis, Refusal> {
    let number = call.args.integer(at)?;
    let origin = if scale.is_relative { call.lives_from().0.cast_signed() } else { 0 };
    let millis = number.checked_mul(scale.unit).and_then(|millis| millis.checked_add(origin));
    millis.filter(|_| number >= 0).map(|millis| Millis(millis.cast_unsigned())).ok_or_else(|| {
        let name = &call.row.full_name;
        Refusal::new(format!("ERR invalid expire time in '{name}' command"))
    })
}

/// Returns a deadline as clients see it: as a number of units, rounded, from the origin.
pub fn format(deadline: Millis, now: Millis, scale: Scale) -> i64 {
    let left = if scale.is_relative { deadline.since(now) } else { deadline.0 };
    let millis = i64::try_from(left).unwrap_or(i64::MAX);
    if scale.unit == 1 { millis } else { millis.saturating_add(scale.unit / 2) / scale.unit }
}
