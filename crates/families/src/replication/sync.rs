//! REPLCONF, PSYNC and SYNC: what a replica, or a program that reads like one, says to its primary.

use command::{Call, Outcome, Unanswered};
use replication::{Filter, History, Reader, Unusable};
use session::{Refusal, StreamRequest};

const NOT_INTEGER: Refusal = Refusal::of("ERR value is not an integer or out of range");
const NOT_BIT: Refusal = Refusal::of("ERR value is out of range, value must between 0 and 1");
const FILTER_MISSING: Refusal = Refusal::of("ERR Missing rdb-filter-only values");
const NO_LINK: Refusal = Refusal::of("NOMASTERLINK Can't SYNC while not connected with my master");
const NEEDS_MARK: Refusal = Refusal::of("ERR Filtered replica requires EOF capability");
const FAILS_OVER: Refusal = Refusal::of("NOMASTERLINK Can't SYNC while failing over");
const OTHER_ID: Refusal = Refusal::of("ERR PSYNC FAILOVER replid must match my replid.");
const NO_REPLICA: Refusal = Refusal::of("ERR PSYNC FAILOVER can't be sent to a master.");

/// Takes what a reader tells of itself. What replicas alone say has no reply.
pub(super) fn replconf(call: &mut Call<'_>) -> Outcome {
    if call.args.len().is_multiple_of(2) {
        return Err(Refusal::SYNTAX.into());
    }
    let mut reader = call.session.reader.take().unwrap_or_default();
    let told = tell(call, &mut reader);
    call.session.reader = Some(reader);
    if told? {
        call.reply.ok();
    }
    Ok(())
}

/// Takes option after option. Returns false if there is no reply.
fn tell(call: &Call<'_>, reader: &mut Reader) -> Result<bool, Refusal> {
    for at in (1..call.args.len()).step_by(2) {
        // This client is no replica: one that is has no worker.
        if call.args.is(at, "ACK") || call.args.is(at, "GETACK") {
            return Ok(false);
        }
        reader.tell(call.args.get(at), call.args.get(at + 1)).map_err(refusal)?;
    }
    Ok(true)
}

fn refusal(unusable: Unusable) -> Refusal {
    match unusable {
        Unusable::NotInteger => NOT_INTEGER,
        Unusable::NotBit => NOT_BIT,
        Unusable::AddressTooLong(bytes) => Refusal::new(format!(
            "ERR REPLCONF ip-address provided by replica instance is too long: {bytes} bytes"
        )),
        Unusable::Version(text) => Refusal::naming("ERR Unrecognized version format: {}", &[&text]),
        Unusable::FilterMissing => FILTER_MISSING,
        Unusable::Filter(word) => {
            Refusal::naming("ERR Unsupported rdb-filter-only option: {}", &[&word])
        }
        Unusable::Option(name) => Refusal::naming("ERR Unrecognized REPLCONF option: {}", &[&name]),
    }
}

pub(super) fn psync(call: &mut Call<'_>) -> Outcome {
    if call.args.len() > 3 && call.args.is(3, "FAILOVER") {
        take_over(call)?;
    }
    let is_ready = is_ready(call);
    let offset = call.args.integer(2);
    is_ready?;
    let request = StreamRequest::From(call.args.get(1).to_vec(), offset?);
    leave(call, request)
}

/// Has the server be the primary, as its own one wants.
fn take_over(call: &mut Call<'_>) -> Result<(), Refusal> {
    let instance = call.instance;
    if !instance.upstream.is_replica() {
        return Err(NO_REPLICA);
    }
    let (replicas, id) = (&instance.replicas, call.args.get(1));
    let is_same = |it: History| it.id().as_str().as_bytes().eq_ignore_ascii_case(id);
    let may_take_over = || {
        let is_replica = instance.upstream.is_replica() && !replicas.failover.is_active();
        is_replica && replicas.history().is_some_and(is_same)
    };
    if !replicas.change_role_if(&instance.store, call.thread, None, may_take_over) {
        return Err(OTHER_ID);
    }
    tracing::info!("Failover request received for replid {}.", id.escape_ascii());
    Ok(())
}

pub(super) fn sync(call: &mut Call<'_>) -> Outcome {
    is_ready(call)?;
    leave(call, StreamRequest::Old)
}

/// Refuses what could not be served.
fn is_ready(call: &Call<'_>) -> Result<(), Refusal> {
    if call.instance.replicas.failover.is_active() {
        return Err(FAILS_OVER);
    }
    let upstream = &call.instance.upstream;
    if upstream.is_replica() && !upstream.is_up() {
        return Err(NO_LINK);
    }
    if !call.reply.written().is_empty() {
        return Err(Refusal::PENDING_OUTPUT);
    }
    let lacks_mark = |reader: &Reader| reader.filter != Filter::Everything && !reader.takes_mark;
    match call.session.reader.as_deref() {
        Some(reader) if lacks_mark(reader) => Err(NEEDS_MARK),
        _ => Ok(()),
    }
}

/// Has the connection leave its worker: who serves replicas answers.
fn leave(call: &mut Call<'_>, request: StreamRequest) -> Outcome {
    call.session.wants_stream = Some(Box::new(request));
    Err(Unanswered::Waits)
}
