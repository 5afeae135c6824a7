//! What follows: takes what has come, has it executed at the target, and notes how far that is.

use crate::error::Error;
use crate::follow::backlog::{Backlog, Next};
use crate::follow::batch::{Batch, Place};
use crate::follow::console::{Console, HELP, Word};
use crate::follow::control::Control;
use crate::follow::following::Following;
use crate::follow::phase::Phase;
use crate::follow::position::{Position, key_of};
use crate::follow::receiver::receive;
use crate::follow::report::{Lag, Report};
use crate::follow::start;
use crate::follow::state::State;
use crate::follow::target::{self, Has};
use crate::follow::translate::Translator;
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
pub(super) const WAIT: Duration = Duration::from_millis(20);

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
    pub(super) server: &'f Server,
    pub(super) tally: &'f Tally,
    pub(super) state: &'f mut State,
    pub(super) report: &'f mut Report,
    console: &'f Console,
    pub(super) backlog: &'f Backlog,
    /// For transactions.
    pub(super) link: Link,
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
    pub(super) noted: Option<Position>,
    pub(super) noted_at: Instant,
    /// Which of the streams that have come is followed.
    pub(super) generation: u64,
    pub(super) pending: Option<Pending>,
    /// Why the target could not take commands, as it was told.
    pub(super) told: String,
    /// Connections to the target that were lost since something was executed.
    pub(super) breaks: u32,
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
        let key = key_of(&state.contents.identity);
        let place = Place { key, database: following.options.scope.first_target() };
        let Some((mut link, mut aside)) = start::connect(following, &place, report)? else {
            return Ok(Ended::Stopped);
        };
        let position = match begin_from((&mut link, &mut aside), &place, following, state, report) {
            Err(error) if start::may_pass(&error) => {
                report.tell(&format!("{error}; it is tried again"));
                return Ok(Ended::Again);
            }
            begun => begun?,
        };
        let backlog =
            Backlog::new(following.directory.clone(), position.map(|it| (it.id, it.offset)));
        let (options, database) = (&following.options, position.map_or(0, |it| it.database));
        let translator = Translator::new(options.scope.clone(), options.takes_functions, database);
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
                translator,
                units: Units::default(),
                received: Vec::new(),
                room: vec![0; ROOM_BYTES],
                position,
                noted: position,
                noted_at: Instant::now(),
                generation: 0,
                pending: None,
                told: String::new(),
                breaks: 0,
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
        let ended = self.turn_by_turn();
        if ended.is_err() {
            self.give_up_cut_over("it cannot go on");
        }
        ended
    }

    fn turn_by_turn(&mut self) -> Result<Ended, Error> {
        if self.position.is_some() {
            self.report.tell(HELP);
        }
        loop {
            if self.following.options.stop.is_asked() {
                return self.stop();
            }
            match self.turn() {
                Ok(None) => {}
                Ok(Some(ended)) => return Ok(ended),
                Err(Error::Interrupted(_)) => return self.stop(),
                // Those of the source do not come here.
                Err(error @ Error::Connection(..)) => {
                    if !self.recover(&error)? {
                        self.give_up_cut_over("the target has lost something");
                        return Ok(Ended::Again);
                    }
                }
                Err(error @ Error::Moved(_)) => {
                    self.report.tell(&error.to_string());
                    self.give_up_cut_over("the target is not this program's alone");
                    return Ok(Ended::Again);
                }
                Err(error) if start::may_pass(&error) => self.wait_for_target(&error.to_string()),
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

    /// One look at what is to be done.
    fn turn(&mut self) -> Result<Option<Ended>, Error> {
        // The time of a word that is typed may be over.
        self.go_on_cutting_over()?;
        if let Some(ended) = self.hear()? {
            return Ok(Some(ended));
        }
        self.step().map(|()| None)
    }

    /// Does what is to be done next with what has come, or waits a moment for it.
    pub(super) fn step(&mut self) -> Result<(), Error> {
        if self.pending.is_some() && !self.backlog.has_snapshot() {
            return self.execute();
        }
        let end = self.position.map_or(0, |it| it.offset) + self.received.len() as u64;
        let from = (self.generation, end);
        let disk = |error| Error::File("what has come".to_owned(), error);
        match self.backlog.next(from, &mut self.room, WAIT).map_err(disk)? {
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

    /// What the operator has typed.
    fn hear(&mut self) -> Result<Option<Ended>, Error> {
        match self.console.word() {
            None => {}
            Some(Word::CutOver) => self.begin_cut_over(true),
            Some(Word::CutOverStopped) => self.begin_cut_over(false),
            Some(Word::Switch) => return self.switch(),
            Some(Word::Back) if self.phase == Phase::Following => {
                println!("there is no cut-over to go back from");
            }
            Some(Word::Back) => self.give_up_cut_over("that was asked for"),
            Some(Word::Status) => {
                let lag = self.lag();
                println!("{}{}", self.report.text(&lag), self.held_back());
            }
            Some(Word::Quit) => return self.stop().map(Some),
            Some(Word::Unknown) if self.phase == Phase::Following => println!("{HELP}"),
            Some(Word::Unknown) => println!("type `switch`, `back` or `status`"),
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

    /// What has failed or was left out, in earlier runs too.
    pub(super) fn failures(&self) -> u64 {
        self.state.failures_before + self.tally.failures()
    }

    fn write_state(&mut self) -> Result<(), Error> {
        let Some(position) = self.position else { return Ok(()) };
        let text = String::from_utf8_lossy(&position.value()).into_owned();
        let failures = self.failures();
        let contents = &mut self.state.contents;
        if contents.position != text || contents.failures != failures {
            (contents.position, contents.failures) = (text, failures);
            self.state.write()?;
        }
        Ok(())
    }

    /// Ends it. With a file another run goes on; without one nothing can, and nothing stays behind.
    fn stop(&mut self) -> Result<Ended, Error> {
        self.give_up_cut_over("it was asked to stop");
        self.state.contents.failures = self.failures();
        self.write_state()?;
        if self.state.is_kept() {
            if let Some(position) = self.position.filter(|it| self.noted != Some(*it)) {
                self.note(&position.value())?;
            }
            self.report.tell("stopped; the same command goes on from here");
        } else {
            self.let_go()?;
            self.report.tell("stopped; without --resume nothing can go on from here");
        }
        Ok(Ended::Stopped)
    }
}

/// What the target has of the stream, if that can be gone on from.
fn begin_from(
    (link, aside): (&mut Link, &mut Link),
    place: &Place,
    following: &Following,
    state: &mut State,
    report: &Report,
) -> Result<Option<Position>, Error> {
    let mut begun = None;
    match target::has(aside, place)? {
        Has::Position(position) => {
            state.contents.has_begun = true;
            begun = Some(position);
        }
        Has::Incomplete => state.contents.has_begun = true,
        Has::Nothing if state.contents.has_begun => {
            report.tell("the target does not have any more what was sent: it is filled anew");
        }
        Has::Nothing if !following.replaces => start::refuse_keys(aside, following)?,
        Has::Nothing => {}
    }
    start::prepare(aside, link, place, state, report)?;
    Ok(begun)
}
