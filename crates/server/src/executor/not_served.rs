//! What becomes of requests that are not served: they are put off, left for later, or refused.

use super::Executor;
use crate::batch::{End, Part};
use crate::connection::{Connection, Life};
use crate::front::Again;
use command::Execution;
use memcached::Resume;
use session::ClientFlags;
use wire::{ProtocolError, Reply};

/// Code with which replies to requests begin that are none by the protocol.
pub(super) const PROTOCOL_ERROR_CODE: &str = "ERR";

impl Executor {
    /// Decides what becomes of the input behind what was served of a part: what is `left` of it, or
    /// what follows from the reason for which parsing stopped. Returns what `serve_part` does.
    #[inline]
    pub(super) fn end_part(
        &mut self,
        connection: &mut Connection,
        part: &Part,
        left: Option<(usize, Again)>,
        len: usize,
    ) -> Option<usize> {
        match (left, &part.end) {
            _ if connection.is_closing() => Some(close(connection, len)),
            (Some(from), _) => Some(self.leave_off(connection, from)),
            (None, End::Incomplete) => Some(part.parsed),
            (None, End::Full) => None,
            (None, End::Broken(error)) => Some(self.refuse_rest(connection, error, len)),
            (None, End::Refused(refused)) => {
                self.refuse_line(connection, refused);
                let is_over = self.slice_nanos == 0 || connection.is_deferred(len - part.parsed);
                let from = (part.parsed, connection.front.again());
                is_over.then(|| self.leave_off(connection, from))
            }
            (None, End::Silent(why)) => Some(self.end_silently(connection, *why, len)),
        }
    }

    /// Puts off a request that is postponed, or whose next part is to be executed after others.
    /// Returns the state of the front from which it is parsed then, given that from before.
    #[cold]
    pub(super) fn put_off(
        &mut self,
        connection: &mut Connection,
        why: Execution,
        before: Again,
    ) -> Again {
        if why == Execution::Postponed {
            self.postpone(connection);
            return before;
        }
        self.slice_nanos = 0;
        Again::before(Resume::Dump)
    }

    /// Postpones a command that did not run.
    #[cold]
    fn postpone(&mut self, connection: &mut Connection) {
        connection.life = Life::Postponed { by_pause: false, place: 0 };
        connection.session.client.set_flag(ClientFlags::PAUSED, true);
        // Waiters that were served when a pause ended may have written to the journal.
        self.has_put |= self.thread.journal_position() != self.position;
    }

    /// Leaves the requests from `from` on for later: they will be parsed again. Returns `from`.
    #[cold]
    fn leave_off(&self, connection: &mut Connection, (from, again): (usize, Again)) -> usize {
        connection.front.go_back(again);
        if self.slice_nanos == 0 && connection.life == Life::Serving {
            connection.life = Life::SliceOver;
            if connection.session.line.get().is_some() {
                self.statistics.memcached.yields.add(1);
            }
        }
        from
    }

    /// Answers that the rest of the input is no request, and has the connection closed. Returns
    /// `end`.
    #[cold]
    fn refuse_rest(
        &mut self,
        connection: &mut Connection,
        error: &ProtocolError,
        end: usize,
    ) -> usize {
        let protocol = connection.session.protocol;
        Reply::new(&mut self.replies, protocol).protocol_error(error);
        self.instance.statistics.count_error(PROTOCOL_ERROR_CODE);
        close(connection, end)
    }
}

/// Has a connection closed whose client sends or is served nothing more. Returns `end`, up to which
/// its input is dropped.
#[cold]
pub(super) fn close(connection: &mut Connection, end: usize) -> usize {
    connection.front.go_back(Again::default());
    connection.session.close_after_reply = true;
    end
}
