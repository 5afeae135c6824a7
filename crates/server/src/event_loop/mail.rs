//! Mail of a worker: messages from other threads, about clients and to them.

use super::EventLoop;
use crate::connection::{Life, Lists};
use crate::mail::Mail;
use crate::output::WRITE_MAX;
use crate::pipeline::{Pipeline, Served};
use crate::poller::Poller;
use command::Table;
use session::{Answer, Letter, MessageBytes, Notice, ReplyMode};
use std::sync::Arc;

/// Bytes of messages that are given to clients before they are written and others are served.
const MESSAGES_PER_ITERATION: usize = 16 << 20;
/// Bytes as which a message counts at least, for the time that it takes to give it to a client.
const MESSAGE_BYTES_MIN: usize = 256;
/// Bytes as which a letter counts at least, though all who were to receive it are gone.
const LETTER_BYTES_MIN: usize = 1024;
/// Bytes of messages that gather for one client before they are written.
const MESSAGES_PER_WRITE: usize = 256 << 10;

impl<P: Poller> EventLoop<P> {
    #[inline]
    pub(super) fn read_mail(&mut self, pipeline: &mut Pipeline) {
        self.mail_reads += 1;
        pipeline.executor.mail_reads = self.mail_reads;
        let (number, arrived) = (self.mail_reads, self.inbox.arrived());
        if arrived == 0 {
            self.mail_whole = number;
        } else {
            self.read_some(pipeline, number, arrived);
        }
    }

    /// Reads what has arrived, or as much of it as one iteration may, and notes the last reading at
    /// whose begin no message waited that is not read by now. However fast mail comes, what had
    /// come before is done at some time.
    #[inline(never)]
    fn read_some(&mut self, pipeline: &mut Pipeline, number: u64, arrived: usize) {
        if self.mail_left.0 == 0 {
            self.mail_left = (arrived, number);
        }
        let read = self.read_arrived(pipeline, arrived);
        self.mail_left.0 = self.mail_left.0.saturating_sub(read);
        if read == arrived {
            self.mail_whole = number;
        } else if self.mail_left.0 == 0 {
            self.mail_whole = self.mail_left.1;
        }
    }

    /// Reads the first messages, unless they are too many for one iteration. Returns their number.
    fn read_arrived(&mut self, pipeline: &mut Pipeline, arrived: usize) -> usize {
        // The clock must be read here too: a worker may get nothing but mail.
        pipeline.executor.read_clock();
        let mut given = 0;
        for read in 1..=arrived {
            if self.is_nested && self.is_next_about_one_away() {
                self.leave_mail(pipeline.executor.table);
                return read - 1;
            }
            let Some(mail) = self.inbox.next() else { break };
            given += self.on_mail(pipeline, mail);
            if given > MESSAGES_PER_ITERATION {
                self.inbox.leave_rest();
                return read;
            }
        }
        if given > 0 && self.inbox.has_room() {
            self.instance.resume_messages();
        }
        arrived
    }

    /// Gives the messages of a letter to the clients of this worker. Returns the bytes as which
    /// that counts.
    fn on_letter(&mut self, pipeline: &mut Pipeline, letter: &Letter) -> usize {
        let mut given = 0;
        for (message, receivers) in letter.messages() {
            for receiver in receivers {
                let hint = receiver.entry as usize;
                let Some(at) = self.connections.find_near(receiver.client, hint) else { continue };
                let Some(connection) = self.connections.get_mut(at) else { continue };
                let session = &connection.session;
                let is_wanted = message.is_push() || session.reply_mode == ReplyMode::On;
                if is_wanted
                    && let Some(bytes) =
                        message.bytes_for(session.message_protocol(), session.is_subscriber())
                {
                    given += bytes.size().max(MESSAGE_BYTES_MIN);
                    if session.answers_by_mail && letter.author() == receiver.client {
                        let (head, payload) = (bytes.head, bytes.payload);
                        connection.keep_own(Arc::clone(head), payload.map(Arc::clone));
                        if pipeline.executor.is_over_limits(connection) {
                            self.close(at);
                        }
                    } else {
                        self.give(pipeline, at, bytes);
                    }
                }
            }
        }
        given.max(LETTER_BYTES_MIN)
    }

    /// Returns true if the first message is about a client whose connection is away.
    fn is_next_about_one_away(&mut self) -> bool {
        let EventLoop { inbox, connections, .. } = self;
        match inbox.first() {
            Some(Mail::Notice(Notice::Letter(letter))) => {
                let mut receivers = letter.messages().flat_map(|(_, receivers)| receivers);
                receivers.any(|receiver| connections.is_away(receiver.client))
            }
            Some(Mail::Notice(notice)) => notice.client().is_some_and(|it| connections.is_away(it)),
            _ => false,
        }
    }

    /// Leaves the mail for later: the first message is about a client that is away, and messages
    /// about clients stay in order. New connections and the end of the server do not wait for that.
    #[cold]
    fn leave_mail(&mut self, table: &'static Table) {
        self.inbox.leave_rest();
        for mail in self.inbox.pick(|mail| matches!(mail, Mail::Accepted(_) | Mail::Stop)) {
            match mail {
                Mail::Accepted(stream) => self.add(stream, table),
                _ => self.is_stopping = true,
            }
        }
    }

