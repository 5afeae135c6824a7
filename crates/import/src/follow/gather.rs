//! From bytes of the stream to a transaction.

use crate::error::Error;
use crate::follow::batch::Batch;
use crate::follow::follower::{Follower, Pending};
use crate::follow::position::Position;
use crate::follow::target;
use crate::follow::translate::{Reason, Translated, Translator, owned};
use crate::note::{add_note, count_lost, note_for};
use crate::refusals::is_of_server;
use replication::UnitCommand;
use std::io;
use std::sync::atomic::Ordering::Relaxed;

/// Commands of one transaction.
const COMMANDS_MAX: usize = 16_384;
/// Bytes of one transaction; a unit that is larger goes alone.
const BYTES_MAX: usize = 4 << 20;

impl Follower<'_> {
    /// Makes a transaction of what was received. Returns false if there is nothing whole.
    pub(super) fn gather(&mut self) -> Result<bool, Error> {
        let Some(position) = self.position else { return Ok(false) };
        let came_at = self.backlog.came_at(position.offset);
        // What was received may have been looked at before, when the connection broke.
        self.translator.database = position.database;
        let (mut batch, mut at, mut is_asked) = (Batch::default(), 0, false);
        let received = std::mem::take(&mut self.received);
        let mut units = std::mem::take(&mut self.units);
        while batch.count < COMMANDS_MAX && batch.bytes() < BYTES_MAX {
            let wrong = |error: replication::NoUnit| {
                let error = io::Error::new(io::ErrorKind::InvalidData, error.to_string());
                Error::File("the stream of the source".to_owned(), error)
            };
            let Some(unit) = units.next(&received[at..]).map_err(wrong)? else { break };
            let commands: Vec<_> = unit.commands().collect();
            // What it removes is to be found when all before it is there.
            let goes_alone = self.empties(&commands);
            if goes_alone && !batch.is_empty() {
                break;
            }
            at += unit.bytes().len();
            is_asked |= self.add(&mut batch, &commands, came_at, goes_alone)?;
            if goes_alone {
                break;
            }
        }
        (self.received, self.units) = (received, units);
        if at == 0 {
            return Ok(false);
        }
        let id = self.backlog.id(self.generation).unwrap_or(position.id);
        let (offset, database) = (position.offset + at as u64, self.translator.database);
        let position = Position { id, offset, database };
        self.pending = Some(Pending { batch, position, bytes: at, is_asked, not_before: None });
        Ok(true)
    }

    /// True if commands remove all keys of which only some are taken.
    fn empties(&self, commands: &[UnitCommand<'_>]) -> bool {
        let names = commands.iter().filter_map(|it| Some(it.words.first()?.of(it.bytes)));
        let is_one = |name: &[u8]| {
            [&b"FLUSHALL"[..], b"FLUSHDB"].iter().any(|it| it.eq_ignore_ascii_case(name))
        };
        !self.following.options.scope.takes_all_keys() && names.into_iter().any(is_one)
    }

    /// Adds the commands of a unit. Returns true if the source asks in it how far the target is.
    fn add(
        &mut self,
        batch: &mut Batch,
        commands: &[UnitCommand<'_>],
        came_at: u64,
        empties: bool,
    ) -> Result<bool, Error> {
        let (mut is_asked, mut to_come) = (false, Vec::new());
        for UnitCommand { bytes: request, words, noted } in commands {
            let words: Vec<&[u8]> = words.iter().map(|span| span.of(request)).collect();
            is_asked |= words[0].eq_ignore_ascii_case(b"REPLCONF");
            let requests = match self.translator.translate(&words, came_at) {
                Translated::AsItCame(database) if noted.is_none() => {
                    self.look_for(database)?;
                    batch.add_encoded(database, request);
                    if empties {
                        let keys = Translator::keys_of(&words).unwrap_or_default();
                        to_come.extend(keys.iter().map(|key| (database, key.to_vec())));
                    }
                    continue;
                }
                Translated::AsItCame(database) => vec![(database, owned(&words))],
                Translated::Instead(requests) => requests,
                Translated::Empties(databases) => {
                    let scope = &self.following.options.scope;
                    target::removals_of(&mut self.aside, scope, &databases, &to_come)?
                }
                Translated::LeftOut(reason) => {
                    self.leave_out(&words, reason);
                    continue;
                }
            };
            let text = noted.and_then(<[_]>::first).map(|text| text.of(request));
            for (database, mut request) in requests {
                self.look_for(database)?;
                if empties {
                    let words: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
                    let keys = Translator::keys_of(&words).unwrap_or_default();
                    to_come.extend(keys.iter().map(|key| (database, key.to_vec())));
                }
                if let Some(note) = note_for(&request[0], text) {
                    add_note(&mut request, note, self.server.has_attributes);
                    count_lost(note, self.server.has_attributes, self.tally);
                }
                batch.add(database, &request);
            }
        }
        Ok(is_asked)
    }

    /// Makes sure that the target has a database: in a transaction it would be noticed too late.
    pub(super) fn look_for(&mut self, database: u64) -> Result<(), Error> {
        if !self.databases.contains(&database) {
            let place = &self.following.options.target.place;
            self.aside.select(database).map_err(|error| match error {
                Error::Refused { reply, .. } if !is_of_server(&reply) => Error::Usage(format!(
                    "{place} has no database {database} ({reply}): raise `databases` there, or \
                     choose with --databases"
                )),
                other => other,
            })?;
            self.databases.insert(database);
        }
        Ok(())
    }

    fn leave_out(&self, words: &[&[u8]], reason: Reason) {
        match reason {
            Reason::NoData => drop(self.tally.not_sent.fetch_add(1, Relaxed)),
            Reason::Function => drop(self.tally.left_out.fetch_add(1, Relaxed)),
            Reason::CutInTwo | Reason::UnknownKeys => {
                let what = words[..words.len().min(2)].join(&b' ');
                self.tally.fail(self.translator.database, &what, reason.text());
            }
        }
    }
}
