//! Execution of the commands of an append-only file.

use super::error::LoadFailed;
use crate::stream_in_files;
use command::{Applier, Followed, Next, NotApplied, Table};
use journal::disk::OpenFile;
use journal::reader::{AofReader, Batch, ReadError};
use journal::sync_line::ReplicationId;
use session::{Args, Client, Instance};
use settings::PropagationErrorBehavior;
use settings::journal::PROPAGATION_ERROR_BEHAVIOR;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use store::{Sought, ThreadContext};
use wire::Span;

/// Commands that are read before the first of them is executed.
const AHEAD: usize = 32;
/// Bytes of a command that are logged.
const SHOWN_BYTES_MAX: usize = 128;
/// Commands of a file that are logged one by one, of those that are left out.
const LOGGED_MAX: u64 = 10;
/// Names of commands that are counted by themselves, of those that are passed over.
const NAMES_MAX: usize = 20;

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
    /// Offsets at which units begin, and their positions in the stream.
    places: Vec<(u64, u64)>,
    /// What the file told of the ids that the stream had before.
    history: Option<(ReplicationId, Vec<u8>)>,
    /// True if there were replicas when the file was written.
    had_replicas: bool,
    /// Commands that could not be executed and were left out, or failed and changed nothing.
    failed: u64,
    /// Commands that change no data, by name.
    passed_over: BTreeMap<String, u64>,
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
    pub fn new(
        instance: &'a Instance,
        table: &'static Table,
        thread: &'a mut ThreadContext,
        path: &'a str,
    ) -> Replay<'a> {
        let applier = Applier::new(instance, table, Client::of_file(path, instance.clock.steady()));
        let (spans, sought) = (Vec::new(), Vec::new());
        Replay {
            instance,
            thread,
            applier,
            path,
            spans,
            sought,
            reached: 0,
            places: Vec::new(),
            history: None,
            had_replicas: false,
            failed: 0,
            passed_over: BTreeMap::new(),
        }
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
            stream_in_files::note(&mut self.places, reader.whole(), || reader.position());
            self.pass(reader.whole())?;
        };
        self.pass(reader.whole())?;
        self.history = reader.history().cloned();
        self.had_replicas = reader.had_replicas();
        self.report();
        Ok(is_whole)
    }

    /// Offset behind the last unit that was executed.
    pub fn reached(&self) -> u64 {
        self.reached
    }

    /// The ids that the stream had before, if the file told them.
    pub fn take_history(&mut self) -> Option<(ReplicationId, Vec<u8>)> {
        self.history.take()
    }

    /// True if there were replicas when the file was written.
    pub fn had_replicas(&self) -> bool {
        self.had_replicas
    }

    /// Where in the file units of the stream begin.
    pub fn take_places(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.places)
    }

    /// Database that is selected behind it.
    pub fn database(&self) -> usize {
        self.applier.database()
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
        for (number, (bytes, places, is_noted)) in batch.commands().enumerate() {
            let ahead = self.look(bytes, places, is_noted);
            commands.push(ahead.ok_or_else(|| LoadFailed::Command {
                file: self.path.to_owned(),
                offset: batch.offset(number),
                what: "A command of more than 4 GiB".to_owned(),
                can_be_left_out: false,
            })?);
        }
        if self.sought.len() > 1 {
            self.instance.store.prefetch_keys(&self.sought);
        }
        let now = batch.moment.unwrap_or_else(|| self.instance.clock.now());
        let spans = std::mem::take(&mut self.spans);
        for (number, command) in commands.into_iter().enumerate() {
            let args = Args::new(command.bytes, &spans[command.spans]);
            match self.applier.follow(self.thread, command.next, args, now) {
                Ok(Followed::Executed) => {}
                other => self.judge(args, other, batch.offset(number))?,
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
    fn look<'b>(
        &mut self,
        bytes: &'b [u8],
        places: &[Range<usize>],
        is_noted: bool,
    ) -> Option<Ahead<'b>> {
        let (first, begin) = (self.spans.len(), places.first()?.start);
        for place in places {
            let start = u32::try_from(place.start - begin).ok()?;
            self.spans.push(Span { start, len: u32::try_from(place.len()).ok()? });
        }
        let (bytes, spans) = (&bytes[begin..], first..self.spans.len());
        let (next, sought) = self.applier.look(Args::new(bytes, &self.spans[first..]), is_noted);
        self.sought.extend(sought);
        Some(Ahead { bytes, spans, next })
    }

    /// Decides what to make of a command that was not executed: what may have changed data where
    /// the file was written stops the start, unless the operator does without it.
    #[cold]
    fn judge(
        &mut self,
        args: Args<'_>,
        followed: Result<Followed, NotApplied>,
        offset: u64,
    ) -> Result<(), LoadFailed> {
        let why = match followed {
            Ok(Followed::Executed) => return Ok(()),
            Ok(Followed::PassedOver) => {
                self.pass_over(args);
                return Ok(());
            }
            Ok(Followed::Fruitless(refusal)) => {
                self.pass_over(args);
                self.warn(offset, &format!("{} has failed: {refusal}", shown(args)));
                return Ok(());
            }
            Err(why) => why,
        };
        let what = words_of(args, &why);
        let behavior = PROPAGATION_ERROR_BEHAVIOR.get(&self.instance.settings);
        if why.can_be_left_out() && behavior != PropagationErrorBehavior::Panic {
            self.instance.loading.left_out.fetch_add(1, Relaxed);
            self.warn(offset, &format!("{what} is left out"));
            return Ok(());
        }
        let file = self.path.to_owned();
        Err(LoadFailed::Command { file, offset, what, can_be_left_out: why.can_be_left_out() })
    }

    fn pass_over(&mut self, args: Args<'_>) {
        self.instance.loading.passed_over.fetch_add(1, Relaxed);
        let name = begin_of(args.get(0)).to_ascii_uppercase();
        let name = text::quote(&name).trim_matches('"').to_owned();
        let is_full = self.passed_over.len() == NAMES_MAX && !self.passed_over.contains_key(&name);
        let name = if is_full { "others".to_owned() } else { name };
        *self.passed_over.entry(name).or_default() += 1;
    }

    fn warn(&mut self, offset: u64, what: &str) {
        self.failed += 1;
        if self.failed <= LOGGED_MAX {
            tracing::warn!("{}: at byte {offset}: {what}", self.path);
        }
    }

    /// Tells at the end of a file what was not executed.
    fn report(&self) {
        if self.failed > LOGGED_MAX {
            tracing::warn!("{}: {} commands have failed in all", self.path, self.failed);
        }
        let count: u64 = self.passed_over.values().sum();
        if count > 0 {
            let names = self.passed_over.iter().map(|(name, count)| format!("{name} ({count})"));
            let names = names.collect::<Vec<_>>().join(", ");
            tracing::info!(
                "{}: {count} commands that change no data were passed over: {names}",
                self.path
            );
        }
    }
}

/// A command that cannot be executed, and why.
fn words_of(args: Args<'_>, why: &NotApplied) -> String {
    let command = shown(args);
    match why {
        NotApplied::Unknown => format!("Unknown command {command}"),
        NotApplied::Misused => format!("Wrong number of arguments of {command}"),
        NotApplied::Refused(refusal) | NotApplied::Impossible(refusal) => {
            format!("{command}, refused with '{refusal}',")
        }
    }
}

/// Name and first argument of a command.
fn shown(args: Args<'_>) -> String {
    let words = args.from(0).take(2).map(|word| text::quote(begin_of(word)));
    let more = if args.len() > 2 { " .." } else { "" };
    words.collect::<Vec<_>>().join(" ") + more
}

fn begin_of(word: &[u8]) -> &[u8] {
    &word[..word.len().min(SHOWN_BYTES_MAX)]
}
