//! Commands about the connection itself: user, protocol and database.

mod table;

pub use table::TABLE;

use crate::replication::role;
use command::{Call, Outcome, Positions, Unanswered, denial, forget_all};
use session::{Args, Asker, DeniedFor, DeniedNow, DeniedWithin, Refusal, versions};
use settings::general::{AVAILABILITY_ZONE, EXTENDED_REDIS_COMPATIBILITY};
use users::DEFAULT;
use wire::Protocol;

const NO_PASSWORD_SET: Refusal = Refusal::of(
    "ERR AUTH <password> called without any password configured for the default user. \
     Are you sure your configuration is correct?",
);
const WRONG_PASSWORD: Refusal =
    Refusal::of("WRONGPASS invalid username-password pair or user is disabled.");
const NO_PROTOCOL: Refusal = Refusal::of("NOPROTO unsupported protocol version");
const NOT_A_PROTOCOL: Refusal =
    Refusal::of("ERR Protocol version is not an integer or out of range");
const HELLO_NO_AUTH: Refusal = Refusal::of(
    "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO \
     <proto> AUTH <user> <pass> option can be used to authenticate the client and select the \
     RESP protocol version at the same time",
);
const BAD_NAME: Refusal =
    Refusal::of("ERR Client names cannot contain spaces, newlines or special characters.");

fn auth(call: &mut Call<'_>) -> Outcome {
    let (user, password) = match call.args.len() {
        2 if call.instance.access.default_user().user.takes_any_password() => {
            return Err(NO_PASSWORD_SET.into());
        }
        2 => (DEFAULT, call.args.get(1)),
        3 => (call.args.get(1), call.args.get(2)),
        _ => return Err(Refusal::SYNTAX.into()),
    };
    authenticate(call, user, password)?;
    call.reply.ok();
    Ok(())
}

/// Makes the client a user, if the password is right.
pub(crate) fn authenticate(call: &mut Call<'_>, user: &[u8], password: &[u8]) -> Outcome {
    let access = &call.instance.access;
    if let Some(found) = access.log_in(user, password) {
        call.session.log_in(found, access);
        return Ok(());
    }
    let context = match call.session.open_queue().is_some() || call.session.runs_queue() {
        true => DeniedWithin::Transaction,
        false => DeniedWithin::TopLevel,
    };
    let (reason, object) = (DeniedFor::Login, call.args.get(0));
    denial::note(call, DeniedNow { reason, context, object, user });
    Err(WRONG_PASSWORD.into())
}

fn echo(call: &mut Call<'_>) -> Outcome {
    call.reply.bulk(call.args.get(1));
    Ok(())
}

/// Arguments of HELLO.
#[derive(Default)]
struct Greeting<'c> {
    protocol: Option<Protocol>,
    login: Option<(&'c [u8], &'c [u8])>,
    name: Option<&'c [u8]>,
}

fn hello(call: &mut Call<'_>) -> Outcome {
    let greeting = parse_hello(call.args)?;
    let name = greeting.name.map(checked_name).transpose()?;
    if let Some((user, password)) = greeting.login {
        authenticate(call, user, password)?;
    }
    if !call.session.is_authenticated() {
        return Err(HELLO_NO_AUTH.into());
    }
    if let Some(name) = name {
        call.session.client.info().name = name;
        call.session.memory_changed = true;
    }
    if let Some(protocol) = greeting.protocol {
        call.session.set_protocol(protocol);
        call.reply.set_protocol(protocol);
    }
    introduce(call);
    Ok(())
}

