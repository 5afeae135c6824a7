//! Memory of a server that was just started.

use std::thread;
use std::time::Duration;

use anyhow::Result;

use super::{Bench, mebibytes};
use crate::report::{Aim, Section};
use crate::servers::{Kind, Launch};

/// Starts each server and looks at it after two seconds.
///
/// # Errors
/// If a server fails.
pub fn run(bench: &Bench) -> Result<Section> {
    let mut section = Section::new("Idle, empty server", &["server", "resident MiB"]);
    for program in bench.varve_and_valkey() {
        let server = program.start(&Launch::default())?;
        thread::sleep(SETTLE);
        let resident = server.resident_bytes()? as f64;
        section.row([server.label.clone(), mebibytes(resident)]);
        if server.kind == Kind::Varve {
            let what = "resident memory of an idle, empty server";
            section.figure(what, Aim::AtMost(10.0), Some(resident / 1e6), "MB");
        }
    }
    Ok(section)
}

const SETTLE: Duration = Duration::from_secs(2);
