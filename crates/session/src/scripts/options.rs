//! How interpreters are made, as settings say.

use crate::versions;
use script::{Options, Versions};
use settings::Settings;
use settings::scripting::{LUA_ENABLE_INSECURE_API, SCRIPT_MEMORY_LIMIT};

/// Returns how interpreters for scripts are made.
pub fn script_options(settings: &Settings) -> Options {
    Options {
        memory_limit: narrow::to_usize(SCRIPT_MEMORY_LIMIT.get(settings)),
        insecure: LUA_ENABLE_INSECURE_API.get(settings),
        for_libraries: false,
        versions: Versions {
            server_name: "valkey",
            valkey: versions::VALKEY,
            redis: versions::REDIS,
        },
    }
}

/// Returns how interpreters for libraries are made.
pub fn library_options(settings: &Settings) -> Options {
    Options { for_libraries: true, ..script_options(settings) }
}
