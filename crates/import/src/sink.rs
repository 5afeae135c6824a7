//! Connections to the server that is filled, each with a thread of its own that takes jobs.

use crate::budget::Budget;
use crate::error::Error;
use crate::note::{add_note, count_lost};
use crate::payload::{Request, Use, Value};
use crate::refusals::is_of_server;
use crate::server::{Link, Server};
use crate::stop::Stop;
use crate::tally::Tally;
use base::mutex::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Receiver;
use std::time::Duration;
use text::AttributeNote;

/// Wait for a server that takes nothing now.
const BETWEEN_TRIES: Duration = Duration::from_secs(1);

/// A key to be given a value.
#[derive(Debug)]
pub struct Put {
    /// Number of its database.
    pub database: u64,
    /// Its name.
    pub name: Vec<u8>,
    /// Its value.
    pub value: Value,
    /// Its deadline in milliseconds since the Unix epoch.
    pub deadline: Option<u64>,
    /// How it was used.
    pub used: Option<Use>,
    /// What it has besides its value, if it is a string.
    pub attributes: Option<AttributeNote>,
}

impl Put {
    /// Bytes of its name and its value.
    pub fn bytes(&self) -> usize {
        self.name.len() + self.value.bytes()
    }

    /// The requests that give the key its value on a server.
    fn requests(&self, server: &Server) -> Result<Vec<Request>, String> {
        let mut requests = self.value.requests(&self.name, self.deadline, self.used, server)?;
        if let (Some(note), [request]) = (self.attributes, &mut requests[..]) {
            add_note(request, note, server.has_attributes);
        }
        Ok(requests)
    }
}

/// What all connections share.
#[derive(Debug)]
pub struct Shared<'s> {
    /// The server that is filled.
    pub server: &'s Server,
    /// Counts.
    pub tally: &'s Tally,
    /// Bytes on their way.
    pub budget: Budget,
    /// If a server that takes nothing now, since it is full for example, is waited for: until when.
    waits_until: Option<Stop>,
    /// True once a connection has failed: nothing more is to be sent.
    has_failed: AtomicBool,
    failure: Mutex<Option<Error>>,
}

impl<'s> Shared<'s> {
    /// Begins with nothing on its way.
    pub fn new(server: &'s Server, tally: &'s Tally, budget: usize) -> Shared<'s> {
        let budget = Budget::new(budget);
        let (has_failed, failure) = (AtomicBool::new(false), Mutex::new(None));
        Shared { server, tally, budget, waits_until: None, has_failed, failure }
    }

    /// The same, and whether a server that takes nothing now is waited for, until it is stopped.
    pub fn waiting(self, waits_until: Option<Stop>) -> Shared<'s> {
        Shared { waits_until, ..self }
    }

    /// True once a connection has failed.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Relaxed)
    }

    /// Has nothing more sent.
    pub fn give_up(&self) {
        self.has_failed.store(true, Relaxed);
    }

    /// Notes the failure of a connection.
    pub fn fail(&self, error: Error) {
        let mut failure = self.failure.lock();
        failure.get_or_insert(error);
        self.has_failed.store(true, Relaxed);
    }

    /// The first failure of a connection.
    ///
    /// # Errors
    /// That one.
    pub fn outcome(&self) -> Result<(), Error> {
        let failure = self.failure.lock().take();
        failure.map_or(Ok(()), Err)
    }
}

/// Takes jobs until there are none. After a failure the rest is taken and dropped, so that nobody
/// waits for a place in the line.
pub fn take_jobs<J>(
    jobs: &Mutex<Receiver<J>>,
    shared: &Shared<'_>,
    most: usize,
    mut work: impl FnMut(&[J]) -> Result<(), Error>,
    dropped: impl Fn(&J),
) {
    loop {
        let mut batch = Vec::new();
        {
            let jobs = jobs.lock();
            let Ok(first) = jobs.recv() else { return };
            batch.push(first);
            while batch.len() < most
                && let Ok(next) = jobs.try_recv()
            {
                batch.push(next);
            }
        }
        if !shared.has_failed()
            && let Err(error) = work(&batch)
        {
            shared.fail(error);
        }
        batch.iter().for_each(&dropped);
    }
}

/// Gives keys their values, in one pipeline for each database. What a server refuses is counted.
///
/// # Errors
/// When the connection breaks.
pub fn put(link: &mut Link, shared: &Shared<'_>, puts: &[&Put]) -> Result<(), Error> {
    for of_one in puts.chunk_by(|one, other| one.database == other.database) {
        link.select(of_one[0].database)?;
        let mut sent = Vec::with_capacity(of_one.len());
        for put in of_one {
            match put.requests(shared.server) {
                Err(why) => shared.tally.fail(put.database, &put.name, &why),
                Ok(requests) => {
                    send(link, &requests)?;
                    sent.push((put, requests.len()));
                }
            }
        }
        link.flush()?;
        let mut outcomes = Vec::with_capacity(sent.len());
        for (put, count) in sent {
            outcomes.push((put, outcome_of(link, count)?));
        }
        for (put, mut error) in outcomes {
            while let (Some(stop), Some(why)) = (&shared.waits_until, &error)
                && is_of_server(why)
            {
                if stop.is_asked() || shared.has_failed() {
                    return Err(Error::Interrupted("all keys are sent again"));
                }
                shared.tally.note_wait(&shared.server.address.place, why);
                error = send_again(link, shared, put)?;
            }
            match error {
                Some(error) => shared.tally.fail(put.database, &put.name, &error),
                None => {
                    let (tally, is_known) = (shared.tally, shared.server.has_attributes);
                    tally.keys.fetch_add(1, Relaxed);
                    put.attributes.iter().for_each(|note| count_lost(*note, is_known, tally));
                }
            }
        }
    }
    Ok(())
}

/// Reads so many replies, and returns the first error among them.
fn outcome_of(link: &mut Link, count: usize) -> Result<Option<String>, Error> {
    let mut error = None;
    for _ in 0..count {
        let reply = link.reply()?;
        error = error.or_else(|| reply.error());
    }
    Ok(error)
}

/// Sends a key again, and waits a while if it is refused once more.
fn send_again(link: &mut Link, shared: &Shared<'_>, put: &Put) -> Result<Option<String>, Error> {
    let requests = put.requests(shared.server).unwrap_or_default();
    send(link, &requests)?;
    link.flush()?;
    let outcome = outcome_of(link, requests.len())?;
    if outcome.as_ref().is_some_and(|it| is_of_server(it)) {
        std::thread::sleep(BETWEEN_TRIES);
    }
    Ok(outcome)
}

fn send(link: &mut Link, requests: &[Request]) -> Result<(), Error> {
    requests.iter().try_for_each(|request| link.request(request))
}
