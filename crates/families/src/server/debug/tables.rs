//! DEBUG subcommands that look at the index.

use command::{Call, Outcome};
use session::Refusal;

pub(super) fn htstats(call: &mut Call<'_>) -> Outcome {
    let number = call.args.integer(2)?;
    let store = &call.instance.store;
    let database = usize::try_from(number).ok().filter(|number| *number < store.databases());
    let database = database.ok_or(Refusal::of("ERR Out of range database"))?;
    let (facts, places) = (store.keyspace_facts(database), store.index_places(database));
    let mut text = String::from("[Dictionary HT]\n");
    if facts.keys > 0 {
        text.push_str(&table(places, facts.keys));
    }
    text.push_str("[Expires HT]\n");
    if facts.with_deadline > 0 {
        // Deadlines stand in the same buckets as the keys.
        text.push_str(&table(places, facts.with_deadline));
    }
    call.reply.verbatim(b"txt", text.as_bytes());
    Ok(())
}

fn table(places: u64, entries: u64) -> String {
    format!(
        "Hash table 0 stats (main hash table):\n table size: {places}\n number of entries: \
         {entries}\n rehashing index: -1\n"
    )
}

pub(super) fn htstats_key(call: &mut Call<'_>) -> Outcome {
    let (access, key, _) = call.on_key(2);
    if access.lookup_without_touch(&key).is_none() {
        return Err(Refusal::NO_SUCH_KEY.into());
    }
    Err(Refusal::of(
        "ERR The value stored at the specified key is not represented using an hash table",
    )
    .into())
}
