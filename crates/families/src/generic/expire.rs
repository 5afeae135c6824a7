//! Deadlines of keys: EXPIRE, TTL and their kin.

use base::Millis;
use command::{Call, Outcome, effects};
use session::{Args, Refusal};
use std::ops::Range;
use store::Event;

/// Event of a key that gets a deadline.
pub(crate) const EXPIRE: Event = Event::generic("expire");
/// Event of a key that loses its deadline.
pub(crate) const PERSIST: Event = Event::generic("persist");

/// Unit and origin of an argument of the EXPIRE family.
#[derive(Clone, Copy)]
struct Scale {
    /// Milliseconds per unit.
    unit: i64,
    /// True if it counts from now, not from the Unix epoch.
    is_relative: bool,
}

const SECONDS: Scale = Scale { unit: 1000, is_relative: true };
const MILLIS: Scale = Scale { unit: 1, is_relative: true };
const UNIX_SECONDS: Scale = Scale { unit: 1000, is_relative: false };
const UNIX_MILLIS: Scale = Scale { unit: 1, is_relative: false };

pub fn expire(call: &mut Call<'_>) -> Outcome {
    set_deadline(call, SECONDS)
}

pub fn expireat(call: &mut Call<'_>) -> Outcome {
    set_deadline(call, UNIX_SECONDS)
}

pub fn pexpire(call: &mut Call<'_>) -> Outcome {
    set_deadline(call, MILLIS)
}

pub fn pexpireat(call: &mut Call<'_>) -> Outcome {
    set_deadline(call, UNIX_MILLIS)
}

fn set_deadline(call: &mut Call<'_>, scale: Scale) -> Outcome {
    let condition = parse_condition(call.args, 3..call.args.len())?;
    let units = call.args.integer(2)?;
    let origin = if scale.is_relative { call.lives_from() } else { Millis(0) };
    let when = moment(units, scale, origin).ok_or_else(|| invalid_time(call))?;
    let deadline = call.kept(Millis(when.cast_unsigned()));
    let is_over = call.is_over(deadline);
    let (mut access, key, reply) = call.on_key(1);
    let allowed = access
        .lookup_for_write(&key)
        .is_some_and(|value| condition.allows(Millis(when.cast_unsigned()), value.deadline));
    if allowed && is_over {
        let is_removed = access.expire(&key);
        access.report_changes_silently(is_removed.into());
    } else if allowed {
        access.set_deadline(&key, Some(deadline))?;
        access.report_changes(1, EXPIRE, &key);
        effects::expire_at(&mut access, &key, deadline);
    }
    reply.integer(allowed.into());
    Ok(())
}

/// Returns milliseconds since the Unix epoch, at least zero; `None` beyond the range of 64 bits.
fn moment(units: i64, scale: Scale, now: Millis) -> Option<i64> {
    let millis = units.checked_mul(scale.unit)?;
    let origin = if scale.is_relative { signed(now) } else { 0 };
    if millis > i64::MAX - origin { None } else { Some((millis + origin).max(0)) }
}

fn invalid_time(call: &Call<'_>) -> Refusal {
    Refusal::new(format!("ERR invalid expire time in '{}' command", call.row.full_name))
}

/// Condition on the present deadline that a new one may replace.
#[derive(Clone, Copy, Default)]
pub(crate) struct Condition {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

impl Condition {
    /// Returns true if a deadline may replace the present one.
    pub(crate) fn allows(self, when: Millis, present: Option<Millis>) -> bool {
        match present {
            Some(present) => {
                !(self.nx || (self.gt && when <= present) || (self.lt && when >= present))
            }
            // A missing deadline counts as later than all others.
            None => !(self.xx || self.gt),
        }
    }
}

/// Reads the condition from the arguments at these positions.
pub(crate) fn parse_condition(args: Args<'_>, words: Range<usize>) -> Result<Condition, Refusal> {
    let mut condition = Condition::default();
    for at in words {
        let flag = match args.get(at).to_ascii_lowercase().as_slice() {
            b"nx" => &mut condition.nx,
            b"xx" => &mut condition.xx,
            b"gt" => &mut condition.gt,
            b"lt" => &mut condition.lt,
            _ => {
                return Err(Refusal::naming("ERR Unsupported option {}", &[args.get(at)]));
            }
        };
        *flag = true;
    }
    let Condition { nx, xx, gt, lt } = condition;
    if nx && (xx || gt || lt) {
        return Err(Refusal::of(
            "ERR NX and XX, GT or LT options at the same time are not compatible",
        ));
    }
    if gt && lt {
        return Err(Refusal::of("ERR GT and LT options at the same time are not compatible"));
    }
    Ok(condition)
}

pub fn persist(call: &mut Call<'_>) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    let is_done = access.lookup_for_write(&key).is_some_and(|value| value.deadline.is_some())
        && access.set_deadline(&key, None)?;
    access.report_changes(is_done.into(), PERSIST, &key);
    reply.integer(is_done.into());
    Ok(())
}

pub fn ttl(call: &mut Call<'_>) -> Outcome {
    reply_with_deadline(call, |deadline, now| in_seconds((deadline - now).max(0)))
}

pub fn pttl(call: &mut Call<'_>) -> Outcome {
    reply_with_deadline(call, |deadline, now| (deadline - now).max(0))
}

pub fn expiretime(call: &mut Call<'_>) -> Outcome {
    reply_with_deadline(call, |deadline, _| in_seconds(deadline))
}

pub fn pexpiretime(call: &mut Call<'_>) -> Outcome {
    reply_with_deadline(call, |deadline, _| deadline)
}

/// Replies with `number` of the deadline and the present time; -1 without a deadline, -2 without a
/// key.
fn reply_with_deadline(call: &mut Call<'_>, number: impl FnOnce(i64, i64) -> i64) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    access.do_not_touch();
    let now = signed(access.now());
    let answer = match access.read(&key).map(|value| value.deadline) {
        Some(Some(deadline)) => number(signed(deadline), now),
        Some(None) => -1,
        None => -2,
    };
    reply.integer(answer);
    Ok(())
}

/// Rounds milliseconds to seconds.
fn in_seconds(millis: i64) -> i64 {
    millis / 1000 + i64::from(millis % 1000 >= 500)
}

fn signed(moment: Millis) -> i64 {
    i64::try_from(moment.0).unwrap_or(i64::MAX)
}
