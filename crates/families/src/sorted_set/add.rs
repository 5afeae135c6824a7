//! Adding members and changing scores: ZADD, ZINCRBY.

use super::{limit, score};
use command::{Call, Outcome, Pieces};
use session::Refusal;
use smallvec::SmallVec;
use store::value::sorted_set::{self, Added, Terms};
use store::{Access, Event, Key};

const ZADD: Event = Event::sorted_set("zadd");
const ZINCR: Event = Event::sorted_set("zincr");

const NOT_A_NUMBER: Refusal = Refusal::of("ERR resulting score is not a number (NaN)");
const NEW_AND_EXISTING: Refusal =
    Refusal::of("ERR XX and NX options at the same time are not compatible");
const NEW_AND_COMPARED: Refusal =
    Refusal::of("ERR GT, LT, and/or NX options at the same time are not compatible");
const ONE_INCREMENT: Refusal =
    Refusal::of("ERR INCR option supports a single increment-element pair");

/// Scores with their members.
pub type Pairs<'c> = SmallVec<[(f64, &'c [u8]); 4]>;

/// Options of ZADD, and the position of the first score.
struct Options {
    terms: Terms,
    counts_changes: bool,
    scores_at: usize,
}

impl Options {
    fn parse(call: &Call<'_>) -> Options {
        let args = call.args;
        let mut options = Options { terms: Terms::default(), counts_changes: false, scores_at: 2 };
        while options.scores_at < args.len() && options.take(args.get(options.scores_at)) {
            options.scores_at += 1;
        }
        options
    }

    /// Reads a word as an option; returns false if it is none.
    #[inline]
    fn take(&mut self, word: &[u8]) -> bool {
        if !matches!(word.first(), Some(b'a'..=b'z' | b'A'..=b'Z')) {
            return false;
        }
        let options = [
            ("NX", &mut self.terms.only_new),
            ("XX", &mut self.terms.only_existing),
            ("GT", &mut self.terms.only_greater),
            ("LT", &mut self.terms.only_less),
            ("CH", &mut self.counts_changes),
            ("INCR", &mut self.terms.is_increment),
        ];
        let named =
            options.into_iter().find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()));
        named.map(|(_, option)| *option = true).is_some()
    }

    fn check(&self, pairs: usize) -> Outcome {
        let terms = self.terms;
        if terms.only_new && terms.only_existing {
            return Err(NEW_AND_EXISTING.into());
        }
        let comparisons = [terms.only_new, terms.only_greater, terms.only_less];
        if comparisons.into_iter().filter(|is_set| *is_set).count() > 1 {
            return Err(NEW_AND_COMPARED.into());
        }
        if terms.is_increment && pairs > 1 { Err(ONE_INCREMENT.into()) } else { Ok(()) }
    }
}

pub fn zadd(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let options = Options::parse(call);
    let words = args.len() - options.scores_at;
    if words == 0 || words % 2 == 1 {
        return Err(Refusal::SYNTAX.into());
    }
    options.check(words / 2)?;
    let is_obeyed = call.is_obeyed();
    let pairs = (options.scores_at..args.len()).step_by(2);
    let pairs = pairs.map(|at| Ok((score(args, at, is_obeyed)?, args.get(at + 1))));
    let pairs = pairs.collect::<Result<Pairs<'_>, Refusal>>()?;
    add(call, &pairs, options.terms, options.counts_changes, false)
}

pub fn zincrby(call: &mut Call<'_>) -> Outcome {
    let pair = (score(call.args, 2, call.is_obeyed())?, call.args.get(3));
    add(call, &[pair], Terms { is_increment: true, ..Terms::default() }, false, false)
}

/// Adds members to the set of the first key, and replies as ZADD does. Scores that are computed are
/// not in the request, and become part of the effect.
pub fn add(
    call: &mut Call<'_>,
    pairs: &[(f64, &[u8])],
    terms: Terms,
    counts_changes: bool,
    is_computed: bool,
) -> Outcome {
    let limit = limit(call);
    let (mut access, key, reply) = call.on_key(1);
    let done = sorted_set::add(&mut access, &key, pairs, terms, limit)?;
    let Added { added, updated, score, is_not_a_number } = done;
    let event = if terms.is_increment { ZINCR } else { ZADD };
    access.report_changes(added + updated, event, &key);
    if is_computed && added + updated > 0 {
        record_scores_effect(&mut access, &key, pairs, terms);
    }
    if is_not_a_number {
        return Err(NOT_A_NUMBER.into());
    }
    match score {
        Some(score) if terms.is_increment => reply.double(score),
        None if terms.is_increment => reply.null(),
        _ if counts_changes => reply.integer((added + updated) as i64),
        _ => reply.integer(added as i64),
    }
    Ok(())
}

/// Records which scores members got.
fn record_scores_effect(
    access: &mut Access<'_>,
    key: &Key<'_>,
    pairs: &[(f64, &[u8])],
    terms: Terms,
) {
    let mut words = match () {
        () if terms.only_new => Pieces::new(access.is_recording(), &[b"ZADD", key.bytes, b"NX"]),
        () if terms.only_existing => {
            Pieces::new(access.is_recording(), &[b"ZADD", key.bytes, b"XX"])
        }
        () => Pieces::new(access.is_recording(), &[b"ZADD", key.bytes]),
    };
    pairs
        .iter()
        .for_each(|(score, member)| words.add(&[text::format_f64(*score).as_bytes(), member]));
    access.record_effects(key, words);
}
