//! FAILOVER: a replica becomes the primary, and the server its replica.

use super::replicaof::want_role;
use command::{Call, Outcome, Turn};
use session::{Attempt, FailoverPhase, Holder, Phase, Primary, Refusal, Replica, WantedRole};
use std::sync::Arc;

const NONE_AT_WORK: Refusal = Refusal::of("ERR No failover in progress.");
const AT_WORK: Refusal = Refusal::of("ERR FAILOVER already in progress.");
const NO_TIME: Refusal = Refusal::of("ERR FAILOVER timeout must be greater than 0");
const IS_REPLICA: Refusal = Refusal::of("ERR FAILOVER is not valid when server is a replica.");
const NO_REPLICAS: Refusal = Refusal::of("ERR FAILOVER requires connected replicas.");
const FORCE_OF_WHAT: Refusal =
    Refusal::of("ERR FAILOVER with force option requires both a timeout and target HOST and IP.");
const NO_SUCH_REPLICA: Refusal = Refusal::of("ERR FAILOVER target HOST and PORT is not a replica.");
const NOT_ONLINE: Refusal = Refusal::of("ERR FAILOVER target replica is not online.");

/// What a call asks for.
#[derive(Default)]
struct Words {
    /// Host, and port as it was given.
    target: Option<(String, i64)>,
    /// Milliseconds.
    timeout: Option<u64>,
    is_forced: bool,
}

pub(super) fn failover(call: &mut Call<'_>) -> Outcome {
    if call.args.len() == 2 && call.args.is(1, "ABORT") {
        return abort(call);
    }
    let words = words(call)?;
    let instance = call.instance;
    let replicas = &instance.replicas;
    if replicas.failover.is_active() {
        return Err(AT_WORK.into());
    }
    if instance.upstream.is_replica() {
        return Err(IS_REPLICA.into());
    }
    let all: Vec<Arc<Replica>> = replicas.all();
    if all.is_empty() {
        return Err(NO_REPLICAS.into());
    }
    if words.is_forced && (words.timeout.is_none() || words.target.is_none()) {
        return Err(FORCE_OF_WHAT.into());
    }
    let target = words.target.map(|wanted| find(&all, &wanted)).transpose()?;
    let until = words.timeout.map(|millis| instance.clock.steady().after(millis));
    let attempt = Attempt { target, until, is_forced: words.is_forced };
    let hold = || instance.clients.postpone_writes(Holder::Failover);
    if !replicas.failover.begin(attempt, hold) {
        return Err(AT_WORK.into());
    }
    instance.keep_expired();
    replicas.look_at_failover();
    call.reply.ok();
    Ok(())
}

fn words(call: &Call<'_>) -> Result<Words, Refusal> {
    let (args, mut words, mut at) = (&call.args, Words::default(), 1);
    while at < args.len() {
        let left = args.len() - at - 1;
        if args.is(at, "TIMEOUT") && left >= 1 && words.timeout.is_none() {
            let millis = u64::try_from(args.integer(at + 1)?).unwrap_or(0);
            words.timeout = Some(millis).filter(|millis| *millis > 0);
            words.timeout.ok_or(NO_TIME)?;
            at += 2;
        } else if args.is(at, "TO") && left >= 2 && words.target.is_none() {
            let host = String::from_utf8_lossy(args.get(at + 1)).into_owned();
            words.target = Some((host, args.integer(at + 2)?));
            at += 3;
        } else if args.is(at, "FORCE") && !words.is_forced {
            words.is_forced = true;
            at += 1;
        } else {
            return Err(Refusal::SYNTAX);
        }
    }
    Ok(words)
}

/// Finds the replica that is named as it names itself.
fn find(all: &[Arc<Replica>], (host, port): &(String, i64)) -> Result<Primary, Refusal> {
    let is_meant =
        |it: &&Arc<Replica>| it.follows() && it.about.port == *port && it.address() == *host;
    let replica = all.iter().find(is_meant).ok_or(NO_SUCH_REPLICA)?;
    if replica.phase() != Phase::Online {
        return Err(NOT_ONLINE);
    }
    let port = u16::try_from(*port).map_err(|_| NO_SUCH_REPLICA)?;
    Ok(Primary { host: host.clone(), port })
}

/// Ends the failover at work. The server is the primary afterwards.
fn abort(call: &mut Call<'_>) -> Outcome {
    let instance = call.instance;
    let phase = instance.replicas.failover.phase();
    let attempt = match phase {
        FailoverPhase::Nothing | FailoverPhase::GivenUp => None,
        // Within a transaction the role changes behind it.
        FailoverPhase::InProgress if call.turn == Turn::Only => give_up(call),
        FailoverPhase::InProgress => instance.take_failover_back(call.thread),
        FailoverPhase::WaitsForSync => instance.end_failover(phase),
    };
    let target = attempt.ok_or(NONE_AT_WORK)?.target_name();
    tracing::info!("FAILOVER to {target} aborted: Failover manually aborted");
    call.reply.ok();
    Ok(())
}

/// Gives up the failover in progress, which ends behind the transaction.
fn give_up(call: &mut Call<'_>) -> Option<Attempt> {
    let attempt = call.instance.replicas.failover.give_up()?;
    want_role(call, WantedRole { primary: None, gives_up: true });
    Some(attempt)
}
