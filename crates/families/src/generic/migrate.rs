//! MIGRATE: keys that go to another server.

use command::{Call, FoundKeys, KeyFlags, KeySpec, Outcome, Positions, Timeout, Turn, pack};
use session::{Args, Late, Migration, Parcel, Refusal, Target, Wants};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use store::{Interests, Kind};

const KEY_NOT_EMPTY: Refusal = Refusal::of(
    "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string",
);
const NOT_IN_A_TRANSACTION: Refusal =
    Refusal::of("ERR MIGRATE isn't allowed for DENY BLOCKING client");
const UNREACHABLE: Refusal = Refusal::of("IOERR error or timeout connecting to the client");
/// Milliseconds in place of a timeout that is not above zero.
const TIMEOUT_MILLIS: u64 = 1000;
/// Position of the one key.
const KEY_AT: usize = 3;
/// Position of the first option.
const OPTIONS_AT: usize = 6;

/// Options of MIGRATE.
#[derive(Debug, Default)]
struct Options {
    copies: bool,
    replaces: bool,
    credentials: Vec<Vec<u8>>,
    /// Positions of the keys behind KEYS.
    keys: Option<Range<usize>>,
}

pub fn migrate(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let options = parse(args)?;
    if call.turn == Turn::Only {
        return migrate_nothing(call, &options);
    }
    let timeout = args.integer(5)?;
    let target = Target {
        host: String::from_utf8_lossy(args.get(1)).into_owned(),
        port: String::from_utf8_lossy(args.get(2)).into_owned(),
        database: args.integer(4)?,
        credentials: options.credentials,
    };
    let millis = u64::try_from(timeout).ok().filter(|millis| *millis > 0);
    let timeout = Duration::from_millis(millis.unwrap_or(TIMEOUT_MILLIS));
    // It waits for no key, so nothing but its carrier ends its wait.
    let wants = Wants { kind: Kind::String, minds_loss: false };
    let wait = call.wait(Timeout(None), wants).late(Late::Never);
    let (keyspace, instance) = (call.keyspace(), call.instance);
    // Before the locks: a thread that changes one of the keys behind them marks it.
    instance.add_interest(Interests::MARKED_KEYS);
    let positions = options.keys.unwrap_or(KEY_AT..KEY_AT + 1);
    let (mut access, keys, _) = call.on_keys(positions);
    let mut parcels = Vec::with_capacity(keys.len());
    for key in &keys {
        if access.read(key).is_some() {
            let departure = (!options.copies).then(|| instance.departures.add(key));
            parcels.extend(pack(&access, key, instance).map(|it| Parcel { departure, ..it }));
        }
    }
    drop(access);
    if parcels.is_empty() {
        call.reply.simple("NOKEY");
        return Ok(());
    }
    let Some(carrier) = instance.carrier.get() else { return Err(UNREACHABLE.into()) };
    let outcome = wait.begin(std::iter::empty());
    let waiter = call.session.client.waiter().as_ref().map(Arc::clone);
    if let Some(waiter) = waiter {
        carrier.carry(Migration {
            target,
            timeout,
            copies: options.copies,
            replaces: options.replaces,
            database: call.session.database,
            keyspace,
            parcels,
            waiter,
        });
    }
    outcome
}

/// Answers MIGRATE in a unit of several commands, which cannot wait for another server: only keys
/// that do not exist are sent.
fn migrate_nothing(call: &mut Call<'_>, options: &Options) -> Outcome {
    let positions = options.keys.clone().unwrap_or(KEY_AT..KEY_AT + 1);
    let (mut access, keys, reply) = call.on_keys(positions);
    if keys.iter().any(|key| access.read(key).is_some()) {
        return Err(NOT_IN_A_TRANSACTION.into());
    }
    reply.simple("NOKEY");
    Ok(())
}

fn parse(args: Args<'_>) -> Result<Options, Refusal> {
    let mut options = Options::default();
    let mut at = OPTIONS_AT;
    while at < args.len() {
        let rest = args.len() - at - 1;
        if args.is(at, "COPY") {
            options.copies = true;
        } else if args.is(at, "REPLACE") {
            options.replaces = true;
        } else if args.is(at, "AUTH") && rest >= 1 {
            options.credentials = vec![args.get(at + 1).to_vec()];
            at += 1;
        } else if args.is(at, "AUTH2") && rest >= 2 {
            options.credentials = args.from(at + 1).take(2).map(<[u8]>::to_vec).collect();
            at += 2;
        } else if args.is(at, "KEYS") {
            if !args.get(KEY_AT).is_empty() {
                return Err(KEY_NOT_EMPTY);
            }
            options.keys = Some(at + 1..args.len());
            break;
        } else {
            return Err(Refusal::SYNTAX);
        }
        at += 1;
    }
    Ok(options)
}

/// Finds what is shown to the other server: a password, or a user and a password.
pub fn secrets(args: &Args<'_>) -> Positions {
    let options = OPTIONS_AT..args.len();
    let end = options.clone().find(|at| args.is(*at, "KEYS")).unwrap_or(args.len());
    let behind = |at: usize| match () {
        () if args.is(at, "AUTH") => at + 1..at + 2,
        () if args.is(at, "AUTH2") => at + 1..at + 3,
        () => at..at,
    };
    options.take_while(|at| *at < end).flat_map(behind).collect()
}

/// Finds the one key, or those behind KEYS where that is empty; none where there are both, which is
/// refused. A word KEYS that nothing follows is no option to Valkey's COMMAND GETKEYS.
pub fn keys<'r>(_: &[KeySpec], request: &[&'r [u8]]) -> Option<FoundKeys<'r>> {
    let flags = KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::DELETE);
    let one = request.get(KEY_AT..KEY_AT + 1)?;
    let before_last = &request[2..request.len() - 1];
    let has_keys = before_last.iter().any(|word| word.eq_ignore_ascii_case(b"KEYS"));
    let option = if has_keys { keys_option(request) } else { None };
    let found = match option {
        None => one,
        Some(at) if one[0].is_empty() => &request[at + 1..],
        Some(_) => return None,
    };
    Some(found.iter().map(|key| (*key, flags)).collect())
}

/// Finds the option KEYS, which may also be a user or a password.
fn keys_option(request: &[&[u8]]) -> Option<usize> {
    let mut at = OPTIONS_AT;
    loop {
        match request.get(at)?.to_ascii_lowercase().as_slice() {
            b"keys" => return Some(at),
            b"auth" => at += 1,
            b"auth2" => at += 2,
            _ => {}
        }
        at += 1;
    }
}
