//! The stream of a primary: applied unit by unit, and put into this server's stream as it came.

use super::socket::Socket;
use super::thread::{Ended, LOOK, LinkThread};
use crate::journal::Journal;
use base::Steady;
use base::meanwhile::{self, Others};
use command::{FollowedUnit, Parted, PartedKind};
use replication::spoken::acknowledgement;
use replication::{ReplicationId, Unit, Units};
use session::{Instance, Needs};
use settings::PropagationErrorBehavior;
use settings::journal::PROPAGATION_ERROR_BEHAVIOR;
use settings::replication::{REPLICA_IGNORE_DISK_WRITE_ERRORS, REPLICA_READ_ONLY};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Units that are applied in one stay in the gate, at most.
const UNITS_PER_STAY: usize = 64;
/// Bytes of them from which on no more are.
const BYTES_PER_STAY: usize = 256 << 10;
/// Units that are left out and logged one by one; from then on one of so many is.
const LOGGED_MAX: u64 = 10;
const LOGGED_EACH: u64 = 1000;
/// Milliseconds between two acknowledgements where something has changed, and where nothing has.
const ACK_MILLIS: u64 = 10;
const QUIET_ACK_MILLIS: u64 = 1000;
/// Milliseconds between two lines of the log about a disk that is ignored.
const IGNORED_MILLIS: u64 = 10_000;
/// Wait for bytes while an acknowledgement is owed.
const SHORT_LOOK: Duration = Duration::from_millis(ACK_MILLIS);

/// Bytes that were applied and are to be put.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    from: usize,
    to: usize,
    is_data: bool,
}

impl LinkThread {
    /// Goes on with the stream that there is, under another id if one is told.
    pub(super) fn continue_as(&mut self, id: Option<ReplicationId>) {
        let (journal, replicas) = (&self.journal, &self.instance.replicas);
        tracing::info!("The primary goes on behind offset {}", journal.offset());
        self.roles.was_asked_for.store(false, Relaxed);
        if let Some(door) = journal.door() {
            door.keep();
        }
        let Some(mut history) = replicas.history() else { return };
        if let Some(id) = id.filter(|id| *id != history.id()) {
            history.rename(id, journal.offset());
            replicas.set_history(history);
            // Replicas of this server come back by the id before, and hear of this one.
            if let Some(door) = journal.door() {
                door.let_go();
            }
        }
    }

    /// Follows the stream until something ends that.
    pub(super) fn follow(&mut self, socket: &mut Socket) -> Result<Infallible, Ended> {
        let mut units = Units::default();
        // What came with the end of the handshake, or of the snapshot, is there already.
        let (mut wants_acknowledgement, mut has_more) = (true, true);
        loop {
            self.go_on()?;
            let now = self.instance.clock.steady();
            // What is applied and not yet written is acknowledged as soon as it is.
            let owes = wants_acknowledgement || self.acknowledged.0 != self.journal.offset();
            let read = socket.read(if owes { SHORT_LOOK } else { LOOK }, now)?;
            self.hear(socket)?;
            has_more |= read > 0;
            if std::mem::take(&mut has_more) {
                self.wait_for_disk(socket)?;
                wants_acknowledgement |= self.apply(socket, &mut units)?;
            }
            wants_acknowledgement = !self.acknowledge(socket, wants_acknowledgement)?;
        }
    }

    /// Waits until the files of this server take what is applied next. While they cannot be written
    /// that may be never, so the settings may say that the stream goes on without them.
    fn wait_for_disk(&mut self, socket: &mut Socket) -> Result<(), Ended> {
        let mut stands_still = false;
        loop {
            let is_failing = !self.instance.clients.grants.get().contains(Needs::DISK);
            let ignores = REPLICA_IGNORE_DISK_WRITE_ERRORS.get(&self.instance.settings);
            if is_failing && ignores {
                self.go_on_without_disk();
                return Ok(());
            }
            if !is_failing && !self.journal.is_behind() {
                if stands_still {
                    tracing::warn!("The stream of the primary goes on: the disk works again");
                }
                return Ok(());
            }
            if is_failing && !std::mem::replace(&mut stands_still, true) {
                tracing::warn!(
                    "Replica was unable to write command to disk: the stream of the primary \
                     stands still until it can (`replica-ignore-disk-write-errors`)"
                );
            }
            self.go_on()?;
            self.acknowledge(socket, false)?;
            self.journal.wait_a_moment();
        }
    }

