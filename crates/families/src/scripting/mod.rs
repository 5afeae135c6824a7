//! Scripts: EVAL and its like, and SCRIPT.

mod cache;
mod eval;
mod table;
#[cfg(test)]
mod tests;

pub use table::TABLE;

use script::{Options, Versions};
use session::{Instance, Refusal, ShebangError, versions};
use settings::scripting::{LUA_ENABLE_INSECURE_API, SCRIPT_MEMORY_LIMIT};

const NO_SCRIPT: Refusal = Refusal::of("NOSCRIPT No matching script.");
const NO_MEMORY: Refusal = Refusal::of("ERR not enough memory");

/// Returns how interpreters are made.
fn options(instance: &Instance) -> Options {
    Options {
        memory_limit: narrow::to_usize(SCRIPT_MEMORY_LIMIT.get(&instance.settings)),
        insecure: LUA_ENABLE_INSECURE_API.get(&instance.settings),
        versions: Versions {
            server_name: "valkey",
            valkey: versions::VALKEY,
            redis: versions::REDIS,
        },
        ..Options::default()
    }
}

/// The refusal of a script whose first line is wrong.
fn of_shebang(error: &ShebangError) -> Refusal {
    match error {
        ShebangError::Endless => Refusal::of("ERR Invalid script shebang"),
        ShebangError::Quotes => Refusal::of("ERR Invalid engine in script shebang"),
        ShebangError::Engine(name) => {
            Refusal::naming("ERR Could not find scripting engine '{}'", &[name])
        }
        ShebangError::Option(word) => {
            Refusal::naming("ERR Unknown lua shebang option: {}", &[word])
        }
        ShebangError::Flag(name) => {
            Refusal::naming("ERR Unexpected flag in script shebang: {}", &[name])
        }
    }
}

/// The refusal of a source that is no Lua, by Lua's text.
fn of_compiling(text: &[u8]) -> Refusal {
    Refusal::naming("ERR Error compiling script (new function): {}", &[text])
}
