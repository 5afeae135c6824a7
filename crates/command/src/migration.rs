//! What becomes of keys that have arrived in another server: they go from here, unless they have
//! changed meanwhile.
//!
//! ```text
//! MIGRATE: values copied under the locks ─▶ sent, while nobody holds a lock ─▶ arrived
//!    ▲                                                                            │
//!    └── changed meanwhile: the new value is sent ◀── asked for under the locks ◀─┤
//!                              gone here: DEL there ◀─────────────────────────────┤
//!                                     unchanged: DEL here, one unit ◀─────────────┘
//! ```
//! Valkey executes nothing else meanwhile; here other clients go on, and may see a key in both
//! servers for a moment. No change is lost: a key leaves only if nothing has changed it since its
//! value was copied, not even to the same value, as another server does that sends it here. Groups
//! of streams change unseen, so that values are compared too.

use crate::effects;
use base::PositionHash;
use session::{Departure, Instance, Migration, Parcel, Refusal, timed_version};
use settings::snapshots::RDBCOMPRESSION;
use std::collections::HashSet;
use store::{Access, Author, Event, Interests, Key, ShardSet, ThreadContext};

/// What became of a key that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalOutcome {
    /// It has left this server.
    Left,
    /// It has changed: its parcel has the new value, which is to be sent.
    Changed,
    /// It is gone from here: the target has to forget it too.
    Gone,
}

/// Returns true if a key, of which there is this now, is as it was sent.
fn is_unchanged(sent: &Parcel, present: &Parcel) -> bool {
    let has_changed = sent.departure.as_ref().is_some_and(Departure::has_changed);
    !has_changed && sent.payload == present.payload && sent.deadline == present.deadline
}

/// The value of a key, ready to be sent; `None` if there is none.
pub fn pack(access: &Access<'_>, key: &Key<'_>, instance: &Instance) -> Option<Parcel> {
    let deadline = access.lookup_without_touch(key)?.deadline;
    let settings = &instance.settings;
    let (timed, compresses) = (timed_version(settings), RDBCOMPRESSION.get(settings));
    let payload = snapshot::dump(access, key, timed, compresses)?;
    let attributes = access.attributes_of(key).note().to_text();
    Some(Parcel { name: key.bytes.to_vec(), payload, attributes, deadline, departure: None })
}

/// Removes the keys of these parcels, which have arrived, under one hold of their locks. Tells
/// for each what became of it. The thread is inside the gate.
pub fn finish_arrived(
    migration: &mut Migration,
    instance: &Instance,
    thread: &mut ThreadContext,
    arrived: &[usize],
) -> Vec<ArrivalOutcome> {
    let store = &instance.store;
    // Other keys may have taken the place of those that were sent. Departures know of it.
    let Some(keyspace) = store.keyspace(migration.database) else {
        return vec![ArrivalOutcome::Gone; arrived.len()];
    };
    migration.keyspace = keyspace;
    let hashes: Vec<_> =
        arrived.iter().map(|at| store.hash(&migration.parcels[*at].name)).collect();
    let mut shards = ShardSet::new();
    hashes.iter().for_each(|hash| shards.add(*hash));
    // They go by the command of the client, which is notified of them behind its answer.
    let author = Author { client: migration.waiter.client, is_served: false };
    let others = std::mem::replace(&mut thread.author, author);
    let outcomes = remove_arrived(migration, instance, thread, (arrived, hashes), shards);
    thread.author = others;
    outcomes
}

fn remove_arrived(
    migration: &mut Migration,
    instance: &Instance,
    thread: &mut ThreadContext,
    (arrived, hashes): (&[usize], Vec<PositionHash>),
    shards: ShardSet,
) -> Vec<ArrivalOutcome> {
    let store = &instance.store;
    // Before the locks: a thread that changes a key behind them marks it, while it is sent again.
    instance.add_interest(Interests::MARKED_KEYS);
    let mut access = store.lock_all(thread, shards, instance.clock.now());
    let (mut left, mut outcomes) = (HashSet::new(), Vec::with_capacity(arrived.len()));
    for (at, hash) in arrived.iter().zip(hashes) {
        let parcel = &mut migration.parcels[*at];
        let key = Key { bytes: &parcel.name, hash, keyspace: migration.keyspace };
        if left.contains(&parcel.name) {
            // It was named twice.
            outcomes.push(ArrivalOutcome::Left);
            continue;
        }
        outcomes.push(match pack(&access, &key, instance) {
            None => ArrivalOutcome::Gone,
            Some(present) if is_unchanged(parcel, &present) => {
                access.remove(&key);
                effects::del(&mut access, &key);
                access.report_changes(1, Event::DEL, &key);
                left.insert(parcel.name.clone());
                ArrivalOutcome::Left
            }
            Some(mut present) => {
                present.departure = Some(instance.departures.add(&key));
                *parcel = present;
                ArrivalOutcome::Changed
            }
        });
    }
    outcomes
}

/// Answers the client of MIGRATE with OK or an error, once what was removed before `position` is
/// safe.
pub fn answer_migration(
    migration: &Migration,
    instance: &Instance,
    position: u64,
    outcome: Result<(), Refusal>,
) {
    if let Err(refusal) = &outcome {
        instance.statistics.count_error_from_outside(refusal.code());
    }
    instance.waiters.answer_behind(&instance.clients, &migration.waiter, position, |reply| {
        match &outcome {
            Ok(()) => reply.ok(),
            Err(refusal) => reply.error(refusal.text()),
        }
    });
}
