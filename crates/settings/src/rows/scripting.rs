//! Settings of scripts.

use crate::choice::BusyScope;
use crate::row::{integer, memory, one_of, yes_no};

super::declare::rows! { from super::observing::END;
    SCRIPT_MEMORY_LIMIT: u64 = memory("script-memory-limit",
        1 << 20..=1 << 40, 1 << 30,
        "Bytes that the values of scripts may take in each thread; a script that needs more ends \
         with an error.");
    BUSY_REPLY_THRESHOLD: u64 = integer("busy-reply-threshold", 0..=i64::MAX as i128, 5000,
        "Milliseconds after which a script is slow, and clients are told so; 0: never.")
        .alias("lua-time-limit");
    BUSY_REPLY_SCOPE: BusyScope = one_of("busy-reply-scope", BusyScope::NAMES,
        BusyScope::All as usize,
        "Who gets BUSY while a script is slow: all clients, or nobody (keys), so that only those \
         wait who want keys that it has.");
    SCRIPT_TIME_LIMIT: u64 = integer("script-time-limit", 0..=i64::MAX as i128, 0,
        "Milliseconds after which a script is ended that has changed nothing; 0: never.");
    LUA_ENABLE_INSECURE_API: bool = yes_no("lua-enable-insecure-api", false,
        "Let scripts use functions of Lua by which they change what other scripts see.")
        .alias("lua-enable-deprecated-api").hidden().protected();
}
