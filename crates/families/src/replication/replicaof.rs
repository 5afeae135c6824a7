//! REPLICAOF and SLAVEOF: which primary the server follows, if it follows one.

use command::{Call, Outcome, Turn};
use session::{LinkState, Primary, Refusal, WantedRole};
use settings::replication::REPLICAOF;

const FAILS_OVER: Refusal = Refusal::of("ERR REPLICAOF not allowed while failing over.");
const BAD_PORT: Refusal = Refusal::of("ERR Invalid master port");

/// Has the server follow a primary, or be one. Within a transaction the role changes behind it, so
/// what stands in it is one unit of the role that there was.
pub(super) fn replicaof(call: &mut Call<'_>) -> Outcome {
    // One that this transaction has given up ends with the role.
    let pending = call.session.wants_role.as_deref();
    let gives_up = pending.is_some_and(|it| it.gives_up);
    if call.instance.replicas.failover.is_active() && !gives_up {
        return Err(FAILS_OVER.into());
    }
    let is_pending = pending.is_some();
    let primary = wanted(call)?;
    let facts = call.instance.upstream.facts();
    let is_stopped = facts.as_ref().is_some_and(|facts| facts.link == LinkState::Stopped);
    let present = facts.map(|facts| facts.primary);
    if present == primary && !is_stopped && !is_pending {
        if primary.is_some() {
            call.reply.simple("OK Already connected to specified master");
        } else {
            call.reply.ok();
        }
        return Ok(());
    }
    if !change_role(call, primary) {
        return Err(FAILS_OVER.into());
    }
    call.reply.ok();
    Ok(())
}

/// Changes the role now, or behind the transaction in which the command stands. Returns false if a
/// failover is at work.
fn change_role(call: &mut Call<'_>, primary: Option<Primary>) -> bool {
    if call.turn == Turn::Only {
        let gives_up = call.session.wants_role.as_deref().is_some_and(|it| it.gives_up);
        want_role(call, WantedRole { primary, gives_up });
        true
    } else {
        let (instance, replicas) = (call.instance, &call.instance.replicas);
        let may_change = || !replicas.failover.is_active();
        replicas.change_role_if(&instance.store, call.thread, primary, may_change)
    }
}

/// Changes the role behind the transaction in which the command stands.
pub(super) fn want_role(call: &mut Call<'_>, wanted: WantedRole) {
    // What stands behind it there, as CONFIG REWRITE, sees the role to come.
    let port = wanted.primary.as_ref().map(|it| it.port.to_string());
    let words = wanted.primary.as_ref().zip(port.as_deref()).map(|(it, port)| [&*it.host, port]);
    call.instance.settings.note(REPLICAOF.name(), words.as_ref().map_or(&[], |it| &it[..]));
    call.session.wants_role = Some(Box::new(wanted));
}

fn wanted(call: &Call<'_>) -> Result<Option<Primary>, Refusal> {
    if call.args.is(1, "NO") && call.args.is(2, "ONE") {
        return Ok(None);
    }
    let port = call.args.integer(2).ok().and_then(|port| u16::try_from(port).ok());
    let port = port.ok_or(BAD_PORT)?;
    let host = String::from_utf8_lossy(call.args.get(1)).into_owned();
    Ok(Some(Primary { host, port }))
}
