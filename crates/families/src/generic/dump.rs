//! Values as payloads: DUMP, RESTORE.

use base::Millis;
use command::{Call, Outcome, effects};
use rdb::{Checks, Version, is_common_payload, payload_version};
use session::{Args, Refusal, checks_version, timed_version, value_limits};
use settings::memory::LAZYFREE_LAZY_SERVER_DEL;
use settings::snapshots::RDBCOMPRESSION;
use snapshot::Collected;
use std::sync::atomic::Ordering::Relaxed;
use store::eviction::Use;
use store::{Access, Attributes, Encoding, Event, Expiry, Key, NoSpace};

const RESTORE: Event = Event::generic("restore");

const BUSY_KEY: Refusal = Refusal::of("BUSYKEY Target key name already exists.");
const TIME_TO_LIVE: Refusal = Refusal::of("ERR Invalid TTL value, must be >= 0");
const IDLE_TIME: Refusal = Refusal::of("ERR Invalid IDLETIME value, must be >= 0");
const FREQUENCY: Refusal = Refusal::of("ERR Invalid FREQ value, must be >= 0 and <= 255");

pub fn dump(call: &mut Call<'_>) -> Outcome {
    let settings = &call.instance.settings;
    let (timed, compresses) = (timed_version(settings), RDBCOMPRESSION.get(settings));
    let (mut access, key, reply) = call.on_key(1);
    let is_there = access.read(&key).is_some();
    match is_there.then(|| snapshot::dump(&access, &key, timed, compresses)).flatten() {
        Some(payload) => reply.bulk(&payload),
        None => reply.null(),
    }
    Ok(())
}

/// Options of RESTORE.
#[derive(Debug, Default)]
struct Options {
    replace: bool,
    is_absolute: bool,
    used: Option<Use>,
    /// What it has besides its value, if that is told. Only strings have any.
    attributes: Option<Attributes>,
}

pub fn restore(call: &mut Call<'_>) -> Outcome {
    restore_with(call, None)
}

/// Does what RESTORE does, with attributes that are told besides.
pub fn restore_with(call: &mut Call<'_>, attributes: Option<Attributes>) -> Outcome {
    let options = Options { attributes, ..parse(call.args)? };
    if !options.replace && exists(call) {
        return Err(BUSY_KEY.into());
    }
    let deadline = deadline(call, options.is_absolute)?;
    let (payload, settings) = (call.args.get(3), &call.instance.settings);
    // What DUMP writes here is taken here, and what a journal says was taken where it was written.
    let is_own = payload_version(payload) == Some(timed_version(settings));
    let checks = Checks {
        checksum: !call.instance.skips_checksums.load(Relaxed),
        version: checks_version(settings) && !is_own && !call.is_obeyed(),
    };
    let hasher = call.instance.store.hasher();
    let collected = snapshot::read_payload(payload, checks, hasher)?;
    if attributes.is_some() && collected.as_string().is_none() {
        return Err(Refusal::WRONG_TYPE.into());
    }
    call.reserve(collected.byte_len())?;
    put(call, &collected, deadline, &options)
}

fn exists(call: &mut Call<'_>) -> bool {
    let (mut access, key, _) = call.on_key(1);
    access.lookup_for_write(&key).is_some()
}

fn put(
    call: &mut Call<'_>,
    collected: &Collected,
    deadline: Option<Millis>,
    options: &Options,
) -> Outcome {
    let limits = value_limits(&call.instance.settings);
    let is_lazy = LAZYFREE_LAZY_SERVER_DEL.get(&call.instance.settings);
    let is_over = deadline.is_some_and(|deadline| call.is_over(deadline));
    let payload = call.args.get(3);
    let (mut access, key, reply) = call.on_key(1);
    // Another client may have created it while the payload was read.
    let is_there = access.lookup_for_write(&key).is_some();
    if is_there && !options.replace {
        return Err(BUSY_KEY.into());
    }
    if is_over {
        if access.remove(&key) {
            effects::removed(&mut access, &key, is_lazy);
            access.report_changes(1, Event::DEL, &key);
        }
    } else {
        let stored = match (options.attributes, collected.as_string()) {
            (Some(attributes), Some(value)) => {
                let expiry = deadline.map_or(Expiry::Never, Expiry::At);
                access.set_string_with(&key, value, Encoding::of_new(value), expiry, attributes)
            }
            _ => collected.store(&mut access, &key, deadline, &limits),
        };
        if stored.is_err() {
            let is_lost = is_there && access.lookup_without_touch(&key).is_none();
            if is_lost {
                effects::del(&mut access, &key);
                access.report_changes(1, Event::DEL, &key);
            }
            return Err(NoSpace.into());
        }
        if let Some(used) = options.used {
            access.set_use(&key, used);
        }
        record_restore_effect(&mut access, &key, payload, deadline);
        access.record_new_event(&key);
        access.report_changes(1, RESTORE, &key);
    }
    reply.ok();
    Ok(())
}

/// Records that a key holds the value of a payload now, in place of any other, and its deadline. A
/// payload that only younger servers read is written anew; with deadlines of fields, which no
/// payload for all has, commands make the value.
fn record_restore_effect(
    access: &mut Access<'_>,
    key: &Key<'_>,
    payload: &[u8],
    deadline: Option<Millis>,
) {
    if !access.is_recording() {
        return;
    }
    let anew = match is_common_payload(payload) {
        true => None,
        false => snapshot::dump(access, key, Version::VALKEY, true),
    };
    let payload = anew.as_deref().unwrap_or(payload);
    if is_common_payload(payload) {
        return effects::restored(access, key, payload, deadline);
    }
    let mut commands = Vec::new();
    access.value_in_words(key, |args| commands.push(args));
    effects::del(access, key);
    commands.into_iter().for_each(|args| access.record_effect(key.keyspace, args));
}

/// The deadline that the second argument stands for; zero is none.
fn deadline(call: &Call<'_>, is_absolute: bool) -> Result<Option<Millis>, Refusal> {
    let time = text::parse_i64(call.args.get(2)).ok_or(Refusal::NOT_INTEGER)?;
    let time = u64::try_from(time).map_err(|_| TIME_TO_LIVE)?;
    let begin = if is_absolute || time == 0 { 0 } else { call.lives_from().0 };
    Ok((time != 0).then(|| Millis(begin.saturating_add(time))))
}

fn parse(args: Args<'_>) -> Result<Options, Refusal> {
    let mut options = Options::default();
    let mut at = 4;
    while at < args.len() {
        let has_next = at + 1 < args.len();
        if args.is(at, "REPLACE") {
            options.replace = true;
        } else if args.is(at, "ABSTTL") {
            options.is_absolute = true;
        } else if args.is(at, "IDLETIME")
            && has_next
            && !matches!(options.used, Some(Use::Frequency(_)))
        {
            at += 1;
            let seconds = text::parse_i64(args.get(at)).ok_or(Refusal::NOT_INTEGER)?;
            options.used = Some(Use::Idle(u64::try_from(seconds).map_err(|_| IDLE_TIME)?));
        } else if args.is(at, "FREQ") && has_next && !matches!(options.used, Some(Use::Idle(_))) {
            at += 1;
            let counter = text::parse_i64(args.get(at)).ok_or(Refusal::NOT_INTEGER)?;
            options.used = Some(Use::Frequency(u8::try_from(counter).map_err(|_| FREQUENCY)?));
        } else {
            return Err(Refusal::SYNTAX);
        }
        at += 1;
    }
    Ok(options)
}
