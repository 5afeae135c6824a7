//! Serving a connection: its requests are parsed in batches, and each is executed in order.

use crate::batch::{Ahead, Batch, End, Part};
use crate::connection::Connection;
use crate::worker::Worker;
use base::{KeyspaceId, Millis};
use command::{
    Call, ClientFlags, Execution, Instance, Needs, ReplyMode, Row, execute, granted_for_batch,
};
use settings::{general, limits};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use store::Key;
use store::value::hash;
use wire::{Limits, Reply, RequestParser};

/// Replies are written when so many bytes of them have gathered, before the batch ends.
const REPLIES_MAX: usize = 256 << 10;

/// How long requests of one connection are served before others have their turn.
const SLICE_NANOS: u64 = 200_000;

/// What is to become of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays.
    Keep,
    /// It is closed once its replies are written.
    Close,
}

/// Why serving stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// The batch is done.
    Done,
    /// The connection is held back from the request that begins here.
    Held(usize),
    /// Its time is over; the next request begins here.
    Over(usize),
}

impl Worker {
    /// Serves the requests in `input`; returns the bytes that are done with.
    pub fn serve(&mut self, connection: &mut Connection, input: &[u8]) -> (usize, Fate) {
        self.begin_slice(connection);
        self.serve_from(connection, input, 0)
    }

    /// Gives a connection its time.
    pub fn begin_slice(&mut self, connection: &mut Connection) {
        self.slice_nanos = SLICE_NANOS;
        connection.is_cut = false;
    }

    /// Serves the requests in `input`, beginning at `served`.
    pub fn serve_from(
        &mut self,
        connection: &mut Connection,
        input: &[u8],
        mut served: usize,
    ) -> (usize, Fate) {
        let mut batch = std::mem::take(&mut self.batch);
        let outcome = loop {
            let ahead = look_ahead(&self.instance, connection);
            batch.clear();
            let part = batch.add(&mut connection.parser, input, served, &ahead);
            batch.look_ahead(&self.instance.store);
            match self.serve_part(connection, &batch, &part, input) {
                Some(outcome) => break outcome,
                None => served = part.parsed,
            }
        };
        self.batch = batch;
        outcome
    }

    /// Serves what was parsed of `input`; returns the bytes that are done with, or nothing when
    /// there is more in it.
    pub fn serve_part(
        &mut self,
        connection: &mut Connection,
        batch: &Batch,
        part: &Part,
        input: &[u8],
    ) -> Option<(usize, Fate)> {
        let stop = self.serve_requests(connection, batch, part.requests.clone(), input);
        if let Stop::Held(from) | Stop::Over(from) = stop {
            // What was parsed beyond will be parsed again.
            connection.parser = RequestParser::new();
            connection.is_cut = matches!(stop, Stop::Over(_));
            return Some((from, Fate::Keep));
        }
        match &part.end {
            End::Full => {
                self.now = self.instance.clock.now();
                None
            }
            End::Incomplete => Some((part.parsed, Fate::Keep)),
            End::Broken(error) => {
                let protocol = connection.session.protocol;
                Reply::new(&mut self.replies, protocol).protocol_error(error);
                connection.session.close_after_reply = true;
                Some((input.len(), Fate::Close))
            }
        }
    }

    fn serve_requests(
        &mut self,
        connection: &mut Connection,
        batch: &Batch,
        requests: Range<usize>,
        input: &[u8],
    ) -> Stop {
        let now = self.now;
        let first = requests.start;
        self.limit_replies(connection);
        if requests.len() > 1 && connection.session.is_authenticated() {
            self.look_into(connection, batch, requests.clone(), input);
        }
        self.command_began = self.stopwatch.read();
        let granted = granted_for_batch(&self.instance);
        let mut is_held = connection.is_held(input.len());
        for at in requests.clone() {
            let (request, args) = batch.request(at, input);
            if self.slice_nanos == 0 {
                self.finish_batch(connection, at - first, now);
                return Stop::Over(request.start);
            }
            let mark = self.replies.len();
            if is_held
                || self.call(connection, request.row, args, request.hash, granted, now)
                    == Execution::Held
            {
                self.finish_batch(connection, at - first, now);
                return Stop::Held(request.start);
            }
            if connection.session.is_waiting {
                self.note_wait(connection);
                is_held = true;
            }
            keep_replies(connection, &mut self.replies, mark);
            if self.replies.len() > REPLIES_MAX {
                if self.send_replies(connection).is_err() {
                    connection.session.close_after_reply = true;
                }
                self.limit_replies(connection);
                is_held |= connection.is_held(input.len() - request.start);
            }
            if connection.session.close_after_reply || connection.session.client.is_doomed() {
                connection.session.close_after_reply = true;
                self.finish_batch(connection, at + 1 - first, now);
                return Stop::Held(input.len());
            }
        }
        self.finish_batch(connection, requests.len(), now);
        Stop::Done
    }

