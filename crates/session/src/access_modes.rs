//! How the commands of a client are executed.

use bitflags::bitflags;

bitflags! {
    /// How the commands of a client are executed, where that is not as usual.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct AccessModes: u8 {
        /// Their access bits stay as they are.
        const NO_TOUCH = 1 << 0;
        /// Those whose deadline has passed are seen: the client loads data in import mode.
        const IMPORT_SOURCE = 1 << 1;
        /// Those that are read are entered into the table of keys whose changes the client is
        /// notified of.
        const ENTERS_READS = 1 << 2;
        /// They were executed elsewhere, and stand in a file or in the stream of a primary: forms
        /// that only those have are taken, and limits on what a client may send are not asked
        /// again.
        const OBEYED = 1 << 3;
        /// A script calls them: others do not see what it selects, and MONITOR shows `lua` in place
        /// of an address.
        const SCRIPT = 1 << 4;
    }
}
