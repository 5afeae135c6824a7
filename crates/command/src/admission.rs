//! Admission: whether a command runs, by what its row needs and what is granted.
//!
//! ```text
//! what the purpose asks of row.needs  ⊆  granted   ──▶ it runs
//!    └── or else, for each need that is missing: refused, postponed, queued, or granted after all
//! ```
//! A need that no arm of [`without`] knows refuses the command.

use crate::denial::{self, Within};
use crate::find_row::{Misnamed, find_row};
use crate::flags::{Flags, LetsIn};
use crate::rights;
use crate::row::{Call, Row};
use session::{ClientFlags, Instance, Needs, Pause, Primary, Refusal};
use settings::DebugAccess;
use settings::network::ENABLE_DEBUG_COMMAND;

/// Reason why a command does not run, or not as usual.
#[derive(Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The client gets the refusal as its reply.
    Refused(Refusal),
    /// The command is postponed and may run later.
    Postponed,
    /// The command runs, and is shown to clients that run MONITOR, or its client is notified which
    /// keys it changes that the client may have cached.
    Observed,
    /// The command is queued for EXEC.
    Queued,
    /// The command is EXEC, and the queue runs in its place.
    RunsQueue,
    /// The thread serves others in the middle of something long: the command runs if all that it
    /// wants is free.
    Meanwhile,
    /// The sender is no client: it gets no reply, and its connection is closed.
    NoClient,
}

/// What a command is to be admitted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To run, as its client has just sent it.
    Fresh,
    /// To be queued: these needs are asked for when EXEC is to run the queue, before any of it
    /// runs.
    Queued,
    /// To run as a part of a transaction for which the needs of the whole queue were granted.
    InExec,
    /// To run once more for a client that has waited.
    Rerun,
    /// To be called by a script.
    InScript,
    /// To be the first command that a script calls which changes data.
    FirstOfScript,
}

/// Needs that the server or the user may lose while a client waits.
const OF_RERUN: Needs = Needs::PERMITTED
    .union(Needs::SLOT)
    .union(Needs::MEMORY)
    .union(Needs::DISK)
    .union(Needs::REPLICAS)
    .union(Needs::PRIMARY)
    .union(Needs::FRESH)
    .union(Needs::WRITES_FLOW)
    .union(Needs::UNPAUSED);

/// Needs of a script that writes. They are asked for once, and not while it goes on.
const OF_FIRST_WRITE: Needs =
    Needs::MEMORY.union(Needs::DISK).union(Needs::REPLICAS).union(Needs::PRIMARY);

/// Needs of a command by itself, which one that is queued has not, or leaves to EXEC.
const OF_EXEC: Needs = Needs::NO_TRANSACTION.union(Needs::LET_IN).union(Needs::MAY_WAIT);

impl Purpose {
    /// Returns those of a row's needs that are asked for.
    #[inline(always)]
    pub fn asks(self, row: &Row) -> Needs {
        match self {
            Purpose::Fresh => row.needs,
            Purpose::Queued => {
                let mut needs = row.needs.difference(OF_EXEC);
                // PING tells of a disk that fails, but as a part of a transaction it needs none.
                needs.set(Needs::DISK, row.spec.flags.contains(Flags::WRITE));
                needs
            }
            Purpose::InExec => row.needs.intersection(Needs::PERMITTED),
            Purpose::Rerun => row.needs.intersection(OF_RERUN),
            Purpose::InScript => row.needs.intersection(Needs::PERMITTED | Needs::SLOT),
            Purpose::FirstOfScript => row.needs.intersection(OF_FIRST_WRITE),
        }
    }
}

/// Returns the needs of a call for a purpose: those of its row, and those for what its script says
/// that it does.
pub(crate) fn needs_of(call: &Call<'_>, purpose: Purpose) -> Needs {
    let needs = purpose.asks(call.row);
    if !needs.contains(Needs::DECLARED) {
        return needs;
    }
    let mut needs = needs.difference(Needs::DECLARED);
    let of_script = call.row.spec.runs_script.map(|script| script.declares);
    let declared = of_script.and_then(|declares| declares(call.instance, &call.args));
    if let Some(flags) = declared {
        needs.set(Needs::MEMORY, !flags.allow_oom && !flags.no_writes);
        needs.set(Needs::DISK | Needs::REPLICAS | Needs::PRIMARY, !flags.no_writes);
        if !flags.no_writes {
            needs.insert(Needs::DIRECT);
        }
        needs.set(Needs::FRESH, !flags.allow_stale);
        if flags.no_writes {
            needs.remove(Needs::WRITES_FLOW | Needs::JOURNAL_ROOM);
        }
    }
    needs
}

