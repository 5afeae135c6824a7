//! An import from begin to end: what the source is, how far an earlier run has come, what is left.

use crate::address::Address;
use crate::compare::{Comparison, compare};
use crate::error::Error;
use crate::libraries::{self, Library};
use crate::meter::Meter;
use crate::resume::{Mark, Resume};
use crate::run::{Options, Run};
use crate::server::{Link, Server};
use crate::tally::Tally;
use crate::{from_commands, from_rdb, from_server};
use check::aof_file::Behind;
use check::place::{Place, look};
use check::source::Source;
use journal::disk::File;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// First bytes of an RDB file.
const MAGICS: [&[u8]; 2] = [b"REDIS", b"VALKEY"];

/// Where data comes from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A file or a directory.
    Path(PathBuf),
    /// A running server.
    Server(Address),
}

/// How an import ended.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Keys that have arrived.
    pub keys: u64,
    /// Commands that were executed.
    pub commands: u64,
    /// Function libraries that have arrived.
    pub libraries: u64,
    /// Function libraries that were left out.
    pub left_out: u64,
    /// Collections without elements, which were left out.
    pub empty: u64,
    /// Streams that got their real number of entries.
    pub mended: u64,
    /// Bytes behind the ends of RDB files, which were not read.
    pub unread: u64,
    /// Strings that came without what was noted of them.
    pub without_attributes: u64,
    /// Commands of files that change no data, and were not sent.
    pub not_sent: u64,
    /// Keys, commands and function libraries that failed.
    pub failures: u64,
    /// What the second look at a running server has found.
    pub comparison: Option<Comparison>,
}

/// Fills a server.
///
/// # Errors
/// When it cannot go on; with a file that keeps how far it has come, another run can.
pub fn import(origin: &Origin, options: &Options) -> Result<Outcome, Error> {
    let tally = Tally::default();
    let (server, link) = Server::meet(&options.target)?;
    drop(link);
    let comparison = match origin {
        Origin::Path(path) => {
            from_files(path, options, &server, &tally)?;
            None
        }
        Origin::Server(address) => from_live(address, options, &server, &tally)?,
    };
    Ok(Outcome {
        keys: tally.keys.load(Relaxed),
        commands: tally.commands.load(Relaxed),
        libraries: tally.libraries.load(Relaxed),
        left_out: tally.left_out.load(Relaxed),
        empty: tally.empty.load(Relaxed),
        mended: tally.mended.load(Relaxed),
        unread: tally.unread.load(Relaxed),
        without_attributes: tally.without_attributes.load(Relaxed),
        not_sent: tally.not_sent.load(Relaxed),
        failures: tally.failures(),
        comparison,
    })
}

fn from_live(
    address: &Address,
    options: &Options,
    server: &Server,
    tally: &Tally,
) -> Result<Option<Comparison>, Error> {
    let (source, mut link) = Server::meet(address)?;
    let libraries = libraries::of_server(&mut link)?;
    drop(link);
    let keys = source.databases.iter().map(|(_, keys)| keys).sum();
    let meter = Meter::of_keys("copying", keys, options.shows_progress);
    let target = &options.target.place;
    let resume = Resume::open(options.resume.as_deref(), &address.place, &source.run_id, target)?;
    let mut run = Run { options, server, tally, meter, resume, bytes_before: 0, selected: 0 };
    if !run.resume.mark().is_done {
        hand_over(&libraries, &run)?;
        from_server::fill(&mut run, &source)?;
        run.resume.write_mark(Mark { is_done: true, ..run.resume.mark().clone() })?;
    }
    run.meter.end();
    if !options.compares {
        return Ok(None);
    }
    // Which databases have keys may have changed.
    let ((source, _), (server, _)) = (Server::meet(address)?, Server::meet(&options.target)?);
    let keys = source.databases.iter().chain(&server.databases).map(|(_, keys)| keys).sum();
    let meter = Meter::of_keys("comparing", keys, options.shows_progress);
    let found = compare(&source, &server, &options.scope, options.rules, &meter);
    meter.end();
    found.map(Some)
}

fn hand_over(libraries: &[Library], run: &Run<'_>) -> Result<(), Error> {
    if !run.options.takes_functions {
        run.tally.left_out.store(libraries.len() as u64, Relaxed);
        return Ok(());
    }
    let mut link = Link::open(&run.server.address)?;
    libraries.iter().try_for_each(|library| library.load(&mut link, run.tally))
}

/// A file of a set: its path, what opens it, and its length.
struct Opened {
    name: String,
    source: Source,
    bytes: u64,
    /// What may stand behind its RDB part.
    behind: Behind,
}

impl Opened {
    fn is_rdb(&self) -> Result<bool, Error> {
        let mut begin = [0; 6];
        let disk = |error| Error::File(self.name.clone(), error);
        let read = self.source.read_at(0, &mut begin).map_err(disk)?;
        Ok(MAGICS.iter().any(|magic| begin[..read].starts_with(magic)))
    }
}

