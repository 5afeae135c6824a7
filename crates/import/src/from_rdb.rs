//! Filling from an RDB file, or from the RDB part of an append-only file.

use crate::error::Error;
use crate::ledger::Ledger;
use crate::libraries::Library;
use crate::payload::{Use, Value};
use crate::run::Run;
use crate::scope::Scope;
use crate::server::Link;
use crate::sink::{Put, Shared, put, take_jobs};
use base::mutex::Mutex;
use check::rdb_file::is_of_base;
use check::walk::{Entry, KeyEntry, Walk};
use std::io::Read;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{SyncSender, sync_channel};

/// Jobs that wait in line.
const JOBS_MAX: usize = 4096;
/// Bytes on their way.
const BUDGET_BYTES: usize = 64 << 20;
/// Requests of a pipeline.
const AT_ONCE: usize = 64;

struct Job {
    put: Put,
    number: u64,
}

/// What was read of a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Walked {
    /// Offset behind it.
    pub end: u64,
    /// True if it was written to stand before commands.
    pub is_base: bool,
    /// Number of the database that is selected in the stream behind it, if it tells that.
    pub stream_database: Option<u64>,
}

/// Sends all keys of a file from an offset on.
///
/// # Errors
/// When the file is damaged or a connection breaks.
pub fn fill(
    run: &mut Run<'_>,
    name: &str,
    file: impl Read,
    mut note: impl FnMut(&mut Run<'_>, u64) -> Result<(), Error>,
    from: u64,
) -> Result<Walked, Error> {
    let (server, tally) = (run.server, run.tally);
    let until = run.options.waits_when_full.then(|| run.options.stop.clone());
    let shared = Shared::new(server, tally, BUDGET_BYTES).waiting(until);
    let ledger = Ledger::new(from);
    let (sender, receiver) = sync_channel(JOBS_MAX);
    let receiver = Mutex::new(receiver);
    let connections = run.options.connections.max(1);
    let links: Vec<Link> =
        (0..connections).map(|_| Link::open(&server.address)).collect::<Result<_, _>>()?;
    let walked = std::thread::scope(|scope| {
        let (shared, ledger, receiver) = (&shared, &ledger, &receiver);
        for mut link in links {
            scope.spawn(move || {
                take_jobs(
                    receiver,
                    shared,
                    AT_ONCE,
                    |jobs: &[Job]| write(&mut link, shared, ledger, jobs),
                    |job| shared.budget.give_back(job.put.bytes()),
                );
            });
        }
        let takes_functions = run.options.takes_functions;
        let scope = &run.options.scope;
        let mut reader = Reader { name, from, takes_functions, scope, sender, shared, ledger };
        let read = reader.read(file, |safe| note(run, safe));
        if read.is_err() {
            shared.give_up();
        }
        read
    });
    note(run, ledger.safe())?;
    run.resume.write()?;
    shared.outcome()?;
    walked
}

fn write(
    link: &mut Link,
    shared: &Shared<'_>,
    ledger: &Ledger<u64>,
    jobs: &[Job],
) -> Result<(), Error> {
    let (puts, numbers) =
        jobs.iter().map(|job| (&job.put, job.number)).unzip::<_, _, Vec<_>, Vec<_>>();
    put(link, shared, &puts)?;
    numbers.into_iter().for_each(|number| ledger.finish(number));
    Ok(())
}

struct Reader<'r> {
    name: &'r str,
    /// Offset up to which keys have arrived in an earlier run.
    from: u64,
    takes_functions: bool,
    scope: &'r Scope,
    sender: SyncSender<Job>,
    shared: &'r Shared<'r>,
    ledger: &'r Ledger<u64>,
}

impl Reader<'_> {
    fn read(
        &mut self,
        file: impl Read,
        mut note: impl FnMut(u64) -> Result<(), Error>,
    ) -> Result<Walked, Error> {
        let name = self.name;
        let failed = |error| Error::walking(name, error);
        let mut walk = Walk::begin(file).map_err(failed)?;
        let (mut database, mut is_base, mut stream_database) = (0, false, None);
        loop {
            match walk.next_entry().map_err(failed)? {
                Entry::Note(name, text) => {
                    is_base |= is_of_base(&name, &text);
                    if name == b"repl-stream-db" {
                        stream_database = text::parse_u64(&text);
                    }
                }
                Entry::Database(number) => database = number,
                Entry::Function(source) if walk.at() > self.from => self.load_function(&source)?,
                Entry::ModuleData(module) if walk.at() > self.from => {
                    let why = "data of a module cannot be sent";
                    self.shared.tally.fail(database, module.as_bytes(), why);
                }
                Entry::Key(key) => self.read_key(&mut walk, database, key)?,
                Entry::End => break,
                _ => {}
            }
            if self.shared.has_failed() {
                return Ok(Walked { end: walk.at(), is_base, stream_database });
            }
            note(self.ledger.safe())?;
        }
        walk.end().map_err(failed)?;
        Ok(Walked { end: walk.at(), is_base, stream_database })
    }

    fn read_key(
        &mut self,
        walk: &mut Walk<impl Read>,
        database: u64,
        key: KeyEntry,
    ) -> Result<(), Error> {
        let (mut raw, mut parts) = (Vec::new(), 0_u64);
        let notes = walk
            .value(key.value_type, |bytes| raw.extend_from_slice(bytes), |_| parts += 1)
            .map_err(|error| Error::walking(self.name, error))?;
        let target = self.scope.target_of(database).filter(|_| self.scope.has(&key.name));
        let (Some(database), true) = (target, walk.at() > self.from) else { return Ok(()) };
        if parts == 0 && key.value_type.kind().is_never_empty() {
            self.shared.tally.empty.fetch_add(1, Relaxed);
            return Ok(());
        }
        if let Some(module) = notes.module {
            let why = format!("the value is of module type {module}");
            self.shared.tally.fail(database, &key.name, &why);
            return Ok(());
        }
        let mut value = Value::of_file(key.value_type, walk.version().dialect(), raw);
        if notes.miscount.is_some()
            && let Some(miscount) = value.mend()
        {
            self.shared.tally.note_mended(database, &key.name, miscount);
        }
        let used = key.frequency.map(Use::Frequency).or(key.idle.map(Use::Idle));
        let attributes = key.attributes.filter(|_| value.is_string());
        let put = Put { database, name: key.name, value, deadline: key.deadline, used, attributes };
        self.shared.budget.take(put.bytes());
        let number = self.ledger.begin(walk.at());
        // The receiver lives longer than this.
        let _ = self.sender.send(Job { put, number });
        Ok(())
    }

    fn load_function(&self, source: &[u8]) -> Result<(), Error> {
        if !self.takes_functions {
            self.shared.tally.left_out.fetch_add(1, Relaxed);
            return Ok(());
        }
        let mut link = Link::open(&self.shared.server.address)?;
        Library::of_source(source).load(&mut link, self.shared.tally)
    }
}
