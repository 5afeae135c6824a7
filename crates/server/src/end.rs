//! The end of the server, by SHUTDOWN and signals, and before it what makes the data safe: the
//! journal and the last snapshot.
//!
//! Writes are postponed before the cut of the last snapshot, so every acknowledged write is in it.

use crate::journal::{Ending, Journal};
use crate::saver::{Saver, saves_by_itself};
use crate::services::Services;
use base::Steady;
use crossbeam_channel::{Receiver, select};
use session::{Holder, Instance, Phase, Replica, Shutdown};
use settings::{Settings, ShutdownFlags, general};
use signal_hook::consts::SIGINT;
use snapshot::SaveError;
use std::sync::Arc;
use std::time::Duration;

/// Time between two looks at the journal.
const LOOK: Duration = Duration::from_millis(1);

/// How a signal ends the server.
pub fn shutdown_of_signal(settings: &Settings, signal: i32) -> Shutdown {
    let flags = match signal {
        SIGINT => general::SHUTDOWN_ON_SIGINT.get(settings),
        _ => general::SHUTDOWN_ON_SIGTERM.get(settings),
    };
    let has = |flag| flags.contains(flag);
    let is_explicit = has(ShutdownFlags::SAVE) || has(ShutdownFlags::NOSAVE);
    Shutdown {
        saves: is_explicit.then_some(has(ShutdownFlags::SAVE)),
        force: has(ShutdownFlags::FORCE),
        now: has(ShutdownFlags::NOW),
    }
}

/// Passes a signal on. The second SIGINT ends the server with what is safe.
pub fn on_signal(instance: &Instance, signal: i32) {
    let mut how = shutdown_of_signal(&instance.settings, signal);
    if signal == SIGINT && instance.shutdown.requested().is_some() {
        tracing::warn!("SIGINT again: the server ends now, without a snapshot");
        (how.saves, how.force) = (Some(false), true);
    }
    instance.shutdown.request(&instance.loading, how, None);
}

/// Waits until the server is to end, with the last snapshot on disk if there is to be one.
/// `asked` tells that the request for a shutdown has changed.
pub fn wait(instance: &Instance, services: &Services, asked: &Receiver<()>) {
    let Services { journal, saver, .. } = services;
    while asked.recv().is_ok() {
        if instance.shutdown.requested().is_none() {
            continue;
        }
        let scripts = Scripts::new(instance);
        let is_held_up = scripts.end(asked);
        if is_held_up {
            saver.cancel_all();
        }
        if is_journal_safe(instance, journal, asked)
            && have_replicas_followed(instance, asked)
            && (is_held_up || is_saved(instance, saver, asked, &scripts))
        {
            instance.scripts.long_runs.stop();
            return;
        }
        instance.shutdown.abort(&instance.loading, &instance.statistics);
        instance.clients.let_writes_flow(Holder::End);
    }
}

/// Scripts that run while the server ends. One that has changed nothing is ended. One that has is
/// waited for, unless no snapshot is to be made, and not for longer than `shutdown-timeout`.
struct Scripts<'i> {
    instance: &'i Instance,
    until: Steady,
}

impl Scripts<'_> {
    fn new(instance: &Instance) -> Scripts<'_> {
        let timeout = u64::from(general::SHUTDOWN_TIMEOUT.get(&instance.settings)) * 1000;
        Scripts { instance, until: instance.clock.steady().after(timeout) }
    }

    /// Ends those that have changed nothing. Returns true if one is left that is not waited for any
    /// more: a snapshot would have to wait for it.
    fn hold_up(&self, how: Shutdown) -> bool {
        let is_over = how.now || how.saves == Some(false);
        let is_late = is_over || self.instance.clock.steady() >= self.until;
        let holds_up = self.instance.scripts.long_runs.end_readers() && is_late;
        if holds_up {
            tracing::warn!("A script is in the middle of its changes: they get lost with it.");
        }
        holds_up
    }

    /// Waits until none is left, or one that holds up the end. Returns true if there is such one.
    fn end(&self, asked: &Receiver<()>) -> bool {
        while self.instance.scripts.long_runs.is_any() {
            let Some(how) = self.instance.shutdown.requested() else { break };
            if self.hold_up(how) {
                return true;
            }
            let _ = asked.recv_timeout(LOOK);
        }
        false
    }
}

