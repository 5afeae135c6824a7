//! What follows: takes what has come, has it executed at the target, and notes how far that is.

use crate::error::Error;
use crate::follow::backlog::{Backlog, Next, Snapshot};
use crate::follow::batch::{self, Batch, Place};
use crate::follow::console::{Console, HELP, Word};
use crate::follow::control::Control;
use crate::follow::following::Following;
use crate::follow::phase::Phase;
use crate::follow::position::{INCOMPLETE, Position, key_of};
use crate::follow::receiver::receive;
use crate::follow::report::{Lag, Report};
use crate::follow::start;
use crate::follow::state::State;
use crate::follow::target::{self, Has};
use crate::follow::translate::Translator;
use crate::from_rdb;
use crate::meter::Meter;
use crate::resume::Resume;
use crate::run::Run;
use crate::server::{Link, Server};
use crate::tally::Tally;
use replication::Units;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that are taken from the backlog at once.
const ROOM_BYTES: usize = 1 << 20;
/// Wait for bytes, after which it is seen whether something else is to be done.
const WAIT: Duration = Duration::from_millis(20);
/// Wait before a target is tried again that cannot take commands now.
const BETWEEN_TRIES: Duration = Duration::from_millis(200);
/// Time between two notes of a position behind which there are no commands.
const BETWEEN_NOTES: Duration = Duration::from_secs(1);

/// How it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The target has something else than was thought: it is asked again what it has.
    Again,
    /// A signal or the operator has ended it.
    Stopped,
    /// Clients have been moved.
    Switched,
}

/// A transaction that is not known to be executed.
#[derive(Debug)]
pub struct Pending {
    /// Its commands.
    pub batch: Batch,
    /// Where it leads to.
    pub position: Position,
    /// Bytes of what was received that it stands for.
    pub bytes: usize,
    /// True if the source has asked within it how far the target is.
    pub is_asked: bool,
    /// It is not tried before.
    pub not_before: Option<Instant>,
}

/// One that follows, from one look at what the target has on.
pub struct Follower<'f> {
    pub(super) following: &'f Following,
    server: &'f Server,
    pub(super) tally: &'f Tally,
    pub(super) state: &'f mut State,
    pub(super) report: &'f mut Report,
    console: &'f Console,
    pub(super) backlog: &'f Backlog,
    /// For transactions.
    link: Link,
    /// For everything else.
    pub(super) aside: Link,
    pub(super) place: Place,
    pub(super) translator: Translator,
    pub(super) units: Units,
    /// What was received behind the position.
    pub(super) received: Vec<u8>,
    room: Vec<u8>,
    /// Up to where the target has the stream; `None` before it has a snapshot.
    pub(super) position: Option<Position>,
    /// The same, as the target's key has it.
    noted: Option<Position>,
    noted_at: Instant,
    pub(super) pending: Option<Pending>,
    /// Why the target could not take commands, as it was told.
    told: String,
    /// Databases of the target that are there.
    pub(super) databases: BTreeSet<u64>,
    pub(super) control: Control,
    source_offset: u64,
    pub(super) phase: Phase,
}

impl<'f> Follower<'f> {
    /// Follows from what the target has on.
    ///
    /// # Errors
    /// When it cannot go on.
    pub fn run(
        following: &'f Following,
        server: &'f Server,
        tally: &'f Tally,
        state: &'f mut State,
        report: &'f mut Report,
        console: &'f Console,
    ) -> Result<Ended, Error> {
        let scope = &following.options.scope;
        let key = key_of(&state.contents.identity);
        let place = Place { key, database: scope.first_target() };
        let Some((link, mut aside)) = start::connect(following, state, report)? else {
            return Ok(Ended::Stopped);
        };
        let position = begin_from(&mut aside, &place, following, state, report)?;
        let known = position.map(|it| (it.id, it.offset));
        let backlog = Backlog::new(following.directory.clone(), known);
        let (takes_functions, database) =
            (following.options.takes_functions, position.map_or(0, |it| it.database));
        let tell = report.teller();
        thread::scope(|threads| {
            threads.spawn(|| receive(&following.source, &backlog, &tell));
            let mut follower = Follower {
                following,
                server,
                tally,
                state,
                report,
                console,
                backlog: &backlog,
                link,
                aside,
                place,
                translator: Translator::new(scope.clone(), takes_functions, database),
                units: Units::default(),
                received: Vec::new(),
                room: vec![0; ROOM_BYTES],
                position,
                noted: position,
                noted_at: Instant::now(),
                pending: None,
                told: String::new(),
                databases: BTreeSet::new(),
                control: Control::new(following.source.clone()),
                source_offset: 0,
                phase: Phase::Following,
            };
            let ended = follower.follow();
            backlog.end();
            ended
        })
    }

