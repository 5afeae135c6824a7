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
