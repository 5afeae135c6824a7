//! What a script may do, as its flags and the command that runs it say.

use script::FunctionFlags;

/// What a script may do.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// True if it is refused what changes data.
    pub only_reads: bool,
    /// True if it may write though memory is used up.
    pub ignores_memory: bool,
    /// True if it may run on a replica without a link that serves no old data.
    pub allows_stale: bool,
}

impl Rules {
    /// The rules of a script with these flags that a command runs which only reads, or not.
    pub fn of(flags: Option<FunctionFlags>, only_reads: bool) -> Rules {
        let flags = flags.unwrap_or_default();
        Rules {
            only_reads: only_reads || flags.no_writes,
            ignores_memory: flags.allow_oom,
            allows_stale: flags.allow_stale,
        }
    }
}
