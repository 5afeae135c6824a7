//! Memory of a server that was just started.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::{Bench, Scenario, mebibytes};
use crate::report::Section;
use crate::servers::{Kind, Launch};

/// Parameters. Each server is started and measured after two seconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        section.columns(&["server", "resident MiB"]);
        for program in bench.varve_and_all_peers() {
            let server = program.start(&Launch::default())?;
            thread::sleep(SETTLE);
            let resident = server.resident_bytes()? as f64;
            section.row([server.label.clone(), mebibytes(resident)]);
            if server.kind == Kind::Varve {
                let what = "resident memory of an idle, empty server";
                section.finding(what, Some(resident / 1e6), "MB");
            }
        }
        Ok(())
    }
}

const SETTLE: Duration = Duration::from_secs(2);
