//! Proofs: which commands a compiled script can call at all, and with which of its keys.
//!
//! ```text
//! function ──dump──▶ bytes ──chunk──▶ prototype ──flow, call──▶ sites, or `None`: not proven
//!                                      captured: which locals closures share
//!                                      value: what a register may hold
//! ```
//! The bytecode is walked with values that tell only what matters: keys that were declared, texts
//! of the source, `redis.call`, the tables `redis`, `KEYS` and `ARGV`. What leads from one of the
//! latter to somewhere it cannot be followed ends the proof. So does what makes code of texts.
//!
//! Invariant: a proven script calls commands at its call sites alone. An argument that is a `Key`
//! there is an element of its keys, or nil, with which a call fails.
//! Owner: nobody; a proof is a function of the bytecode.
//! Not here: which arguments of a command are keys (`command`).
//! Start at: `flow.rs`.

mod call;
mod captured;
mod chunk;
mod flow;
mod instruction;
mod prototype;
mod site;
mod value;

pub use chunk::BYTES_MAX;
use flow::{Flow, Frame};
pub use site::{CallSite, Source, Word};
use value::Known;

/// Returns the call sites of a source by its bytecode; `None` if they cannot be told.
pub fn call_sites(dump: &[u8], source: Source) -> Option<Vec<CallSite>> {
    let main = chunk::read(dump)?;
    let mut known = Known::of(source);
    let mut waiting = vec![Frame::of_main(&main)];
    while let Some(frame) = waiting.pop() {
        let inner = Flow::new(frame, &mut known)?.walk()?;
        waiting.extend(inner);
    }
    known.into_sites()
}

#[cfg(test)]
mod tests;
