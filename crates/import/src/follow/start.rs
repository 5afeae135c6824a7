//! Connections to the target, and what it must be like.

use crate::error::Error;
use crate::follow::following::Following;
use crate::follow::report::Report;
use crate::follow::state::State;
use crate::follow::target;
use crate::server::Link;
use std::io;
use std::thread;
use std::time::Duration;

/// Wait before a target is connected to again.
const BETWEEN_TRIES: Duration = Duration::from_millis(200);

/// Connects to the target, and waits for it. `None` if it is asked to stop meanwhile.
pub fn connect(
    following: &Following,
    state: &mut State,
    report: &Report,
) -> Result<Option<(Link, Link)>, Error> {
    let mut told = String::new();
    while !following.options.stop.is_asked() {
        let mut open = || -> Result<(Link, Link), Error> {
            let address = &following.options.target;
            let (mut link, mut aside) = (Link::open(address)?, Link::open(address)?);
            // While it loads, it is there and cannot be asked.
            let reply = aside.ask(&["GET", "varve-import:position:"])?;
            if let Some(error) = reply.error().filter(|it| it.starts_with("LOADING")) {
                return Err(Error::Connection(address.place.clone(), io::Error::other(error)));
            }
            begin_import_mode(&mut aside, &mut link, state, report)?;
            Ok((link, aside))
        };
        match open() {
            Ok(links) => return Ok(Some(links)),
            Err(error @ Error::Connection(..)) => {
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

/// Makes sure that the target has nothing that would be mixed with what comes.
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

/// Has the target keep keys past their deadlines, for the connection on which commands go. It takes
/// that of a connection only once it is in that mode.
fn begin_import_mode(
    aside: &mut Link,
    link: &mut Link,
    state: &mut State,
    report: &Report,
) -> Result<(), Error> {
    let mut is_on = target::import_mode(aside)? == Some(true);
    if !is_on {
        is_on = target::set_import_mode(aside, true)?;
        if is_on && !state.contents.turned_import_mode_on {
            state.contents.turned_import_mode_on = true;
            state.write()?;
        }
    }
    if !is_on || !target::is_import_source(link)? {
        report.tell(
            "the target has no import mode: what is done to a key shortly before its deadline may \
             come behind it there, and act as on a new key",
        );
    }
    Ok(())
}
