//! Resident bytes per key beside key and value, by size of the value.

use anyhow::Result;

use super::measure::fill;
use super::{Bench, pin_client};
use crate::generator::{KEY_BYTES, ValueSize};
use crate::report::{Aim, Section};
use crate::servers::{Kind, Launch};

/// How much is stored.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Keys and values together, in bytes.
    pub payload: u64,
}

impl Plan {
    /// The full plan, or a short one.
    pub fn new(quick: bool) -> Self {
        Self { payload: if quick { 128 << 20 } else { 512 << 20 } }
    }
}

/// Stores values of each size in a fresh server.
///
/// # Errors
/// If a server fails.
pub fn run(bench: &Bench, plan: &Plan) -> Result<Section> {
    pin_client(1);
    let columns = ["value bytes", "server", "keys", "overhead B", "allowed B"];
    let mut section = Section::new("Overhead per key", &columns);
    section.note(
        "Overhead: resident memory less that of the empty server, per key, less key and value.",
    );
    for value in VALUE_BYTES {
        let allowed = OVERHEAD_BYTES + OVERHEAD_SHARE * (KEY_BYTES + value) as f64;
        for program in bench.varve_and_valkey() {
            let server = program.start(&Launch::default())?;
            let empty = server.resident_bytes()?;
            let keys = plan.payload / (KEY_BYTES + value) as u64;
            fill(&server, keys, ValueSize::Fixed(value))?;
            let used = server.resident_bytes()?.saturating_sub(empty) as f64 / keys as f64;
            let overhead = used - (KEY_BYTES + value) as f64;
            section.row([
                value.to_string(),
                server.label.clone(),
                keys.to_string(),
                format!("{overhead:.1}"),
                format!("{allowed:.1}"),
            ]);
            if server.kind == Kind::Varve {
                let what = format!("overhead with values of {value} bytes");
                section.figure(what, Aim::AtMost(allowed), Some(overhead), "B");
            }
        }
    }
    Ok(section)
}

const VALUE_BYTES: [usize; 5] = [100, 130, 200, 260, 520];
const OVERHEAD_BYTES: f64 = 20.0;
const OVERHEAD_SHARE: f64 = 0.08;
