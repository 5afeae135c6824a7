//! Protocols of servers.

use super::memcached::MemcachedCounter;
use super::replies::{Replies, ReplyCounter, Unexpected};

/// Protocol of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// RESP2, as Redis and Valkey speak it.
    #[default]
    Resp,
    /// The text protocol of memcached.
    Memcached,
}

/// Counter for replies of either protocol.
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
    use super::{Counter, Unexpected};
    use crate::generator::replies::LINE_BYTES_MAX;
    use crate::generator::{Replies, memcached, replies};

    /// A stream of one protocol, and the counts that its counter must give.
    pub struct Case {
        pub new: fn() -> Counter,
        pub stream: &'static [u8],
        pub replies: Replies,
        pub first_error: &'static str,
        /// Streams that are no replies.
        pub refused: &'static [&'static [u8]],
        /// Beginning of a reply that goes on up to the end of its line.
        pub line: &'static str,
    }

    impl Case {
        /// Returns a counter that was fed the stream in these parts.
        fn fed<'part>(&self, parts: impl IntoIterator<Item = &'part [u8]>) -> Counter {
            self.try_fed(parts).unwrap_or_else(|_| panic!("a sound stream is refused"))
        }

        fn try_fed<'part>(
            &self,
            parts: impl IntoIterator<Item = &'part [u8]>,
        ) -> Result<Counter, Unexpected> {
            let mut counter = (self.new)();
            parts.into_iter().try_for_each(|part| counter.feed(part))?;
            Ok(counter)
        }
    }

    /// Returns all ways to cut a stream into three parts.
    fn cuts(stream: &[u8]) -> impl Iterator<Item = [&[u8]; 3]> {
        let firsts = 0..=stream.len();
        let pairs = firsts.flat_map(|first| (first..=stream.len()).map(move |it| (first, it)));
        pairs.map(|(first, second)| [&stream[..first], &stream[first..second], &stream[second..]])
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
            for parts in cuts(case.stream) {
                let counted = *case.fed(parts).counted();
                assert_eq!(counted, case.replies, "cut at {}, {}", parts[0].len(), parts[1].len());
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
    fn what_is_no_reply_is_refused_however_it_is_cut() {
        for case in cases() {
            for bytes in case.refused {
                let text = String::from_utf8_lossy(bytes);
                for parts in cuts(bytes) {
                    let lengths = parts.map(<[u8]>::len);
                    assert!(case.try_fed(parts).is_err(), "{text:?} cut into {lengths:?}");
                }
                assert!(case.try_fed(bytes.chunks(1)).is_err(), "{text:?} byte by byte");
            }
        }
    }

    #[test]
    fn a_line_has_the_same_limit_however_it_is_cut() {
        for case in cases() {
            for (length, is_sound) in [(LINE_BYTES_MAX, true), (LINE_BYTES_MAX + 1, false)] {
                let text = "x".repeat(length - case.line.len() - 2);
                let stream = [case.line, &text, "\r\n"].concat().into_bytes();
                for piece in [length, length - 1, 1000] {
                    let fed = case.try_fed(stream.chunks(piece));
                    assert_eq!(fed.is_ok(), is_sound, "{length} bytes in pieces of {piece}");
                }
                let fed = case.try_fed([&stream[..length - 1]]);
                assert_eq!(fed.is_ok(), is_sound, "{length} bytes without the last one");
            }
        }
    }
}
