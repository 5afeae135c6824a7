//! Adding, counting, merging: PFADD, PFCOUNT, PFMERGE.

use command::{Call, Outcome};
use session::Needs;
use settings::values::HLL_SPARSE_MAX_BYTES;
use store::Event;
use store::value::hyperloglog::{self, DENSE_BYTES};

const PFADD: Event = Event::string("pfadd");

pub fn pfadd(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let sparse_bytes_max = HLL_SPARSE_MAX_BYTES.get(&call.instance.settings);
    call.reserve(DENSE_BYTES)?;
    let (mut access, key, reply) = call.on_key(1);
    let added = hyperloglog::add(&mut access, &key, args.from(2), sparse_bytes_max);
    access.report_changes(added.unwrap_or(0), PFADD, &key);
    reply.integer(i64::from(added? > 0));
    Ok(())
}

pub fn pfcount(call: &mut Call<'_>) -> Outcome {
    let (args, tracker) = (call.args, call.late_tracker());
    // What could not be written is not kept either: nobody waits for the disk to read.
    let keeps_count = call.instance.clients.grants.get().contains(Needs::DISK);
    if args.len() > 2 || !keeps_count {
        let (mut access, keys, reply) = call.on_keys(1..args.len());
        tracker.enter(&keys);
        reply.integer(hyperloglog::count_all(&mut access, &keys)?.cast_signed());
        return Ok(());
    }
    let (mut access, key, reply) = call.on_key(1);
    let count = hyperloglog::count(&mut access, &key);
    tracker.enter(&[key]);
    // A kept count is part of the value, so a command that reads may count as a change.
    access.report_changes_silently(count.is_ok_and(|count| count.is_new).into());
    reply.integer(count?.elements.cast_signed());
    Ok(())
}

pub fn pfmerge(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let sparse_bytes_max = HLL_SPARSE_MAX_BYTES.get(&call.instance.settings);
    call.reserve(DENSE_BYTES)?;
    let (mut access, keys, reply) = call.on_keys(1..args.len());
    hyperloglog::merge(&mut access, &keys, sparse_bytes_max)?;
    access.report_changes(1, PFADD, &keys[0]);
    reply.ok();
    Ok(())
}
