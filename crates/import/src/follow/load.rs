//! Filling the target with a snapshot.

use crate::error::Error;
use crate::follow::backlog::Snapshot;
use crate::follow::console::HELP;
use crate::follow::follower::Follower;
use crate::follow::position::{INCOMPLETE, Position};
use crate::follow::target;
use crate::from_rdb;
use crate::meter::Meter;
use crate::resume::Resume;
use crate::run::Run;
use check::walk::{Entry, Walk};
use replication::Units;
use std::fs::File;
use std::io::Seek;

impl Follower<'_> {
    /// Fills the target with a snapshot, in the place of all that is there of what is taken.
    pub(super) fn load(&mut self, snapshot: Snapshot) -> Result<(), Error> {
        self.give_up_cut_over("the source sends all its keys again");
        let mut file = snapshot.file;
        if self.state.contents.has_begun && !self.following.replaces && is_empty(&mut file)? {
            return Err(Error::Usage(format!(
                "{} has come back without any key: {} keeps what it has. With --replace it is \
                 emptied too",
                self.following.source.place, self.following.options.target.place
            )));
        }
        let options = &self.following.options;
        (self.units, self.pending) = (Units::default(), None);
        self.received.clear();
        (self.position, self.generation) = (None, snapshot.generation);
        // Before something is removed, or a run that dies in between would go on from there.
        self.note(INCOMPLETE)?;
        if self.state.contents.has_begun || self.following.replaces {
            self.patiently(|it| {
                let options = &it.following.options;
                target::empty(&mut it.aside, &options.scope, options.takes_functions)?;
                if it.state.contents.turned_import_mode_on {
                    target::note_import_mode(&mut it.aside, &it.place)?;
                }
                target::watch(&mut it.link, &it.place)
            })?;
            self.note(INCOMPLETE)?;
        }
        self.state.contents.has_begun = true;
        self.state.write()?;
        let disk = |error| Error::File("the snapshot".to_owned(), error);
        let bytes = file.metadata().map_err(disk)?.len();
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
        let walked = from_rdb::fill(&mut run, "the snapshot", file, note, 0)?;
        run.meter.end();
        let database = walked.stream_database.unwrap_or(0);
        let position = Position { id: snapshot.id, offset: snapshot.offset, database };
        self.note(&position.value())?;
        (self.position, self.noted) = (Some(position), Some(position));
        self.backlog.applied(self.generation, position.offset);
        self.report.tell("the keys are there, and the stream follows");
        self.report.tell(HELP);
        Ok(())
    }
}

/// True if there is no key in a snapshot.
fn is_empty(file: &mut File) -> Result<bool, Error> {
    let failed = |error| Error::walking("the snapshot", error);
    let mut walk = Walk::begin(&*file).map_err(failed)?;
    let is_empty = loop {
        match walk.next_entry().map_err(failed)? {
            Entry::Key(_) => break false,
            Entry::End => break true,
            _ => {}
        }
    };
    file.rewind().map_err(|error| Error::File("the snapshot".to_owned(), error))?;
    Ok(is_empty)
}
