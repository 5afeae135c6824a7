//! Execution of the commands of an append-only file.

use super::error::LoadFailed;
use command::{Applier, Args, Client, Instance, NotApplied, Refusal};
use journal::disk::OpenFile;
use journal::reader::{AofReader, ReadError};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use store::ThreadContext;
use wire::Span;

/// Units between two looks at whether others want the gate, or the server is to end.
const UNITS_AT_ONCE: usize = 64;
/// Commands of other servers that run scripts or keep them.
const SCRIPTS: [&str; 4] = ["EVAL", "EVALSHA", "FCALL", "SCRIPT"];
/// Bytes of a name that are logged.
const NAME_BYTES_MAX: usize = 128;
/// Refused commands of a file that are logged one by one.
const LOGGED_MAX: u64 = 10;

/// Execution of one file.
pub struct Replay<'a> {
    instance: &'a Instance,
    thread: &'a mut ThreadContext,
    applier: Applier<'a>,
    /// Name of the file, from the working directory on.
    path: &'a str,
    /// Arguments of the command.
    spans: Vec<Span>,
    /// Commands that were refused.
    refused: u64,
}

impl<'a> Replay<'a> {
    /// Execution of a file that has this name. The thread is inside the gate.
    pub fn new(instance: &'a Instance, thread: &'a mut ThreadContext, path: &'a str) -> Replay<'a> {
        let applier = Applier::new(instance, Client::of_file(path, instance.clock.now()));
        Replay { instance, thread, applier, path, spans: Vec::new(), refused: 0 }
    }

    /// Executes what stands between two offsets, which is whole.
    ///
    /// # Errors
    /// Those of the file, and commands that are not executed from one.
    pub fn run(&mut self, file: &OpenFile, from: u64, to: u64) -> Result<(), LoadFailed> {
        let mut reader = AofReader::between(file, from, to);
        let (mut units, mut told) = (0, from);
        loop {
            let offset = reader.whole();
            let unit = reader.next_unit().map_err(|error| self.failure(error))?;
            let Some(unit) = unit else { break };
            for (bytes, places) in unit.places() {
                self.execute(bytes, places, offset)?;
            }
            units += 1;
            if units % UNITS_AT_ONCE == 0 {
                self.pass(offset - told)?;
                told = offset;
            }
        }
        self.pass(to - told)?;
        if self.refused > LOGGED_MAX {
            tracing::warn!("{}: {} commands were refused in all", self.path, self.refused);
        }
        Ok(())
    }

    /// Between two batches: tells how far it has come, and cleans up behind it.
    fn pass(&mut self, bytes: u64) -> Result<(), LoadFailed> {
        let progress = &self.instance.loading.progress;
        progress.bytes.fetch_add(bytes, Relaxed);
        if progress.is_given_up.load(Relaxed) {
            return Err(LoadFailed::GivenUp);
        }
        self.instance.store.upkeep(self.thread, self.instance.clock.now());
        self.instance.store.pass(self.thread);
        Ok(())
    }

    fn execute(
        &mut self,
        bytes: &[u8],
        places: &[Range<usize>],
        offset: u64,
    ) -> Result<(), LoadFailed> {
        let Some(begin) = places.first().map(|place| place.start) else { return Ok(()) };
        self.spans.clear();
        for place in places {
            let start = u32::try_from(place.start - begin);
            let (Ok(start), Ok(len)) = (start, u32::try_from(place.len())) else {
                let what = "A command of more than 4 GiB".to_owned();
                return Err(LoadFailed::Command { file: self.path.to_owned(), offset, what });
            };
            self.spans.push(Span { start, len });
        }
        let spans = std::mem::take(&mut self.spans);
        let done = self.apply(Args::new(&bytes[begin..], &spans), offset);
        self.spans = spans;
        done
    }

    fn apply(&mut self, args: Args<'_>, offset: u64) -> Result<(), LoadFailed> {
        let Err(why) = self.applier.follow(self.thread, args) else { return Ok(()) };
        let name = args.get(0);
        let name = String::from_utf8_lossy(&name[..name.len().min(NAME_BYTES_MAX)]);
        let what = match why {
            NotApplied::Refused(refusal) => {
                self.note_refusal(&name, &refusal, offset);
                return Ok(());
            }
            _ if SCRIPTS.iter().any(|word| args.is(0, word)) => {
                format!("The script of '{name}' cannot run here: rewrite the file at its source;")
            }
            NotApplied::Unknown => format!("Unknown command '{name}'"),
            NotApplied::Misused => format!("Wrong number of arguments of '{name}'"),
            NotApplied::NoEffect => format!("'{name}', which is no change of data,"),
            NotApplied::Impossible(refusal) => format!("'{name}' cannot be executed: {refusal};"),
        };
        Err(LoadFailed::Command { file: self.path.to_owned(), offset, what })
    }

    /// What is refused was refused where the file was written, too: it has changed nothing there.
    fn note_refusal(&mut self, name: &str, refusal: &Refusal, offset: u64) {
        self.refused += 1;
        if self.refused <= LOGGED_MAX {
            let path = self.path;
            tracing::warn!("{path}: at byte {offset} '{name}' was refused: {refusal}");
        }
    }

    /// Failure of a file that was whole a moment ago.
    fn failure(&self, error: ReadError) -> LoadFailed {
        let error = match error {
            ReadError::Disk(error) => error,
            broken @ ReadError::Broken { .. } => std::io::Error::other(broken),
        };
        LoadFailed::of_system("reading", self.path)(error)
    }
}
