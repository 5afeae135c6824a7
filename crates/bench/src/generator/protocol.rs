//! What is spoken with a server.

use super::memcached::MemcachedCounter;
use super::replies::{Replies, ReplyCounter, Unexpected};

/// A protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// RESP2, as Redis and Valkey speak it.
    #[default]
    Resp,
    /// The text protocol of memcached.
    Memcached,
}

/// Counts the replies of either protocol.
pub(super) enum Counter {
    Resp(ReplyCounter),
    Memcached(MemcachedCounter),
}

impl Counter {
    pub(super) fn of(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Resp => Self::Resp(ReplyCounter::default()),
            Protocol::Memcached => Self::Memcached(MemcachedCounter::default()),
        }
    }

    #[inline]
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<(), Unexpected> {
        match self {
            Self::Resp(counter) => counter.feed(bytes),
            Self::Memcached(counter) => counter.feed(bytes),
        }
    }

    #[inline]
    pub(super) fn counted(&self) -> &Replies {
        match self {
            Self::Resp(counter) => counter.counted(),
            Self::Memcached(counter) => counter.counted(),
        }
    }

    #[inline]
    pub(super) fn take(&mut self) -> Replies {
        match self {
            Self::Resp(counter) => counter.take(),
            Self::Memcached(counter) => counter.take(),
        }
    }

    pub(super) fn first_error(&self) -> Option<&str> {
        match self {
            Self::Resp(counter) => counter.first_error(),
            Self::Memcached(counter) => counter.first_error(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Counter;
    use crate::generator::{Replies, memcached, replies};

    /// A stream of one protocol, and what its counter must make of it.
    pub struct Case {
        pub new: fn() -> Counter,
        pub stream: &'static [u8],
        pub replies: Replies,
        pub first_error: &'static str,
        /// What is no reply.
        pub refused: &'static [&'static [u8]],
    }

    impl Case {
        /// A counter that was fed the stream in these parts.
        fn fed<'part>(&self, parts: impl IntoIterator<Item = &'part [u8]>) -> Counter {
            let mut counter = (self.new)();
            parts.into_iter().for_each(|part| counter.feed(part).unwrap());
            counter
        }
    }

    fn cases() -> [Case; 2] {
        [replies::tests::case(), memcached::tests::case()]
    }

    #[test]
    fn each_kind_is_counted_until_it_is_taken() {
        for case in cases() {
            let mut counter = case.fed([case.stream]);
            assert_eq!(counter.first_error(), Some(case.first_error));
            assert_eq!(counter.take(), case.replies);
            assert_eq!(counter.take().total(), 0);
        }
    }

    #[test]
    fn a_cut_at_any_two_bytes_changes_nothing() {
        for case in cases() {
            let stream = case.stream;
            for first in 0..stream.len() {
                for second in first..stream.len() {
                    let parts = [&stream[..first], &stream[first..second], &stream[second..]];
                    let counted = *case.fed(parts).counted();
                    assert_eq!(counted, case.replies, "cut at {first} and {second}");
                }
            }
        }
    }

    #[test]
    fn byte_by_byte_gives_the_same_counts() {
        for case in cases() {
            assert_eq!(*case.fed(case.stream.chunks(1)).counted(), case.replies);
        }
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        for case in cases() {
            for bytes in case.refused {
                assert!((case.new)().feed(bytes).is_err(), "{bytes:?}");
            }
        }
    }
}