/// Returns the most that a row which runs scripts may need, whatever its script says.
fn needs_whatever_is_declared(row: &Row, purpose: Purpose) -> Option<Needs> {
    let needs = purpose.asks(row);
    let is_open = needs.contains(Needs::DECLARED);
    is_open.then(|| needs.difference(Needs::DECLARED) | OF_FIRST_WRITE | Needs::FRESH)
}

/// Returns the needs that are checked once per batch, since the check is costly: `MEMORY` if there
/// is memory for more data. The caller takes `MAY_WAIT` away if its thread may not.
pub fn granted_for_batch(instance: &Instance) -> Needs {
    let mut granted = Needs::MAY_WAIT;
    granted.set(Needs::MEMORY, instance.has_memory());
    granted
}

/// Returns true if all is granted that a call needs. `granted` is what is granted besides the
/// grants of the session and of the server.
#[inline(always)]
pub fn is_admitted(call: &Call<'_>, granted: Needs, purpose: Purpose) -> bool {
    all_granted(call, granted).contains(purpose.asks(call.row))
}

/// Returns true if a call that has just come is admitted: all is granted that it needs, or nothing
/// is missing but the right to do everything, and its user may do this.
#[inline(always)]
pub fn is_admitted_as_usual(call: &Call<'_>, granted: Needs) -> bool {
    let missing = Purpose::Fresh.asks(call.row).difference(all_granted(call, granted));
    missing.is_empty() || (missing == Needs::PERMITTED && rights::permits_call(call))
}

#[inline(always)]
fn all_granted(call: &Call<'_>, granted: Needs) -> Needs {
    granted | call.session.grants | call.instance.clients.grants.get()
}

/// Returns false while the server serves no data because its link to its primary is down.
pub(crate) fn is_fresh(call: &Call<'_>) -> bool {
    all_granted(call, Needs::empty()).contains(Needs::FRESH)
}

/// Decides whether a call may run.
///
/// # Errors
/// What happens instead.
#[inline(always)]
pub fn admit(call: &mut Call<'_>, granted: Needs, purpose: Purpose) -> Result<(), Rejection> {
    if is_admitted(call, granted, purpose) {
        return Ok(());
    }
    look_closely(call, granted, purpose)
}

/// Returns all that is granted, and `PERMITTED` if the user of the call may run it.
fn granted_with_rights(call: &Call<'_>, granted: Needs, purpose: Purpose) -> Needs {
    let granted = all_granted(call, granted);
    let missing = purpose.asks(call.row).difference(granted);
    let is_named = !call.row.needs.contains(Needs::NAMED);
    let asks = is_named && missing.contains(Needs::PERMITTED);
    let is_permitted = asks && rights::permits_call(call);
    if is_permitted { granted | Needs::PERMITTED } else { granted }
}

