//! Transactions at the target: executed, refused, put off, or in doubt.

use crate::error::Error;
use crate::follow::batch::{Batch, Ended};
use crate::follow::follower::{Follower, Pending, WAIT};
use crate::follow::start;
use crate::follow::target::{self, Has};
use crate::resp::Reply;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

/// Wait before a target is tried again that cannot take commands now.
const BETWEEN_TRIES: Duration = Duration::from_millis(200);
/// Time between two notes of a position behind which there are no commands.
const BETWEEN_NOTES: Duration = Duration::from_secs(1);
/// Connections that are lost one behind the other before what is sent is blamed.
const BREAKS_BEFORE_BLAME: u32 = 3;
/// Memory that is kept for what comes.
const KEPT_BYTES: usize = 8 << 20;

impl Follower<'_> {
    /// Has the pending transaction executed, if the target takes it now.
    pub(super) fn execute(&mut self) -> Result<(), Error> {
        let Some(mut pending) = self.pending.take() else { return Ok(()) };
        if pending.not_before.is_some_and(|it| it > Instant::now()) {
            self.pending = Some(pending);
            thread::sleep(WAIT);
            return Ok(());
        }
        if pending.batch.is_empty() {
            self.arrived(&pending);
            return Ok(());
        }
        let value = pending.position.value();
        match pending.batch.execute(&mut self.link, &self.place, &value) {
            Err(error) => {
                self.pending = Some(pending);
                return Err(error);
            }
            Ok(Ended::Executed(failed)) => {
                self.name(&pending.batch, &failed);
                let done = pending.batch.count.saturating_sub(failed.len());
                self.tally.commands.fetch_add(done as u64, Relaxed);
                self.told.clear();
                self.breaks = 0;
                (self.noted, self.noted_at) = (Some(pending.position), Instant::now());
                self.arrived(&pending);
            }
            Ok(Ended::Refused(refused)) => {
                self.name(&pending.batch, &refused);
                let at: Vec<usize> = refused.iter().map(|(at, _)| *at).collect();
                pending.batch.remove(&at);
                self.pending = Some(pending);
            }
            Ok(Ended::NotNow(error)) => {
                self.tell_once(&format!(
                    "the target takes nothing now, and is tried again: {error}"
                ));
                pending.not_before = Some(Instant::now() + BETWEEN_TRIES);
                self.pending = Some(pending);
            }
            Ok(Ended::Moved) => return Err(self.moved()),
        }
        Ok(())
    }

    fn name(&self, batch: &Batch, failed: &[(usize, String)]) {
        for (at, error) in failed {
            match self.tally.tells_failures() {
                true => self.tally.fail(batch.database_of(*at), &batch.shown(*at), error),
                false => self.tally.fail_silently(),
            }
        }
    }

    /// The target has what a transaction stands for.
    fn arrived(&mut self, pending: &Pending) {
        self.received.drain(..pending.bytes);
        self.received.shrink_to(KEPT_BYTES);
        self.position = Some(pending.position);
        self.backlog.applied(self.generation, pending.position.offset);
        if pending.is_asked {
            self.backlog.ask();
        }
    }

    /// Notes a place, or that there is none, at the target.
    pub(super) fn note(&mut self, value: &[u8]) -> Result<(), Error> {
        self.patiently(|it| match Batch::default().execute(&mut it.link, &it.place, value)? {
            Ended::Executed(_) | Ended::Refused(_) => Ok(()),
            Ended::NotNow(error) => Err(it.link.refused("SET", &Reply::Error(error.into_bytes()))),
            Ended::Moved => Err(it.moved()),
        })
    }

    pub(super) fn note_now_and_then(&mut self) -> Result<(), Error> {
        match self.position {
            Some(position)
                if self.noted != Some(position) && self.noted_at.elapsed() >= BETWEEN_NOTES =>
            {
                self.note(&position.value())?;
                (self.noted, self.noted_at) = (Some(position), Instant::now());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn moved(&self) -> Error {
        Error::Moved(self.following.options.target.place.clone())
    }

    /// Does something at the target, and waits while it takes nothing.
    pub(super) fn patiently<T>(
        &mut self,
        mut act: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        loop {
            match act(self) {
                Err(error @ Error::Refused { .. }) if start::may_pass(&error) => {
                    if self.following.options.stop.is_asked() {
                        return Err(Error::Interrupted("the target takes nothing"));
                    }
                    self.wait_for_target(&error.to_string());
                }
                done => return done,
            }
        }
    }

    /// Tells why the target takes nothing, and waits a while.
    pub(super) fn wait_for_target(&mut self, why: &str) {
        self.tell_once(&format!("{why}; it is tried again"));
        thread::sleep(BETWEEN_TRIES);
    }

    fn tell_once(&mut self, line: &str) {
        if self.told != line {
            self.report.tell(line);
            line.clone_into(&mut self.told);
        }
    }

    /// Connects to the target again. Returns false if it has something else than was thought.
    pub(super) fn recover(&mut self, error: &Error) -> Result<bool, Error> {
        self.breaks += 1;
        self.tell_once(&format!("{error}; the target is connected to again"));
        if self.breaks > 1 {
            thread::sleep(BETWEEN_TRIES);
        }
        if self.breaks == BREAKS_BEFORE_BLAME
            && let Some((what, bytes)) = self.pending.as_ref().and_then(|it| it.batch.largest())
        {
            let what = text::quote(&what[..what.len().min(200)]);
            self.report.tell(&format!(
                "the target ends each connection at what it is sent, of which the largest is \
                 {what} of {bytes} bytes: proto-max-bulk-len and client-query-buffer-limit there \
                 may be too small"
            ));
        }
        let links = start::connect(self.following, &self.place, self.report)?;
        let Some((link, aside)) = links else { return Ok(true) };
        (self.link, self.aside) = (link, aside);
        self.databases.clear();
        match self.compare_position() {
            // It has broken again.
            Err(error) if start::may_pass(&error) => Ok(false),
            compared => compared,
        }
    }

    /// Returns false if the target has something else than was thought.
    fn compare_position(&mut self) -> Result<bool, Error> {
        start::prepare(&mut self.aside, &mut self.link, &self.place, self.state, self.report)?;
        let Has::Position(has) = target::has(&mut self.aside, &self.place)? else {
            return Ok(false);
        };
        if self.pending.as_ref().is_some_and(|it| it.position == has)
            && let Some(pending) = self.pending.take()
        {
            self.tally.commands.fetch_add(pending.batch.count as u64, Relaxed);
            self.noted = Some(has);
            self.arrived(&pending);
            return Ok(true);
        }
        if let Some(pending) = &self.pending {
            let databases: Vec<u64> = pending.batch.databases().collect();
            databases.into_iter().try_for_each(|database| self.look_for(database))?;
        }
        Ok(self.noted == Some(has))
    }
}
