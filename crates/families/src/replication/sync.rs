//! REPLCONF, PSYNC and SYNC: what a replica, or a program that reads like one, says to its primary.

use command::{Call, Outcome, Unanswered};
use replication::{Filter, Reader, Unusable};
use session::{FailoverPhase, Refusal, StreamRequest};

const NOT_INTEGER: Refusal = Refusal::of("ERR value is not an integer or out of range");
const NOT_BIT: Refusal = Refusal::of("ERR value is out of range, value must between 0 and 1");
const FILTER_MISSING: Refusal = Refusal::of("ERR Missing rdb-filter-only values");
const NO_LINK: Refusal = Refusal::of("NOMASTERLINK Can't SYNC while not connected with my master");
const NEEDS_MARK: Refusal = Refusal::of("ERR Filtered replica requires EOF capability");
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
    let offset = call.args.integer(2);
    let hands_over = call.args.len() > 3 && call.args.is(3, "FAILOVER");
    let has_to_wait = hands_over && {
        // The role changes for nobody who cannot be served then.
        may_leave(call)?;
        let first = call.args.integer(2)?;
        !succeed(call, first)?
    };
    let history = call.instance.replicas.history();
    is_ready(call, history.is_some_and(|it| it.knows(call.args.get(1))))?;
    let (id, first) = (call.args.get(1).to_vec(), offset?);
    let request = match has_to_wait {
        true => StreamRequest::HandsOver(id, first),
        false => StreamRequest::From(id, first),
    };
    leave(call, request)
}

/// Has the server be the primary, as its own one wants. Returns false if some of the stream is on
/// its way still.
fn succeed(call: &mut Call<'_>, first: i64) -> Result<bool, Refusal> {
    let (instance, id) = (call.instance, call.args.get(1));
    let (replicas, upstream) = (&instance.replicas, &instance.upstream);
    let changes = upstream.changes();
    if !upstream.is_replica() {
        return Err(NO_REPLICA);
    }
    let history = replicas.history().ok_or(Refusal::OTHER_STREAM)?;
    let lacks = history.lacks(id, first, replicas.offset()).ok_or(Refusal::OTHER_STREAM)?;
    if lacks > 0 && upstream.is_up() {
        return Ok(false);
    }
    match replicas.succeed((&instance.store, call.thread), (upstream, changes), (id, first)) {
        true => Ok(true),
        false => Err(Refusal::OTHER_STREAM),
    }
}

pub(super) fn sync(call: &mut Call<'_>) -> Outcome {
    is_ready(call, false)?;
    leave(call, StreamRequest::Old)
}

/// Refuses what could not be served. A replica that has lost its connection comes back also to a
/// primary that waits for it, if it may go on with what it has.
fn is_ready(call: &Call<'_>, may_go_on: bool) -> Result<(), Refusal> {
    match call.instance.replicas.failover.phase() {
        FailoverPhase::Nothing => {}
        FailoverPhase::WaitsForSync if may_go_on => {}
        _ => return Err(Refusal::FAILS_OVER),
    }
    let upstream = &call.instance.upstream;
    if upstream.is_replica() && !upstream.is_up() {
        return Err(NO_LINK);
    }
    may_leave(call)
}

/// Refuses what a connection that leaves its worker may not be.
fn may_leave(call: &Call<'_>) -> Result<(), Refusal> {
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
