//! A failover as the sender sees it: it hears of each replica how much that has.

use super::sender::SenderThread;
use base::Steady;
use session::{Attempt, FailoverPhase, Phase, Primary, Replica};
use std::sync::Arc;

impl SenderThread {
    /// Goes on with a failover that waits for a replica: once one has all that there is, or when
    /// the time is over.
    pub(super) fn follow_failover(&mut self, now: Steady) {
        let failover = &self.instance.replicas.failover;
        if failover.phase() != FailoverPhase::WaitsForSync {
            return;
        }
        let Some(attempt) = failover.attempt() else { return };
        let replicas = self.instance.replicas.all();
        let candidates = replicas.iter().filter(|it| may_take_over(it, &attempt));
        let offset = self.journal.offset();
        let synced = candidates.clone().find(|it| it.acknowledged() == offset);
        if let Some(replica) = synced
            && let Some(target) = place_of(replica)
        {
            self.change_roles(target, |offset| replica.acknowledged() == offset);
        } else if attempt.until.is_some_and(|until| now >= until) {
            match attempt.target.clone().filter(|_| attempt.is_forced) {
                Some(target) => {
                    let has = candidates.map(|it| it.acknowledged()).max().unwrap_or(0);
                    let (name, lacks) = (attempt.target_name(), offset.saturating_sub(has));
                    tracing::warn!(
                        "Failover to {name} time out exceeded, failing over. It has not \
                         acknowledged {lacks} bytes, which are lost if it does not have them."
                    );
                    self.change_roles(target, |_| true);
                }
                None => self.give_failover_up(),
            }
        }
    }

    /// Makes the target the primary, if `may` of the offset where the stream ends, which nothing
    /// moves while it is asked.
    fn change_roles(&self, target: Primary, may: impl FnOnce(u64) -> bool) {
        let (instance, journal) = (&self.instance, &self.journal);
        let replicas = &instance.replicas;
        let proceeds = || may(journal.offset()) && replicas.failover.proceed(&target);
        let primary = Some(target.clone());
        if replicas.change_role_if(&instance.store, &self.thread, primary, proceeds) {
            let Primary { host, port } = target;
            tracing::info!("Failover target {host}:{port} is synced, failing over.");
        }
    }

    fn give_failover_up(&self) {
        let Some(attempt) = self.instance.end_failover(FailoverPhase::WaitsForSync) else { return };
        let target = attempt.target_name();
        tracing::info!("FAILOVER to {target} aborted: Replica never caught up before timeout");
    }
}

fn may_take_over(replica: &Arc<Replica>, attempt: &Attempt) -> bool {
    let Some(place) = place_of(replica) else { return false };
    replica.follows()
        && replica.phase() == Phase::Online
        && attempt.target.as_ref().is_none_or(|target| place == *target)
}

/// Where a replica can be reached; `None` of one that has told no port.
fn place_of(replica: &Replica) -> Option<Primary> {
    let port = u16::try_from(replica.about.port).ok().filter(|port| *port > 0)?;
    Some(Primary { host: replica.address(), port })
}
