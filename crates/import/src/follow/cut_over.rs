//! Moving clients from the source to the target.
//!
//! ```text
//! cut-over ─▶ CLIENT PAUSE ... WRITE ─▶ Draining: up to where the source is ─▶ Asking: counts
//!    switch ─▶ all is as it was? ─▶ the target is let go, and clients are moved
//!    back, or no answer in time ─▶ CLIENT UNPAUSE, and it goes on following
//! ```
//! 1. Clients are moved when this program has let the target go, and not before: until then it may
//!    fill it anew.
//! 2. Nothing is let go before the source has said once more that it holds writes back, that it is
//!    what it was, and that it has nothing the target lacks.

use crate::error::Error;
use crate::follow::control::Told;
use crate::follow::follower::{Ended, Follower};
use crate::follow::phase::Phase;
use crate::follow::target::{self, Has, count};
use crate::server::databases_of;
use std::time::{Duration, Instant};

/// How much longer the source holds writes back than an answer is waited for, so that a late one
/// finds them held back.
const MARGIN: Duration = Duration::from_secs(5);
/// How long it holds them back once clients are moved.
const AFTERWARDS: Duration = Duration::from_hours(24);
/// Age of what the target lacks above which there is no point in a pause.
const BEHIND_MAX: Duration = Duration::from_secs(1);

