//! XCLAIM and XAUTOCLAIM.

use super::add::Ids;
use super::effects::GroupConsumer;
use super::group::XGROUP_CREATECONSUMER;
use super::{entries, id, no_group, refusal_of};
use command::{Call, Outcome};
use session::{Args, Refusal};
use store::value::stream::group::{AutoClaim, Claim, auto_claim, claim};
use store::value::stream::{self, Id, Stream};
use store::{Access, Key};

/// Maximum COUNT of XAUTOCLAIM.
const COUNT_MAX: i64 = i64::MAX / 16;
const COUNT_DEFAULT: u64 = 100;

fn integer(args: Args<'_>, at: usize, error: &'static str) -> Result<i64, Refusal> {
    text::parse_i64(args.get(at)).ok_or(Refusal::of(error))
}

pub fn xclaim(call: &mut Call<'_>) -> Outcome {
    let (args, now) = (call.args, call.now.0);
    let (mut access, key, reply) = call.on_key(1);
    let name = args.get(2);
    let stream = stream::read(&mut access, &key)?;
    if stream.is_none_or(|stream| stream.groups().get(name).is_none()) {
        return Err(no_group(key.bytes, name).into());
    }
    let is_new = lacks_consumer(stream, args);
    let (claimed, ids, just_ids) = parse_claim(args, now)?;
    let (mark, mut len) = (reply.deferred_array(), 0);
    let (is_recording, mut taken) = (access.is_recording(), Ids::new());
    let changes = claim(&mut access, &key, claimed, &ids, |entry| {
        taken.extend(is_recording.then_some(entry.id));
        if just_ids {
            id::write(reply, entry.id)
        } else {
            entries::write(reply, entry)
        }
        len += 1;
    });
    let changes = changes.map_err(|error| refusal_of(error, || no_group(key.bytes, name)))?;
    reply.close_array(mark, len);
    let group_consumer = GroupConsumer { group: name, consumer: args.get(3) };
    report_claim(&mut access, &key, changes, is_new.then_some(group_consumer));
    if changes > 0 {
        if changes > taken.len() as u64 + u64::from(is_new) {
            group_consumer.record_forgotten_effect(&mut access, &key, &ids);
        }
        group_consumer.record_pending_effects(&mut access, &key, &taken);
        if taken.is_empty() {
            group_consumer.record_position_effect(&mut access, &key);
        }
    }
    Ok(())
}

/// Returns true if a claim will create its consumer.
fn lacks_consumer(stream: Option<Stream<'_>>, args: Args<'_>) -> bool {
    let group = stream.and_then(|stream| stream.groups().get(args.get(2)));
    group.is_some_and(|group| group.consumer(args.get(3)).is_none())
}

/// Reports the changes of a claim; only the creation of its consumer is an event.
fn report_claim(
    access: &mut Access<'_>,
    key: &Key<'_>,
    changes: u64,
    made: Option<GroupConsumer<'_>>,
) {
    let new = u64::from(made.is_some());
    access.report_changes(new, XGROUP_CREATECONSUMER, key);
    access.report_changes_silently(changes - new);
    access.leave_out_request();
    if let Some(group_consumer) = made {
        group_consumer.record_consumer_effect(access, key);
    }
}