fn parse_hello(args: Args<'_>) -> Result<Greeting<'_>, Refusal> {
    let mut greeting = Greeting::default();
    if args.len() > 1 {
        greeting.protocol = Some(match args.integer(1).map_err(|_| NOT_A_PROTOCOL)? {
            2 => Protocol::Resp2,
            3 => Protocol::Resp3,
            _ => return Err(NO_PROTOCOL),
        });
    }
    let mut at = 2;
    while at < args.len() {
        let more = args.len() - at - 1;
        if args.is(at, "AUTH") && more >= 2 {
            greeting.login = Some((args.get(at + 1), args.get(at + 2)));
            at += 3;
        } else if args.is(at, "SETNAME") && more >= 1 {
            checked_name(args.get(at + 1))?;
            greeting.name = Some(args.get(at + 1));
            at += 2;
        } else {
            let text = "ERR Syntax error in HELLO option '{}'";
            return Err(Refusal::naming(text, &[args.get(at)]));
        }
    }
    Ok(greeting)
}

/// Finds the name and the password behind each AUTH.
fn secrets_of_hello(args: &Args<'_>) -> Positions {
    let auths = (2..args.len()).filter(|at| args.is(*at, "AUTH"));
    auths.flat_map(|at| [at + 1, at + 2]).collect()
}

fn introduce(call: &mut Call<'_>) {
    let is_redis = EXTENDED_REDIS_COMPATIBILITY.get(&call.instance.settings);
    let (server, version) =
        if is_redis { ("redis", versions::REDIS) } else { ("valkey", versions::VALKEY) };
    let protocol = if call.session.protocol == Protocol::Resp3 { 3 } else { 2 };
    let zone = AVAILABILITY_ZONE.get(&call.instance.settings);
    let reply = &mut call.reply;
    reply.map(if zone.is_empty() { 7 } else { 8 });
    for (name, value) in [("server", server), ("version", version)] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"proto");
    reply.integer(protocol);
    reply.bulk(b"id");
    reply.integer(call.session.client.id.cast_signed());
    for (name, value) in [("mode", "standalone"), ("role", role::name(call.instance))] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"modules");
    crate::server::modules::show(reply);
    if !zone.is_empty() {
        reply.bulk(b"availability_zone");
        reply.bulk(zone.as_bytes());
    }
}

/// Checks a name that CLIENT LIST has to show; empty for none.
///
/// # Errors
/// When it has blanks, line ends or anything else that is not printable ASCII.
pub(super) fn checked_name(name: &[u8]) -> Result<String, Refusal> {
    shown(name).ok_or(BAD_NAME)
}

/// Returns a text that CLIENT LIST can show without breaking its lines: printable ASCII without
/// blanks.
pub(super) fn shown(text: &[u8]) -> Option<String> {
    let fits = text.iter().all(u8::is_ascii_graphic);
    fits.then(|| String::from_utf8_lossy(text).into_owned())
}

fn ping(call: &mut Call<'_>) -> Outcome {
    if !matches!(call.args.len(), 1 | 2) {
        return Err(call.wrong_arity().into());
    }
    if call.session.is_subscriber() && call.session.protocol == Protocol::Resp2 {
        // As a message, so that a client finds it among others.
        let text = if call.args.len() == 2 { call.args.get(1) } else { b"" };
        call.reply.array(2);
        call.reply.bulk(b"pong");
        call.reply.bulk(text);
        return Ok(());
    }
    match call.args.len() {
        1 => call.reply.simple("PONG"),
        _ => call.reply.bulk(call.args.get(1)),
    }
    Ok(())
}

fn quit(call: &mut Call<'_>) -> Outcome {
    call.reply.ok();
    call.session.close();
    Ok(())
}

fn reset(call: &mut Call<'_>) -> Outcome {
    let Call { instance, session, reply, .. } = call;
    let gets_messages =
        session.is_subscriber() || session.is_monitor() || session.tracking.is_some();
    forget_all(instance, session);
    session.reset(&instance.access);
    reply.set_protocol(Protocol::Resp2);
    if gets_messages {
        // Behind all that was on its way to it.
        session.mailed_bytes = "+RESET\r\n".len();
        Asker::of(session).answer(|reply| reply.simple("RESET"));
        return Err(Unanswered::ByMail);
    }
    session.finish_protocol_change();
    reply.simple("RESET");
    Ok(())
}

fn select(call: &mut Call<'_>) -> Outcome {
    let database = database(call, call.args.get(1))?;
    call.session.select(database);
    call.reply.ok();
    Ok(())
}

/// Reads the number of a database that exists.
///
/// # Errors
/// When it is no integer of 32 bits, or there is no such database.
pub(super) fn database(call: &Call<'_>, text: &[u8]) -> Result<usize, Refusal> {
    let wanted = text::parse_i64(text).ok_or(Refusal::NOT_INTEGER)?;
    let wanted = i32::try_from(wanted).map_err(|_| NOT_32_BITS)?;
    let number = usize::try_from(wanted).map_err(|_| Refusal::DB_INDEX)?;
    call.keyspace_of(number)?;
    Ok(number)
}

const NOT_32_BITS: Refusal =
    Refusal::of("ERR value is out of range, value must between -2147483648 and 2147483647");
