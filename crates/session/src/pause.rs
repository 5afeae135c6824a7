//! Commands that CLIENT PAUSE holds back.

/// Commands that CLIENT PAUSE holds back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Pause {
    /// None.
    #[default]
    Nothing = 0,
    /// Those that change data.
    Writes = 1,
    /// All.
    Everything = 2,
}
