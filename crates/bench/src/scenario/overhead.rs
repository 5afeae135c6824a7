//! Resident bytes per key beside key and value, by size of the value.

use anyhow::Result;
use serde::Deserialize;

use super::{Bench, Scenario, pin_client};
use crate::generator::{KEY_BYTES, Sizes};
use crate::measure::fill;
use crate::report::{Plot, Section};
use crate::servers::{Kind, Launch};

/// Amount of data that is stored.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Keys and values together, in bytes.
    payload: u64,
    /// Bytes of a value, each on fresh servers.
    values: Vec<usize>,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&["value bytes", "server", "keys", "overhead B"]);
        section.note(
            "Overhead: resident memory less that of the empty server, per key, less key and value.",
        );
        let mut plot = Plot::lines("Overhead per key", "bytes in a value", "bytes");
        for &value in &self.values {
            for program in bench.varve_and_all_peers() {
                let server = program.start(&Launch::default())?;
                let empty = server.resident_bytes()?;
                let keys = self.payload / (KEY_BYTES + value) as u64;
                fill(&server, keys, &Sizes::fixed(value))?;
                let used = server.resident_bytes()?.saturating_sub(empty) as f64 / keys as f64;
                let overhead = used - (KEY_BYTES + value) as f64;
                plot.point(&server.label, value as f64, overhead);
                let label = server.label.clone();
                section.row([value.to_string(), label, keys.to_string(), format!("{overhead:.1}")]);
                if server.kind == Kind::Varve {
                    let what = format!("overhead with values of {value} bytes");
                    section.finding(what, Some(overhead), "B");
                }
            }
        }
        section.plot(plot);
        Ok(())
    }
}
