//! The side of the target: what is asked and told there besides the commands of the stream.

use crate::error::Error;
use crate::follow::batch::Place;
use crate::follow::position::{INCOMPLETE, Position};
use crate::payload::Request;
use crate::resp::Reply;
use crate::scope::Scope;
use crate::server::{Link, databases_of};

/// Keys that one SCAN looks at.
const KEYS_OF_A_PAGE: &[u8] = b"1000";
/// Keys that one UNLINK removes.
const KEYS_AT_ONCE: usize = 1000;

/// What a target tells of how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Has {
    /// It has not been filled.
    Nothing,
    /// It has some keys of a snapshot.
    Incomplete,
    /// It has the stream up to a place.
    Position(Position),
}

/// Asks how far the target is.
///
/// # Errors
/// When the connection breaks.
pub fn has(link: &mut Link, place: &Place) -> Result<Has, Error> {
    link.select(place.database)?;
    let reply = link.ask(&[&b"GET"[..], &place.key])?;
    match &reply {
        Reply::Nil => Ok(Has::Nothing),
        Reply::Bulk(value) if value == INCOMPLETE => Ok(Has::Incomplete),
        Reply::Bulk(value) => match Position::parse(value) {
            Some(position) => Ok(Has::Position(position)),
            None => Err(link.refused("GET", &reply)),
        },
        other => Err(link.refused("GET", other)),
    }
}

/// Has nothing executed on a connection once another client has changed the note.
///
/// # Errors
/// When the target does not do it.
pub fn watch(link: &mut Link, place: &Place) -> Result<(), Error> {
    link.select(place.database)?;
    // What has changed before does not count any more.
    done(link, "UNWATCH", &[b"UNWATCH"])?;
    done(link, "WATCH", &[b"WATCH", &place.key])
}

/// Takes the note away.
///
/// # Errors
/// When the target does not do it.
pub fn forget(link: &mut Link, place: &Place) -> Result<(), Error> {
    link.select(place.database)?;
    done(link, "DEL", &[b"DEL", &place.key])
}

/// The numbers of the target's databases that are filled and have keys now.
///
/// # Errors
/// When the connection breaks.
fn databases(link: &mut Link, scope: &Scope) -> Result<Vec<u64>, Error> {
    if let Some(databases) = scope.databases() {
        return Ok(databases.iter().map(|(_, to)| *to).collect());
    }
    Ok(databases_of(link)?.iter().map(|(number, _)| *number).collect())
}

/// Returns the first database, and a key of it, in which there is something that is taken.
///
/// # Errors
/// When the connection breaks.
pub fn find_key(link: &mut Link, scope: &Scope) -> Result<Option<(u64, Vec<u8>)>, Error> {
    for database in databases(link, scope)? {
        let mut found = None;
        each_page(link, database, scope, |_, keys| {
            found = found.take().or_else(|| keys.first().cloned());
            Ok(found.is_none())
        })?;
        if let Some(key) = found {
            return Ok(Some((database, key)));
        }
    }
    Ok(None)
}

/// Removes all that is taken.
///
/// # Errors
/// When the target does not do it.
pub fn empty(link: &mut Link, scope: &Scope, takes_functions: bool) -> Result<(), Error> {
    if scope.is_whole() {
        done(link, "FLUSHALL", &[b"FLUSHALL"])?;
        // A server that has no functions has none to remove.
        if takes_functions {
            link.ask(&["FUNCTION", "FLUSH"])?;
        }
        return Ok(());
    }
    for database in databases(link, scope)? {
        if scope.takes_all_keys() {
            link.select(database)?;
            done(link, "FLUSHDB", &[b"FLUSHDB"])?;
            continue;
        }
        each_page(link, database, scope, |link, keys| {
            let refused = |request: &Request| done(link, "UNLINK", &words(request));
            removals(keys).iter().try_for_each(refused).map(|()| true)
        })?;
    }
    Ok(())
}

/// Requests that remove all that is taken of some databases, or of all if none is named, together
/// with keys that are about to come.
///
/// # Errors
/// When the connection breaks.
pub fn removals_of(
    link: &mut Link,
    scope: &Scope,
    named: &[u64],
    to_come: &[(u64, Vec<u8>)],
) -> Result<Vec<(u64, Request)>, Error> {
    let mut numbers = if named.is_empty() { databases(link, scope)? } else { named.to_vec() };
    if named.is_empty() {
        numbers.extend(to_come.iter().map(|(number, _)| *number));
        numbers.sort_unstable();
        numbers.dedup();
    }
    let mut requests = Vec::new();
    for database in numbers {
        let mut all = Vec::new();
        each_page(link, database, scope, |_, keys| {
            all.extend_from_slice(keys);
            Ok(true)
        })?;
        all.extend(to_come.iter().filter(|(number, _)| *number == database).map(|it| it.1.clone()));
        requests.extend(removals(&all).into_iter().map(|it| (database, it)));
    }
    Ok(requests)
}

fn removals(keys: &[Vec<u8>]) -> Vec<Request> {
    let request = |keys: &[Vec<u8>]| {
        let name = std::iter::once(b"UNLINK".to_vec());
        name.chain(keys.iter().cloned()).collect()
    };
    keys.chunks(KEYS_AT_ONCE).map(request).collect()
}

