//! The conditions by which CLIENT LIST and CLIENT KILL choose clients.

use super::own::REDIRECT;
use base::Steady;
use command::Call;
use command::client_line::letters;
use session::{Args, Client, ClientFlags, Refusal};
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::mem::{Discriminant, discriminant};
use std::sync::atomic::Ordering::Relaxed;

/// Letters that the FLAGS condition accepts.
const FLAG_LETTERS: &[u8] = b"OSMPxbtRBdcuAUreTIiEN";

/// Conditions that must all be met.
#[derive(Debug, Default)]
pub(super) struct Filter<'c> {
    conditions: Vec<Condition<'c>>,
    /// True to leave out the client that asks (SKIPME); `None` if not given.
    skip_me: Option<bool>,
}

#[derive(Debug)]
struct Condition<'c> {
    test: Test<'c>,
    is_negated: bool,
}

/// Test of one property of a client.
#[derive(Debug)]
enum Test<'c> {
    Ids(BTreeSet<i64>),
    AgeSeconds(u64),
    IdleSeconds(u64),
    Type(ClientType),
    Address(&'c [u8]),
    LocalAddress(&'c [u8]),
    Ip(&'c [u8]),
    User(&'c [u8]),
    Flags(Letters),
    Name(&'c [u8]),
    Library(&'c [u8]),
    LibraryVersion(&'c [u8]),
    Database(usize),
    Capabilities(Letters),
}

/// Different letters, however often each was given.
type Letters = SmallVec<[u8; 8]>;

/// Type of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientType {
    /// Neither of the others.
    Normal,
    /// It has subscribed to something.
    PubSub,
    /// It is a replica, or a program that reads like one.
    Replica,
    /// It is the primary that this server follows.
    Primary,
}

impl ClientType {
    fn of(client: &Client) -> ClientType {
        let flags = client.flags();
        if flags.contains(ClientFlags::REPLICA) {
            ClientType::Replica
        } else if flags.contains(ClientFlags::PRIMARY) {
            ClientType::Primary
        } else if flags.contains(ClientFlags::PUBSUB) {
            ClientType::PubSub
        } else {
            ClientType::Normal
        }
    }
}

impl<'c> Filter<'c> {
    /// Creates a filter for the client with an address, which may be the one that asks.
    pub fn address(address: &'c [u8]) -> Filter<'c> {
        let test = Test::Address(address);
        Filter { conditions: vec![Condition { test, is_negated: false }], skip_me: Some(false) }
    }

    /// Reads the conditions in a request, from the argument at `at` on.
    ///
    /// # Errors
    /// When one is unknown, lacks its value or has an impossible one.
    pub fn parse(call: &Call<'c>, mut at: usize) -> Result<Filter<'c>, Refusal> {
        let args = call.args;
        let mut filter = Filter::default();
        while at < args.len() {
            let word = args.get(at).to_ascii_uppercase();
            let (name, is_negated) = match word.strip_prefix(b"NOT-") {
                Some(name) => (name, true),
                None => (word.as_slice(), false),
            };
            if name == b"ID" {
                let (ids, next) = parse_ids(args, at + 1)?;
                filter.add(Test::Ids(ids), is_negated);
                at = next;
                continue;
            }
            if at + 1 == args.len() {
                return Err(Refusal::SYNTAX);
            }
            let value = args.get(at + 1);
            match (name, is_negated) {
                (b"SKIPME", false) => filter.skip_me = Some(parse_yes_no(value)?),
                (b"MAXAGE", false) => {
                    filter.add(Test::AgeSeconds(parse_seconds(value, "maxage")?), false)
                }
                (b"IDLE", false) => {
                    filter.add(Test::IdleSeconds(parse_seconds(value, "idle")?), false)
                }
                _ => filter.add(parse_test(call, name, is_negated, value)?, is_negated),
            }
            at += 2;
        }
        Ok(filter)
    }

    /// Leaves out the client that asks, unless SKIPME was given.
    pub fn or_skip_me(mut self) -> Filter<'c> {
        self.skip_me.get_or_insert(true);
        self
    }

    /// Adds a condition. It replaces an earlier one of its kind, except that ids accumulate.
    fn add(&mut self, test: Test<'c>, is_negated: bool) {
        let kind = |test: &Test<'c>| -> Discriminant<Test<'c>> { discriminant(test) };
        let mut same = self.conditions.iter_mut();
        let same = same.find(|it| it.is_negated == is_negated && kind(&it.test) == kind(&test));
        match (same, test) {
            (Some(Condition { test: Test::Ids(ids), .. }), Test::Ids(more)) => ids.extend(more),
            (Some(condition), test) => condition.test = test,
            (None, test) => self.conditions.push(Condition { test, is_negated }),
        }
    }

    /// Returns true if a client meets all conditions; `own` is the id of the one that asks.
    pub fn matches(&self, client: &Client, own: u64, now: Steady) -> bool {
        if self.skip_me == Some(true) && client.id == own {
            return false;
        }
        self.conditions.iter().all(|it| it.test.matches(client, now) != it.is_negated)
    }
}

impl Test<'_> {
    fn matches(&self, client: &Client, now: Steady) -> bool {
        let is_older = |since: u64, seconds: u64| now.since(Steady(since)) / 1000 >= seconds;
        // A text that was never set equals nothing.
        let is_equal = |own: &str, wanted: &[u8]| !own.is_empty() && own.as_bytes() == wanted;
        match *self {
            Test::Ids(ref ids) => ids.contains(&client.id.cast_signed()),
            Test::AgeSeconds(seconds) => is_older(client.created.0, seconds),
            Test::IdleSeconds(seconds) => is_older(client.last_interaction.load(Relaxed), seconds),
            Test::Type(wanted) => wanted == ClientType::of(client),
            Test::Address(address) => client.address.as_bytes() == address,
            Test::LocalAddress(address) => client.local_address.as_bytes() == address,
            Test::Ip(ip) => comes_from(client.address.as_bytes(), ip),
            Test::User(name) => client.info().user.as_deref() == Some(name),
            Test::Flags(ref wanted) => has_flags(client, wanted),
            Test::Name(name) => is_equal(&client.info().name, name),
            Test::Library(name) => is_equal(&client.info().library, name),
            Test::LibraryVersion(version) => is_equal(&client.info().library_version, version),
            Test::Database(number) => client.database.load(Relaxed) as usize == number,
            Test::Capabilities(ref wanted) => {
                let info = client.info();
                wanted.iter().all(|letter| info.capabilities.as_bytes().contains(letter))
            }
        }
    }
}

fn has_flags(client: &Client, wanted: &[u8]) -> bool {
    let letters = letters(client.shown_flags());
    // A client that runs MONITOR counts as a replica, too, though it is not shown as one.
    let has = |letter: &u8| letters.as_bytes().contains(letter);
    wanted.iter().all(|letter| has(letter) || (*letter == b'S' && has(&b'O')))
}

/// Returns true if an address, `ip:port` or `[ip]:port`, has this ip. A port of zero is that of a
/// unix socket, whose path is no ip.
fn comes_from(address: &[u8], ip: &[u8]) -> bool {
    let address = address.strip_prefix(b"[").unwrap_or(address);
    let Some(rest) = address.strip_prefix(ip) else { return false };
    let port = rest.strip_prefix(b"]").unwrap_or(rest).strip_prefix(b":");
    port.is_some_and(|port| port.first() != Some(&b'0'))
}

/// Reads ids from `at` on, as many as there are; returns them and the position behind them.
fn parse_ids(args: Args<'_>, mut at: usize) -> Result<(BTreeSet<i64>, usize), Refusal> {
    let mut ids = BTreeSet::new();
    while at < args.len() {
        let Ok(id) = args.integer(at) else { break };
        if id < 1 {
            return Err(Refusal::of("ERR client-id should be greater than 0"));
        }
        ids.insert(id);
        at += 1;
    }
    Ok((ids, at))
}

fn parse_yes_no(value: &[u8]) -> Result<bool, Refusal> {
    match value.to_ascii_lowercase().as_slice() {
        b"yes" => Ok(true),
        b"no" => Ok(false),
        _ => Err(Refusal::SYNTAX),
    }
}

fn parse_seconds(value: &[u8], name: &str) -> Result<u64, Refusal> {
    let seconds = text::parse_i64(value)
        .ok_or_else(|| Refusal::new(format!("ERR {name} is not an integer or out of range")))?;
    let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0);
    seconds.ok_or_else(|| Refusal::new(format!("ERR {name} should be greater than 0")))
}

/// Reads the value of a condition that can be negated.
fn parse_test<'c>(
    call: &Call<'_>,
    name: &[u8],
    is_negated: bool,
    value: &'c [u8],
) -> Result<Test<'c>, Refusal> {
    Ok(match name {
        b"TYPE" => Test::Type(parse_type(value)?),
        b"ADDR" => Test::Address(value),
        b"LADDR" => Test::LocalAddress(value),
        b"IP" => Test::Ip(value),
        b"USER" if call.instance.access.find(value).is_some() => Test::User(value),
        b"USER" => return Err(Refusal::naming("ERR No such user '{}'", &[value])),
        b"NAME" => Test::Name(value),
        b"LIB-NAME" => Test::Library(value),
        b"LIB-VER" => Test::LibraryVersion(value),
        b"DB" => Test::Database(parse_database(call, is_negated, value)?),
        b"FLAGS" => Test::Flags(parse_letters("flags", is_negated, value, FLAG_LETTERS)?),
        b"CAPA" => Test::Capabilities(parse_letters("capa", is_negated, value, &[REDIRECT as u8])?),
        _ => return Err(Refusal::SYNTAX),
    })
}

fn parse_type(value: &[u8]) -> Result<ClientType, Refusal> {
    match value.to_ascii_lowercase().as_slice() {
        b"normal" => Ok(ClientType::Normal),
        b"pubsub" => Ok(ClientType::PubSub),
        b"replica" | b"slave" => Ok(ClientType::Replica),
        b"primary" | b"master" => Ok(ClientType::Primary),
        _ => Err(Refusal::naming("ERR Unknown client type '{}'", &[value])),
    }
}

fn parse_database(call: &Call<'_>, is_negated: bool, value: &[u8]) -> Result<usize, Refusal> {
    let name = if is_negated { "NOT-DB" } else { "DB" };
    let number = text::parse_i64(value).and_then(|number| i32::try_from(number).ok());
    let number = number
        .ok_or_else(|| Refusal::new(format!("ERR {name} is not an integer or out of range")))?;
    let databases = call.instance.store.databases();
    usize::try_from(number).ok().filter(|number| *number < databases).ok_or_else(|| {
        let last = databases - 1;
        Refusal::new(format!("ERR {name} number should be between 0 and {last}"))
    })
}

fn parse_letters(
    name: &str,
    is_negated: bool,
    value: &[u8],
    known: &[u8],
) -> Result<Letters, Refusal> {
    if value.iter().all(|letter| known.contains(letter)) {
        return Ok(known.iter().copied().filter(|letter| value.contains(letter)).collect());
    }
    let place = if is_negated {
        format!("NOT-{}", name.to_ascii_uppercase())
    } else {
        "provided".to_owned()
    };
    let words = [name.as_bytes(), place.as_bytes(), value];
    Err(Refusal::naming("ERR Unknown {} found in the {} filter: {}", &words))
}

#[cfg(test)]
mod tests {
    use super::{FLAG_LETTERS, Letters, parse_letters};

    #[test]
    fn a_letter_that_is_given_often_is_looked_for_once() {
        let letters = |value: &[u8]| parse_letters("flags", false, value, FLAG_LETTERS);
        assert_eq!(letters(&b"NxN".repeat(1000)), Ok(Letters::from_slice(b"xN")));
        assert_eq!(letters(b""), Ok(Letters::new()));
        assert!(letters(b"N?").is_err());
    }
}