    fn follow(&mut self) -> Result<Ended, Error> {
        loop {
            if self.following.options.stop.is_asked() {
                return self.stop();
            }
            if let Some(ended) = self.hear()? {
                return Ok(ended);
            }
            let stepped = self.step().and_then(|()| self.go_on_cutting_over());
            match stepped {
                Ok(()) => {}
                Err(Error::Interrupted(_)) => return self.stop(),
                // Those of the source do not come here.
                Err(error @ Error::Connection(..)) => {
                    self.report.tell(&format!("{error}; the target is connected to again"));
                    if !self.recover()? {
                        self.give_up_cut_over("the target has lost something")?;
                        return Ok(Ended::Again);
                    }
                }
                Err(error) => return Err(error),
            }
            if self.report.is_due(self.tally.commands.load(Relaxed)) {
                // The source is asked only if somebody sees it.
                if self.report.is_shown() {
                    let lag = self.lag();
                    self.report.show(&lag);
                }
                self.write_state()?;
            }
        }
    }

    /// Does what is to be done next, or waits a moment for it.
    fn step(&mut self) -> Result<(), Error> {
        if self.pending.is_some() {
            return self.execute();
        }
        let end = self.position.map_or(0, |it| it.offset) + self.received.len() as u64;
        let disk = |error| Error::File("what has come".to_owned(), error);
        match self.backlog.next(end, &mut self.room, WAIT).map_err(disk)? {
            Next::Snapshot(snapshot) => self.load(snapshot),
            Next::Nothing => self.note_now_and_then(),
            Next::Bytes(bytes) => {
                self.received.extend_from_slice(&self.room[..bytes]);
                while self.gather()? {
                    self.execute()?;
                    if self.pending.is_some() {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    /// Fills the target with a snapshot.
    fn load(&mut self, snapshot: Snapshot) -> Result<(), Error> {
        self.give_up_cut_over("the source sends all its keys again")?;
        let (following, options) = (self.following, &self.following.options);
        (self.units, self.pending) = (Units::default(), None);
        self.received.clear();
        (self.position, self.noted) = (None, None);
        if self.state.contents.has_begun || following.replaces {
            target::empty(&mut self.aside, &options.scope, options.takes_functions)?;
        }
        self.state.contents.has_begun = true;
        self.state.write()?;
        target::note(&mut self.aside, &self.place, INCOMPLETE)?;
        let disk = |error| Error::File("the snapshot".to_owned(), error);
        let bytes = snapshot.file.metadata().map_err(disk)?.len();
        self.report.tell(&format!("{bytes} bytes of keys have come and are sent on"));
        let mut run = Run {
            options,
            server: self.server,
            tally: self.tally,
            meter: Meter::of_bytes("copying", bytes, options.shows_progress),
            resume: Resume::open(None, "", "", "")?,
            bytes_before: 0,
            selected: 0,
        };
        let note = |run: &mut Run<'_>, safe| {
            run.meter.set(safe);
            let is_asked = options.stop.is_asked();
            if is_asked { Err(Error::Interrupted("all keys are sent again")) } else { Ok(()) }
        };
        let walked = from_rdb::fill(&mut run, "the snapshot", snapshot.file, note, 0)?;
        run.meter.end();
        let database = walked.stream_database.unwrap_or(0);
        let position = Position { id: snapshot.id, offset: snapshot.offset, database };
        self.translator.database = database;
        self.note(position)?;
        self.position = Some(position);
        self.backlog.applied(position.offset);
        self.report.tell("the keys are there, and the stream follows");
        if options.shows_progress || options.resume.is_none() {
            self.report.tell(HELP);
        }
        Ok(())
    }

    /// Has the pending transaction executed, if the target takes it now.
    fn execute(&mut self) -> Result<(), Error> {
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
        let ended = pending.batch.execute(&mut self.link, &self.place, &pending.position);
        match ended {
            Err(error) => {
                self.pending = Some(pending);
                return Err(error);
            }
            Ok(batch::Ended::Executed(failed)) => {
                self.name(&pending.batch, &failed);
                let done = pending.batch.count.saturating_sub(failed.len());
                self.tally.commands.fetch_add(done as u64, Relaxed);
                self.told.clear();
                (self.noted, self.noted_at) = (Some(pending.position), Instant::now());
                self.arrived(&pending);
            }
            Ok(batch::Ended::Refused(refused)) => {
                self.name(&pending.batch, &refused);
                let at: Vec<usize> = refused.iter().map(|(at, _)| *at).collect();
                pending.batch.remove(&at);
                self.pending = Some(pending);
            }
            Ok(batch::Ended::NotNow(error)) => {
                if self.told != error {
                    self.report.tell(&format!(
                        "the target takes nothing now, and is tried again: {error}"
                    ));
                    self.told = error;
                }
                pending.not_before = Some(Instant::now() + BETWEEN_TRIES);
                self.pending = Some(pending);
            }
        }
        Ok(())
    }

    fn name(&self, batch: &Batch, failed: &[(usize, String)]) {
        for (at, error) in failed {
            self.tally.fail(batch.database_of(*at), &batch.shown(*at), error);
        }
    }

    /// The target has what a transaction stands for.
    fn arrived(&mut self, pending: &Pending) {
        self.received.drain(..pending.bytes);
        self.position = Some(pending.position);
        self.backlog.applied(pending.position.offset);
        if pending.is_asked {
            self.backlog.ask();
        }
    }

    fn note(&mut self, position: Position) -> Result<(), Error> {
        target::note(&mut self.aside, &self.place, &position.value())?;
        (self.noted, self.noted_at) = (Some(position), Instant::now());
        Ok(())
    }

    fn note_now_and_then(&mut self) -> Result<(), Error> {
        match self.position {
            Some(position)
                if self.noted != Some(position) && self.noted_at.elapsed() >= BETWEEN_NOTES =>
            {
                self.note(position)
            }
            _ => Ok(()),
        }
    }

    /// Connects to the target again. Returns false if it has something else than was thought.
    fn recover(&mut self) -> Result<bool, Error> {
        let Some((link, aside)) = start::connect(self.following, self.state, self.report)? else {
            return Ok(true);
        };
        (self.link, self.aside) = (link, aside);
        self.databases.clear();
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
        Ok(self.noted == Some(has))
    }

    /// What the operator has typed.
    fn hear(&mut self) -> Result<Option<Ended>, Error> {
        match self.console.word() {
            None => {}
            Some(Word::CutOver) => self.begin_cut_over(true)?,
            Some(Word::CutOverStopped) => self.begin_cut_over(false)?,
            Some(Word::Switched) => return self.switched(),
            Some(Word::Back) => self.give_up_cut_over("clients stay where they are")?,
            Some(Word::Status) => {
                let lag = self.lag();
                println!("{}", self.report.text(&lag));
            }
            Some(Word::Quit) => return self.stop().map(Some),
            Some(Word::Unknown) => println!("{HELP}"),
        }
        Ok(None)
    }

    /// How far it is.
    pub(super) fn lag(&mut self) -> Lag {
        if let Some(told) = self.control.told() {
            self.source_offset = told.offset;
        }
        Lag {
            progress: self.backlog.progress(),
            source: self.source_offset,
            applied: self.position.map_or(0, |it| it.offset),
        }
    }

    fn write_state(&mut self) -> Result<(), Error> {
        let Some(position) = self.position else { return Ok(()) };
        let text = String::from_utf8_lossy(&position.value()).into_owned();
        if self.state.contents.position != text {
            self.state.contents.position = text;
            self.state.write()?;
        }
        Ok(())
    }

    /// Ends it. With a file another run goes on; without one nothing can, and nothing stays behind.
    fn stop(&mut self) -> Result<Ended, Error> {
        self.give_up_cut_over("it was asked to stop")?;
        self.write_state()?;
        if self.state.is_kept() {
            self.report.tell("stopped; the same command goes on from here");
        } else {
            self.end_import_mode()?;
            target::forget(&mut self.aside, &self.place)?;
            self.report.tell("stopped; without --resume nothing can go on from here");
        }
        Ok(Ended::Stopped)
    }
}

/// What the target has of the stream, if that can be gone on from.
fn begin_from(
    aside: &mut Link,
    place: &Place,
    following: &Following,
    state: &mut State,
    report: &Report,
) -> Result<Option<Position>, Error> {
    match target::has(aside, place)? {
        Has::Position(position) => {
            state.contents.has_begun = true;
            return Ok(Some(position));
        }
        Has::Incomplete => state.contents.has_begun = true,
        Has::Nothing if state.contents.has_begun => {
            report.tell("the target does not have any more what was sent: it is filled anew");
        }
        Has::Nothing if !following.replaces => start::refuse_keys(aside, following)?,
        Has::Nothing => {}
    }
    Ok(None)
}
