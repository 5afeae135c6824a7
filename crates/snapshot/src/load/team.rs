//! Threads that load besides the reader, and the work on its way to them.

use super::error::LoadError;
use super::file_input::Piece;
use super::large::LargeValue;
use super::loader::{Block, Loader};
use super::rules::Rules;
use base::mutex::Mutex;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::Scope;
use store::ThreadContext;

/// Blocks that wait for each loader.
const BLOCKS_WAITING: usize = 4;
/// Pieces of a large value that wait for its loader.
const PIECES_WAITING: usize = 4;

enum Job {
    Block(Block),
    Large(Box<LargeValue>, Receiver<Piece>),
}

/// What went wrong first, in the order of the file.
#[derive(Debug)]
struct Failure {
    /// Offset of it; `u64::MAX` as long as all is well.
    at: AtomicU64,
    error: Mutex<Option<LoadError>>,
}

impl Failure {
    fn note(&self, error: LoadError) {
        let at = error.at();
        let mut first = self.error.lock();
        if first.as_ref().is_none_or(|first| at < first.at()) {
            *first = Some(error);
            // One that has no place is told as well.
            self.at.store(at.min(u64::MAX - 1), Relaxed);
        }
    }
}

/// The threads.
pub(crate) struct Team<'a> {
    /// Closed, and so ending the threads, when the team goes.
    jobs: Option<Sender<Job>>,
    failure: Arc<Failure>,
    threads: Vec<std::thread::ScopedJoinHandle<'a, ()>>,
}

impl<'s> Team<'s> {
    /// Starts so many threads, or as many as the store and the system allow.
    pub fn gather<'e: 's>(scope: &'s Scope<'s, 'e>, rules: Rules<'e>, count: usize) -> Team<'s> {
        let (jobs, waiting) = bounded(BLOCKS_WAITING * count);
        let error = Mutex::new(None);
        let failure = Arc::new(Failure { at: AtomicU64::new(u64::MAX), error });
        let mut threads = Vec::new();
        for number in 0..count {
            let Some(thread) = rules.store.thread_context() else { break };
            let (waiting, failure) = (waiting.clone(), Arc::clone(&failure));
            let work = move || work(rules, thread, &waiting, &failure);
            let builder = std::thread::Builder::new().name(format!("loader {number}"));
            match builder.spawn_scoped(scope, work) {
                Ok(thread) => threads.push(thread),
                Err(_) => break,
            }
        }
        let jobs = (!threads.is_empty()).then_some(jobs);
        Team { jobs, failure, threads }
    }

    /// Has a block loaded: by the next thread that is free, or by `own` if all have enough to do.
    pub fn take(&mut self, block: Block, own: &mut Loader<'_>) -> Result<(), LoadError> {
        let Some(jobs) = &self.jobs else { return own.load(&block) };
        match jobs.try_send(Job::Block(block)) {
            Ok(()) => Ok(()),
            Err(
                TrySendError::Full(Job::Block(block))
                | TrySendError::Disconnected(Job::Block(block)),
            ) => own.load(&block),
            Err(_) => Ok(()),
        }
    }

    /// Begins a large value: another thread takes its pieces, or `own` does if there is none.
    pub fn begin_large(&mut self, value: Box<LargeValue>, own: &Loader<'_>) -> Large {
        let Some(jobs) = &self.jobs else { return Large::Own(value) };
        let (pieces, waiting) = bounded(PIECES_WAITING);
        match send_outside(own, jobs, Job::Large(value, waiting)) {
            Ok(()) => Large::Theirs(pieces),
            Err(Job::Large(value, _)) => Large::Own(value),
            Err(Job::Block(_)) => Large::Theirs(pieces),
        }
    }

    /// True if something went wrong.
    pub fn has_failed(&self) -> bool {
        self.failure.at.load(Relaxed) != u64::MAX
    }

    /// Waits until all work is done, and returns what went wrong first.
    pub fn disband(mut self) -> Option<LoadError> {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
        self.failure.error.lock().take()
    }
}

/// A large value that is being read.
pub(crate) enum Large {
    Own(Box<LargeValue>),
    Theirs(Sender<Piece>),
}

impl Large {
    /// Takes the next rows.
    pub fn take(&mut self, piece: Piece, own: &mut Loader<'_>) -> Result<(), LoadError> {
        match self {
            Large::Own(value) => own.take_piece(value, &piece),
            Large::Theirs(pieces) => {
                // A loader that is gone has failed, and has said so.
                let _ = send_outside(own, pieces, piece);
                Ok(())
            }
        }
    }

    /// The value broke off: nothing of it stays.
    pub fn give_up(self, own: &mut Loader<'_>) {
        if let Large::Own(value) = self {
            own.give_up_large(&value);
        }
    }

    /// All rows were taken.
    pub fn finish(self, own: &mut Loader<'_>) -> Result<(), LoadError> {
        match self {
            Large::Own(value) => own.finish_large(*value),
            Large::Theirs(_) => Ok(()),
        }
    }
}

/// Sends something, outside the gate: who is to receive it may have to let others go first.
fn send_outside<T>(own: &Loader<'_>, to: &Sender<T>, what: T) -> Result<(), T> {
    let what = match to.try_send(what) {
        Ok(()) => return Ok(()),
        Err(TrySendError::Full(what) | TrySendError::Disconnected(what)) => what,
    };
    own.outside(|| to.send(what).map_err(|error| error.0))
}

/// What a thread does until there is nothing more to do.
fn work(rules: Rules<'_>, mut thread: ThreadContext, jobs: &Receiver<Job>, failure: &Failure) {
    let mut loader = Loader::new(rules, &mut thread);
    for job in jobs {
        let done = match job {
            Job::Block(block) if block.piece.at > failure.at.load(Relaxed) => continue,
            Job::Block(block) => inside(&mut loader, |loader| loader.load(&block)),
            Job::Large(value, pieces) => load_large(&mut loader, value, &pieces),
        };
        if let Err(error) = done {
            failure.note(error);
        }
    }
    rules.store.retire(thread);
}

fn inside<T>(loader: &mut Loader<'_>, act: impl FnOnce(&mut Loader<'_>) -> T) -> T {
    loader.rules.store.enter(loader.thread);
    let done = act(loader);
    loader.rules.store.leave(loader.thread);
    done
}

fn load_large(
    loader: &mut Loader<'_>,
    mut value: Box<LargeValue>,
    pieces: &Receiver<Piece>,
) -> Result<(), LoadError> {
    for piece in pieces {
        let taken = inside(loader, |loader| loader.take_piece(&mut value, &piece));
        if taken.is_err() {
            inside(loader, |loader| loader.give_up_large(&value));
            return taken;
        }
    }
    inside(loader, |loader| loader.finish_large(*value))
}
