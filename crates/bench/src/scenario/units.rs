//! Waiting time of other clients while a large transaction runs.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::{Bench, Scenario};
use crate::control::{Control, encode_line};
use crate::generator::{Load, Value};
use crate::measure::{measure, measure_during, send_each};
use crate::report::Section;
use crate::servers::{Launch, Program};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// SETs of one transaction.
    sets: u64,
    /// Number of transactions.
    times: u64,
}

/// Keys of the SETs, by the names of their rows.
const KEYS: [(&str, &str); 2] = [("one shard", "k"), ("all shards", "k{i}")];

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        section.columns(COLUMNS);
        for program in bench.varve_and_valkey() {
            for (row, key) in KEYS {
                section.values(row, &program.label, &self.measure(program, key)?);
            }
        }
        Ok(())
    }
}

impl Plan {
    /// Returns the numbers of [`COLUMNS`].
    fn measure(&self, program: &Program, key: &str) -> Result<[f64; 5]> {
        let server = program.start(&Launch::on(2, 2))?;
        send_each(&server, "SET other{n} value", OTHERS)?;
        let others = Load::of("GET other{n}", OTHERS).on(4).pipelined(1);
        let alone = measure(&server, &others.clone().lasting(ALONE))?.outcome;
        let sets = (0..self.sets)
            .map(|i| encode_line(&format!("SET {} v", key.replace("{i}", &i.to_string()))));
        let sets: Vec<_> = sets.collect();
        let pieces: Vec<_> =
            sets.chunks(PIECE).map(|piece| (piece.concat(), piece.len() as u64)).collect();
        let mut control = server.control()?;
        let (beside, exec) = measure_during(&server, &others, |others| {
            while others.operations() == 0 {
                thread::sleep(Duration::from_millis(1));
            }
            let times = (0..self.times).map(|_| unit(&mut control, &pieces));
            Ok(times.collect::<Result<Vec<_>>>()?.into_iter().max().unwrap_or_default())
        })?;
        let (exec, longest) = (exec.as_secs_f64() * 1e3, beside.outcome.longest_ms());
        let [during, before] = [&beside.outcome, &alone].map(|it| it.latency_us(0.99));
        Ok([exec, longest, longest - exec, during, during / before])
    }
}

/// Runs a transaction of these requests, which were written beforehand; returns the time from the
/// sending of EXEC to the end of its reply.
fn unit(control: &mut Control, pieces: &[(String, u64)]) -> Result<Duration> {
    control.tell(&["MULTI"])?;
    for (piece, count) in pieces {
        control.send_all(piece, *count)?;
    }
    let began = Instant::now();
    let last = control.ask(&["EXEC"])?;
    let took = began.elapsed();
    ensure!(last == Value::Text(b"OK".to_vec()), "EXEC ends with {last:?}");
    Ok(took)
}

const COLUMNS: &str = "keys | server | EXEC ms .1 | longest wait ms .1 | beyond ms .1 | p99 us .0 \
                       | p99 / alone .2";
/// Keys of other clients.
const OTHERS: u64 = 1000;
const ALONE: Duration = Duration::from_secs(2);
/// Requests of one write: their replies fit into the buffers of a socket.
const PIECE: usize = 1000;
