//! Counts of commands of Memcached's protocol, as its `stats` tells them.
//!
//! Each worker counts for itself, in words that no command of RESP looks at. A number that is the
//! sum of others, as `cmd_get` is, is not counted.

use crate::count::Count;

macro_rules! memcached_counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts of one worker.
        #[derive(Debug, Default)]
        pub struct MemcachedCounts {
            $($(#[$doc])* pub $name: Count,)*
        }

        /// Sums over workers.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct MemcachedTotals {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl MemcachedTotals {
            pub(crate) fn add(&mut self, counts: &MemcachedCounts) {
                $(self.$name += counts.$name.get();)*
            }

            pub(crate) fn since(&self, earlier: &MemcachedTotals) -> MemcachedTotals {
                // A reset may have happened in between, so the subtracted sum may be the larger
                // one.
                MemcachedTotals { $($name: self.$name.saturating_sub(earlier.$name),)* }
            }
        }
    };
}

memcached_counts! {
    /// Keys of get, gets and mg that had an item, or were given one.
    get_hits,
    /// Keys of them that had none.
    get_misses,
    /// Those of the latter whose item had just expired.
    get_expired,
    /// Keys of touch, gat, gats, and mg with a new expiry, that had an item.
    touch_hits,
    /// Keys of touch, gat and gats that had none.
    touch_misses,
    /// Data blocks that came whole, for whatever command.
    sets,
    /// Items that were given a value, other than by arithmetic.
    stored,
    /// Conditions on a CAS that were met by an item that was to be stored.
    cas_hits,
    /// Those on a key without an item.
    cas_misses,
    /// Those on an item with another CAS.
    cas_badval,
    /// Numbers that were added to.
    incr_hits,
    /// Keys of them that had no item.
    incr_misses,
    /// Numbers that were subtracted from.
    decr_hits,
    /// Keys of them that had no item.
    decr_misses,
    /// Items that were deleted.
    delete_hits,
    /// Keys of them that had no item, or one with another CAS.
    delete_misses,
    /// Data blocks that were longer than an item may be.
    too_large,
    /// Commands that were refused for lack of memory.
    no_memory,
    /// Attempts to authenticate.
    auth_cmds,
    /// Those that failed.
    auth_errors,
    /// flush_all, with a delay and without.
    flushes,
    /// Commands that look at an item for people.
    debugs,
    /// Turns that ended while a client had more to be served.
    yields,
}
