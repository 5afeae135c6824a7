//! Limits of a client's query buffer and output: who goes beyond one is closed.

use super::Executor;
use crate::connection::Connection;
use command::Row;
use session::ReplyMode;
use settings::{general, limits};
use wire::Lent;

/// Most bytes of output that may wait for a client that has never been authenticated.
const STRANGER_OUTPUT_MAX: u64 = 1 << 10;

impl Executor {
    /// Closes a client whose reply went beyond its limit, unless it did not want that reply.
    #[cold]
    pub(super) fn give_up(&mut self, connection: &mut Connection, row: &Row) {
        if connection.session.reply_mode == ReplyMode::On || row.spec.replies_by_push() {
            self.note_output_limit(connection);
            self.replies = Vec::new();
            self.lent = Lent::default();
            connection.give_up();
        }
    }

    /// Returns true if the query buffer or the output of a client is over its hard limit.
    #[inline]
    pub fn is_over_limits(&self, connection: &Connection) -> bool {
        let is_clear = connection.query.is_empty()
            && connection.is_output_empty()
            && connection.session.queue_counted() == 0;
        !is_clear && (self.is_query_too_long(connection) || self.is_output_too_long(connection))
    }

    #[inline(never)]
    fn is_query_too_long(&self, connection: &Connection) -> bool {
        let most = limits::CLIENT_QUERY_BUFFER_LIMIT.get(&self.instance.settings);
        let apart = connection.session.apart.as_ref().map_or(0, |apart| apart.received());
        let counted = connection.session.queue_counted();
        let is_too_long = (connection.query.len() + apart) as u64 + counted > most;
        if is_too_long {
            self.statistics.server.query_limit_closed.add(1);
            let client = self.for_log(connection);
            tracing::warn!("closing a client whose query buffer is over its limit: {client}");
        }
        is_too_long
    }

    #[inline(never)]
    fn is_output_too_long(&self, connection: &Connection) -> bool {
        let hard = if connection.session.is_stranger() {
            Some(STRANGER_OUTPUT_MAX)
        } else {
            connection.output_limit(&self.output_limits).hard_output()
        };
        let is_too_long = hard.is_some_and(|hard| connection.output_memory() > hard);
        if is_too_long {
            self.note_output_limit(connection);
        }
        is_too_long
    }

    /// Counts and logs a client that is closed for its output.
    #[cold]
    pub fn note_output_limit(&self, connection: &Connection) {
        self.statistics.server.output_limit_closed.add(1);
        let client = self.for_log(connection);
        tracing::warn!("closing a client whose output buffer is over its limit: {client}");
    }

    fn for_log(&self, connection: &Connection) -> String {
        let hides_user_data = general::HIDE_USER_DATA_FROM_LOG.get(&self.instance.settings);
        connection.session.client.for_log(hides_user_data)
    }
}
