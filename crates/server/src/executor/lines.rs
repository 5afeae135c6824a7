//! Lines of Memcached's protocol that are not executed.

use super::not_served::{PROTOCOL_ERROR_CODE, close};
use super::{Executor, REPLIES_MAX};
use crate::batch::Silence;
use crate::connection::Connection;
use settings::general;
use wire::Reply;

impl Executor {
    /// Answers a line of Memcached's protocol that is not executed. It takes its part of the slice,
    /// as a request does.
    #[cold]
    pub(super) fn refuse_line(
        &mut self,
        connection: &mut Connection,
        refused: &memcached::Refused,
    ) {
        // A block that has come apart was that of this line.
        connection.session.apart = None;
        if !refused.is_quiet {
            let protocol = connection.session.protocol;
            Reply::new(&mut self.replies, protocol).raw(refused.refusal.line());
        }
        self.instance.statistics.count_error(PROTOCOL_ERROR_CODE);
        let is_too_large = refused.refusal == memcached::Refusal::TooLarge;
        self.statistics.memcached.too_large.add(is_too_large.into());
        if self.replies.len() > REPLIES_MAX {
            self.send_early(connection);
        }
        let ended = self.stopwatch.read();
        let nanos = self.stopwatch.nanos_between(self.command_began, ended);
        self.slice_nanos = self.slice_nanos.saturating_sub(nanos);
        self.command_began = ended;
    }

    /// Has a connection closed that is told nothing. Returns `end`.
    #[cold]
    pub(super) fn end_silently(
        &mut self,
        connection: &mut Connection,
        why: Silence,
        end: usize,
    ) -> usize {
        if why == Silence::Binary {
            let hides = general::HIDE_USER_DATA_FROM_LOG.get(&self.instance.settings);
            let client = connection.session.client.for_log(hides);
            tracing::warn!(
                "closing a client that speaks the binary protocol of Memcached, which is not \
                 there: have it speak the text or the meta protocol: {client}"
            );
        }
        close(connection, end)
    }
}
