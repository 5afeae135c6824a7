//! How the commands of a client treat keys.

use bitflags::bitflags;

bitflags! {
    /// How the commands of a client treat keys, where that is not as usual.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct AccessModes: u8 {
        /// Their access bits stay as they are.
        const NO_TOUCH = 1 << 0;
        /// Those whose deadline has passed are seen: the client loads data in import mode.
        const IMPORT_SOURCE = 1 << 1;
        /// Those that are read are entered into the table of keys whose changes the client is told
        /// of.
        const ENTERS_READS = 1 << 2;
    }
}
