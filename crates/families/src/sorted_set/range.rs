//! Ranges of members: ZRANGE, its older forms, and ZRANGESTORE.

use super::{Shown, limit, record_stored_effects, stored};
use base::meanwhile::Breaks;
use command::{Call, Outcome};
use session::{Args, Refusal};
use store::Event;
use store::value::sorted_set::{
    self, Gathered, LexBound, LexRange, Pick, ScoreBound, ScoreRange, SortedSet, Span,
};

const ZRANGESTORE: Event = Event::sorted_set("zrangestore");

const NOT_SCORES: Refusal = Refusal::of("ERR min or max is not a float");
const NOT_MEMBERS: Refusal = Refusal::of("ERR min or max not valid string range item");
const LIMIT_OF_RANKS: Refusal = Refusal::of(
    "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
);
const SCORES_OF_MEMBERS: Refusal =
    Refusal::of("ERR syntax error, WITHSCORES not supported in combination with BYLEX");

/// Kind of the bounds of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Ranks,
    Scores,
    Members,
}

/// Properties of a range that the name of its command fixes; the others are left to options.
#[derive(Clone, Copy, Debug)]
struct Named {
    by: Option<By>,
    is_reverse: Option<bool>,
    /// True if the result goes to another key.
    is_stored: bool,
    /// Position of the key that is read.
    key_at: usize,
}

impl Named {
    const fn fixed(by: By, is_reverse: bool) -> Named {
        Named { by: Some(by), is_reverse: Some(is_reverse), is_stored: false, key_at: 1 }
    }
}

/// Range that a request asks for.
#[derive(Clone, Copy, Debug)]
struct Range<'c> {
    pick: Pick<'c>,
    is_reverse: bool,
    offset: i64,
    count: i64,
    has_scores: bool,
}

pub fn zrange(call: &mut Call<'_>) -> Outcome {
    show(call, Named { by: None, is_reverse: None, is_stored: false, key_at: 1 })
}

pub fn zrevrange(call: &mut Call<'_>) -> Outcome {
    show(call, Named::fixed(By::Ranks, true))
}

pub fn zrangebyscore(call: &mut Call<'_>) -> Outcome {
    show(call, Named::fixed(By::Scores, false))
}

pub fn zrevrangebyscore(call: &mut Call<'_>) -> Outcome {
    show(call, Named::fixed(By::Scores, true))
}

pub fn zrangebylex(call: &mut Call<'_>) -> Outcome {
    show(call, Named::fixed(By::Members, false))
}

pub fn zrevrangebylex(call: &mut Call<'_>) -> Outcome {
    show(call, Named::fixed(By::Members, true))
}

fn show(call: &mut Call<'_>, named: Named) -> Outcome {
    let range = Range::parse(call.args, named)?;
    let (mut access, key, reply) = call.on_key(named.key_at);
    let Some(set) = sorted_set::read(&mut access, &key)? else {
        reply.array(0);
        return Ok(());
    };
    let span = range.span(&set);
    let shown = Shown::new(reply, range.has_scores);
    shown.begin(reply, span.count);
    let mut breaks = Breaks::from(reply.written().len());
    set.each_while(span, range.is_reverse, |member, score| {
        shown.write(reply, member, score);
        breaks.reach(reply.written().len());
        !reply.is_over_limit()
    });
    Ok(())
}

pub fn zrangestore(call: &mut Call<'_>) -> Outcome {
    let named = Named { by: None, is_reverse: None, is_stored: true, key_at: 2 };
    let (range, limit) = (Range::parse(call.args, named)?, limit(call));
    let (mut access, keys, reply) = call.on_keys([1, 2]);
    let mut gathered = Gathered::default();
    if let Some(set) = sorted_set::read(&mut access, &keys[1])? {
        set.each_while(range.span(&set), range.is_reverse, |member, score| {
            gathered.push(member, score);
            true
        });
    }
    let is_change = sorted_set::store(&mut access, &keys[0], &mut gathered, limit)?;
    access.report_changes(u64::from(is_change), stored(ZRANGESTORE, &gathered), &keys[0]);
    if is_change && matches!(range.pick, Pick::Members(_)) {
        // Among members with several scores, others may find other ones in the range.
        record_stored_effects(&mut access, &keys[0], &gathered);
    }
    reply.integer(gathered.len() as i64);
    Ok(())
}

