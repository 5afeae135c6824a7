//! Finding keys: KEYS, RANDOMKEY, SCAN.

use base::{KeyspaceId, Millis};
use command::{Call, Outcome};
use session::{Args, Refusal};
use store::{Kind, ScanFilter, Scanned};

pub const INVALID_CURSOR: Refusal = Refusal::of("ERR invalid cursor");
pub const NO_VALUES: Refusal = Refusal::of("ERR NOVALUES option can only be used in HSCAN");
pub const NO_SCORES: Refusal = Refusal::of("ERR NOSCORES option can only be used in ZSCAN");

/// Number of keys that one SCAN looks at, unless COUNT is given.
const COUNT: usize = 10;
/// Maximum number of stars in a pattern; one with more matches nothing.
const STARS_MAX: usize = 1000;

pub fn keys(call: &mut Call<'_>) -> Outcome {
    let filter = ScanFilter { pattern: pattern(call.args.get(1)), kind: None };
    let scanned = Scanned { keyspace: call.keyspace(), now: call.visited_at(), filter };
    let (store, reply) = (&call.instance.store, &mut call.reply);
    if is_hopeless(filter.pattern) {
        reply.array(0);
        return Ok(());
    }
    let mark = reply.deferred_array();
    let mut found = 0;
    store.each_key(call.thread, scanned, |key| {
        reply.bulk(key);
        found += 1;
        !reply.is_over_limit()
    });
    reply.close_array(mark, found);
    Ok(())
}

/// Returns the pattern to match; `None` for `*`, which means every key, even the empty one that
/// patterns never match.
pub fn pattern(text: &[u8]) -> Option<&[u8]> {
    (text != b"*").then_some(text)
}

/// Returns true if a pattern has so many stars that it matches nothing, a limit that clients know.
pub fn is_hopeless(pattern: Option<&[u8]>) -> bool {
    let stars = pattern.unwrap_or_default().iter().filter(|byte| **byte == b'*');
    stars.take(STARS_MAX + 1).count() > STARS_MAX
}

pub fn randomkey(call: &mut Call<'_>) -> Outcome {
    let keyspace = call.keyspace();
    let visited_at = call.visited_at();
    let store = &call.instance.store;
    let mut expired: Vec<Vec<u8>> = Vec::new();
    let see = |key: &[u8]| {
        // Of few keys one is come upon again and again, and it may be long.
        if !expired.iter().any(|seen| seen == key) {
            expired.push(key.to_vec());
        }
    };
    let mut found = store.random_key(call.thread, keyspace, visited_at, see);
    if found.is_none() && store.keeps_expired() {
        // Keys past their deadline are better than none while they are kept.
        found = store.random_key(call.thread, keyspace, Millis(0), |_| {});
    }
    match found {
        Some(key) => call.reply.bulk(&key),
        None => call.reply.null(),
    }
    drop_expired(call, keyspace, &expired);
    Ok(())
}

/// Removes keys that a walk has found past their deadline.
fn drop_expired(call: &mut Call<'_>, keyspace: KeyspaceId, keys: &[Vec<u8>]) {
    let store = &call.instance.store;
    for key in keys {
        let key = store.key(keyspace, key);
        store.lock(call.thread, &key, call.now).drop_expired(&key);
        call.session.yield_if_subscriber();
    }
}

struct ScanOptions<'c> {
    count: usize,
    filter: ScanFilter<'c>,
    /// True if nothing can match the pattern.
    is_nothing: bool,
}

pub fn scan(call: &mut Call<'_>) -> Outcome {
    let cursor = parse_cursor(call.args.get(1)).ok_or(INVALID_CURSOR)?;
    let options = parse_scan(call.args)?;
    let (keyspace, now) = (call.keyspace(), call.visited_at());
    let (store, reply) = (&call.instance.store, &mut call.reply);
    // The cursor stands in front of the keys in the reply, but is known only after them.
    let (mut keys, mut expired) = (Vec::new(), Vec::new());
    let mut found = 0;
    let mut part = reply.part(&mut keys);
    let ScanOptions { count, filter, is_nothing } = options;
    let scanned = Scanned { keyspace, now, filter };
    let next =
        store.scan_with_expired(call.thread, scanned, cursor, count, |key, there| match there {
            _ if is_nothing => {}
            true => {
                part.bulk(key);
                found += 1;
            }
            false => expired.push(key.to_vec()),
        });
    reply.array(2);
    reply.bulk(next.to_string().as_bytes());
    reply.array(found);
    reply.append(&part);
    drop_expired(call, keyspace, &expired);
    Ok(())
}

/// Reads a cursor as C reads numbers: leading blanks, zeros and a plus are fine.
pub fn parse_cursor(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_start();
    let digits = text.strip_prefix(b"+").unwrap_or(text);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let digits = str::from_utf8(digits).ok().filter(|_| is_number)?;
    digits.parse().ok()
}

fn parse_scan(args: Args<'_>) -> Result<ScanOptions<'_>, Refusal> {
    let filter = ScanFilter::default();
    let mut options = ScanOptions { count: COUNT, filter, is_nothing: false };
    let mut at = 2;
    while at < args.len() {
        let has_value = at + 1 < args.len();
        if args.is(at, "COUNT") && has_value {
            let count = args.integer(at + 1)?;
            options.count =
                usize::try_from(count).ok().filter(|count| *count > 0).ok_or(Refusal::SYNTAX)?;
        } else if args.is(at, "MATCH") && has_value {
            options.filter.pattern = pattern(args.get(at + 1));
            options.is_nothing |= is_hopeless(options.filter.pattern);
        } else if args.is(at, "TYPE") && has_value {
            options.filter.kind = Some(parse_kind(args.get(at + 1))?);
        } else if args.is(at, "NOVALUES") {
            return Err(NO_VALUES);
        } else if args.is(at, "NOSCORES") {
            return Err(NO_SCORES);
        } else {
            return Err(Refusal::SYNTAX);
        }
        at += 2;
    }
    Ok(options)
}

/// Finds a kind by its name.
fn parse_kind(name: &[u8]) -> Result<Kind, Refusal> {
    let named = |kind: &Kind| name.eq_ignore_ascii_case(kind.name().as_bytes());
    match Kind::ALL.into_iter().find(named) {
        Some(kind) => Ok(kind),
        None => Err(Refusal::naming("ERR unknown type name '{}'", &[name])),
    }
}
