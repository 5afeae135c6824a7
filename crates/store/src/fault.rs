//! Errors of the store.

/// Error: the write does not fit under `maxmemory`, and nothing may be evicted for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSpace;

/// Error: the key holds another kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongKind;

/// Error of a change of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// See [`WrongKind`].
    WrongKind,
    /// See [`NoSpace`].
    NoSpace,
}

impl From<NoSpace> for Fault {
    fn from(_: NoSpace) -> Fault {
        Fault::NoSpace
    }
}

impl From<WrongKind> for Fault {
    fn from(_: WrongKind) -> Fault {
        Fault::WrongKind
    }
}

impl From<tree::NoRoom> for NoSpace {
    fn from(_: tree::NoRoom) -> NoSpace {
        NoSpace
    }
}

impl From<tree::NoRoom> for Fault {
    fn from(_: tree::NoRoom) -> Fault {
        Fault::NoSpace
    }
}
