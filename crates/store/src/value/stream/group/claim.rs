//! Giving a consumer what others have not acknowledged: XCLAIM and XAUTOCLAIM.

use super::change::{GroupError, GroupMut, change_group};
use super::fixed::walk;
use super::{ConsumerFacts, PendingFacts};
use crate::access::Access;
use crate::key::{Key, Kind};
use crate::shard::WriteNodes;
use crate::value::stream::{Entry, Id};
use smallvec::SmallVec;
use tree::{NoRoom, NodesMut};

/// How entries are claimed.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'t> {
    /// The group.
    pub group: &'t [u8],
    /// Who gets them; made if need be.
    pub consumer: &'t [u8],
    /// Only those that were given so many milliseconds ago, or longer.
    pub idle_min: u64,
    /// When they are said to have been given, in milliseconds since the Unix epoch.
    pub delivered: u64,
    /// How often they are said to have been given.
    pub deliveries: Option<u64>,
    /// The claim counts as one more delivery.
    pub counts: bool,
    /// What is not pending is made so, if there is such an entry.
    pub force: bool,
    /// The group goes on behind this id, if that is above its last one.
    pub last_id: Id,
}

/// Claims entries with these ids, and hands each to `each`. Returns how many changes were made.
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
    let mut key = access.open(key, Kind::Stream)?.existing().ok_or(GroupError::NoStream)?;
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
        let is_told = is_set && changes == 0;
        Ok(changes + u64::from(is_new) + u64::from(is_told))
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claimed {
    /// It is not pending, or was given too lately.
    Nothing,
    /// It was pending, but is deleted.
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

/// How entries are claimed that have waited longest.
#[derive(Clone, Copy, Debug)]
pub struct AutoClaim<'t> {
    /// The group.
    pub group: &'t [u8],
    /// Who gets them; made if need be.
    pub consumer: &'t [u8],
    /// Only those that were given so many milliseconds ago, or longer.
    pub idle_min: u64,
    /// From this id on.
    pub from: Id,
    /// At most so many.
    pub count: u64,
    /// The claim counts as one more delivery.
    pub counts: bool,
}

/// What an automatic claim has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutoClaimed {
    /// Where the next one should go on; the lowest id at the end.
    pub next: Id,
    /// Entries that were pending but deleted, and are forgotten now.
    pub deleted: Vec<Id>,
    /// Changes that were made.
    pub changes: u64,
}

/// Entries looked at for each one that may be claimed.
const ATTEMPTS_PER_ENTRY: u64 = 10;

/// Claims what has been pending for long, from an id on, and hands each entry to `each`.
///
/// # Errors
/// See [`GroupError`].
pub fn auto_claim(
    access: &mut Access<'_>,
    key: &Key<'_>,
    how: AutoClaim<'_>,
    mut each: impl FnMut(Entry<'_>),
) -> Result<AutoClaimed, GroupError> {
    let mut key = access.open(key, Kind::Stream)?.existing().ok_or(GroupError::NoStream)?;
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

/// Entries that are claimed, or without facts: forgotten.
type Chosen = SmallVec<[(Id, Option<PendingFacts>); 16]>;

/// Chooses what is claimed, and tells the first id that was not looked at.
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
