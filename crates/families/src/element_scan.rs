//! Common parts of HSCAN, SSCAN and ZSCAN: their options, and a reply that begins with a cursor
//! which is known only at its end.

use crate::generic::scan::{
    INVALID_CURSOR, NO_SCORES, NO_VALUES, is_hopeless, parse_cursor, pattern,
};
use command::element;
use session::{Args, Refusal};
use store::Element;
use wire::Reply;

/// Number of elements that one call looks at, unless COUNT is given.
const COUNT: u64 = 10;

/// Part of each row that an option of the command leaves out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Bare {
    /// None: there is no such option.
    Never,
    /// Values, by NOVALUES.
    Values,
    /// Scores, by NOSCORES.
    Scores,
}

/// The options of a scan.
pub struct Options<'c> {
    /// Number of elements to look at.
    pub count: u64,
    pattern: Option<&'c [u8]>,
    /// True if elements come with their values or scores.
    pub is_whole: bool,
}

/// Reads the cursor of a request.
///
/// # Errors
/// When it is no number of 64 bits.
pub fn cursor(args: Args<'_>) -> Result<u64, Refusal> {
    parse_cursor(args.get(2)).ok_or(INVALID_CURSOR)
}

impl<'c> Options<'c> {
    /// Reads the options behind the cursor.
    ///
    /// # Errors
    /// When they do not fit together, or belong to another command.
    pub fn parse(args: Args<'c>, bare: Bare) -> Result<Options<'c>, Refusal> {
        let mut options = Options { count: COUNT, pattern: None, is_whole: true };
        let mut at = 3;
        while at < args.len() {
            let has_value = at + 1 < args.len();
            if args.is(at, "COUNT") && has_value {
                let count = u64::try_from(args.integer(at + 1)?).ok().filter(|count| *count > 0);
                options.count = count.ok_or(Refusal::SYNTAX)?;
                at += 1;
            } else if args.is(at, "MATCH") && has_value {
                options.pattern = pattern(args.get(at + 1));
                at += 1;
            } else if args.is(at, "NOVALUES") {
                options.is_whole =
                    if bare == Bare::Values { false } else { return Err(NO_VALUES) };
            } else if args.is(at, "NOSCORES") {
                options.is_whole =
                    if bare == Bare::Scores { false } else { return Err(NO_SCORES) };
            } else {
                return Err(Refusal::SYNTAX);
            }
            at += 1;
        }
        Ok(options)
    }
}

/// Elements that a scan has found so far.
pub struct Found<'f> {
    reply: Reply<'f>,
    written: usize,
    pattern: Option<&'f [u8]>,
    is_hopeless: bool,
}

impl Found<'_> {
    /// Adds an element if it matches the pattern; returns true if it does.
    pub fn add(&mut self, element: Element<'_>) -> bool {
        let matches = |pattern| element.with_text(|text| text::glob_match(pattern, text, false));
        let is_wanted = !self.is_hopeless && self.pattern.is_none_or(matches);
        if is_wanted {
            self.add_beside(element);
        }
        is_wanted
    }

    /// Adds the value or score that belongs to the element before it.
    pub fn add_beside(&mut self, element: Element<'_>) {
        element::bulk(&mut self.reply, element);
        self.written += 1;
    }
}

/// Replies with the elements that `scan` finds and the cursor that it returns.
pub fn answer(
    reply: &mut Reply<'_>,
    options: &Options<'_>,
    scan: impl FnOnce(&mut Found<'_>) -> u64,
) {
    let mut bytes = Vec::new();
    let mut found = Found {
        reply: reply.part(&mut bytes),
        written: 0,
        pattern: options.pattern,
        is_hopeless: is_hopeless(options.pattern),
    };
    let next = scan(&mut found);
    let Found { written, reply: part, .. } = found;
    reply.array(2);
    reply.bulk(next.to_string().as_bytes());
    reply.array(written);
    reply.append(&part);
}

/// Replies with cursor zero and no elements.
pub fn answer_nothing(reply: &mut Reply<'_>) {
    reply.array(2);
    reply.bulk(b"0");
    reply.array(0);
}
