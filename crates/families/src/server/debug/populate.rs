//! DEBUG POPULATE: many keys at once.

use command::{Call, Outcome};
use heap::RECORD_OVERHEAD_MAX;
use session::Refusal;
use store::{Encoding, Expiry};

/// Number of keys after which the thread leaves the gate for a moment.
const KEYS_PER_TURN: i64 = 256;
pub(super) fn populate(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let positive = |at: usize| args.integer(at).ok().and_then(|size| usize::try_from(size).ok());
    let refusal = Refusal::of("ERR value is out of range, must be positive");
    let count = match args.integer(2)? {
        count if count >= 0 => count,
        _ => return Err(refusal.into()),
    };
    let prefix = if args.len() > 3 { args.get(3) } else { b"key" };
    let size = match args.len() {
        5 => Some(positive(4).ok_or(refusal)?).filter(|size| *size > 0),
        _ => None,
    };
    let largest = settings::limits::PROTO_MAX_BULK_LEN.get(&call.instance.settings);
    if size.is_some_and(|size| size as u64 > largest) {
        return Err(
            Refusal::of("ERR string exceeds maximum allowed size (proto-max-bulk-len)").into()
        );
    }
    for number in 0..count {
        if number % KEYS_PER_TURN == KEYS_PER_TURN - 1 {
            call.instance.store.step_aside(call.thread);
        }
        let key = [prefix, format!(":{number}").as_bytes()].concat();
        add(call, &key, format!("value:{number}").into_bytes(), size)?;
    }
    call.reply.ok();
    Ok(())
}

/// Sets a key, unless it exists.
fn add(call: &mut Call<'_>, key: &[u8], mut value: Vec<u8>, size: Option<usize>) -> Outcome {
    if let Some(size) = size {
        value.resize(size, 0);
    }
    call.reserve(key.len() + value.len() + RECORD_OVERHEAD_MAX)?;
    let keyspace = call.keyspace();
    let store = &call.instance.store;
    let key = store.key(keyspace, key);
    let mut access = store.lock(call.thread, &key, call.now);
    if access.lookup_without_touch(&key).is_none() {
        let encoding = if size.is_some() { Encoding::Raw } else { Encoding::of_new(&value) };
        access.set_string(&key, &value, encoding, Expiry::Never)?;
        // Filling a server for tests is neither counted nor reported as a change.
        access.report_changes_silently(0);
    }
    Ok(())
}
