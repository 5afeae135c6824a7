//! What most requests ask of their user's rights: the command, one key or none, and the selected
//! database or none. It is worked out once for each row, since users who may not do everything are
//! asked before each command.

use crate::key_spec::KeyFlags;
use users::Access;

/// What most requests of a row ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimpleRights {
    /// Position of the only key, and what is done to it.
    pub key: Option<(usize, Access)>,
    /// True if the selected database is reached.
    pub reaches_selected: bool,
    /// Most words of a request of which this holds: with options a key may be used otherwise.
    pub words_max: usize,
}

/// Returns what is done to a key.
pub(crate) fn access_of(flags: KeyFlags) -> Access {
    let mut access = Access::empty();
    access.set(Access::READ, flags.contains(KeyFlags::ACCESS));
    let changes = KeyFlags::INSERT | KeyFlags::DELETE | KeyFlags::UPDATE;
    access.set(Access::WRITE, flags.intersects(changes));
    access
}
