//! Values under other names: COPY, MOVE, RENAME.

use crate::connection::database;
use command::rights::numbers_at;
use command::{Call, Outcome};
use session::{Args, Refusal};
use smallvec::SmallVec;
use store::{Event, Key};

const COPY_TO: Event = Event::generic("copy_to");
const MOVE_FROM: Event = Event::generic("move_from");
const MOVE_TO: Event = Event::generic("move_to");
const RENAME_FROM: Event = Event::generic("rename_from");
const RENAME_TO: Event = Event::generic("rename_to");

const SAME_KEY: Refusal = Refusal::of("ERR source and destination objects are the same");

pub fn copy(call: &mut Call<'_>) -> Outcome {
    let options = parse_copy(call)?;
    let from = call.key(1);
    let keyspace = call.keyspace_of(options.database)?;
    let to = call.instance.store.key(keyspace, call.args.get(2));
    if options.database == call.session.database && from.bytes == to.bytes {
        return Err(SAME_KEY.into());
    }
    let mut reserved = 0;
    loop {
        let (mut access, reply) = call.lock(&[from, to]);
        let is_wanted = access.lookup_for_write(&from).is_some()
            && (access.lookup_without_touch(&to).is_none() || options.replace);
        let needed = if is_wanted { access.bytes_to_copy(&from) } else { 0 };
        if needed <= reserved {
            let is_done = access.read(&from).is_some()
                && (access.lookup_for_write(&to).is_none() || options.replace)
                && access.copy(&from, &to)?;
            access.report_changes(is_done.into(), COPY_TO, &to);
            reply.integer(is_done.into());
            return Ok(());
        }
        drop(access);
        // The size is checked again under the locks: the value may have grown, or been removed to
        // make space.
        call.reserve(needed)?;
        reserved = needed;
    }
}

struct CopyOptions {
    database: usize,
    replace: bool,
}

fn parse_copy(call: &Call<'_>) -> Result<CopyOptions, Refusal> {
    let args: Args<'_> = call.args;
    let mut options = CopyOptions { database: call.session.database, replace: false };
    let mut at = 3;
    while at < args.len() {
        if args.is(at, "REPLACE") {
            options.replace = true;
        } else if args.is(at, "DB") && at + 1 < args.len() {
            at += 1;
            options.database = database(call, args.get(at))?;
        } else {
            return Err(Refusal::SYNTAX);
        }
        at += 1;
    }
    Ok(options)
}

/// Databases that COPY names, if its options are right.
pub fn databases_of_copy(args: &Args<'_>) -> SmallVec<[(usize, i64); 2]> {
    let (mut places, mut at) = (SmallVec::<[usize; 2]>::new(), 3);
    while at < args.len() {
        if args.is(at, "DB") && at + 1 < args.len() {
            at += 1;
            places.push(at);
        } else if !args.is(at, "REPLACE") {
            return SmallVec::new();
        }
        at += 1;
    }
    numbers_at(args, &places)
}

pub fn move_key(call: &mut Call<'_>) -> Outcome {
    let target = database(call, call.args.get(2))?;
    if target == call.session.database {
        return Err(SAME_KEY.into());
    }
    let from = call.key(1);
    let to = Key { keyspace: call.keyspace_of(target)?, ..from };
    let (mut access, reply) = call.lock(&[from, to]);
    let is_done = access.lookup_for_write(&from).is_some()
        && access.lookup_for_write(&to).is_none()
        && access.rename(&from, &to)?;
    if is_done {
        access.report_changes(1, MOVE_FROM, &from);
        access.record_event(MOVE_TO, &to);
    }
    reply.integer(is_done.into());
    Ok(())
}

pub fn rename(call: &mut Call<'_>) -> Outcome {
    rename_if(call, false)?;
    call.reply.ok();
    Ok(())
}

pub fn renamenx(call: &mut Call<'_>) -> Outcome {
    let is_done = rename_if(call, true)?;
    call.reply.integer(is_done.into());
    Ok(())
}

/// Renames the first key to the second, which with `only_new` must not exist. Returns true if the
/// key was renamed.
fn rename_if(call: &mut Call<'_>, only_new: bool) -> Result<bool, Refusal> {
    let (mut access, keys, _) = call.on_keys([1, 2]);
    let (from, to) = (keys[0], keys[1]);
    if access.lookup_for_write(&from).is_none() {
        return Err(Refusal::NO_SUCH_KEY);
    }
    if from.bytes == to.bytes || (only_new && access.lookup_for_write(&to).is_some()) {
        return Ok(false);
    }
    access.rename(&from, &to)?;
    access.report_changes(1, RENAME_FROM, &from);
    access.record_event(RENAME_TO, &to);
    Ok(true)
}