/// Looks at each need that is missing, in the order of Valkey; the first that is really missing is
/// the reason of the rejection.
#[cold]
#[inline(never)]
pub fn look_closely(
    call: &mut Call<'_>,
    granted: Needs,
    purpose: Purpose,
) -> Result<(), Rejection> {
    let granted = granted_with_rights(call, granted, purpose);
    let declared = needs_whatever_is_declared(call.row, purpose);
    if granted.contains(declared.unwrap_or(purpose.asks(call.row))) {
        return Ok(());
    }
    if purpose == Purpose::Fresh
        && let Some(rejection) = usual_rejection(call.row, granted)
    {
        return Err(rejection);
    }
    let mut misnamed = None;
    if call.row.needs.contains(Needs::NAMED) {
        if is_web_request(call.args.get(0)) {
            return Err(Rejection::NoClient);
        }
        let found = find_row(call.row.table(), &call.args).err();
        call.row = found.as_ref().and_then(|it| it.row).unwrap_or(call.row);
        misnamed = found;
    }
    let mut needs = needs_of(call, purpose);
    needs.set(Needs::NAMED, misnamed.is_some());
    if purpose == Purpose::Fresh
        && let Some(of_queue) = call.session.needs_of_queue()
    {
        if needs.contains(Needs::QUEUE) {
            needs |= of_queue;
        }
        if call.row.spec.flags.contains(Flags::NO_MULTI) && misnamed.is_none() {
            return Err(Rejection::Refused(not_in_a_transaction(call.row)));
        }
    }
    let pause = pause_for(call, granted, purpose);
    let missing = needs.difference(granted);
    // The role may have changed in the pause that has postponed it: until that is over, nobody is
    // told.
    if call.session.resumes && missing.contains(Needs::WRITES_FLOW) {
        without(Needs::WRITES_FLOW, call, purpose, pause, None)?;
    }
    for need in missing.iter() {
        without(need, call, purpose, pause, misnamed.as_ref())?;
    }
    if missing.contains(Needs::MAY_WAIT) {
        return Err(Rejection::Meanwhile);
    }
    if missing.contains(Needs::QUEUE) {
        return Err(Rejection::RunsQueue);
    }
    if missing.intersects(Needs::UNOBSERVED) {
        return Err(Rejection::Observed);
    }
    Ok(())
}

/// Returns the pause in force for a call, and grants what it has withheld if it is over.
fn pause_for(call: &Call<'_>, granted: Needs, purpose: Purpose) -> Pause {
    match purpose {
        Purpose::Fresh if granted.contains(Needs::MAY_WAIT) => {
            call.instance.clients.postponed(call.instance.clock.steady())
        }
        // `postponed` would grant `WRITES_FLOW` again, and waiters that were postponed must run
        // before that.
        _ => call.instance.paused(),
    }
}

/// Says what becomes of a call without one of its needs: `Ok` if the next one is to be looked at.
pub fn without(
    need: Needs,
    call: &Call<'_>,
    purpose: Purpose,
    pause: Pause,
    misnamed: Option<&Misnamed>,
) -> Result<(), Rejection> {
    let refusal = match need {
        Needs::AUTHENTICATED => Some(Refusal::NO_AUTH),
        Needs::NAMED => misnamed.map(|it| it.refusal.clone()),
        Needs::PERMITTED => denied(call, purpose),
        Needs::SLOT => Some(SLOT_NOT_SERVED),
        // Both servers may be replicas now: who is sent away would be sent back.
        Needs::DIRECT if call.instance.replicas.failover.is_active() => {
            return postponed_if(redirection(call).is_some());
        }
        Needs::DIRECT => redirection(call),
        // Nothing is evicted in a pause, so nothing is refused for lack of memory.
        Needs::MEMORY if pause != Pause::Nothing => None,
        // What was so before the script began holds until its end.
        Needs::MEMORY if purpose == Purpose::FirstOfScript => Some(Refusal::OUT_OF_MEMORY),
        Needs::MEMORY => (!call.instance.has_memory()).then_some(Refusal::OUT_OF_MEMORY),
        Needs::DISK => call.instance.troubles.refusal(&call.instance.journal),
        Needs::REPLICAS => Some(TOO_FEW_REPLICAS),
        Needs::PRIMARY => Some(READ_ONLY_REPLICA),
        Needs::UNSUBSCRIBED => Some(subscribed(call.row)),
        Needs::FRESH => Some(STALE_REPLICA),
        Needs::LOADED | Needs::UNREPLACED => {
            call.instance.loading.is_active().then_some(Refusal::LOADING)
        }
        Needs::IDLE => call.instance.scripts.long_runs.busy(),
        Needs::NO_MONITOR => Some(MONITOR_AND_KEYS),
        Needs::LET_IN => (!is_let_in(call)).then(|| not_let_in(call.row)),
        Needs::WRITES_FLOW => return postponed_if(pause != Pause::Nothing),
        Needs::UNPAUSED => return postponed_if(pause == Pause::Everything),
        Needs::JOURNAL_ROOM | Needs::MAIL_ROOM | Needs::EVENT_ROOM | Needs::LINE_ROOM => {
            return postponed_if(true);
        }
        Needs::NO_TRANSACTION => return Err(Rejection::Queued),
        // The needs for it were asked for in its place.
        Needs::DECLARED => None,
        // Looked at behind all others, as they let the command run.
        Needs::UNMONITORED | Needs::UNTRACKED | Needs::QUEUE | Needs::MAY_WAIT => None,
        _ => Some(UNKNOWN_NEED),
    };
    refusal.map_or(Ok(()), |refusal| Err(Rejection::Refused(refusal)))
}

