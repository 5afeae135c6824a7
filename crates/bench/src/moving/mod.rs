//! Clients that are moved from one server to another while they write, and what they notice.
//!
//! ```text
//! by failover   REPLICAOF ─▶ caught up ─▶ FAILOVER TO ─▶ clients are refused, and try the other
//! by following  varve-import --follow ─▶ cut-over ─▶ clients are closed, and told the other
//! ```

mod clients;
mod importer;

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

use crate::servers::Server;
use clients::Clients;
pub use clients::Writers;
pub use importer::Importer;

/// How clients are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// The old server hands its role on.
    Failover,
    /// `varve-import` stands between both.
    Follow,
}

/// What clients have noticed of a move there and of one back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Noticed {
    /// The longest time of a client between two answers, in milliseconds.
    pub there_ms: f64,
    /// The same of the way back.
    pub back_ms: f64,
    /// Operations per second.
    pub per_second: f64,
    /// Operations that were answered and whose effect is missing at the end.
    pub lost: f64,
    /// Errors that are not those of a replica, a closed connection or a refused one.
    pub errors: f64,
}

/// Moves clients from one server to another and back.
///
/// # Errors
/// If a server does not do what it must.
pub fn move_and_back(way: Way, from: &Server, to: &Server, writers: Writers) -> Result<Noticed> {
    let clients = Clients::begin([from.port, to.port], writers)?;
    thread::sleep(SETTLED);
    let began = (Instant::now(), clients.done());
    let mut noticed = Noticed::default();
    for (at, (old, new)) in [(from, to), (to, from)].into_iter().enumerate() {
        if at == 0 || way == Way::Follow {
            prepare(way, old, new)?;
        }
        clients.forget_longest();
        let importer = match way {
            Way::Failover => None,
            Way::Follow => {
                let replaces: &[&str] = if at == 0 { &[] } else { &["--replace"] };
                let mut importer = Importer::follow(old.port, new.port, replaces)?;
                importer.hears("the stream follows")?;
                Some(importer)
            }
        };
        thread::sleep(SETTLED);
        clients.forget_longest();
        match importer {
            None => fail_over(old, new)?,
            Some(mut importer) => {
                importer.cut_over()?;
                importer.say("switch")?;
                importer.hears("switch clients to")?;
                clients.switch(new.port);
                importer.end()?;
            }
        }
        thread::sleep(SETTLED);
        let longest = clients.forget_longest().as_secs_f64() * 1e3;
        *[&mut noticed.there_ms, &mut noticed.back_ms][at] = longest;
        if way == Way::Follow {
            // It would hold writes back for a day.
            old.control()?.run(["CLIENT", "UNPAUSE"])?;
        }
    }
    let done = clients.done() - began.1;
    noticed.per_second = done as f64 / began.0.elapsed().as_secs_f64();
    (noticed.lost, noticed.errors) = clients.end(from)?;
    Ok(noticed)
}

/// Makes the new server a replica, if that is the way.
fn prepare(way: Way, old: &Server, new: &Server) -> Result<()> {
    if way == Way::Failover {
        new.control()?.run(["REPLICAOF", "127.0.0.1", &old.port.to_string()])?;
        let mut control = new.control()?;
        within(SYNCED_MAX, "the replica has no link", || {
            Ok(control.info("master_link_status")?.is_some_and(|it| it == "up"))
        })?;
        let mut primary = old.control()?;
        within(SYNCED_MAX, "the replica does not catch up", || {
            let offset = primary.info_number("master_repl_offset")?.unwrap_or(f64::INFINITY);
            Ok(control.info_number("slave_repl_offset")?.is_some_and(|it| it >= offset))
        })?;
    }
    Ok(())
}

fn fail_over(old: &Server, new: &Server) -> Result<()> {
    let (mut control, port) = (old.control()?, new.port.to_string());
    control.run(["FAILOVER", "TO", "127.0.0.1", &port, "TIMEOUT", "10000"])?;
    within(FAILED_OVER_MAX, "the role is not handed on", || {
        let is_over = control.info("master_failover_state")?.is_some_and(|it| it == "no-failover");
        Ok(is_over && control.info("role")?.is_some_and(|it| it == "slave"))
    })?;
    within(SYNCED_MAX, "the old server does not follow", || {
        Ok(control.info("master_link_status")?.is_some_and(|it| it == "up"))
    })
}

fn within(most: Duration, what: &str, mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    let began = Instant::now();
    while !is_so()? {
        ensure!(began.elapsed() < most, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Ages of a write when it has arrived, from one server to another that follows it: the oldest of
/// so many, in milliseconds.
///
/// # Errors
/// If one does not arrive.
pub fn oldest_arrival(from: &Server, to: &Server, count: u64) -> Result<f64> {
    let (mut writer, mut reader) = (from.control()?, to.control()?);
    let mut oldest = Duration::ZERO;
    for number in 0..count {
        let key = format!("varve-bench:mark:{number}");
        writer.run(["SET", &key, "x"])?;
        let began = Instant::now();
        let exists = ["EXISTS", &key];
        while reader.ask(exists)? != crate::replies::Value::Integer(1) {
            if began.elapsed() > ARRIVED_MAX {
                bail!("a write does not arrive");
            }
            thread::sleep(Duration::from_millis(1));
        }
        oldest = oldest.max(began.elapsed());
        thread::sleep(BETWEEN_MARKS);
    }
    Ok(oldest.as_secs_f64() * 1e3)
}

/// Time before and behind a move, in which clients only write.
const SETTLED: Duration = Duration::from_secs(2);
const SYNCED_MAX: Duration = Duration::from_secs(300);
const FAILED_OVER_MAX: Duration = Duration::from_secs(30);
const ARRIVED_MAX: Duration = Duration::from_secs(120);
const BETWEEN_MARKS: Duration = Duration::from_millis(100);