fn from_files(path: &Path, options: &Options, server: &Server, tally: &Tally) -> Result<(), Error> {
    let paths = files_of(path)?;
    let open_one = |(path, behind): &(PathBuf, Behind)| open(path, *behind);
    let files = paths.iter().map(open_one).collect::<Result<Vec<_>, _>>()?;
    let total = files.iter().map(|file| file.bytes).sum();
    let identity = files.iter().map(|file| format!("{} bytes", file.bytes)).collect::<Vec<_>>();
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let resume = Resume::open(
        options.resume.as_deref(),
        &place.display().to_string(),
        &identity.join(", "),
        &options.target.place,
    )?;
    let meter = Meter::of_bytes("sending", total, options.shows_progress);
    let selected = resume.mark().database;
    let mut run = Run { options, server, tally, meter, resume, bytes_before: 0, selected };
    let from = run.resume.mark().clone();
    if from.sent > from.offset {
        return Err(in_doubt(files.get(from.file).map_or("", |it| &it.name), &from));
    }
    for (number, file) in files.iter().enumerate() {
        if number >= from.file && !from.is_done {
            let offset = if number == from.file { from.offset } else { 0 };
            if offset == 0 {
                run.selected = 0;
            }
            fill_from(&mut run, file, number, offset, number + 1 == files.len())?;
        }
        run.bytes_before += file.bytes;
    }
    let done = Mark { is_done: true, file: files.len(), ..Mark::default() };
    run.resume.write_mark(done)?;
    run.meter.end();
    Ok(())
}

fn in_doubt(name: &str, mark: &Mark) -> Error {
    let (units, command) = mark.doubt.clone().unwrap_or_default();
    let (from, to) = (mark.offset, mark.sent);
    Error::Usage(format!(
        "{name}: bytes {from} to {to} were under way when the last run died: {units} commands and \
         transactions, of which some may have been executed. They may not be sent twice, for \
         example {command}: empty the server, remove the file of --resume and begin anew"
    ))
}

fn fill_from(
    run: &mut Run<'_>,
    file: &Opened,
    number: usize,
    from: u64,
    is_last: bool,
) -> Result<(), Error> {
    let mut offset = from;
    if file.is_rdb()? {
        // A run that ended behind the RDB part walks over all of it and sends nothing.
        let note = |run: &mut Run<'_>, safe: u64| {
            run.meter.set(run.bytes_before + safe);
            if safe <= from && from > 0 {
                return Ok(());
            }
            run.resume.note(Mark { file: number, offset: safe, sent: safe, ..Mark::default() })
        };
        let walked = from_rdb::fill(run, &file.name, file.source.from(0), note, from)?;
        offset = from.max(walked.end);
        let mut first = [0; 1];
        let disk = |error| Error::File(file.name.clone(), error);
        let read = file.source.read_at(walked.end, &mut first).map_err(disk)?;
        if read == 0 || !file.behind.is_commands(walked.is_base, first[0]) {
            run.tally.unread.fetch_add(file.bytes - walked.end, Relaxed);
            return Ok(());
        }
    }
    from_commands::fill(run, &file.name, &file.source, number, offset, is_last)
}

fn open(path: &Path, behind: Behind) -> Result<Opened, Error> {
    let name = path.display().to_string();
    let failed = |error| Error::File(name.clone(), error);
    let source = Source::open(path).map_err(failed)?;
    let bytes = source.bytes().map_err(failed)?;
    Ok(Opened { name, source, bytes, behind })
}

/// The files of a source, in order, and what may stand behind their RDB parts.
fn files_of(path: &Path) -> Result<Vec<(PathBuf, Behind)>, Error> {
    let places = look(path).map_err(|error| Error::Usage(error.to_string()))?;
    let [place] = &places[..] else {
        let what = "there are several sources of data: name one file, or the appendonlydir";
        return Err(Error::Usage(format!("{}: {what}", path.display())));
    };
    match place {
        Place::File(path) => {
            let is_named_rdb = path.extension().is_some_and(|it| it == "rdb");
            let behind = if is_named_rdb { Behind::Nothing } else { Behind::Either };
            let source = open(path, behind)?;
            if is_named_rdb && !source.is_rdb()? {
                let what = "its name is that of an RDB file, and it is none".to_owned();
                return Err(Error::Damaged(source.name, what));
            }
            Ok(vec![(path.clone(), behind)])
        }
        Place::Set(set) => match set.problems.first() {
            None => Ok(set.to_load.iter().map(|path| (path.clone(), Behind::Commands)).collect()),
            Some(problem) => {
                Err(Error::Damaged(set.manifest.display().to_string(), problem.clone()))
            }
        },
    }
}