    /// Says now and then that the stream is applied though the disk fails. Files that are far
    /// behind are given up: they begin anew, with all data, when the disk works.
    fn go_on_without_disk(&mut self) {
        let now = self.instance.clock.steady();
        if self.ignored_at.is_none_or(|at| now.since(at) >= IGNORED_MILLIS) {
            self.ignored_at = Some(now);
            tracing::warn!(
                "Replica is applying a command even though it is unable to write to disk."
            );
        }
        if self.journal.is_behind() {
            self.journal.begin_anew();
        }
    }

    /// Applies the whole units of what has come. Returns true if one of them asks for an
    /// acknowledgement.
    fn apply(&mut self, socket: &mut Socket, units: &mut Units) -> Result<bool, Ended> {
        let received = std::mem::take(&mut socket.received);
        let mut at = 0;
        let mut wants_acknowledgement = false;
        let outcome = loop {
            if self.is_over() {
                break Err(Ended::RoleChanged);
            }
            let (offset, at_last) = self.acknowledged;
            let instance = Arc::clone(&self.instance);
            let mut alive = Alive { instance: &instance, socket, offset, at_last };
            let stay = meanwhile::lend(&mut alive, || self.stay(&received, &mut at, units));
            self.acknowledged.1 = alive.at_last;
            match stay {
                Ok((is_all, asks)) => {
                    wants_acknowledgement |= asks;
                    if is_all {
                        break Ok(wants_acknowledgement);
                    }
                }
                Err(ended) => break Err(ended),
            }
        };
        let upstream = &self.instance.upstream;
        let left = (received.len() - at) as u64;
        upstream.received.store(self.journal.offset().wrapping_add(left), Relaxed);
        socket.received = received;
        socket.received.drain(..at);
        outcome
    }

    /// Applies some units from `at` on, within one stay in the gate. Returns whether these were all
    /// whole ones, and whether one of them asks for an acknowledgement.
    fn stay(
        &mut self,
        received: &[u8],
        at: &mut usize,
        units: &mut Units,
    ) -> Result<(bool, bool), Ended> {
        self.instance.store.enter(&self.thread);
        let outcome = self.stay_inside(received, at, units);
        let (store, now) = (&self.instance.store, self.instance.clock.now());
        store.upkeep(&mut self.thread, now);
        store.leave(&self.thread);
        self.journal.after_batch(&self.instance);
        outcome
    }

    fn stay_inside(
        &mut self,
        received: &[u8],
        at: &mut usize,
        units: &mut Units,
    ) -> Result<(bool, bool), Ended> {
        let mut run = Run { from: *at, to: *at, is_data: true };
        let (began, mut wants) = (*at, false);
        for _ in 0..UNITS_PER_STAY {
            // It changes in the closed gate, so it is the same until this stay ends.
            if self.is_over() {
                self.put(received, run);
                return Err(Ended::RoleChanged);
            }
            let next = units.next(&received[*at..]);
            let Ok(Some(unit)) = next else {
                self.put(received, run);
                return next.map(|_| (true, wants)).map_err(Into::into);
            };
            let bytes = unit.bytes().len();
            let applied = if self.follower.closes_gate(&unit) {
                self.put(received, run);
                run = Run { from: *at + bytes, to: *at + bytes, is_data: true };
                self.apply_alone(&unit)
            } else {
                let (instance, thread) = (&self.instance, &mut self.thread);
                let leaves_out = leaving_out(instance);
                self.follower.apply(instance, thread, &unit, leaves_out).inspect(|followed| {
                    if followed.is_data != run.is_data || followed.lives_from.is_some() {
                        put(&mut self.lane, received, run);
                        run = Run { from: *at, to: *at, is_data: followed.is_data };
                        self.journal.note_moment(followed.lives_from);
                    }
                    run.to = *at + bytes;
                })
            };
            let followed = match applied {
                Ok(followed) => followed,
                Err(parted) => {
                    self.put(received, run);
                    return Err(parted.into());
                }
            };
            *at += bytes;
            wants |= followed.wants_acknowledgement;
            let database = self.follower.database();
            if self.journal.ring().selected_database() != database {
                // What was put before is in the other database.
                put_up_to_selection(&mut self.lane, &self.journal, received, run, database);
                run = Run { from: *at, to: *at, is_data: true };
            }
            if *at - began > BYTES_PER_STAY {
                break;
            }
        }
        self.put(received, run);
        Ok((false, wants))
    }

