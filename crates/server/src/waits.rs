//! Clients of a worker that wait for keys: when they give up, and how they get their answers.

use crate::connection::Connection;
use crate::worker::Worker;
use base::Millis;
use command::ReplyMode;

impl Worker {
    /// Notes when a client that has begun to wait gives up.
    pub(crate) fn note_wait(&mut self, connection: &mut Connection) {
        let client = &connection.session.client;
        let deadline = client.waiter().as_ref().and_then(|waiter| waiter.deadline);
        if let Some(deadline) = deadline {
            connection.gives_up_at = Some(deadline);
            self.waits.insert((deadline, client.id));
            self.instance.waiters.count_deadline();
        }
    }

    /// Forgets when a client gives up, because its wait is over.
    pub(crate) fn forget_wait(&mut self, connection: &mut Connection) {
        if let Some(deadline) = connection.gives_up_at.take() {
            self.waits.remove(&(deadline, connection.session.client.id));
            self.instance.waiters.discount_deadline();
        }
    }

    /// When the first client gives up.
    pub(crate) fn first_deadline(&self) -> Option<Millis> {
        self.waits.first().map(|(deadline, _)| *deadline)
    }

    /// Ends the waiting of those whose time is over. Their answers come as mail.
    pub(crate) fn end_waits(&mut self) {
        while let Some((deadline, client)) = self.waits.first().copied() {
            if deadline > self.now {
                return;
            }
            let at = self.by_client.get(&client).copied();
            let connection = at.and_then(|at| self.connections[at].take());
            // Whoever is gone has taken its entry along.
            debug_assert!(connection.is_some(), "a wait without a client");
            let (Some(at), Some(mut connection)) = (at, connection) else {
                self.waits.pop_first();
                continue;
            };
            self.forget_wait(&mut connection);
            let waiter = connection.session.client.waiter().clone();
            if let Some(waiter) = waiter {
                self.instance.waiters.time_out(&waiter);
            }
            self.connections[at] = Some(connection);
        }
    }

    /// Gives a client that has waited its reply, and goes on with what it sent meanwhile.
    pub(crate) fn on_answer(&mut self, client: u64, mut reply: Vec<u8>) {
        let Some(at) = self.by_client.get(&client).copied() else { return };
        let Some(mut connection) = self.connections[at].take() else { return };
        self.forget_wait(&mut connection);
        connection.session.is_waiting = false;
        if connection.session.reply_mode == ReplyMode::On {
            match connection.send(&mut reply) {
                Ok(sent) => self.note_sent(&mut connection, sent),
                Err(_) => return self.drop_connection(at, *connection),
            }
        }
        self.serve_on(at, connection);
    }
}
