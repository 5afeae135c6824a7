//! Connections to the target, and what it must be like.

use crate::address::Address;
use crate::error::Error;
use crate::follow::batch::Place;
use crate::follow::following::Following;
use crate::follow::report::Report;
use crate::follow::state::State;
use crate::follow::target::{self, ImportMode};
use crate::refusals::is_of_server;
use crate::server::Link;
use std::thread;
use std::time::Duration;

/// Wait before a target is connected to again.
const BETWEEN_TRIES: Duration = Duration::from_millis(200);

/// What a server tells of itself.
fn facts(address: &Address) -> Result<[String; 3], Error> {
    let mut link = Link::open(address)?;
    let mut text = String::new();
    for section in ["server", "replication"] {
        let reply = link.ask(&["INFO", section])?;
        let bytes = reply.bytes().filter(|_| reply.error().is_none());
        text += &String::from_utf8_lossy(bytes.ok_or_else(|| link.refused("INFO", &reply))?);
    }
    Ok(["run_id:", "master_replid:", "role:"].map(|name| {
        let found = text.lines().find_map(|line| line.strip_prefix(name));
        found.unwrap_or_default().trim().to_owned()
    }))
}

/// Makes sure that both servers are there, that they are two, and that what has come can be kept.
///
/// # Errors
/// When that is not so.
pub fn check(following: &Following) -> Result<(), Error> {
    let (source, target) = (&following.source, &following.options.target);
    let ([one, stream, _], [other, other_stream, role]) = (facts(source)?, facts(target)?);
    let is_same = |one: &str, other: &str| !one.is_empty() && one == other;
    if is_same(&one, &other) {
        let what = format!("{} and {} are the same server", source.place, target.place);
        return Err(Error::Usage(what));
    }
    if is_same(&stream, &other_stream) {
        return Err(Error::Usage(format!(
            "of {} and {} one is a replica of the other: REPLICAOF NO ONE first",
            source.place, target.place
        )));
    }
    if role == "slave" {
        let what = "is a replica, which takes no writes: REPLICAOF NO ONE first";
        return Err(Error::Usage(format!("{} {what}", target.place)));
    }
    let directory = &following.directory;
    let failed = |error| Error::File(format!("--spool {}", directory.display()), error);
    tempfile::tempfile_in(directory).map(drop).map_err(failed)
}

/// Connects to the target, and waits for it: a connection for transactions, and one for all else.
/// `None` if it is asked to stop meanwhile.
///
/// # Errors
/// When the target cannot be filled.
pub fn connect(
    following: &Following,
    place: &Place,
    report: &Report,
) -> Result<Option<(Link, Link)>, Error> {
    let mut told = String::new();
    while !following.options.stop.is_asked() {
        match open(following, place) {
            Ok(links) => return Ok(Some(links)),
            Err(error) if may_pass(&error) => {
                let error = error.to_string();
                if error != told {
                    report.tell(&format!("{error}; it is tried again"));
                    told = error;
                }
                thread::sleep(BETWEEN_TRIES);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// True if what has failed may succeed later.
pub fn may_pass(error: &Error) -> bool {
    match error {
        Error::Connection(..) => true,
        Error::Refused { reply, .. } => is_of_server(reply),
        _ => false,
    }
}

fn open(following: &Following, place: &Place) -> Result<(Link, Link), Error> {
    let address = &following.options.target;
    let (mut link, mut aside) = (Link::open(address)?, Link::open(address)?);
    let reply = aside.ask(&["INFO", "cluster"])?;
    if reply.bytes().is_some_and(|text| find(text, b"cluster_enabled:1")) {
        let what = "is a node of a cluster, which takes no transactions over several slots";
        return Err(Error::Usage(format!("{} {what}", address.place)));
    }
    // While it loads, it is there and cannot be asked.
    target::has(&mut aside, place)?;
    // Were MULTI refused, what is sent behind it would be executed one by one.
    for word in ["MULTI", "DISCARD"] {
        let reply = link.ask(&[word])?;
        if reply.error().is_some() {
            return Err(link.refused(word, &reply));
        }
    }
    Ok((link, aside))
}

fn find(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|it| it == wanted)
}

/// Has the target keep keys past their deadlines, for these connections, and execute nothing once
/// another client has changed how far it is. It takes the first of a connection only once it is in
/// import mode.
///
/// # Errors
/// When the connection breaks, or the target takes nothing now.
pub fn prepare(
    aside: &mut Link,
    link: &mut Link,
    place: &Place,
    state: &mut State,
    report: &Report,
) -> Result<(), Error> {
    let mode = target::begin_import_mode(aside, place)?;
    if mode == ImportMode::TurnedOn && !state.contents.turned_import_mode_on {
        state.contents.turned_import_mode_on = true;
        state.write()?;
    }
    let is_source = target::is_import_source(link)? && target::is_import_source(aside)?;
    match mode {
        ImportMode::None => report.tell(
            "the target has no import mode: what is done to a key shortly before its deadline may \
             come behind it there, and act as on a new key",
        ),
        ImportMode::WasOn if !state.contents.turned_import_mode_on => {
            report.tell(
                "the target's import mode is on already, and stays so at the end: CONFIG SET \
                 import-mode no there turns it off, if nobody else needs it",
            );
        }
        _ if !is_source => report.tell("the target refuses CLIENT IMPORT-SOURCE"),
        _ => {}
    }
    target::watch(link, place)
}

/// Makes sure that the target has nothing that would be mixed with what comes.
///
/// # Errors
/// When there is something, or the connection breaks.
pub fn refuse_keys(aside: &mut Link, following: &Following) -> Result<(), Error> {
    let Some((database, key)) = target::find_key(aside, &following.options.scope)? else {
        return Ok(());
    };
    Err(Error::Usage(format!(
        "{} has keys already, for example {} in database {database}: --replace removes what \
         --databases and --match choose",
        following.options.target.place,
        text::quote(&key[..key.len().min(200)])
    )))
}
