//! Filling from a file of commands: its units in their order, over one connection.
//!
//! A batch is under way until it is answered; then its end is written down. Most can be sent again
//! as a whole. Where one cannot, since that would not do the same, it is also written down before
//! it is sent that it will be: a run that finds this does not go on. Signals wait for such a batch.

use crate::error::Error;
use crate::libraries::Library;
use crate::note::{add_note, behind_note, count_lost, note_for};
use crate::past::Past;
use crate::repeat::Repeat;
use crate::resume::Mark;
use crate::run::Run;
use crate::server::Link;
use crate::to_client::to_client;
use check::source::Source;
use journal::reader::{AofReader, ReadError, Unit, Why};
use std::sync::atomic::Ordering::Relaxed;
use text::AttributeNote;

/// Units of a pipeline.
const UNITS_AT_ONCE: usize = 1000;
/// Bytes of a pipeline.
const BYTES_AT_ONCE: u64 = 4 << 20;

/// What a command is called in messages, and the selected database.
#[derive(Debug)]
enum Named {
    /// Its name, and its key if it has one.
    Command(Vec<u8>, u64),
    /// The name of the function library that it loads.
    Library(Vec<u8>),
}

/// What is on its way.
#[derive(Default)]
struct Batch {
    /// Commands that are sent, in order.
    sent: Vec<Named>,
    units: usize,
    repeat: Repeat,
}

/// Sends the units of a file from an offset on.
///
/// # Errors
/// When the file is damaged before its end or a connection breaks.
pub fn fill(
    run: &mut Run<'_>,
    name: &str,
    source: &Source,
    number: usize,
    from: u64,
    is_last: bool,
) -> Result<(), Error> {
    let disk = |error| Error::File(name.to_owned(), error);
    let mut link = Link::open(&run.server.address)?;
    let mut past = Past::ask_to_keep(&mut link)?;
    let mut reader = AofReader::new(source, from).map_err(disk)?;
    let (mut batch, mut database, mut began) = (Batch::default(), 0, from);
    // A resumed run has to know which database is selected there.
    if from > 0 {
        database = run.selected;
        link.select(database)?;
    }
    loop {
        let is_over = match reader.next_unit() {
            Ok(Some(unit)) => {
                unit.commands().for_each(|it| past.look(&it.take(3).collect::<Vec<_>>()));
                batch.add(&unit, &mut link, &mut database, run)?;
                false
            }
            Ok(None) => true,
            Err(ReadError::Disk(error)) => return Err(disk(error)),
            Err(ReadError::Broken { offset, why }) => {
                let is_torn = is_last && matches!(why, Why::Ended | Why::Unfinished);
                if !is_torn {
                    return Err(Error::Damaged(name.to_owned(), format!("byte {offset}: {why}")));
                }
                eprintln!("{name}: torn at byte {offset}: {why}; what is before it was taken");
                true
            }
        };
        let whole = reader.whole();
        if is_over || batch.units == UNITS_AT_ONCE || whole - began >= BYTES_AT_ONCE {
            let behind = Mark { file: number, offset: whole, sent: whole, ..run.mark_of(database) };
            batch.send_all(&mut link, run, behind, began)?;
            run.meter.set(run.bytes_before + whole);
            (began, run.selected) = (whole, database);
        }
        if is_over {
            return Ok(());
        }
    }
}

impl Batch {
    fn add(
        &mut self,
        unit: &Unit<'_>,
        link: &mut Link,
        database: &mut u64,
        run: &Run<'_>,
    ) -> Result<(), Error> {
        let is_framed = unit.is_framed && run.server.has_transactions;
        self.units += 1;
        if is_framed {
            self.send(link, &[b"MULTI"], *database)?;
        }
        for (at, command) in unit.commands().enumerate() {
            let Some(words) = to_client(&command.collect::<Vec<_>>()) else {
                run.tally.not_sent.fetch_add(1, Relaxed);
                continue;
            };
            if let [name, number] = words[..]
                && name.eq_ignore_ascii_case(b"SELECT")
            {
                *database = text::parse_u64(number).unwrap_or(*database);
            }
            let is_of_functions =
                words.first().is_some_and(|name| name.eq_ignore_ascii_case(b"FUNCTION"));
            if is_of_functions && !run.options.takes_functions {
                let is_one = Library::of_command(&words).is_some();
                run.tally.left_out.fetch_add(u64::from(is_one), Relaxed);
                continue;
            }
            self.repeat.add(&words);
            let note = note_for(words.first().copied().unwrap_or_default(), unit.note(at));
            self.send_noted(link, &words, *database, note, run)?;
        }
        if is_framed {
            self.send(link, &[b"EXEC"], *database)?;
        }
        Ok(())
    }

    /// Sends a command with what is noted for it, if the server knows that.
    fn send_noted(
        &mut self,
        link: &mut Link,
        words: &[&[u8]],
        database: u64,
        note: Option<AttributeNote>,
        run: &Run<'_>,
    ) -> Result<(), Error> {
        let Some(note) = note else { return self.send(link, words, database) };
        let mut request = words.iter().map(|word| word.to_vec()).collect();
        add_note(&mut request, note, run.server.has_attributes);
        count_lost(note, run.server.has_attributes, run.tally);
        let words: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
        self.send(link, &words, database)
    }

    /// Replies are read at the end of the batch, so what is sent stays in memory until then: the
    /// connection must not send on its own.
    fn send(&mut self, link: &mut Link, words: &[&[u8]], database: u64) -> Result<(), Error> {
        self.sent.push(match Library::of_command(words) {
            Some(library) => Named::Library(library.name),
            None => {
                let shown = behind_note(words);
                Named::Command(shown[..shown.len().min(2)].join(&b' '), database)
            }
        });
        link.add_request(words);
        Ok(())
    }

    /// Sends everything from an offset up to a mark, and writes that down.
    fn send_all(
        &mut self,
        link: &mut Link,
        run: &mut Run<'_>,
        behind: Mark,
        began: u64,
    ) -> Result<(), Error> {
        let doubt = self.repeat.obstacle().map(|it| (self.units, text::quote(it)));
        let stop = run.options.stop.clone();
        let is_asked = stop.wait_for(|| {
            if doubt.is_some() {
                run.resume.write_mark(Mark { offset: began, doubt, ..behind.clone() })?;
            }
            self.end(link, run)?;
            run.resume.write_mark(behind)
        })?;
        match is_asked {
            false => Ok(()),
            true if run.resume.is_kept() => {
                Err(Error::Interrupted("the same command goes on from here"))
            }
            true => Err(Error::Interrupted("without --resume nothing can go on from here")),
        }
    }

    fn end(&mut self, link: &mut Link, run: &Run<'_>) -> Result<(), Error> {
        link.exchange(self.sent.len(), |at, reply| match (&self.sent[at], reply.error()) {
            (Named::Command(what, database), Some(error)) => {
                run.tally.fail(*database, what, &error);
            }
            (Named::Library(name), Some(error)) => run.tally.fail_library(name, &error),
            (Named::Library(_), None) => drop(run.tally.libraries.fetch_add(1, Relaxed)),
            (Named::Command(..), None) => drop(run.tally.commands.fetch_add(1, Relaxed)),
        })?;
        *self = Batch::default();
        Ok(())
    }
}
