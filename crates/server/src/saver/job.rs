//! What the saver does: one snapshot for somebody.

use session::Instance;
use snapshot::{Save, SaveError};
use std::io::{self, Write};

/// Kind of work, as far as others must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// An RDB file that nobody waits for.
    Background,
    /// An RDB file that somebody waits for.
    Foreground,
    /// The base of an append-only file.
    Rotation,
    /// What replicas begin with.
    Replicas,
}

/// A snapshot to be made.
pub trait Job: Send {
    /// Kind of work.
    fn kind(&self) -> JobKind;

    /// Returns true if the snapshot is written as commands, and not as RDB.
    fn writes_commands(&self) -> bool {
        false
    }

    /// Changes what is written, where it is not what the settings say.
    fn shape(&self, _: &mut Save<'_>) {}

    /// Opens what the bytes go to.
    ///
    /// # Errors
    /// Those of the system.
    fn open(&mut self, instance: &Instance) -> io::Result<Box<dyn Sink>>;

    /// Called at the moment whose data is written, while nobody is inside the gate: a few steps
    /// that do not wait.
    fn at_cut(&mut self, instance: &Instance);

    /// Called when the bytes are in place, or when they never will be.
    fn end(self: Box<Self>, instance: &Instance, saved: Result<(), SaveError>);
}

/// What the bytes of a snapshot go to. Dropped before it is in place, it leaves nothing behind.
pub trait Sink: Write + Send {
    /// Has all bytes on disk.
    ///
    /// # Errors
    /// Those of the system.
    fn sync(&mut self) -> io::Result<()>;

    /// Gives the file its name.
    ///
    /// # Errors
    /// Those of the system.
    fn put_in_place(self: Box<Self>) -> io::Result<()>;
}
