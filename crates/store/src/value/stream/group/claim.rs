//! Transfer of pending entries to another consumer: XCLAIM and XAUTOCLAIM.

use super::change::{GroupError, GroupMut, change_group};
use super::fixed::walk;
use super::{ConsumerFacts, PendingFacts};
use crate::access::Access;
use crate::key::{Key, Kind};
use crate::shard::WriteNodes;
use crate::value::stream::{Entry, Id};
use smallvec::SmallVec;
use tree::{NoRoom, NodesMut};

/// Options of XCLAIM.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'t> {
    /// Name of the group.
    pub group: &'t [u8],
    /// Name of the new owner, created if need be.
    pub consumer: &'t [u8],
    /// Least time since the last delivery, in milliseconds.
    pub idle_min: u64,
    /// Delivery time to record, in milliseconds since the Unix epoch.
    pub delivered: u64,
    /// Number of deliveries to record; `None` keeps or counts up the present one.
    pub deliveries: Option<u64>,
    /// True if the claim counts as one more delivery.
    pub counts: bool,
    /// True to make existing entries pending that were not.
    pub force: bool,
    /// New last id of the group, if it is above the present one.
    pub last_id: Id,
}

/// Claims entries with these ids, of a stream that was read before, and passes each to `each`.
/// Returns the number of changes.
///
/// # Errors
/// See [`GroupError`].
pub fn claim(
    access: &mut Access<'_>,
    key: &Key<'_>,
    how: Claim<'_>,
    ids: &[Id],
    mut each: impl FnMut(Entry<'_>),
) -> Result<u64, GroupError> {
    let mut key =
        access.open_without_touch(key, Kind::Stream)?.existing().ok_or(GroupError::NoStream)?;
    let now = key.now().0;
    change_group(&mut key, how.group, |group| {
        let is_set = how.last_id > group.facts.last_id;
        group.facts.last_id = group.facts.last_id.max(how.last_id);
        let (consumer, is_new) = group.see_consumer(how.consumer, now)?;
        let (mut changes, mut is_active) = (0, false);
        for id in ids {
            match claim_one(group, how, consumer, *id, now, &mut each)? {
                Claimed::Nothing => continue,
                Claimed::Forgotten => (),
                Claimed::Taken => is_active = true,
            }
            changes += 1;
        }
        if is_active {
            group.put_consumer(how.consumer, ConsumerFacts { active: now, ..consumer })?;
        }
        let is_announced = is_set && changes == 0;
        Ok(changes + u64::from(is_new) + u64::from(is_announced))
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claimed {
    /// The entry is not pending, or was delivered too recently.
    Nothing,
    /// The entry was pending, but had been deleted.
    Forgotten,
    Taken,
}

fn claim_one(
    group: &mut GroupMut<'_, WriteNodes<'_, '_>>,
    how: Claim<'_>,
    consumer: ConsumerFacts,
    id: Id,
    now: u64,
    each: &mut impl FnMut(Entry<'_>),
) -> Result<Claimed, NoRoom> {
    let before = group.pending(id);
    if !group.with_entry(id, |_| ()) {
        return Ok(if group.forget(id) { Claimed::Forgotten } else { Claimed::Nothing });
    }
    let is_idle = |before: PendingFacts| is_idle(before, how.idle_min, now);
    if before.map_or(!how.force, |before| !is_idle(before)) {
        return Ok(Claimed::Nothing);
    }
    let given = before.map_or(1, |before| before.deliveries);
    let deliveries = how.deliveries.unwrap_or(given.wrapping_add(u64::from(how.counts)));
    let to = PendingFacts { number: consumer.number, delivered: how.delivered, deliveries };
    group.put_pending(id, to)?;
    group.with_entry(id, each);
    Ok(Claimed::Taken)
}

fn is_idle(pending: PendingFacts, idle_min: u64, now: u64) -> bool {
    idle_min == 0 || now.saturating_sub(pending.delivered) >= idle_min
}

/// Options of XAUTOCLAIM.
#[derive(Clone, Copy, Debug)]
pub struct AutoClaim<'t> {
    /// Name of the group.
    pub group: &'t [u8],
    /// Name of the new owner, created if need be.
    pub consumer: &'t [u8],
    /// Least time since the last delivery, in milliseconds.
    pub idle_min: u64,
    /// First id to consider.
    pub from: Id,
    /// Most entries to claim.
    pub count: u64,
    /// True if the claim counts as one more delivery.
    pub counts: bool,
}

/// Outcome of XAUTOCLAIM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutoClaimed {
    /// Id from which the next call should continue; the lowest id at the end.
    pub next: Id,
    /// Ids of deleted entries, which are not pending now.
    pub deleted: Vec<Id>,
    /// Number of changes.
    pub changes: u64,
}

/// Number of pending entries to inspect for each one that may be claimed.
const ATTEMPTS_PER_ENTRY: u64 = 10;

/// Claims entries that have been pending for long, from an id on, of a stream that was read before,
/// and passes each to `each`.
///
/// # Errors
/// See [`GroupError`].
pub fn auto_claim(
    access: &mut Access<'_>,
    key: &Key<'_>,
    how: AutoClaim<'_>,
    mut each: impl FnMut(Entry<'_>),
) -> Result<AutoClaimed, GroupError> {
    let mut key =
        access.open_without_touch(key, Kind::Stream)?.existing().ok_or(GroupError::NoStream)?;
    let now = key.now().0;
    change_group(&mut key, how.group, |group| {
        let (consumer, is_new) = group.see_consumer(how.consumer, now)?;
        let (chosen, next) = choose(group, how, now);
        let (mut deleted, changes) = (Vec::new(), chosen.len() as u64 + u64::from(is_new));
        let is_active = chosen.iter().any(|(_, pending)| pending.is_some());
        for (id, pending) in chosen {
            let Some(before) = pending else {
                group.forget(id);
                deleted.push(id);
                continue;
            };
            let deliveries = before.deliveries.wrapping_add(u64::from(how.counts));
            let to = PendingFacts { number: consumer.number, delivered: now, deliveries };
            group.put_pending(id, to)?;
            group.with_entry(id, &mut each);
        }
        if is_active {
            group.put_consumer(how.consumer, ConsumerFacts { active: now, ..consumer })?;
        }
        Ok(AutoClaimed { next, deleted, changes })
    })
}

/// Entries to claim; those without facts were deleted and are to be forgotten.
type Chosen = SmallVec<[(Id, Option<PendingFacts>); 16]>;

/// Chooses the entries to claim; returns them and the first id that was not inspected.
fn choose<N: NodesMut>(group: &GroupMut<'_, N>, how: AutoClaim<'_>, now: u64) -> (Chosen, Id) {
    let mut chosen = Chosen::new();
    let mut attempts = how.count.saturating_mul(ATTEMPTS_PER_ENTRY);
    let pending = walk(group.nodes.read(), group.facts.pending, &how.from.to_bytes());
    for (id, facts) in pending {
        let (id, facts) = (Id::read(&id), PendingFacts::read(facts));
        if attempts == 0 || chosen.len() as u64 >= how.count {
            return (chosen, id);
        }
        attempts -= 1;
        if !group.with_entry(id, |_| ()) {
            chosen.push((id, None));
        } else if is_idle(facts, how.idle_min, now) {
            chosen.push((id, Some(facts)));
        }
    }
    (chosen, Id::MIN)
}
