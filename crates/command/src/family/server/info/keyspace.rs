//! Numbers of keys of each database.

use super::text::Text;
use crate::call::Call;

/// Number of random keys from which the mean time left is estimated.
const SAMPLES: usize = 64;

pub(super) fn keyspace(text: &mut Text, call: &mut Call<'_>) {
    for database in 0..call.instance.store.databases() {
        let facts = call.instance.store.keyspace_facts(database);
        if facts.keys == 0 {
            continue;
        }
        let left = if facts.with_deadline == 0 { 0 } else { mean_time_left(call, database) };
        text.line(format_args!(
            "db{database}:keys={},expires={},avg_ttl={left},keys_with_volatile_items={}",
            facts.keys, facts.with_deadline, facts.with_timed_parts
        ));
    }
}

/// Estimates the mean time until the deadlines of keys that have one, in milliseconds.
fn mean_time_left(call: &mut Call<'_>, database: usize) -> u64 {
    let store = &call.instance.store;
    let Some(keyspace) = store.keyspace(database) else { return 0 };
    let (mut sum, mut count) = (0_u64, 0_u64);
    for _ in 0..SAMPLES {
        let Some(bytes) = store.random_key(call.thread, keyspace, call.now) else { break };
        let key = store.key(keyspace, &bytes);
        let access = store.lock(call.thread, &key, call.now);
        if let Some(deadline) = access.lookup_without_touch(&key).and_then(|value| value.deadline) {
            sum = sum.saturating_add(deadline.since(call.now));
            count += 1;
        }
    }
    sum.checked_div(count).unwrap_or(0)
}
