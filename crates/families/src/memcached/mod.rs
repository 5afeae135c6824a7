//! Memcached's protocol: the same keys for its clients.
//!
//! ```text
//! line ──▶ memcached::RequestParser ──▶ the row of its word ──▶ a handler here ──▶ Reply::raw
//! ```
//! What is known of the line besides its words is in the session. A line of many keys is several
//! requests, each with some of them; the last one writes the end.
//!
//! | file | commands |
//! |---|---|
//! | `get.rs` | get, gets, gat, gats |
//! | `storage.rs` | set, add, replace, append, prepend, cas |
//! | `change.rs` | touch, delete, incr, decr |
//! | `meta_get.rs` | mg, me |
//! | `meta_set.rs` | ms, md |
//! | `meta_arithmetic.rs` | ma |
//! | `server.rs` | version, flush_all, verbosity, cache_memlimit, quit |
//! | `stats` | stats, by what it tells of |
//! | `dump.rs` | lru_crawler metadump and mgdump |
//! | `noted.rs` | what files and a primary tell of items, and programs that move them |
//! | `table.rs` | the rows, which no list of commands has |
//!
//! A key that holds no string is one without an item. What is written has its result as effect, as
//! other servers do not know these commands. Flags, a CAS that was given and marks are noted before
//! it; that an item was won is told with what else is written of it, and not by itself.

mod change;
mod dump;
mod get;
mod meta_arithmetic;
mod meta_get;
mod meta_set;
mod noted;
mod server;
mod stats;
mod storage;
mod table;
mod told;
mod write;

pub use table::{COMMANDS, HIDDEN};

use base::Millis;
use command::Call;
use memcached::number;
use settings::memcached::MEMCACHED_MAX_ITEM_SIZE;
use store::Expiry;

/// Milliseconds of a second.
const SECOND: u64 = 1000;

/// Writes the answer to the line at work, unless its client wants none.
fn answer(call: &mut Call<'_>, line: &[u8]) {
    if !is_quiet(call) {
        call.reply.raw(line);
    }
}

/// Most bytes of a value that the client may set.
fn item_bytes_max(call: &Call<'_>) -> u64 {
    match MEMCACHED_MAX_ITEM_SIZE.get(&call.instance.settings) {
        0 => call.bulk_bytes_max(),
        bytes => bytes,
    }
}

fn is_quiet(call: &Call<'_>) -> bool {
    call.session.line.get().is_some_and(|line| line.request.is_quiet)
}

/// Returns what an expiry means for a key that is written now; `None` if the key is gone at once.
fn expiry_at(call: &Call<'_>, number: i32) -> Option<Expiry> {
    let deadline = match number::Expiry::of(number) {
        number::Expiry::Never => return Some(Expiry::Never),
        number::Expiry::AtOnce => return None,
        number::Expiry::InSeconds(seconds) => {
            Millis(call.now.0.saturating_add(u64::from(seconds) * SECOND))
        }
        number::Expiry::AtUnixSeconds(seconds) => Millis(u64::from(seconds) * SECOND),
    };
    (!call.is_over(deadline)).then_some(Expiry::At(deadline))
}
