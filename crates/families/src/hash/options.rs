//! The options of HGETEX and HSETEX.

use super::deadline::{self, MILLIS, SECONDS, Scale, UNIX_MILLIS, UNIX_SECONDS};
use base::Millis;
use command::Call;
use session::{Args, Refusal};

/// Options of a command besides the deadlines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// PERSIST.
    GetEx,
    /// NX, XX, FNX, FXX, KEEPTTL.
    SetEx,
}

/// Condition that something exists already, or does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    #[default]
    Always,
    Absent,
    Present,
}

impl Condition {
    /// Returns true if it is met by something that exists, or does not.
    pub fn is_met(self, is_there: bool) -> bool {
        match self {
            Condition::Always => true,
            Condition::Absent => !is_there,
            Condition::Present => is_there,
        }
    }

    /// Adds another condition; `None` if both cannot hold.
    fn require(&mut self, other: Condition) -> Option<()> {
        let fits = *self == Condition::Always || *self == other;
        *self = fits.then_some(other)?;
        Some(())
    }
}

/// Parsed options.
#[derive(Debug, Default)]
pub struct Options {
    /// Condition on the key: NX, XX.
    pub key: Condition,
    /// Condition on all fields: FNX, FXX.
    pub fields: Condition,
    /// True for KEEPTTL.
    pub keep: bool,
    /// True for PERSIST.
    pub persist: bool,
    /// Position of the deadline's number, and its scale.
    time: Option<(usize, Scale)>,
}

/// Names of options with deadlines, and the scales of their numbers.
const TIMES: [(&str, Scale); 4] =
    [("EX", SECONDS), ("PX", MILLIS), ("EXAT", UNIX_SECONDS), ("PXAT", UNIX_MILLIS)];

impl Options {
    /// Reads the options from position 2 up to `end`.
    ///
    /// # Errors
    /// When they are no options, or do not fit together.
    pub fn parse(args: Args<'_>, end: usize, of: Of) -> Result<Options, Refusal> {
        let mut options = Options::default();
        let mut at = 2;
        while at < end {
            at = options.take(args, at, end, of).ok_or(Refusal::SYNTAX)?;
        }
        Ok(options)
    }

    /// Reads the option at `at`; returns the position of the next one, `None` if it does not fit.
    fn take(&mut self, args: Args<'_>, at: usize, end: usize, of: Of) -> Option<usize> {
        let sets = of == Of::SetEx;
        if sets && args.is(at, "NX") {
            self.key.require(Condition::Absent)?;
        } else if sets && args.is(at, "XX") {
            self.key.require(Condition::Present)?;
        } else if sets && args.is(at, "FNX") {
            self.fields.require(Condition::Absent)?;
        } else if sets && args.is(at, "FXX") {
            self.fields.require(Condition::Present)?;
        } else if sets && args.is(at, "KEEPTTL") {
            self.keep = self.time.is_none().then_some(true)?;
        } else if !sets && args.is(at, "PERSIST") {
            self.persist = self.time.is_none().then_some(true)?;
        } else {
            return self.take_time(args, at, end);
        }
        Some(at + 1)
    }

    fn take_time(&mut self, args: Args<'_>, at: usize, end: usize) -> Option<usize> {
        let (_, scale) = TIMES.into_iter().find(|(name, _)| args.is(at, name))?;
        let is_alone = self.time.is_none_or(|(_, other)| other == scale);
        if !is_alone || self.keep || self.persist || at + 1 >= end {
            return None;
        }
        self.time = Some((at + 1, scale));
        Some(at + 2)
    }

    /// The deadline, if one was given.
    ///
    /// # Errors
    /// When it is no number, negative, or too large.
    pub fn deadline(&self, call: &Call<'_>) -> Result<Option<Millis>, Refusal> {
        self.time.map(|(at, scale)| deadline::parse(call, at, scale)).transpose()
    }
}
