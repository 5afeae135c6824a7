//! What rules mean on a server.

use crate::catalog::Catalog;
use crate::channels::Channels;

/// What rules mean on a server.
#[derive(Clone, Copy, Debug)]
pub struct Language<'l> {
    /// The commands and categories that they may name.
    pub catalog: &'l Catalog,
    /// True if new users and selectors may use all channels (`acl-pubsub-default allchannels`).
    pub opens_channels: bool,
}

impl Language<'_> {
    /// Channels of new users and selectors.
    pub(crate) fn channels(&self) -> Channels {
        if self.opens_channels { Channels::All } else { Channels::NONE }
    }
}
