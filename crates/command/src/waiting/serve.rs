//! Looking after those who wait for keys that were written to.

use super::waiter::Place;
use super::{Waiter, Waiters};
use crate::args::Args;
use crate::call::{Call, Row};
use crate::clients::Client;
use crate::commands::table;
use crate::instance::Instance;
use crate::session::Session;
use crate::spec::Wakes;
use crate::statistics::WorkerStatistics;
use base::Millis;
use settings::limits::CLIENT_OUTPUT_BUFFER_LIMIT;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use store::{Kind, Lane};
use wire::Reply;

/// For after a command that changes data: runs the commands again of those who wait for its keys.
#[cold]
pub fn serve(call: &mut Call<'_>) {
    let touched = places_of(call);
    let server = Server {
        instance: call.instance,
        lane: call.lane,
        statistics: call.statistics,
        now: call.now,
    };
    server.serve_all(touched);
}

/// Looks after those who mind the loss of their keys, which may have expired or been evicted.
pub fn recheck(instance: &Instance, lane: &mut Lane, statistics: &WorkerStatistics, now: Millis) {
    let lost = instance.waiters.places(|line| line.minding > 0);
    Server { instance, lane, statistics, now }.serve_all(lost.into());
}

/// The keys that a command may have changed and that somebody waits for.
fn places_of(call: &Call<'_>) -> VecDeque<Place> {
    match call.row.spec.wakes {
        Wakes::Nobody => VecDeque::new(),
        Wakes::Anyone => call.instance.waiters.places(|_| true).into(),
        Wakes::ItsKeys => places_named(call.row, call.args, call.session.database).collect(),
    }
}

/// Every key that a request names.
fn places_named(row: &Row, args: Args<'_>, database: usize) -> impl Iterator<Item = Place> {
    let words: Vec<&[u8]> = args.from(0).collect();
    let found = (row.spec.find_keys)(row.spec.keys, &words).unwrap_or_default();
    let places: Vec<Place> = found.into_iter().map(|(key, _)| (database, key.to_vec())).collect();
    places.into_iter()
}

/// What a worker serves with.
struct Server<'s> {
    instance: &'s Instance,
    lane: &'s mut Lane,
    statistics: &'s WorkerStatistics,
    now: Millis,
}

impl Server<'_> {
    fn serve_all(mut self, mut touched: VecDeque<Place>) {
        while let Some(place) = touched.pop_front() {
            self.serve_line(&place, &mut touched);
        }
    }

    /// Serves those in the line of a key, as long as it holds what they wait for.
    fn serve_line(&mut self, place: &Place, touched: &mut VecDeque<Place>) {
        let (mut ticket, mut kind) = (0, self.kind_at(place));
        while let Some((waiter, is_minded)) = self.waiters().next(place, ticket) {
            ticket = waiter.ticket;
            let is_for = waiter.wants.minds_loss || kind == Some(waiter.wants.kind);
            if is_for && self.try_again(&waiter) {
                // It may have written to other keys, and taken the last of what was here.
                // Its other keys count too, though it does not wait for them.
                let (args, database) = (waiter.args(), waiter.manner.database);
                touched.extend(places_named(row_of(&waiter), args, database));
                kind = self.kind_at(place);
            }
            if kind.is_none() && !is_minded {
                return;
            }
        }
    }

    fn waiters(&self) -> &Waiters {
        &self.instance.waiters
    }

    /// What the key at a place holds now.
    fn kind_at(&mut self, (database, key): &Place) -> Option<Kind> {
        let store = &self.instance.store;
        let key = store.key(store.keyspace(*database)?, key);
        store.lock(self.lane, &key, self.now).peek(&key).map(|value| value.kind)
    }

    /// Bytes that a reply to a client may take before the client is over its limit.
    fn reply_room(&self, client: &Client) -> usize {
        let limits = CLIENT_OUTPUT_BUFFER_LIMIT.get(&self.instance.settings);
        match limits.normal.hard_bytes {
            0 => usize::MAX,
            hard => hard.saturating_sub(client.output_bytes.load(Relaxed)).max(1) as usize,
        }
    }

    /// Runs a command again; whether it has its answer now.
    fn try_again(&mut self, waiter: &Arc<Waiter>) -> bool {
        let mut is_answered = waiter.is_answered();
        if *is_answered {
            return false;
        }
        let (row, mut reply) = (row_of(waiter), Vec::new());
        let most = self.reply_room(&waiter.client);
        let mut session = Session::new(Arc::clone(&waiter.client), true);
        session.database = waiter.manner.database;
        session.protocol = waiter.manner.protocol;
        session.no_touch = waiter.manner.no_touch;
        session.import_source = waiter.manner.import_source;
        let mut call = Call {
            instance: self.instance,
            lane: self.lane,
            session: &mut session,
            statistics: self.statistics,
            args: waiter.args(),
            reply: Reply::with_limit(&mut reply, waiter.manner.protocol, most),
            now: self.now,
            row,
            first_hash: None,
            is_again: true,
        };
        let mark = call.reply.mark();
        if let Err(refusal) = (row.spec.run)(&mut call) {
            call.reply.truncate(mark);
            call.reply.error(refusal.text());
            self.instance.statistics.count_error(refusal.code());
            self.statistics.commands[row.id].failed.add(1);
        }
        if call.reply.is_cut() {
            self.statistics.server.output_limit_closed.add(1);
            waiter.client.kill();
        } else if reply.is_empty() {
            return false;
        }
        *is_answered = true;
        drop(is_answered);
        self.waiters().let_go(waiter, reply);
        true
    }
}

fn row_of(waiter: &Waiter) -> &'static Row {
    &table().rows()[waiter.command]
}