/// Number of keys that are taken of a database, by what it becomes or by what it was.
///
/// # Errors
/// When the connection breaks.
pub fn count(
    link: &mut Link,
    database: u64,
    scope: &Scope,
    place: Option<&Place>,
) -> Result<u64, Error> {
    link.select(database)?;
    if scope.takes_all_keys() {
        let reply = link.ask(&["DBSIZE"])?;
        let Some(keys) = reply.integer() else { return Err(link.refused("DBSIZE", &reply)) };
        let own = match place.filter(|place| place.database == database) {
            None => 0,
            Some(place) => {
                link.ask(&[b"EXISTS", &place.key[..], TURNED_ON])?.integer().unwrap_or(0)
            }
        };
        return Ok(u64::try_from(keys.saturating_sub(own)).unwrap_or(0));
    }
    let mut count = 0;
    each_page(link, database, scope, |_, keys| {
        count += keys.len() as u64;
        Ok(true)
    })?;
    Ok(count)
}

/// Passes the keys that are taken, page by page, until `each` returns false.
fn each_page(
    link: &mut Link,
    database: u64,
    scope: &Scope,
    mut each: impl FnMut(&mut Link, &[Vec<u8>]) -> Result<bool, Error>,
) -> Result<(), Error> {
    link.select(database)?;
    let mut cursor = b"0".to_vec();
    loop {
        let mut request: Vec<&[u8]> = vec![b"SCAN", &cursor, b"COUNT", KEYS_OF_A_PAGE];
        if let Some(pattern) = scope.pattern() {
            request.extend([&b"MATCH"[..], pattern]);
        }
        let reply = link.ask(&request)?;
        let page = reply.array().and_then(|it| Some((it.first()?.bytes()?, it.get(1)?.array()?)));
        let Some((next, keys)) = page else { return Err(link.refused("SCAN", &reply)) };
        let keys = keys.iter().filter_map(Reply::bytes).filter(|key| scope.has(key));
        let (keys, next): (Vec<Vec<u8>>, _) = (keys.map(<[u8]>::to_vec).collect(), next.to_vec());
        if !each(link, &keys)? || next == b"0" {
            return Ok(());
        }
        cursor = next;
    }
}

/// Name of the key by which a target knows that its import mode was turned on by this program.
const TURNED_ON: &[u8] = b"varve-import:position:import-mode";

/// Import mode of a target, in which it keeps keys past their deadlines for this program, since
/// commands that are late may still change them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportMode {
    /// There is no such thing, or it cannot be turned on.
    None,
    /// This program has turned it on, in this run or before.
    TurnedOn,
    /// It was on.
    WasOn,
}

/// Turns import mode on.
///
/// # Errors
/// When the connection breaks.
pub fn begin_import_mode(link: &mut Link, place: &Place) -> Result<ImportMode, Error> {
    let reply = link.ask(&["CONFIG", "GET", "import-mode"])?;
    let Some([_, value]) = reply.array() else { return Ok(ImportMode::None) };
    link.select(place.database)?;
    if value.bytes() == Some(b"yes") {
        let is_own = link.ask(&[b"EXISTS", TURNED_ON])?.integer() == Some(1);
        return Ok(if is_own { ImportMode::TurnedOn } else { ImportMode::WasOn });
    }
    if !set_import_mode(link, true)? {
        return Ok(ImportMode::None);
    }
    note_import_mode(link, place)?;
    Ok(ImportMode::TurnedOn)
}

/// Notes that this program has turned import mode on.
///
/// # Errors
/// When the connection breaks.
pub fn note_import_mode(link: &mut Link, place: &Place) -> Result<(), Error> {
    link.select(place.database)?;
    link.ask(&[b"SET", TURNED_ON, b"1"]).map(drop)
}

/// Turns import mode off for good.
///
/// # Errors
/// When the connection breaks.
pub fn end_import_mode(link: &mut Link, place: &Place) -> Result<(), Error> {
    set_import_mode(link, false)?;
    link.select(place.database)?;
    link.ask(&[b"DEL", TURNED_ON]).map(drop)
}

/// Turns import mode on or off. Returns false if the target refuses.
///
/// # Errors
/// When the connection breaks.
pub fn set_import_mode(link: &mut Link, is_on: bool) -> Result<bool, Error> {
    let word = if is_on { "yes" } else { "no" };
    Ok(link.ask(&["CONFIG", "SET", "import-mode", word])?.error().is_none())
}

/// Says that this connection brings data from elsewhere. Returns false if the target refuses that.
///
/// # Errors
/// When the connection breaks.
pub fn is_import_source(link: &mut Link) -> Result<bool, Error> {
    Ok(link.ask(&["CLIENT", "IMPORT-SOURCE", "ON"])?.error().is_none())
}

fn words(request: &Request) -> Vec<&[u8]> {
    request.iter().map(Vec::as_slice).collect()
}

fn done(link: &mut Link, name: &str, words: &[&[u8]]) -> Result<(), Error> {
    let reply = link.ask(words)?;
    if reply.error().is_some() { Err(link.refused(name, &reply)) } else { Ok(()) }
}
