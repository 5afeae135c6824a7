//! Answers to commands that have waited.

use super::Executor;
use crate::connection::Connection;
use command::{Environment, Seen, append_invalidations};
use session::{Answer, Waiter};
use std::io;
use std::sync::atomic::Ordering::Relaxed;

/// Longest answer to a command that has waited that is sent together with the replies behind it.
const ANSWER_MAX: usize = 4 << 10;

impl Executor {
    /// Counts the command of a client whose wait ended without another run of it.
    fn count_unserved(&mut self, connection: &Connection, waiter: &Waiter, reply_bytes: usize) {
        let seen = Seen { nanos: connection.ran_nanos, reply_bytes: reply_bytes as u64 };
        let (instance, statistics, now) = (&*self.instance, &*self.statistics, self.now);
        let environment = Environment { instance, table: self.table, statistics, now };
        let waiter = (waiter, &connection.session.client);
        command::count_unserved(environment, &mut self.thread, waiter, seen);
    }

    /// Counts the command with which a connection leaves its worker.
    pub fn count_departure(&mut self, connection: &mut Connection) {
        if let Some(outstanding) = connection.outstanding.take() {
            let (thread, session) = (&mut self.thread, &mut connection.session);
            outstanding.count(&self.instance, thread, &self.statistics, session, b"+");
        }
    }

    /// Puts the answer to a command that has waited before the replies to later requests.
    pub fn answer(&mut self, connection: &mut Connection, answer: Answer) -> io::Result<()> {
        let Answer { mut reply, position, unserved } = answer;
        // What another thread did for a command, as for MIGRATE, is time of its own.
        let outstanding = connection.outstanding.take();
        let is_outstanding = outstanding.is_some();
        if let Some(outstanding) = outstanding {
            let (thread, session) = (&mut self.thread, &mut connection.session);
            outstanding.count(&self.instance, thread, &self.statistics, session, &reply);
        } else if let Some(waiter) = &unserved {
            self.count_unserved(connection, waiter, reply.len());
        }
        if !connection.session.takes_reply() {
            reply.clear();
        }
        let is_of_exec = std::mem::take(&mut connection.session.answers_by_mail);
        if is_of_exec {
            connection.session.behind_exec.move_behind(&mut reply);
        }
        if is_outstanding {
            append_invalidations(&connection.session, &mut reply);
        }
        let last_unit = &mut connection.session.last_unit;
        *last_unit = position.max(*last_unit);
        if self.journal.delays_reply(position) {
            connection.mark(0, position);
        }
        let commands = &connection.session.client.commands;
        commands.store(commands.load(Relaxed) + 1, Relaxed);
        if reply.len() > ANSWER_MAX {
            let sent = connection.send(&mut reply, self.journal.safe())?;
            self.note_sent(connection, sent);
        } else {
            self.replies.extend_from_slice(&reply);
        }
        if is_of_exec { self.put_own_messages(connection) } else { Ok(()) }
    }

    /// Puts the client's own messages behind the reply of EXEC, and behind them which keys it has
    /// changed.
    #[cold]
    fn put_own_messages(&mut self, connection: &mut Connection) -> io::Result<()> {
        if !self.replies.is_empty() {
            let sent = connection.send(&mut self.replies, self.journal.safe())?;
            self.note_sent(connection, sent);
        }
        connection.put_own();
        append_invalidations(&connection.session, &mut self.replies);
        Ok(())
    }
}