    /// Applies a unit that acts on everything and puts it, while nobody else is inside the gate.
    fn apply_alone(&mut self, unit: &Unit<'_>) -> Result<FollowedUnit, command::Parted> {
        let (instance, lane, follower) = (&self.instance, &mut self.lane, &mut self.follower);
        let journal = &self.journal;
        instance.store.alone(&mut self.thread, |thread| {
            let followed = follower.apply(instance, thread, unit, leaving_out(instance))?;
            journal.note_moment(followed.lives_from);
            let bytes = unit.bytes();
            let run = Run { from: 0, to: bytes.len(), is_data: followed.is_data };
            // The next to close the gate finds the database that counts for what comes then.
            put_up_to_selection(lane, journal, bytes, run, follower.database());
            Ok(followed)
        })
    }

    fn put(&mut self, received: &[u8], run: Run) {
        put(&mut self.lane, received, run);
    }

    /// Offset that may be acknowledged: of what is applied and, with files, written.
    fn acknowledgeable(&self) -> u64 {
        self.journal.may_leave(self.journal.tail()).wrapping_add(self.journal.shift())
    }

    /// Acknowledges what there is, if that is due or asked for. Returns true if nothing is owed to
    /// one who has asked.
    fn acknowledge(&mut self, socket: &mut Socket, is_asked: bool) -> Result<bool, Ended> {
        if is_asked {
            self.journal.wait_until_written();
        }
        let (now, offset) = (self.instance.clock.steady(), self.acknowledgeable());
        let (before, at) = self.acknowledged;
        let is_written = offset == self.journal.offset();
        let gap = if offset == before { QUIET_ACK_MILLIS } else { ACK_MILLIS };
        let is_due = now.since(at) >= gap;
        if !(is_due || is_asked && is_written) {
            return Ok(!is_asked);
        }
        let synced = self.instance.journal.synced();
        let synced = synced.map(|it| it.wrapping_add(self.journal.shift()));
        socket.send(&acknowledgement(offset, synced))?;
        self.acknowledged = (offset, now);
        Ok(!is_asked || is_written)
    }
}

/// Tells the primary during a long unit that this server is alive: it has what it had before.
struct Alive<'l> {
    instance: &'l Instance,
    socket: &'l mut Socket,
    offset: u64,
    at_last: Steady,
}

impl Others for Alive<'_> {
    fn serve(&mut self) {
        let now = self.instance.clock.steady();
        if now.since(self.at_last) >= QUIET_ACK_MILLIS {
            self.socket.send_at_once(&acknowledgement(self.offset, None));
            self.at_last = now;
        }
    }
}

/// Tells of each command that is refused whether it is left out.
fn leaving_out(instance: &Instance) -> impl Fn(&Parted) -> bool {
    |parted| leaves_out(instance, parted)
}

/// Returns true if what is refused is only logged. Files and other replicas get it all the same,
/// and decide for themselves.
fn leaves_out(instance: &Instance, parted: &Parted) -> bool {
    let settings = &instance.settings;
    let ignores = PROPAGATION_ERROR_BEHAVIOR.get(settings) == PropagationErrorBehavior::Ignore;
    // Where clients write too, a key may be of another type than at the primary.
    let is_writable = !REPLICA_READ_ONLY.get(settings);
    let is_left_out = match parted.kind {
        PartedKind::Unknown => ignores,
        PartedKind::Refused => ignores || is_writable,
        PartedKind::Database => false,
    };
    if is_left_out {
        let count = 1 + instance.upstream.left_out.fetch_add(1, Relaxed);
        if count <= LOGGED_MAX || count.is_multiple_of(LOGGED_EACH) {
            tracing::error!(
                "== CRITICAL == Of the stream of the primary {count} commands were left out; \
                 {parted}"
            );
        }
    }
    is_left_out
}

/// Puts what ends with this database as the selected one. If it is another than before, that is
/// noted first, so the files know it where they have these bytes.
fn put_up_to_selection(
    lane: &mut journal::Lane,
    journal: &Journal,
    received: &[u8],
    run: Run,
    database: usize,
) {
    if journal.ring().selected_database() != database {
        let end = journal.tail().wrapping_add((run.to - run.from) as u64);
        journal.note_selection(end, database);
    }
    put(lane, received, run);
    lane.follow_selection(database);
}

fn put(lane: &mut journal::Lane, received: &[u8], run: Run) {
    let bytes = &received[run.from..run.to];
    if bytes.is_empty() {
        return;
    }
    if run.is_data {
        lane.put_request(bytes);
    } else {
        lane.put_aside(bytes);
    }
}
