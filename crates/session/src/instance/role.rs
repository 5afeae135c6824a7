//! What a change of the server's role, or the end of a failover, means for its clients.

use super::Instance;
use crate::client::ClientFlags;
use crate::failover::{Attempt, FailoverPhase};
use crate::needs::Needs;
use crate::notice::Notice;
use crate::pause::Holder;
use crate::refusal::Refusal;
use crate::upstream::{Primary, UpstreamFacts};
use crate::waiter::Late;
use settings::replication::{REPLICA_READ_ONLY, REPLICA_SERVE_STALE_DATA};
use std::sync::Arc;
use store::ThreadContext;
use wire::Reply;

impl Instance {
    /// Grants and withdraws what depends on whether a primary is followed, and on the link to it.
    pub fn follow_role(&self) {
        self.follow_local_deadlines();
        let (grants, is_replica) = (&self.clients.grants, self.upstream.is_replica());
        let is_read_only = is_replica && REPLICA_READ_ONLY.get(&self.settings);
        let is_stale =
            is_replica && !REPLICA_SERVE_STALE_DATA.get(&self.settings) && !self.upstream.is_up();
        for (need, is_withdrawn) in [(Needs::PRIMARY, is_read_only), (Needs::FRESH, is_stale)] {
            if is_withdrawn {
                grants.withdraw(need);
            } else {
                grants.restore(need);
            }
        }
    }

    /// Ends the waits of clients: what they wait for comes from elsewhere now. Clients that can be
    /// redirected are, and wait on if they only read and have asked for the data of a replica;
    /// others are closed. Clients of other threads' work, as of MIGRATE, are answered by those.
    pub fn unblock_for_role(&self) {
        let Some(UpstreamFacts { primary: Primary { host, port }, .. }) = self.upstream.facts()
        else {
            return;
        };
        let redirected = Refusal::new(format!("REDIRECT {host}:{port}"));
        for client in self.clients.list() {
            let waiter = client.waiter().as_ref().map(Arc::clone);
            let Some(waiter) = waiter.filter(|it| it.late() != Late::Never) else { continue };
            let is_redirected = !waiter.client_state.grants.contains(Needs::DIRECT);
            let is_reader = !waiter.writes && client.flags().contains(ClientFlags::READONLY);
            if is_redirected && is_reader {
                continue;
            }
            let refusal = if is_redirected { &redirected } else { &Refusal::OTHER_ROLE };
            let answer = |reply: &mut Reply<'_>| reply.error(refusal.text());
            if self.waiters.answer(&self.clients, &waiter, answer) {
                self.statistics.count_refused_wait(waiter.command, refusal);
                if !is_redirected {
                    client.notify(Notice::Close(client.id));
                }
            }
        }
    }

    /// Ends a failover in this phase, and lets writes go on that it has held back. Returns what was
    /// asked for, or `None` if it is in another phase.
    pub fn end_failover(&self, phase: FailoverPhase) -> Option<Attempt> {
        let release = || self.clients.let_writes_flow(Holder::Failover);
        let attempt = self.replicas.failover.end(phase, release)?;
        self.keep_expired();
        self.replicas.look_at_failover();
        Some(attempt)
    }

    /// Ends a failover in progress: this server stays the primary. Writes flow once the role is
    /// that again, or they would be refused. Returns what was asked for, or `None` if none is in
    /// progress.
    pub fn take_failover_back(&self, thread: &ThreadContext) -> Option<Attempt> {
        let gives_up = || self.replicas.failover.give_up().is_some();
        let is_back = self.replicas.change_role_if(&self.store, thread, None, gives_up);
        if is_back { self.end_failover(FailoverPhase::GivenUp) } else { None }
    }
}