fn postponed_if(is_postponed: bool) -> Result<(), Rejection> {
    if is_postponed { Err(Rejection::Postponed) } else { Ok(()) }
}

/// Returns the rejection of a command that is only observed or queued, as most rejected ones are.
fn usual_rejection(row: &Row, granted: Needs) -> Option<Rejection> {
    match row.needs.difference(granted) {
        missing if Needs::UNOBSERVED.contains(missing) => Some(Rejection::Observed),
        Needs::NO_TRANSACTION if !row.spec.flags.contains(Flags::NO_MULTI) => {
            Some(Rejection::Queued)
        }
        _ => None,
    }
}

/// Returns true if settings let the client run the command.
fn is_let_in(call: &Call<'_>) -> bool {
    match call.row.spec.lets_in {
        LetsIn::Everybody => true,
        LetsIn::Debuggers => match ENABLE_DEBUG_COMMAND.get(&call.instance.settings) {
            DebugAccess::Yes => true,
            DebugAccess::Local => call.session.client.is_local(),
            DebugAccess::No => false,
        },
        LetsIn::Nobody => false,
    }
}

/// Returns true for the first word of an HTTP request, which a browser may have been tricked into
/// sending.
fn is_web_request(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:")
}

const SLOT_NOT_SERVED: Refusal = Refusal::of("CLUSTERDOWN Hash slot not served");
const TOO_FEW_REPLICAS: Refusal = Refusal::of("NOREPLICAS Not enough good replicas to write.");
const READ_ONLY_REPLICA: Refusal =
    Refusal::of("READONLY You can't write against a read only replica.");
pub(crate) const STALE_REPLICA: Refusal =
    Refusal::of("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.");
const MONITOR_AND_KEYS: Refusal = Refusal::of("ERR Replica can't interact with the keyspace");
/// Refusal for lack of a need that no arm knows.
pub const UNKNOWN_NEED: Refusal = Refusal::of("ERR the server cannot tell whether this may run");

/// Returns why the user of a call may not run it, if that is so.
#[cold]
fn denied(call: &Call<'_>, purpose: Purpose) -> Option<Refusal> {
    let user = call.session.user()?;
    let reason = rights::permit_call(call).err()?;
    let within = match purpose {
        Purpose::InExec => Within::Exec,
        Purpose::InScript | Purpose::FirstOfScript => Within::Script,
        Purpose::Fresh | Purpose::Queued | Purpose::Rerun => Within::Request,
    };
    Some(denial::refuse(call, user, reason, within))
}

#[cold]
fn not_let_in(row: &Row) -> Refusal {
    let name = row.full_name.split('|').next().unwrap_or_default();
    Refusal::new(format!(
        "ERR {} command not allowed. If the enable-{name}-command option is set to \"local\", you \
         can run it from a local connection, otherwise you need to set this option in the \
         configuration file, and then restart the server.",
        name.to_ascii_uppercase()
    ))
}

fn not_in_a_transaction(row: &Row) -> Refusal {
    Refusal::new(format!("ERR Command '{}' not allowed inside a transaction", row.full_name))
}

/// Sends a client that can follow to the primary, if there is one; who only reads and has said so
/// stays.
#[cold]
fn redirection(call: &Call<'_>) -> Option<Refusal> {
    let writes = needs_of(call, Purpose::Fresh).contains(Needs::PRIMARY);
    if !writes && call.session.client.flags().contains(ClientFlags::READONLY) {
        return None;
    }
    let Primary { host, port } = call.instance.upstream.facts()?.primary;
    Some(Refusal::new(format!("REDIRECT {host}:{port}")))
}

fn subscribed(row: &Row) -> Refusal {
    Refusal::new(format!(
        "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are \
         allowed in this context",
        row.full_name
    ))
}