    /// Looks ahead for the fields that requests want of a hash, if the first two are about the same
    /// one.
    #[inline]
    fn look_into(
        &mut self,
        connection: &Connection,
        batch: &Batch,
        requests: Range<usize>,
        input: &[u8],
    ) {
        let wanted = |at: usize| {
            let (request, args) = batch.request(at, input);
            let (row, field_at) = (request.row, request.row.spec.field_at);
            if field_at == 0 {
                return None;
            }
            Some((request.hash?, args.get(row.first_key), args.get(field_at)))
        };
        let Some((hash, bytes, _)) = wanted(requests.start) else { return };
        let same = |at: usize| wanted(at).filter(|other| other.0 == hash).map(|other| other.2);
        let Some(keyspace) = self.instance.store.keyspace(connection.session.database) else {
            return;
        };
        if same(requests.start + 1).is_some() {
            let key = Key { bytes, hash, keyspace };
            let access = self.instance.store.lock(&mut self.lane, &key, self.now);
            hash::look_ahead(&access, &key, requests.filter_map(same));
        }
    }

    #[inline]
    fn call(
        &mut self,
        connection: &mut Connection,
        row: &'static Row,
        args: command::Args<'_>,
        first_hash: Option<base::PositionHash>,
        granted: Needs,
        now: Millis,
    ) -> Execution {
        let protocol = connection.session.protocol;
        let mut call = Call {
            instance: &self.instance,
            lane: &mut self.lane,
            session: &mut connection.session,
            statistics: &self.statistics,
            args,
            reply: Reply::with_limit(&mut self.replies, protocol, self.replies_max),
            now,
            row,
            first_hash,
            is_again: false,
        };
        let execution = execute(&mut call, granted);
        let row = call.row;
        if call.reply.is_cut() {
            self.give_up(connection);
        }
        if execution == Execution::Held {
            connection.is_paused = true;
            connection.session.client.set_flag(ClientFlags::PAUSED, true);
            return execution;
        }
        let ended = self.stopwatch.read();
        let nanos = self.stopwatch.nanos_between(self.command_began, ended);
        self.statistics.commands[row.id].nanos.add(nanos);
        self.slice_nanos = self.slice_nanos.saturating_sub(nanos);
        self.command_began = ended;
        connection.session.client.last_command.store(row.id as u32 + 1, Relaxed);
        execution
    }

    /// Computes how many bytes of replies may gather before a client is over its limit.
    #[inline]
    fn limit_replies(&mut self, connection: &Connection) {
        let hard = self.output_limit.hard_bytes;
        if hard > 0 {
            let hard = usize::try_from(hard).unwrap_or(usize::MAX);
            self.replies_max = hard.saturating_sub(connection.backlog()).max(1);
        }
    }

    /// Has a client closed whose reply went beyond its limit, unless it did not want that reply.
    #[cold]
    fn give_up(&mut self, connection: &mut Connection) {
        if connection.session.reply_mode == ReplyMode::On {
            self.note_output_limit();
            self.replies = Vec::new();
            connection.give_up();
        }
    }

    fn finish_batch(&mut self, connection: &Connection, commands: usize, now: Millis) {
        self.instance.store.upkeep(&mut self.lane, now);
        let client = &connection.session.client;
        client.commands.store(client.commands.load(Relaxed) + commands as u64, Relaxed);
        client.database.store(connection.session.database as u32, Relaxed);
    }
}

/// What the next batch of a connection needs.
pub fn look_ahead<'i>(instance: &'i Instance, connection: &Connection) -> Ahead<'i> {
    let settings = &instance.settings;
    Ahead {
        most: general::PREFETCH_BATCH_MAX_SIZE.get(settings).max(1),
        limits: Limits {
            bulk_bytes_max: limits::PROTO_MAX_BULK_LEN.get(settings),
            authenticated: connection.session.is_authenticated(),
            ..Limits::default()
        },
        store: &instance.store,
        // Sessions name databases that exist; another would only spoil a hint.
        keyspace: instance.store.keyspace(connection.session.database).unwrap_or(KeyspaceId(0)),
    }
}

/// Drops replies that the client does not want.
#[inline]
fn keep_replies(connection: &mut Connection, replies: &mut Vec<u8>, mark: usize) {
    let session = &mut connection.session;
    if session.reply_mode == ReplyMode::On {
        return;
    }
    replies.truncate(mark);
    session.reply_mode = match session.reply_mode {
        ReplyMode::SkipNext => ReplyMode::Skip,
        ReplyMode::Skip => ReplyMode::On,
        mode => mode,
    };
}
