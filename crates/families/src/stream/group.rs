//! XGROUP.

use super::{id, no_group_in, refusal_of};
use command::{Call, Outcome};
use session::Refusal;
use store::value::stream::group::{self, GroupError};
use store::value::stream::{self, Id};
use store::{Access, Event, Key};

const XGROUP_CREATE: Event = Event::stream("xgroup-create");
const XGROUP_SETID: Event = Event::stream("xgroup-setid");
const XGROUP_DESTROY: Event = Event::stream("xgroup-destroy");
/// Event of a new consumer, which reading and claiming create too.
pub const XGROUP_CREATECONSUMER: Event = Event::stream("xgroup-createconsumer");
const XGROUP_DELCONSUMER: Event = Event::stream("xgroup-delconsumer");

const NO_STREAM: Refusal = Refusal::of(
    "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use \
     the MKSTREAM option to create an empty stream automatically.",
);

/// Options of CREATE and SETID.
struct Options {
    makes_stream: bool,
    entries_read: Option<u64>,
}

impl Options {
    fn parse(call: &Call<'_>, is_create: bool) -> Result<Options, Refusal> {
        let (args, mut at) = (call.args, 5);
        let mut options = Options { makes_stream: false, entries_read: None };
        while at < args.len() {
            if is_create && args.is(at, "MKSTREAM") {
                options.makes_stream = true;
                at += 1;
            } else if args.is(at, "ENTRIESREAD") && at + 1 < args.len() {
                options.entries_read = match args.integer(at + 1)? {
                    -1 => None,
                    read => Some(u64::try_from(read).map_err(|_| {
                        Refusal::of("ERR value for ENTRIESREAD must be positive or -1")
                    })?),
                };
                at += 2;
            } else {
                return Err(call.wrong_subcommand());
            }
        }
        Ok(options)
    }
}

fn refuse(error: GroupError, key: &Key<'_>, group: &[u8]) -> Refusal {
    match error {
        GroupError::NoStream => NO_STREAM,
        error => refusal_of(error, || no_group_in(key.bytes, group)),
    }
}

/// Returns a refusal if there is no stream, or no such group in it.
fn must_have(access: &Access<'_>, key: &Key<'_>, group: Option<&[u8]>) -> Outcome {
    let stream = stream::lookup_without_touch(access, key)?.ok_or(NO_STREAM)?;
    match group {
        Some(group) if stream.groups().get(group).is_none() => {
            Err(no_group_in(key.bytes, group).into())
        }
        _ => Ok(()),
    }
}

/// Reads the id behind which a group goes on; `None` for the last one.
fn begin(word: &[u8], parse: fn(&[u8], u64) -> Result<Id, Refusal>) -> Result<Option<Id>, Refusal> {
    if word == b"$" { Ok(None) } else { parse(word, 0).map(Some) }
}

pub fn create(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let options = Options::parse(call, true)?;
    let is_too_long = args.len() > 8;
    let too_long = call.wrong_subcommand();
    let (mut access, key, reply) = call.on_key(2);
    let name = args.get(3);
    if stream::lookup_without_touch(&access, &key)?.is_none() && !options.makes_stream {
        access.drop_expired(&key);
        return Err(NO_STREAM.into());
    }
    if is_too_long {
        return Err(too_long.into());
    }
    let last_id = begin(args.get(4), id::parse)?;
    let Options { makes_stream, entries_read } = options;
    group::create(&mut access, &key, name, last_id, entries_read, makes_stream)
        .map_err(|error| refuse(error, &key, name))?;
    access.report_changes(1, XGROUP_CREATE, &key);
    reply.ok();
    Ok(())
}

pub fn setid(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let options = Options::parse(call, false)?;
    let is_too_long = args.len() > 7;
    let too_long = call.wrong_subcommand();
    let (mut access, key, reply) = call.on_key(2);
    let name = args.get(3);
    must_have(&access, &key, Some(name)).inspect_err(|_| access.drop_expired(&key))?;
    if is_too_long {
        return Err(too_long.into());
    }
    let last_id = begin(args.get(4), id::parse_any)?;
    group::set(&mut access, &key, name, last_id, options.entries_read)
        .map_err(|error| refuse(error, &key, name))?;
    access.report_changes(1, XGROUP_SETID, &key);
    reply.ok();
    Ok(())
}

pub fn destroy(call: &mut Call<'_>) -> Outcome {
    let name = call.args.get(3);
    let (mut access, key, reply) = call.on_key(2);
    let is_gone =
        group::destroy(&mut access, &key, name).map_err(|error| refuse(error, &key, name))?;
    access.report_changes(u64::from(is_gone), XGROUP_DESTROY, &key);
    reply.integer(i64::from(is_gone));
    Ok(())
}

pub fn createconsumer(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let (mut access, key, reply) = call.on_key(2);
    let name = args.get(3);
    let is_new = group::create_consumer(&mut access, &key, name, args.get(4))
        .map_err(|error| refuse(error, &key, name))?;
    access.report_changes(u64::from(is_new), XGROUP_CREATECONSUMER, &key);
    reply.integer(i64::from(is_new));
    Ok(())
}

pub fn delconsumer(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let (mut access, key, reply) = call.on_key(2);
    let name = args.get(3);
    let forgotten = group::delete_consumer(&mut access, &key, name, args.get(4))
        .map_err(|error| refuse(error, &key, name))?;
    access.report_changes(u64::from(forgotten.is_some()), XGROUP_DELCONSUMER, &key);
    reply.integer(forgotten.unwrap_or(0) as i64);
    Ok(())
}
