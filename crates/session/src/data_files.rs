//! What commands ask of the files of data.

/// What became of a request to write the base of the append-only file anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewrite {
    /// It begins.
    Begins,
    /// It begins when the snapshot at work has ended.
    Scheduled,
    /// It was going on already.
    GoesOn,
}

/// Steps of DEBUG RELOAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reload {
    /// Saves before.
    pub saves: bool,
    /// Empties the databases before loading.
    pub flushes: bool,
    /// Lets keys of the file replace those that are there.
    pub merges: bool,
}