/// Has the journal make all data safe, while writes are postponed. Returns true if the server may
/// end as far as the journal is concerned.
fn is_journal_safe(instance: &Instance, journal: &Journal, asked: &Receiver<()>) -> bool {
    instance.clients.postpone_writes(Holder::End);
    let position = journal.hurry();
    let may_end = loop {
        let Some(how) = instance.shutdown.requested() else { break false };
        match journal.ending(instance, position) {
            Ending::Safe => break true,
            Ending::Soon if how.force => break true,
            Ending::Soon => {}
            Ending::Unsafe(reason) => {
                if how.force {
                    tracing::warn!("{reason}. Exit anyway.");
                } else {
                    tracing::warn!("{reason}, can't exit: SHUTDOWN FORCE ends it all the same.");
                }
                break how.force;
            }
        }
        let _ = asked.recv_timeout(LOOK);
    };
    journal.end_hurry();
    may_end
}

/// Waits until replicas have all of the stream, to which nothing is added meanwhile, for as long as
/// the settings allow. Returns false if the end was taken back.
fn have_replicas_followed(instance: &Instance, asked: &Receiver<()>) -> bool {
    let (replicas, offset) = (&instance.replicas, instance.replicas.offset());
    let lags = |it: &Arc<Replica>| it.phase() != Phase::Online || it.acknowledged() < offset;
    let timeout = u64::from(general::SHUTDOWN_TIMEOUT.get(&instance.settings)) * 1000;
    let until = instance.clock.steady().after(timeout);
    let is_any_behind = replicas.all().iter().any(lags);
    if is_any_behind && timeout > 0 {
        tracing::info!("Waiting for replicas before shutting down.");
    }
    while replicas.all().iter().any(lags) {
        let Some(how) = instance.shutdown.requested() else { return false };
        if how.now || instance.clock.steady() >= until {
            break;
        }
        let _ = asked.recv_timeout(LOOK);
    }
    let (all, now) = (replicas.all(), instance.clock.steady());
    let behind: Vec<_> = all.iter().filter(|it| lags(it)).collect();
    for replica in &behind {
        let (lag, missing) =
            (replica.silent_for(now) / 1000, offset.saturating_sub(replica.acknowledged()));
        tracing::info!(
            "Lagging replica {}:{} reported offset {missing} behind master, lag={lag}, state={:?}.",
            replica.address(),
            replica.about.port,
            replica.phase()
        );
    }
    if !all.is_empty() {
        let in_sync = all.len() - behind.len();
        tracing::info!("{in_sync} of {} replicas are in sync when shutting down.", all.len());
    }
    true
}

/// Makes the last snapshot, if there is to be one. Returns true if the server may end.
fn is_saved(
    instance: &Instance,
    saver: &Saver,
    asked: &Receiver<()>,
    scripts: &Scripts<'_>,
) -> bool {
    let Some(how) = instance.shutdown.requested() else { return false };
    saver.cancel_all();
    !saves(instance, how) || save(instance, saver, asked, scripts)
}

/// True if a snapshot is to be made before the end: never of data that is only half loaded.
fn saves(instance: &Instance, how: Shutdown) -> bool {
    !instance.loading.is_active() && how.saves.unwrap_or_else(|| saves_by_itself(instance))
}

/// Makes the last snapshot: what is acknowledged is in it, as writes are postponed. Returns true
/// if the server may end.
fn save(instance: &Instance, saver: &Saver, asked: &Receiver<()>, scripts: &Scripts<'_>) -> bool {
    tracing::info!("Saving the final RDB snapshot before exiting.");
    let saved = saver.save_for_thread();
    loop {
        select! {
            recv(saved) -> saved => {
                let saved = saved.unwrap_or(Err(SaveError::Cancelled));
                return saved.is_ok() || is_forced(instance);
            }
            // A script may have become long since.
            default(LOOK) => {
                if instance.shutdown.requested().is_some_and(|how| scripts.hold_up(how)) {
                    saver.cancel_all();
                    return true;
                }
            }
            recv(asked) -> _ => match instance.shutdown.requested() {
                Some(how) if saves(instance, how) => {}
                // It was taken back, or asked for without a snapshot.
                other => {
                    saver.cancel_all();
                    return other.is_some();
                }
            }
        }
    }
}

fn is_forced(instance: &Instance) -> bool {
    let is_forced = instance.shutdown.requested().is_some_and(|how| how.force);
    if is_forced {
        tracing::warn!("Error trying to save the DB, but the shutdown is forced: ending without");
    } else {
        tracing::warn!("Error trying to save the DB, can't exit.");
    }
    is_forced
}
