//! Numbers of keys of each database.

use super::text::Text;
use command::Call;

pub(super) fn keyspace(text: &mut Text, call: &mut Call<'_>) {
    let store = &call.instance.store;
    for database in 0..store.databases() {
        let (facts, keyspace) = (store.keyspace_facts(database), store.keyspace(database));
        let Some(keyspace) = keyspace.filter(|_| facts.keys > 0) else { continue };
        let left = store.mean_time_left(call.thread, keyspace, call.now);
        text.line(format_args!(
            "db{database}:keys={},expires={},avg_ttl={left},keys_with_volatile_items={}",
            facts.keys, facts.with_deadline, facts.with_timed_parts
        ));
    }
}
