//! stats: names and values, in the order of Memcached 1.6.45.
//!
//! | file | asked for by |
//! |---|---|
//! | `general.rs` | `stats` |
//! | `settings.rs` | `stats settings` |
//! | `classes.rs` | `stats items`, `stats slabs`: all items are in one class |
//! | `conns.rs` | `stats conns` |
//! | `lines.rs` | (how they are written) |
//!
//! What has no counterpart is 0. The manual says what each number counts.

mod classes;
mod conns;
mod general;
mod lines;
mod settings;

use command::{Call, Outcome};
use lines::Lines;
use memcached::{Refusal, reply};

/// Answers one kind of statistics.
type Tell = fn(&mut Call<'_>);

/// Those that any beginning of their name asks for; the first that fits is told.
const BY_BEGINNING: [(&[u8], Tell); 5] = [
    (b"reset", reset),
    (b"detail", |call| call.reply.raw(reply::STATS_DETAIL_NOT_ALLOWED)),
    (b"settings", settings::settings),
    (b"cachedump", |call| call.reply.raw(reply::STATS_CACHEDUMP_NOT_ALLOWED)),
    (b"conns", conns::conns),
];
/// Those that their whole name asks for. The last two are of parts that are not there.
const BY_NAME: [(&[u8], Tell); 5] = [
    (b"items", classes::items),
    (b"slabs", classes::slabs),
    (b"sizes", sizes),
    (b"extstore", |call| call.reply.raw(reply::END)),
    (b"proxy", |call| call.reply.raw(reply::END)),
];

pub fn stats(call: &mut Call<'_>) -> Outcome {
    match (call.args.len() > 1).then(|| call.args.get(1)) {
        None => general::general(call),
        Some(name) => {
            let begun = BY_BEGINNING.iter().find(|(whole, _)| whole.starts_with(name));
            let found = begun.or_else(|| BY_NAME.iter().find(|(whole, _)| *whole == name));
            match found {
                Some((_, tell)) => tell(call),
                None => call.reply.raw(Refusal::Unknown.line()),
            }
        }
    }
    Ok(())
}

/// Restarts from zero what `stats` counts. What INFO counts goes on, as that is for others.
fn reset(call: &mut Call<'_>) {
    call.instance.statistics.reset_memcached(call.instance.store.totals());
    call.reply.raw(reply::RESET);
}

fn sizes(call: &mut Call<'_>) {
    let mut lines = Lines::default();
    lines.put("sizes_status", "disabled");
    lines.answer(call);
}
