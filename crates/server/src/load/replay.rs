//! Execution of the commands of an append-only file.

use super::error::LoadFailed;
use command::{Applier, Args, Client, Instance, Next, NotApplied, Refusal};
use journal::disk::OpenFile;
use journal::reader::{AofReader, Batch, ReadError};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use store::{Sought, ThreadContext};
use wire::Span;

/// Commands that are read before the first of them is executed.
const AHEAD: usize = 32;
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
    /// Arguments of the commands of a batch.
    spans: Vec<Span>,
    /// Places in the index of their first keys.
    sought: Vec<Sought>,
    /// Offset up to which the file was executed.
    reached: u64,
    /// Commands that were refused.
    refused: u64,
}

/// A command of a batch.
struct Ahead<'b> {
    /// Bytes from its name on.
    bytes: &'b [u8],
    /// Which of the spans are its arguments.
    spans: Range<usize>,
    next: Next,
}

impl<'a> Replay<'a> {
    /// Execution of a file that has this name. The thread is inside the gate.
    pub fn new(instance: &'a Instance, thread: &'a mut ThreadContext, path: &'a str) -> Replay<'a> {
        let applier = Applier::new(instance, Client::of_file(path, instance.clock.now()));
        let (spans, sought) = (Vec::new(), Vec::new());
        Replay { instance, thread, applier, path, spans, sought, reached: 0, refused: 0 }
    }

    /// Executes the units between two offsets. Returns false if it came upon a break, where it has
    /// stopped.
    ///
    /// # Errors
    /// Those of the disk, and commands that are not executed from a file.
    pub fn run(&mut self, file: &OpenFile, from: u64, to: u64) -> Result<bool, LoadFailed> {
        let mut reader = AofReader::between(file, from, to);
        self.reached = from;
        let is_whole = loop {
            match reader.next_batch(AHEAD) {
                Ok(Some(batch)) => self.execute(&batch)?,
                Ok(None) => break true,
                Err(ReadError::Broken { .. }) => break false,
                Err(ReadError::Disk(error)) => {
                    return Err(LoadFailed::of_system("reading", self.path)(error));
                }
            }
            self.pass(reader.whole())?;
        };
        self.pass(reader.whole())?;
        if self.refused > LOGGED_MAX {
            tracing::warn!("{}: {} commands were refused in all", self.path, self.refused);
        }
        Ok(is_whole)
    }

    /// Offset behind the last unit that was executed.
    pub fn reached(&self) -> u64 {
        self.reached
    }

    /// Between two batches: tells how far it has come, and cleans up behind it.
    fn pass(&mut self, reached: u64) -> Result<(), LoadFailed> {
        let progress = &self.instance.loading.progress;
        progress.bytes.fetch_add(reached - self.reached, Relaxed);
        self.reached = reached;
        if progress.is_given_up.load(Relaxed) {
            return Err(LoadFailed::GivenUp);
        }
        self.instance.store.upkeep(self.thread, self.instance.clock.now());
        self.instance.store.pass(self.thread);
        Ok(())
    }

    /// Pauses outside the gate, as the settings ask for.
    #[cold]
    fn pause(&mut self) -> Result<(), LoadFailed> {
        let progress = &self.instance.loading.progress;
        self.instance.store.leave(self.thread);
        progress.pause();
        self.instance.store.enter(self.thread);
        if progress.is_given_up.load(Relaxed) { Err(LoadFailed::GivenUp) } else { Ok(()) }
    }

    /// Executes the commands of a batch, with the places of their keys on their way into the cache.
    fn execute(&mut self, batch: &Batch<'_>) -> Result<(), LoadFailed> {
        self.spans.clear();
        self.sought.clear();
        let mut commands = Vec::with_capacity(AHEAD);
        for (number, (bytes, places)) in batch.commands().enumerate() {
            let ahead = self.look(bytes, places);
            commands.push(ahead.ok_or_else(|| LoadFailed::Command {
                file: self.path.to_owned(),
                offset: batch.offset(number),
                what: "A command of more than 4 GiB".to_owned(),
            })?);
        }
        if self.sought.len() > 1 {
            self.instance.store.prefetch_keys(&self.sought);
        }
        let now = self.instance.clock.now();
        let spans = std::mem::take(&mut self.spans);
        for (number, command) in commands.into_iter().enumerate() {
            let args = Args::new(command.bytes, &spans[command.spans]);
            if let Err(why) = self.applier.follow(self.thread, command.next, args, now) {
                self.judge(args, &why, batch.offset(number))?;
            }
            if self.instance.loading.progress.is_slowed() {
                self.pause()?;
            }
        }
        self.spans = spans;
        Ok(())
    }

    /// Makes a command ready; `None` if it is too long.
    #[inline]
    fn look<'b>(&mut self, bytes: &'b [u8], places: &[Range<usize>]) -> Option<Ahead<'b>> {
        let (first, begin) = (self.spans.len(), places.first()?.start);
        for place in places {
            let start = u32::try_from(place.start - begin).ok()?;
            self.spans.push(Span { start, len: u32::try_from(place.len()).ok()? });
        }
        let (bytes, spans) = (&bytes[begin..], first..self.spans.len());
        let (next, sought) = self.applier.look(&Args::new(bytes, &self.spans[first..]));
        self.sought.extend(sought);
        Some(Ahead { bytes, spans, next })
    }

    /// Decides what to make of a command that was not executed: what the server cannot execute
    /// would leave data out, so it stops the start.
    fn judge(&mut self, args: Args<'_>, why: &NotApplied, offset: u64) -> Result<(), LoadFailed> {
        let name = args.get(0);
        let name = String::from_utf8_lossy(&name[..name.len().min(NAME_BYTES_MAX)]);
        let what = match why {
            NotApplied::Refused(refusal) => {
                self.note_refusal(&name, refusal, offset);
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
}
