//! LCS: the longest common subsequence of two strings.

use command::{Call, Outcome};
use session::{Args, Refusal};
use settings::limits::PROTO_MAX_BULK_LEN;
use store::value::lcs::{self, Match};
use store::value::string::StringView;
use wire::Reply;

const BOTH: Refusal =
    Refusal::of("ERR If you want both the length and indexes, please just use IDX.");
const TOO_MUCH: Refusal =
    Refusal::of("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len");
const NO_MEMORY: Refusal =
    Refusal::of("ERR Insufficient memory, failed allocating transient memory for LCS");

/// Bytes that are counted for each pair of bytes to limit requests. Less memory is used, but the
/// limit bounds the time as well.
const PAIR_BYTES: u64 = 4;

#[derive(Default)]
struct Wanted {
    indexes: bool,
    length: bool,
    match_lengths: bool,
    match_len_min: usize,
}

pub fn lcs(call: &mut Call<'_>) -> Outcome {
    let pairs_max = PROTO_MAX_BULK_LEN.get(&call.instance.settings) / PAIR_BYTES;
    let wanted = Wanted::parse(call.args);
    let (wanted, one, other) = copies(call, wanted, pairs_max)?;
    if wanted.length {
        call.reply.integer(lcs::length(&one, &other).into());
        return Ok(());
    }
    let matches = lcs::matches(&one, &other).ok_or(NO_MEMORY)?;
    if wanted.indexes {
        wanted.write(&mut call.reply, &matches);
    } else {
        let parts = matches.iter().rev().map(|found| &one[found.one..found.one + found.len]);
        call.reply.bulk_parts(&parts.collect::<Vec<&[u8]>>());
    }
    Ok(())
}

const NOT_STRINGS: Refusal = Refusal::of("ERR The specified keys must contain string values");

/// Copies both strings, so that no client has to wait for their keys while they are compared. The
/// keys are looked up, and count as read, before wrong options are refused.
fn copies(
    call: &mut Call<'_>,
    wanted: Result<Wanted, Refusal>,
    pairs_max: u64,
) -> Result<(Wanted, Vec<u8>, Vec<u8>), Refusal> {
    let (mut access, keys, _) = call.on_keys(1..3);
    let are_strings = [0, 1].map(|at| access.read_string(&keys[at]).is_ok());
    if are_strings.contains(&false) {
        return Err(NOT_STRINGS);
    }
    let wanted = wanted?;
    let (one, other) = (
        access.lookup_string_without_touch(&keys[0])?,
        access.lookup_string_without_touch(&keys[1])?,
    );
    let len = |string: &Option<StringView<'_>>| string.map_or(0, |string| string.len() as u64);
    if (len(&one) + 1).saturating_mul(len(&other) + 1) > pairs_max {
        return Err(TOO_MUCH);
    }
    let bytes = |string: Option<StringView<'_>>| string.map_or(Vec::new(), |it| it.to_vec());
    Ok((wanted, bytes(one), bytes(other)))
}

impl Wanted {
    fn parse(args: Args<'_>) -> Result<Wanted, Refusal> {
        let mut wanted = Wanted::default();
        let mut at = 3;
        while at < args.len() {
            if args.is(at, "IDX") {
                wanted.indexes = true;
            } else if args.is(at, "LEN") {
                wanted.length = true;
            } else if args.is(at, "WITHMATCHLEN") {
                wanted.match_lengths = true;
            } else if args.is(at, "MINMATCHLEN") && at + 1 < args.len() {
                at += 1;
                wanted.match_len_min = usize::try_from(args.integer(at)?).unwrap_or(0);
            } else {
                return Err(Refusal::SYNTAX);
            }
            at += 1;
        }
        if wanted.length && wanted.indexes { Err(BOTH) } else { Ok(wanted) }
    }

    fn write(&self, reply: &mut Reply<'_>, matches: &[Match]) {
        let is_wanted = |found: &&Match| found.len >= self.match_len_min;
        reply.map(2);
        reply.bulk(b"matches");
        reply.array(matches.iter().filter(is_wanted).count());
        for found in matches.iter().filter(is_wanted) {
            reply.array(2 + usize::from(self.match_lengths));
            for begin in [found.one, found.other] {
                reply.array(2);
                reply.integer(begin as i64);
                reply.integer((begin + found.len - 1) as i64);
            }
            if self.match_lengths {
                reply.integer(found.len as i64);
            }
        }
        reply.bulk(b"len");
        reply.integer(matches.iter().map(|found| found.len as i64).sum());
    }
}