impl Follower<'_> {
    /// Begins to move clients, if the target is near enough.
    pub(super) fn begin_cut_over(&mut self, pauses: bool) {
        if self.phase != Phase::Following {
            return println!("that is under way already");
        }
        let lag = self.lag();
        let is_near = lag.progress.behind <= BEHIND_MAX && lag.progress.is_connected;
        if self.position.is_none() || !is_near || self.backlog.has_snapshot() {
            return println!("not yet, type it again later: {}", self.report.text(&lag));
        }
        let since = Instant::now();
        // The pause comes first: what the source tells behind it is all that there will be.
        let held = match pauses {
            true => self.same_source().and_then(|_| self.control.pause(self.pause_time())),
            false => Ok(()),
        };
        if let Err(why) = held {
            return println!(
                "{} does not hold writes back ({why}). Stop all clients that write to it, then \
                 type `cut-over stopped`",
                self.following.source.place
            );
        }
        self.phase = Phase::Draining { since, to: u64::MAX, pauses };
        match self.same_source() {
            Ok(told) => self.phase = Phase::Draining { since, to: told.offset, pauses },
            Err(why) => self.give_up_cut_over(&why),
        }
    }

    fn pause_time(&self) -> Duration {
        self.following.cut_over + MARGIN
    }

    /// What the source tells, if its stream is the one that is followed.
    fn same_source(&mut self) -> Result<Told, String> {
        let told = self.control.told().ok_or("it does not answer INFO replication")?;
        if told.is_replica {
            return Err("it is a replica, and its primary goes on".to_owned());
        }
        let own = self.backlog.id(self.generation);
        if self.backlog.has_snapshot() || told.id.is_some_and(|id| own != Some(id)) {
            return Err("it has another history now".to_owned());
        }
        Ok(told)
    }

    /// For how long writes are held back yet, as text.
    pub(super) fn held_back(&self) -> String {
        let (Phase::Draining { since, .. } | Phase::Asking { since, .. }) = self.phase else {
            return String::new();
        };
        let left = self.following.cut_over.saturating_sub(since.elapsed());
        format!("; clients are to be moved, for {:.0} s more", left.as_secs_f64())
    }

    /// Goes on with what was begun: looks whether all has come, and whether the time is over.
    pub(super) fn go_on_cutting_over(&mut self) -> Result<(), Error> {
        let (since, drained) = match self.phase {
            Phase::Following => return Ok(()),
            Phase::Asking { since, .. } => (since, None),
            Phase::Draining { since, to, pauses } => {
                let has_all = self.position.is_some_and(|it| it.offset >= to);
                (since, has_all.then_some(pauses))
            }
        };
        if since.elapsed() >= self.following.cut_over {
            let seconds = self.following.cut_over.as_secs();
            self.give_up_cut_over(&format!("{seconds} s are over"));
        } else if let Some(pauses) = drained {
            self.phase = Phase::Asking { since, pauses };
            self.ask(since);
        }
        Ok(())
    }

    /// Both sides have the same: the operator's answer is wanted.
    fn ask(&mut self, since: Instant) {
        match self.counts() {
            Ok(lines) => lines.iter().for_each(|line| println!("{line}")),
            Err(error) => {
                // The reply to what was asked may come later.
                self.control.forget_link();
                return self.give_up_cut_over(&format!("keys could not be counted: {error}"));
            }
        }
        let all = match self.failures() {
            0 => "all".to_owned(),
            failures => format!("all but what {failures} commands or keys should have changed"),
        };
        let left = self.following.cut_over.saturating_sub(since.elapsed());
        println!(
            "{} has {all} that {} has. Type `switch` to move clients; `back`, or nothing within \
             {:.0} s, lets them go on where they are",
            self.following.options.target.place,
            self.following.source.place,
            left.as_secs_f64()
        );
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

    /// Lets the target go, and has clients moved to it.
    pub(super) fn switch(&mut self) -> Result<Option<Ended>, Error> {
        let Phase::Asking { since, pauses } = self.phase else {
            println!("type `cut-over` first");
            return Ok(None);
        };
        if let Err(why) = self.make_sure(since, pauses)? {
            self.give_up_cut_over(&why);
            return Ok(None);
        }
        self.state.contents.failures = self.failures();
        self.state.contents.is_done = true;
        self.state.write()?;
        // From here on nothing is undone.
        let (source, target) = (&self.following.source.place, &self.following.options.target.place);
        println!("switch clients to {target} now");
        // Not before: a process that dies would leave clients waiting for a day.
        match pauses.then(|| self.control.pause(AFTERWARDS)) {
            None => {}
            Some(Ok(())) => println!(
                "{source} holds writes back for a day, so that nobody writes there by mistake: \
                 CLIENT KILL TYPE normal there ends those that wait, then shut it down, or CLIENT \
                 UNPAUSE"
            ),
            Some(Err(why)) => println!("{source} takes writes again soon, shut it down: {why}"),
        }
        if let Err(error) = self.let_go() {
            println!(
                "{error}: DEL {} in database {} of {target}, and CONFIG SET import-mode no there",
                text::quote(&self.place.key),
                self.place.database
            );
        }
        Ok(Some(Ended::Switched))
    }

    /// Returns why clients cannot be moved now, if they cannot.
    fn make_sure(&mut self, since: Instant, pauses: bool) -> Result<Result<(), String>, Error> {
        let told = match pauses {
            true => self.control.pause(self.pause_time()).and_then(|()| self.same_source()),
            // A replica may be left whose primary has been stopped.
            false => self.control.told().ok_or("the source does not answer".to_owned()),
        };
        let told = match told {
            Ok(told) => told,
            Err(why) => return Ok(Err(why)),
        };
        while self.position.is_none_or(|it| it.offset < told.offset) {
            if since.elapsed() >= self.following.cut_over || self.backlog.has_snapshot() {
                return Ok(Err("more has come, and has not arrived".to_owned()));
            }
            self.step()?;
        }
        let has = target::has(&mut self.aside, &self.place)?;
        if self.noted.is_none_or(|noted| has != Has::Position(noted)) {
            return Ok(Err("the target has lost something".to_owned()));
        }
        Ok(Ok(()))
    }

    /// Lets clients go on at the source, if they were to be moved.
    pub(super) fn give_up_cut_over(&mut self, why: &str) {
        let (Phase::Draining { pauses, .. } | Phase::Asking { pauses, .. }) = self.phase else {
            return;
        };
        self.phase = Phase::Following;
        let source = self.following.source.place.clone();
        if pauses {
            let mut ended = self.control.end_pause();
            if ended.is_err() {
                self.control.forget_link();
                ended = self.control.end_pause();
            }
            if let Err(error) = ended {
                println!("CLIENT UNPAUSE {source} by hand: it may hold writes back ({error})");
            }
        }
        println!("clients stay at {source}: {why}");
    }

    /// Leaves nothing of this program at the target.
    pub(super) fn let_go(&mut self) -> Result<(), Error> {
        if self.state.contents.turned_import_mode_on {
            target::end_import_mode(&mut self.aside, &self.place)?;
        }
        target::forget(&mut self.aside, &self.place)
    }
}
