//! Where the journal begins at start: behind what was loaded.

use base::Steady;
use journal::disk::{Directory, OpenFile};
use journal::log::Log;
use journal::set::{BaseForm, Set, SetError};
use journal::sync_line::ReplicationId;
use journal::writer::{End, Start, Writer};

/// Where the stream goes on.
#[derive(Debug)]
pub struct Begin {
    /// The files.
    pub set: Set<Directory>,
    /// What is to be done with the last of them before.
    pub unsafe_end: Option<UnsafeEnd>,
    /// Position behind all that they hold.
    pub position: u64,
    /// Selected database from there on.
    pub selected: usize,
    /// Whose stream it was; a new one if that is not known.
    pub id: Option<ReplicationId>,
    /// End of the last file, if the stream goes on in it; otherwise in the next one.
    pub end: Option<End>,
    /// Base of a set that has no files yet.
    pub base: Option<(BaseForm, Vec<u8>)>,
}

/// A last file whose end was not looked after yet.
#[derive(Debug)]
pub struct UnsafeEnd {
    /// The directory, for the log.
    pub path: String,
    /// Length up to which the file is whole, and up to which it is known to be safe.
    pub whole: u64,
    /// See `whole`.
    pub safe: u64,
    /// Bytes behind that, which are truncated and kept beside it: nobody can tell whose they are.
    pub truncated_bytes: u64,
}

impl Begin {
    /// Where the stream goes on, as a stream of `id` if it has no other.
    pub(super) fn start(&self, id: ReplicationId) -> Start {
        let id = self.id.unwrap_or(id);
        Start { position: self.position, selected: self.selected, id, shift: 0 }
    }

    /// Begins the log. Where that fails, it can be tried again.
    pub(super) fn open(
        mut self: Box<Self>,
        start: Start,
        now: Steady,
    ) -> Result<Log<Directory>, (Box<Begin>, SetError)> {
        match self.writer(start, now) {
            Ok(writer) => Ok(Log::new(self.set, writer, start)),
            Err(error) => Err((self, error)),
        }
    }

    fn writer(&mut self, start: Start, now: Steady) -> Result<Writer<OpenFile>, SetError> {
        self.make_end_safe()?;
        if let Some((form, bytes)) = &self.base {
            self.set.put_base(*form, bytes)?;
            self.base = None;
        }
        let Some(end) = &self.end else {
            let file = self.set.begin_incremental(&start.header())?;
            return Ok(Writer::new(file, start, now));
        };
        let file = self.set.reopen_last()?;
        Writer::go_on(file, start, end, now).map_err(|error| {
            let name = self.set.manifest().incrementals.last().map(|last| last.name.clone());
            SetError::Disk { doing: "read", name: name.unwrap_or_default(), error }
        })
    }

    /// Makes all of the last file safe, and truncates what is not whole.
    fn make_end_safe(&mut self) -> Result<(), SetError> {
        let Some(it) = &mut self.unsafe_end else { return Ok(()) };
        if it.truncated_bytes > 0 {
            let kept = self.set.keep_truncated(it.whole)?.unwrap_or_default();
            let (path, bytes) = (&it.path, it.truncated_bytes);
            tracing::warn!("The {bytes} bytes that are cut off are kept in {path}/{kept}");
            it.truncated_bytes = 0;
        }
        self.set.make_last_safe(it.whole, it.safe)?;
        self.unsafe_end = None;
        Ok(())
    }
}
