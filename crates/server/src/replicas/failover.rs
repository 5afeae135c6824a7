//! A failover as the sender sees it, on both sides: it hears of each replica how much that has, and
//! has a primary that hands over wait until all that it has sent is applied.

use super::link::{Handover, State};
use super::sender::SenderThread;
use base::Steady;
use session::{Attempt, FailoverPhase, Phase, Primary, Refusal, Replica};
use std::sync::Arc;

/// How long what a primary that hands over has sent before is waited for. Its clients wait too.
const ON_ITS_WAY_MILLIS: u64 = 1000;

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

impl SenderThread {
    /// Has a primary wait that hands over, until what is on its way is here.
    pub(super) fn wait_for_rest(&mut self, token: usize, id: Vec<u8>, first: i64) {
        let until = self.instance.clock.steady().after(ON_ITS_WAY_MILLIS);
        let changes = self.instance.upstream.changes();
        if let Some(link) = self.links.get_mut(&token) {
            link.state = State::HandsOver(Handover { id, first, changes, until });
            self.handovers += 1;
        }
    }

    /// Makes this server the primary where one hands over and nothing is on its way any more.
    pub(super) fn follow_handovers(&mut self, now: Steady) {
        if self.handovers == 0 {
            return;
        }
        let (end, history) = (self.journal.offset(), self.instance.replicas.history());
        let lacks = |it: &Handover| history.as_ref().and_then(|of| of.lacks(&it.id, it.first, end));
        // Where the link has ended the time is waited for too: a primary that has given up closes
        // this connection as well, a little later.
        let is_due = |it: &Handover| now >= it.until || lacks(it).is_none_or(|bytes| bytes == 0);
        let hands_over = |state: &State| matches!(state, State::HandsOver(it) if is_due(it));
        let due: Vec<usize> =
            self.links.iter().filter(|it| hands_over(&it.1.state)).map(|it| *it.0).collect();
        due.into_iter().for_each(|token| self.succeed(token));
        let waits = |state: &State| matches!(state, State::HandsOver(_));
        self.handovers = self.links.values().filter(|it| waits(&it.state)).count();
    }

    fn succeed(&mut self, token: usize) {
        let Some(mut link) = self.links.remove(&token) else { return };
        if let State::HandsOver(Handover { id, first, changes, .. }) =
            std::mem::replace(&mut link.state, State::Waits)
        {
            let (store, replicas) = (&self.instance.store, &self.instance.replicas);
            let (upstream, request) = (&self.instance.upstream, (&*id, first));
            let at = (upstream, changes);
            let succeeds = replicas.succeed((store, &self.thread), at, request);
            // It has asked for the stream of this server under its new id, unlike all others.
            self.let_go();
            if !succeeds {
                link.refuse(&Refusal::OTHER_STREAM);
            }
            self.links.insert(token, link);
            if succeeds {
                self.go_on(token, &id, first);
            }
        }
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
