//! Moving clients from the source to the target.
//!
//! ```text
//! cut-over ─▶ CLIENT PAUSE ... WRITE ─▶ Draining: up to where the source is
//!          ─▶ Asking: counts, "switch now"
//!    switched ─▶ the source stays paused for a day, the target is left alone
//!    back, or no answer in time ─▶ CLIENT UNPAUSE, and it goes on following
//! ```
//! Nobody writes on either side between the pause and the answer, so nothing is lost whichever it
//! is.

use crate::error::Error;
use crate::follow::follower::{Ended, Follower};
use crate::follow::phase::Phase;
use crate::follow::target::{self, count};
use crate::server::databases_of;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// How much longer the source holds writes back than an answer is waited for, so that a late one
/// finds them held back.
const MARGIN: Duration = Duration::from_secs(2);
/// How long it holds them back once clients have been moved.
const AFTERWARDS: Duration = Duration::from_hours(24);
/// Age of what the target lacks above which there is no point in a pause.
const BEHIND_MAX: Duration = Duration::from_secs(1);

impl Follower<'_> {
    /// Begins to move clients, if the target is near enough.
    pub(super) fn begin_cut_over(&mut self, pauses: bool) -> Result<(), Error> {
        if self.phase != Phase::Following {
            println!("that is under way already");
            return Ok(());
        }
        let lag = self.lag();
        let is_near = lag.progress.behind <= BEHIND_MAX && lag.progress.is_connected;
        if self.position.is_none() || !is_near {
            println!("not yet: {}", self.report.text(&lag));
            return Ok(());
        }
        let since = Instant::now();
        if pauses && let Err(why) = self.pause() {
            println!(
                "{} does not hold writes back ({why}). Stop all clients that write to it, then \
                 type `cut-over stopped`",
                self.following.source.place
            );
            return Ok(());
        }
        // The pause comes first: what the source tells now is all that there will be.
        let Some(told) = self.control.told() else {
            self.phase = Phase::Draining { since, to: u64::MAX, pauses };
            return self.give_up_cut_over("the source does not tell how far it is");
        };
        self.phase = Phase::Draining { since, to: told.offset, pauses };
        Ok(())
    }

    fn pause(&mut self) -> Result<(), String> {
        let told = self.control.told().ok_or("it does not answer INFO replication")?;
        if told.is_replica {
            return Err("it is a replica, and its primary goes on".to_owned());
        }
        self.control.pause(self.following.cut_over + MARGIN)
    }

    /// Goes on with what was begun: looks whether all has come, and whether the time is over.
    pub(super) fn go_on_cutting_over(&mut self) -> Result<(), Error> {
        let (Phase::Draining { since, .. } | Phase::Asking { since, .. }) = self.phase else {
            return Ok(());
        };
        if since.elapsed() >= self.following.cut_over {
            let seconds = self.following.cut_over.as_secs();
            return self.give_up_cut_over(&format!("{seconds} s are over"));
        }
        match self.phase {
            Phase::Draining { to, pauses, .. }
                if self.position.is_some_and(|it| it.offset >= to) =>
            {
                self.ask(since, pauses)
            }
            _ => Ok(()),
        }
    }

    /// Both sides have the same: the operator's answer is wanted.
    fn ask(&mut self, since: Instant, pauses: bool) -> Result<(), Error> {
        self.end_import_mode()?;
        let commands = self.tally.commands.load(Relaxed);
        self.phase = Phase::Asking { since, commands, pauses };
        let (source, target) =
            (self.following.source.place.clone(), self.following.options.target.place.clone());
        match self.counts() {
            Ok(lines) => lines.iter().for_each(|line| println!("{line}")),
            Err(error) => println!("keys could not be counted: {error}"),
        }
        let left = self.following.cut_over.saturating_sub(since.elapsed());
        println!(
            "{target} has all that {source} has. Switch clients to it, then type `switched`; \
             `back`, or nothing within {:.0} s, lets them go on at {source}",
            left.as_secs_f64()
        );
        Ok(())
    }

    /// How many keys there are on both sides, a line for each database.
    fn counts(&mut self) -> Result<Vec<String>, Error> {
        let scope = &self.following.options.scope;
        let source = self.control.link()?;
        let mut pairs: Vec<(u64, u64)> = match scope.databases() {
            Some(databases) => databases.to_vec(),
            None => {
                let (one, other) = (databases_of(source)?, databases_of(&mut self.aside)?);
                one.into_iter().chain(other).map(|(number, _)| (number, number)).collect()
            }
        };
        pairs.sort_unstable();
        pairs.dedup();
        let mut lines = Vec::new();
        for (from, to) in pairs {
            let there = count(self.control.link()?, from, scope, None)?;
            let here = count(&mut self.aside, to, scope, Some(&self.place))?;
            lines.push(match there == here {
                true => format!("database {to}: {here} keys, as many as there"),
                false => format!(
                    "database {to}: {here} keys, {there} there: the difference may be those whose \
                     deadline has come; --compare tells what it is"
                ),
            });
        }
        Ok(lines)
    }

    /// Clients have been moved.
    pub(super) fn switched(&mut self) -> Result<Option<Ended>, Error> {
        let Phase::Asking { commands, pauses, .. } = self.phase else {
            println!("nobody was asked to switch clients: type `cut-over` first");
            return Ok(None);
        };
        let later = self.tally.commands.load(Relaxed) - commands;
        if later > 0 {
            println!("{later} commands came from the source meanwhile, and were executed");
        }
        let source = self.following.source.place.clone();
        if pauses {
            match self.control.pause(AFTERWARDS) {
                Ok(()) => println!(
                    "{source} holds writes back for a day, so that nobody writes there by mistake: \
                     shut it down, or end that by CLIENT UNPAUSE"
                ),
                Err(why) => println!("{source} does not hold writes back any longer: {why}"),
            }
        }
        self.end_import_mode()?;
        target::forget(&mut self.aside, &self.place)?;
        self.state.contents.is_done = true;
        self.state.write()?;
        Ok(Some(Ended::Switched))
    }

    /// Lets clients go on at the source, if they were to be moved.
    pub(super) fn give_up_cut_over(&mut self, why: &str) -> Result<(), Error> {
        let (Phase::Draining { pauses, .. } | Phase::Asking { pauses, .. }) = self.phase else {
            return Ok(());
        };
        let was_asking = matches!(self.phase, Phase::Asking { .. });
        self.phase = Phase::Following;
        if pauses && let Err(error) = self.control.end_pause() {
            println!("the pause of the source ends by itself; CLIENT UNPAUSE failed: {error}");
        }
        println!("clients stay at {}: {why}; it goes on following", self.following.source.place);
        if was_asking && self.state.contents.turned_import_mode_on {
            target::set_import_mode(&mut self.aside, true)?;
        }
        Ok(())
    }

    /// Has the target remove keys whose deadline has come again, if it did before.
    pub(super) fn end_import_mode(&mut self) -> Result<(), Error> {
        if self.state.contents.turned_import_mode_on {
            target::set_import_mode(&mut self.aside, false)?;
        }
        Ok(())
    }
}