impl<'c> Range<'c> {
    /// Reads the arguments behind the key.
    fn parse(args: Args<'c>, named: Named) -> Result<Range<'c>, Refusal> {
        let (from_at, to_at) = (named.key_at + 1, named.key_at + 2);
        let (mut by, mut is_reverse) = (named.by, named.is_reverse);
        let (mut offset, mut count, mut has_scores) = (0, -1, false);
        let mut at = to_at + 1;
        while at < args.len() {
            if !named.is_stored && args.is(at, "WITHSCORES") {
                has_scores = true;
            } else if args.is(at, "LIMIT") && at + 2 < args.len() {
                (offset, count) = (args.integer(at + 1)?, args.integer(at + 2)?);
                at += 2;
            } else if is_reverse.is_none() && args.is(at, "REV") {
                is_reverse = Some(true);
            } else if by.is_none() && args.is(at, "BYLEX") {
                by = Some(By::Members);
            } else if by.is_none() && args.is(at, "BYSCORE") {
                by = Some(By::Scores);
            } else {
                return Err(Refusal::SYNTAX);
            }
            at += 1;
        }
        let (by, is_reverse) = (by.unwrap_or(By::Ranks), is_reverse.unwrap_or(false));
        if count != -1 && by == By::Ranks {
            return Err(LIMIT_OF_RANKS);
        }
        if has_scores && by == By::Members {
            return Err(SCORES_OF_MEMBERS);
        }
        // Descending ranges have their upper end first.
        let is_swapped = is_reverse && by != By::Ranks;
        let (from, to) = if is_swapped { (to_at, from_at) } else { (from_at, to_at) };
        let pick = match by {
            By::Ranks => Pick::Ranks(args.integer(from)?, args.integer(to)?),
            By::Scores => Pick::Scores(score_range(args.get(from), args.get(to))?),
            By::Members => Pick::Members(lex_range(args.get(from), args.get(to))?),
        };
        Ok(Range { pick, is_reverse, offset, count, has_scores })
    }

    fn span(&self, set: &SortedSet<'_>) -> Span {
        let span = set.span(&self.pick, self.is_reverse);
        // A negative offset skips all, and a negative count takes all that are left.
        let offset = u64::try_from(self.offset).unwrap_or(u64::MAX);
        let count = u64::try_from(self.count).unwrap_or(u64::MAX);
        match self.pick {
            Pick::Ranks(..) => span,
            _ => span.part(offset, count, self.is_reverse),
        }
    }
}

/// Reads a range of scores from its two ends.
pub fn score_range(from: &[u8], to: &[u8]) -> Result<ScoreRange, Refusal> {
    Ok(ScoreRange { from: score_bound(from)?, to: score_bound(to)? })
}

fn score_bound(word: &[u8]) -> Result<ScoreBound, Refusal> {
    let (word, is_exclusive) = match word {
        [b'(', rest @ ..] => (rest, true),
        _ => (word, false),
    };
    Ok(ScoreBound { score: text::parse_f64_bound(word).ok_or(NOT_SCORES)?, is_exclusive })
}

/// Reads a range of members from its two ends.
pub fn lex_range<'c>(from: &'c [u8], to: &'c [u8]) -> Result<LexRange<'c>, Refusal> {
    Ok(LexRange { from: lex_bound(from)?, to: lex_bound(to)? })
}

fn lex_bound(word: &[u8]) -> Result<LexBound<'_>, Refusal> {
    match word {
        b"-" => Ok(LexBound::Lowest),
        b"+" => Ok(LexBound::Highest),
        [b'[', member @ ..] => Ok(LexBound::Inclusive(member)),
        [b'(', member @ ..] => Ok(LexBound::Exclusive(member)),
        _ => Err(NOT_MEMBERS),
    }
}