fn parse_claim(args: Args<'_>, now: u64) -> Result<(Claim<'_>, Ids, bool), Refusal> {
    let idle_min = integer(args, 4, "ERR Invalid min-idle-time argument for XCLAIM")?;
    let ids: Ids = args.from(5).map_while(|word| id::parse(word, 0).ok()).collect();
    let mut claim = Claim {
        group: args.get(2),
        consumer: args.get(3),
        idle_min: u64::try_from(idle_min).unwrap_or(0),
        delivered: now,
        deliveries: None,
        counts: true,
        force: false,
        last_id: Id::MIN,
    };
    let (mut at, mut delivered) = (5 + ids.len(), -1);
    while at < args.len() {
        let has_more = at + 1 < args.len();
        let words = match () {
            () if args.is(at, "FORCE") => {
                claim.force = true;
                1
            }
            () if args.is(at, "JUSTID") => {
                claim.counts = false;
                1
            }
            () if args.is(at, "IDLE") && has_more => {
                let idle = integer(args, at + 1, "ERR Invalid IDLE option argument for XCLAIM")?;
                delivered = (now as i64).wrapping_sub(idle);
                2
            }
            () if args.is(at, "TIME") && has_more => {
                delivered = integer(args, at + 1, "ERR Invalid TIME option argument for XCLAIM")?;
                2
            }
            () if args.is(at, "RETRYCOUNT") && has_more => {
                let error = "ERR Invalid RETRYCOUNT option argument for XCLAIM";
                claim.deliveries = u64::try_from(integer(args, at + 1, error)?).ok();
                2
            }
            () if args.is(at, "LASTID") && has_more => {
                claim.last_id = id::parse(args.get(at + 1), 0)?;
                2
            }
            () => return Err(unrecognized(args.get(at))),
        };
        at += words;
    }
    // An impossible time counts as now.
    claim.delivered = u64::try_from(delivered).ok().filter(|at| *at <= now).unwrap_or(now);
    Ok((claim, ids, !claim.counts))
}

fn unrecognized(word: &[u8]) -> Refusal {
    Refusal::naming("ERR Unrecognized XCLAIM option '{}'", &[word])
}

pub fn xautoclaim(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let (mut access, key, reply) = call.on_key(1);
    let stream = stream::read(&mut access, &key);
    let claimed = parse_auto_claim(args)?;
    let just_ids = !claimed.counts;
    let is_new = lacks_consumer(stream?, args);
    // The id for the next call stands before the entries in the reply, but is known only after
    // them.
    let mut out = Vec::new();
    let (mut listed, mut len) = (reply.part(&mut out), 0);
    let (is_recording, mut taken) = (access.is_recording(), Ids::new());
    let done = auto_claim(&mut access, &key, claimed, |entry| {
        taken.extend(is_recording.then_some(entry.id));
        if just_ids {
            id::write(&mut listed, entry.id)
        } else {
            entries::write(&mut listed, entry)
        }
        len += 1;
    });
    let done = done.map_err(|error| refusal_of(error, || no_group(key.bytes, args.get(2))))?;
    reply.array(3);
    id::write(reply, done.next);
    reply.array(len);
    reply.append(&listed);
    reply.array(done.deleted.len());
    done.deleted.iter().for_each(|id| id::write(reply, *id));
    let group_consumer = GroupConsumer { group: args.get(2), consumer: args.get(3) };
    report_claim(&mut access, &key, done.changes, is_new.then_some(group_consumer));
    group_consumer.record_forgotten_effect(&mut access, &key, &done.deleted);
    group_consumer.record_pending_effects(&mut access, &key, &taken);
    Ok(())
}

fn parse_auto_claim(args: Args<'_>) -> Result<AutoClaim<'_>, Refusal> {
    let idle_min = integer(args, 4, "ERR Invalid min-idle-time argument for XAUTOCLAIM")?;
    let mut claim = AutoClaim {
        group: args.get(2),
        consumer: args.get(3),
        idle_min: u64::try_from(idle_min).unwrap_or(0),
        from: id::parse_start(args.get(5))?,
        count: COUNT_DEFAULT,
        counts: true,
    };
    let mut at = 6;
    while at < args.len() {
        if args.is(at, "COUNT") && at + 1 < args.len() {
            let count = text::parse_i64(args.get(at + 1)).filter(|it| (1..=COUNT_MAX).contains(it));
            claim.count = count.ok_or(Refusal::of("ERR COUNT must be > 0"))? as u64;
            at += 2;
        } else if args.is(at, "JUSTID") {
            claim.counts = false;
            at += 1;
        } else {
            return Err(Refusal::SYNTAX);
        }
    }
    Ok(claim)
}
