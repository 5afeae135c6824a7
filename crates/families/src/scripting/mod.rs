//! Scripts and functions: EVAL and its like, SCRIPT, FCALL and FUNCTION.

mod cache;
mod eval;
mod fcall;
mod function;
mod table;
#[cfg(test)]
mod tests;

pub use table::TABLE;

use session::{Refusal, ShebangError};

const NO_SCRIPT: Refusal = Refusal::of("NOSCRIPT No matching script.");
const NO_MEMORY: Refusal = Refusal::of("ERR not enough memory");

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
