//! Counters: each thread counts for itself, and sums are made when they are asked for.

use heap::Footprint;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// One thread's counts; only its thread writes them.
        #[derive(Debug, Default)]
        #[repr(align(128))]
        pub(crate) struct Counters {
            $($(#[$doc])* pub $name: Count,)*
        }

        /// Sums over all threads since the start, or since the last reset.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Totals {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Totals {
            pub(crate) fn add(&mut self, thread: &Counters) {
                $(self.$name = self.$name.wrapping_add(thread.$name.get());)*
            }

            /// Counts since `earlier`.
            pub fn since(&self, earlier: &Totals) -> Totals {
                Totals { $($name: self.$name.wrapping_sub(earlier.$name),)* }
            }
        }
    };
}

counters! {
    /// Live bytes of records, as a sum of gains and losses that wraps.
    live_bytes,
    /// Bytes that live records may still grow into, as a sum that wraps.
    growth_bytes,
    /// Bytes of records appended by commands.
    appended_bytes,
    /// Look-ups of reading commands that found their key.
    hits,
    /// Look-ups of reading commands that did not find their key.
    misses,
    /// Changes of data that commands made.
    changes,
    /// Keys removed because their deadline had passed.
    expired,
    /// Keys removed by the sweep over deadlines or by the cleaner, before a client asked for them.
    expired_by_sweep,
    /// Strings among the expired that nobody had fetched.
    expired_unfetched,
    /// Parts of values removed because their deadline had passed.
    expired_parts,
    /// Keys dropped to make room.
    evicted,
    /// Strings among them that nobody had fetched.
    evicted_unfetched,
    /// Bytes of live records that the cleaner moved.
    moved_bytes,
    /// Records that the cleaner moved.
    moved_records,
    /// Segments that the cleaner emptied.
    cleaned_segments,
    /// Values that lazy free finished: collections, and other keys of flushed keyspaces.
    lazily_freed,
    /// Bytes that eviction dropped.
    evicted_bytes,
    /// Bytes that the cleaner won: those it walked over less those it moved.
    won_bytes,
}

/// A number that one thread writes and any thread reads.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub fn add(&self, by: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(by), Relaxed);
    }

    #[inline]
    pub fn sub(&self, by: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_sub(by), Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Counters {
    /// Adds the bytes of a new footprint.
    #[inline]
    pub fn gain(&self, footprint: Footprint) {
        self.live_bytes.add(u64::from(footprint.live));
        self.growth_bytes.add(u64::from(footprint.growth));
    }

    /// Subtracts the bytes of a footprint that is gone.
    #[inline]
    pub fn lose(&self, footprint: Footprint) {
        self.live_bytes.sub(u64::from(footprint.live));
        self.growth_bytes.sub(u64::from(footprint.growth));
    }
}
