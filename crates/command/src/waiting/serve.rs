//! Looking after those who wait for keys that were written to.

use super::{Place, Waiter, Waiters};
use crate::call::Call;
use crate::clients::Client;
use crate::instance::Instance;
use crate::key_positions::{find, specs};
use crate::session::Session;
use crate::spec::Flags;
use crate::statistics::WorkerStatistics;
use base::Millis;
use settings::limits::CLIENT_OUTPUT_BUFFER_LIMIT;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use store::{Kind, Lane};
use wire::Reply;

/// Commands that reach other keys than those that their rows name, or other databases.
const FAR_REACHING: [&str; 6] = ["copy", "flushall", "flushdb", "move", "sort", "swapdb"];

/// Commands that change what a group has been given, and yet wake nobody.
const SILENT: [&str; 2] = ["xgroup|setid", "xsetid"];

/// For after a command that changes data: runs the commands again of those who wait for its keys.
#[cold]
pub fn serve(call: &mut Call<'_>) {
    if SILENT.contains(&call.row.full_name.as_str()) {
        return;
    }
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
    let name = call.row.full_name.as_str();
    let words: Vec<&[u8]> = call.args.from(0).collect();
    let specs = specs(call.row);
    let is_far = FAR_REACHING.contains(&name)
        || specs.is_empty()
        || call.row.spec.flags.contains(Flags::MOVABLE_KEYS);
    if is_far {
        return call.instance.waiters.places(|_| true).into();
    }
    let found = find(call.row, &specs, &words).unwrap_or_default();
    found.into_iter().map(|(key, _)| (call.session.database, key.to_vec())).collect()
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
                touched.extend(waiter.all_places());
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
        let mut reply = Vec::new();
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
            row: waiter.row,
            first_hash: None,
            is_again: true,
        };
        let mark = call.reply.mark();
        if let Err(refusal) = (waiter.row.spec.run)(&mut call) {
            call.reply.truncate(mark);
            call.reply.error(refusal.text());
            self.instance.statistics.count_error(refusal.code());
            self.statistics.commands[waiter.row.id].failed.add(1);
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

impl Waiter {
    /// Every key that its command names, those that it does not wait for too.
    fn all_places(&self) -> Vec<Place> {
        let words: Vec<&[u8]> = self.args().from(0).collect();
        let found = find(self.row, &specs(self.row), &words).unwrap_or_default();
        found.into_iter().map(|(key, _)| (self.manner.database, key.to_vec())).collect()
    }
}