    /// Does what a message asks for. Returns the bytes as which messages given to clients count.
    fn on_mail(&mut self, pipeline: &mut Pipeline, mail: Mail) -> usize {
        match mail {
            Mail::Accepted(stream) => self.add(stream, pipeline.executor.table),
            Mail::Moved(connection) => self.take_over(connection),
            Mail::Notice(Notice::Close(client)) => self.on_close(pipeline, client),
            Mail::Notice(Notice::Flooded(client)) => {
                if let Some(at) = self.connections.find(client)
                    && let Some(connection) = self.connections.take(at)
                {
                    pipeline.executor.note_output_limit(&connection);
                    self.drop_connection(at, *connection);
                }
            }
            Mail::Notice(Notice::Answer(client, answer)) => {
                self.on_answer(pipeline, client, answer);
            }
            Mail::Notice(Notice::Message(client, message)) => {
                if let Some(at) = self.connections.find(client) {
                    let bytes = MessageBytes { head: &message, payload: None };
                    self.give(pipeline, at, bytes);
                } else {
                    self.pass_on(client, Notice::Message(client, message));
                }
            }
            Mail::Notice(Notice::Letter(letter)) => return self.on_letter(pipeline, &letter),
            Mail::Notice(Notice::Safe) => self.on_safe(pipeline),
            Mail::Notice(Notice::Unpaused) => self.resume_paused(pipeline),
            Mail::Notice(Notice::Deadline(client)) => self.follow_deadline(client),
            Mail::Stop => self.is_stopping = true,
        }
        0
    }

    /// Closes a client. Messages that were published before it was to be closed are written, as far
    /// as the socket takes them.
    fn on_close(&mut self, pipeline: &mut Pipeline, client: u64) {
        let Some(at) = self.connections.find(client) else {
            return self.pass_on(client, Notice::Close(client));
        };
        if let Some(connection) = self.connections.get_mut(at)
            && connection.lists.contains(Lists::UNWRITTEN)
        {
            self.flush(pipeline, at, WRITE_MAX);
        }
        if let Some(at) = self.connections.find(client) {
            self.close(at);
        }
    }

    /// Sends the answer to a client that has waited, and goes on with the requests it sent
    /// meanwhile.
    fn on_answer(&mut self, pipeline: &mut Pipeline, client: u64, answer: Answer) {
        let Some(at) = self.connections.find(client) else {
            return self.pass_on(client, Notice::Answer(client, answer));
        };
        let Some(mut connection) = self.connections.take(at) else { return };
        self.timers.forget_wait(&mut connection, &self.instance);
        connection.set_life(Life::Serving);
        connection.session.finish_protocol_change();
        let fate = self.lending(|| pipeline.answer(&mut connection, answer));
        self.put_back(pipeline, Served { at, connection, fate });
        self.flush(pipeline, at, WRITE_MAX);
    }

    /// Gives a message to a client; it is written at the end of the loop iteration together with
    /// others.
    fn give(&mut self, pipeline: &mut Pipeline, at: usize, message: MessageBytes<'_>) {
        let Some(connection) = self.connections.get_mut(at) else { return };
        if connection.session.close_after_reply {
            return;
        }
        connection.share(Arc::clone(message.head), message.payload.map(Arc::clone));
        let is_much = connection.backlog() > MESSAGES_PER_WRITE;
        connection.enter(Lists::UNWRITTEN, at, &mut self.unwritten);
        if is_much {
            // Its backlog may have limits, which those shall not reach who read.
            self.flush(pipeline, at, MESSAGES_PER_ITERATION);
        }
    }

    /// Writes messages that came in this loop iteration.
    #[inline(always)]
    pub(super) fn write_messages(&mut self, pipeline: &mut Pipeline) {
        if !self.unwritten.is_empty() {
            self.write_unwritten(pipeline);
        }
    }

    #[inline(never)]
    fn write_unwritten(&mut self, pipeline: &mut Pipeline) {
        for at in std::mem::take(&mut self.unwritten) {
            if let Some(connection) = self.connections.get_mut(at) {
                connection.lists.remove(Lists::UNWRITTEN);
                self.flush(pipeline, at, WRITE_MAX);
            } else if self.is_nested {
                // It is away, or gone.
                self.unwritten.push(at);
            }
        }
    }

    /// Writes the output that waited for positions that are safe.
    pub(super) fn on_safe(&mut self, pipeline: &mut Pipeline) {
        for at in std::mem::take(&mut self.marked) {
            if let Some(connection) = self.connections.get_mut(at) {
                connection.lists.remove(Lists::MARKED);
                self.flush(pipeline, at, WRITE_MAX);
            } else if self.is_nested {
                // It is away, or gone.
                self.marked.push(at);
                self.second.has_put_off = true;
            }
        }
    }
}
