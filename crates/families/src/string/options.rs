//! Options of SET, GETEX and MSETEX, and deadlines in arguments.

use base::Millis;
use command::Call;
use session::{Args, Refusal};
use store::Expiry;
use store::value::string::Condition;

/// Options of a command besides the deadlines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// NX, XX, IFEQ, GET, KEEPTTL.
    Set,
    /// PERSIST.
    GetEx,
    /// NX, XX, KEEPTTL.
    MSetEx,
}

/// Parsed options.
#[derive(Debug)]
pub struct Options<'c> {
    /// Condition for the write.
    pub condition: Condition<'c>,
    /// True for GET: the reply is the old value.
    pub get: bool,
    /// True for KEEPTTL.
    pub keep: bool,
    /// True for PERSIST.
    pub persist: bool,
    /// Position of the deadline's number, and its unit and origin.
    time: Option<(usize, Time)>,
}

/// Unit and origin of a deadline that is given as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// True for seconds rather than milliseconds.
    pub seconds: bool,
    /// True if counted from now rather than from the epoch.
    pub relative: bool,
}

/// Names of options with deadlines, and the units and origins of their numbers.
const TIMES: [(&str, Time); 4] = [
    ("EX", Time { seconds: true, relative: true }),
    ("PX", Time { seconds: false, relative: true }),
    ("EXAT", Time { seconds: true, relative: false }),
    ("PXAT", Time { seconds: false, relative: false }),
];

impl<'c> Options<'c> {
    /// Reads the options from `first` on. Numbers are left for `deadline`, since syntax errors come
    /// first.
    pub fn parse(args: Args<'c>, first: usize, of: Of) -> Result<Options<'c>, Refusal> {
        let condition = Condition::Always;
        let mut options =
            Options { condition, get: false, keep: false, persist: false, time: None };
        let mut at = first;
        while at < args.len() {
            at = options.take(args, at, of).ok_or(Refusal::SYNTAX)?;
        }
        Ok(options)
    }

    /// Returns true if it writes whatever the key holds, and does not tell what that is.
    pub fn is_plain_write(&self) -> bool {
        self.condition == Condition::Always && !self.get
    }

    /// Reads the option at `at`; returns the position of the next one, `None` if it does not fit.
    fn take(&mut self, args: Args<'c>, at: usize, of: Of) -> Option<usize> {
        let writes = of != Of::GetEx;
        if writes && args.is(at, "NX") {
            self.require(Condition::Absent)?;
        } else if writes && args.is(at, "XX") {
            self.require(Condition::Present)?;
        } else if of == Of::Set && args.is(at, "IFEQ") && at + 1 < args.len() {
            let is_first = self.condition == Condition::Always;
            self.condition = is_first.then(|| Condition::Equals(args.get(at + 1)))?;
            return Some(at + 2);
        } else if of == Of::Set && args.is(at, "GET") {
            self.get = true;
        } else if writes && args.is(at, "KEEPTTL") {
            self.keep = self.time.is_none().then_some(true)?;
        } else if of == Of::GetEx && args.is(at, "PERSIST") {
            self.persist = self.time.is_none().then_some(true)?;
        } else {
            return self.take_time(args, at);
        }
        Some(at + 1)
    }

    fn require(&mut self, condition: Condition<'c>) -> Option<()> {
        let fits = self.condition == Condition::Always || self.condition == condition;
        self.condition = fits.then_some(condition)?;
        Some(())
    }

    fn take_time(&mut self, args: Args<'c>, at: usize) -> Option<usize> {
        let (_, time) = TIMES.into_iter().find(|(name, _)| args.is(at, name))?;
        let is_alone = self.time.is_none_or(|(_, other)| other == time);
        if !is_alone || self.keep || self.persist || at + 1 >= args.len() {
            return None;
        }
        self.time = Some((at + 1, time));
        Some(at + 2)
    }

    /// The deadline, if one was given; one in the past counts as now.
    pub fn deadline(&self, call: &Call<'_>) -> Result<Option<Millis>, Refusal> {
        let given = self.time.map(|(at, time)| deadline(call, at, time)).transpose()?;
        Ok(given.map(|deadline| call.kept(deadline)))
    }
}

/// Reads the argument at `at` as a deadline.
///
/// # Errors
/// When it is no positive number, or too large.
pub fn deadline(call: &Call<'_>, at: usize, time: Time) -> Result<Millis, Refusal> {
    let number = call.args.integer(at)?;
    let millis = if time.seconds { number.checked_mul(1000) } else { Some(number) };
    let from = if time.relative { call.lives_from().0.cast_signed() } else { 0 };
    millis
        .filter(|_| number > 0)
        .and_then(|millis| millis.checked_add(from))
        .map(|millis| Millis(millis.cast_unsigned()))
        .ok_or_else(|| {
            let name = &call.row.full_name;
            Refusal::new(format!("ERR invalid expire time in '{name}' command"))
        })
}

/// Returns the effect of a write on the deadline of its key.
pub fn expiry(deadline: Option<Millis>, keep: bool) -> Expiry {
    match deadline {
        Some(deadline) => Expiry::At(deadline),
        None if keep => Expiry::Keep,
        None => Expiry::Never,
    }
}
