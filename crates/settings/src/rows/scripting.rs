//! Settings of scripts.

use crate::row::{memory, yes_no};

super::declare::rows! { from super::observing::END;
    SCRIPT_MEMORY_LIMIT: u64 = memory("script-memory-limit",
        1 << 20..=1 << 40, 1 << 30,
        "Bytes that the values of scripts may take in each thread; a script that needs more ends \
         with an error.");
    LUA_ENABLE_INSECURE_API: bool = yes_no("lua-enable-insecure-api", false,
        "Let scripts use functions of Lua by which they change what other scripts see.")
        .alias("lua-enable-deprecated-api").hidden().protected();
}
