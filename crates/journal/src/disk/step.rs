//! What is done with files, step by step.

/// Kind of a step with files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Create,
    Rename,
    Remove,
    SyncNames,
    Append,
    Pad,
    Sync,
    Truncate,
}
