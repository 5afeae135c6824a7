//! A server that is filled, read or compared: how to reach it, and what it knows.

use crate::address::Address;
use crate::error::Error;
use crate::note::NOTED;
use crate::resp::{Connection, Reply};
use std::time::Duration;

/// Time that one reply may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Whose server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// Redis.
    Redis,
    /// Valkey.
    Valkey,
    /// Varve, which reads what both have written.
    Varve,
}

/// What a server is and knows.
#[derive(Clone, Debug)]
pub struct Server {
    /// How to reach it.
    pub address: Address,
    /// Whose it is.
    pub maker: Maker,
    /// Its version: major and minor.
    pub version: (u64, u64),
    /// Identity of the running process.
    pub run_id: String,
    /// Databases with keys: number, keys.
    pub databases: Vec<(u64, u64)>,
    /// True if it knows transactions.
    pub has_transactions: bool,
    /// True if it tells deadlines as points in time.
    pub has_expire_time: bool,
    /// True if it tells digests of values.
    pub has_digests: bool,
    /// True if fields of hashes may have deadlines.
    pub has_timed_fields: bool,
    /// True if it keeps what clients of Memcached give strings, and tells it.
    pub has_attributes: bool,
}

/// A connection with a name for messages.
#[derive(Debug)]
pub struct Link {
    connection: Connection,
    place: String,
    /// Number of the selected database.
    database: u64,
}

impl Link {
    /// Connects and authenticates.
    ///
    /// # Errors
    /// When nobody accepts, or not this user.
    pub fn open(address: &Address) -> Result<Link, Error> {
        Link::open_within(address, PATIENCE)
    }

    /// Connects and authenticates. Each reply may take so long.
    ///
    /// # Errors
    /// When nobody accepts, or not this user.
    pub fn open_within(address: &Address, patience: Duration) -> Result<Link, Error> {
        let place = address.place.clone();
        let failed = |error| Error::Connection(place.clone(), error);
        let connection = Connection::open(address, patience).map_err(failed)?;
        let mut link = Link { connection, place, database: 0 };
        if let Some(password) = &address.password {
            let mut words = vec!["AUTH"];
            words.extend(address.user.as_deref());
            words.push(password);
            let reply = link.ask(&words)?;
            if reply.error().is_some() {
                return Err(link.refused("AUTH", &reply));
            }
        }
        Ok(link)
    }

    /// Adds a request to those that are to be sent.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn request<W: AsRef<[u8]>>(&mut self, words: &[W]) -> Result<(), Error> {
        let done = self.connection.request(words);
        self.named(done)
    }

    /// Sends all requests.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn flush(&mut self) -> Result<(), Error> {
        let done = self.connection.flush();
        self.named(done)
    }

    /// Reads one reply.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn reply(&mut self) -> Result<Reply, Error> {
        let reply = self.connection.reply();
        self.named(reply)
    }

    /// Sends a request and reads its reply.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn ask<W: AsRef<[u8]>>(&mut self, words: &[W]) -> Result<Reply, Error> {
        let reply = self.connection.ask(words);
        self.named(reply)
    }

    /// Adds a request to those that are to be sent, and does not send any.
    pub fn add_request(&mut self, words: &[&[u8]]) {
        self.connection.add_request(words);
    }

    /// Adds requests that are encoded, and does not send any.
    pub fn add_encoded(&mut self, requests: &[u8]) {
        self.connection.add_encoded(requests);
    }

    /// Sends all requests, and passes so many replies to `each`.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn exchange(
        &mut self,
        count: usize,
        mut each: impl FnMut(usize, &Reply),
    ) -> Result<(), Error> {
        self.flush()?;
        for at in 0..count {
            each(at, &self.reply()?);
        }
        Ok(())
    }

    /// Sends requests together and reads their replies.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn ask_all(&mut self, requests: &[Vec<&[u8]>]) -> Result<Vec<Reply>, Error> {
        requests.iter().try_for_each(|words| self.request(words))?;
        self.flush()?;
        requests.iter().map(|_| self.reply()).collect()
    }

    /// Selects a database.
    ///
    /// # Errors
    /// When there is no such database.
    pub fn select(&mut self, database: u64) -> Result<(), Error> {
        if self.database != database {
            let reply = self.ask(&["SELECT".to_owned(), database.to_string()])?;
            if reply.error().is_some() {
                return Err(self.refused(&format!("SELECT {database}"), &reply));
            }
            self.database = database;
        }
        Ok(())
    }

    fn named<T>(&self, outcome: std::io::Result<T>) -> Result<T, Error> {
        outcome.map_err(|error| Error::Connection(self.place.clone(), error))
    }

    /// The error that a reply stands for.
    pub fn refused(&self, command: &str, reply: &Reply) -> Error {
        let (address, command) = (self.place.clone(), command.to_owned());
        Error::Refused { address, command, reply: reply.shown() }
    }
}

impl Server {
    /// Asks a server what it is.
    ///
    /// # Errors
    /// When it cannot be reached, or does not tell.
    pub fn meet(address: &Address) -> Result<(Server, Link), Error> {
        let mut link = Link::open(address)?;
        let info = link.ask(&["INFO"])?;
        let Some(text) = info.bytes().map(String::from_utf8_lossy) else {
            return Err(link.refused("INFO", &info));
        };
        let field =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let (maker, version) = match (field("varve_version"), field("valkey_version")) {
            (Some(_), _) => (Maker::Varve, (9, 1)),
            (None, Some(version)) => (Maker::Valkey, parse_version(version)),
            (None, None) => (Maker::Redis, parse_version(field("redis_version").unwrap_or("0"))),
        };
        let run_id = field("run_id").unwrap_or_default().to_owned();
        let databases = text.lines().filter_map(parse_database).collect();
        let mut knows = |name: &str| -> Result<bool, Error> {
            let reply = link.ask(&["COMMAND", "INFO", name])?;
            Ok(reply.array().is_some_and(|rows| matches!(rows, [Reply::Array(_)])))
        };
        let (transactions, expire_time) = (knows("MULTI")?, knows("PEXPIRETIME")?);
        let timed_fields = knows("HPEXPIREAT")?;
        let attributes = knows(NOTED)?;
        let digest = link.ask(&["DEBUG", "DIGEST-VALUE"])?;
        let server = Server {
            address: address.clone(),
            maker,
            version,
            run_id,
            databases,
            has_transactions: transactions,
            has_expire_time: expire_time,
            has_digests: digest.error().is_none(),
            has_timed_fields: timed_fields,
            has_attributes: attributes,
        };
        Ok((server, link))
    }
}

/// The databases of a server that have keys: number, keys.
///
/// # Errors
/// When the connection breaks or the server does not tell.
pub fn databases_of(link: &mut Link) -> Result<Vec<(u64, u64)>, Error> {
    let info = link.ask(&["INFO", "keyspace"])?;
    let Some(text) = info.bytes().map(String::from_utf8_lossy) else {
        return Err(link.refused("INFO keyspace", &info));
    };
    Ok(text.lines().filter_map(parse_database).collect())
}

fn parse_version(text: &str) -> (u64, u64) {
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

/// Reads `db3:keys=12,...`.
fn parse_database(line: &str) -> Option<(u64, u64)> {
    let (number, rest) = line.strip_prefix("db")?.split_once(":keys=")?;
    let keys = rest.split(',').next()?;
    Some((number.parse().ok()?, keys.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_info_are_read() {
        assert_eq!(parse_database("db3:keys=12,expires=1,avg_ttl=0"), Some((3, 12)));
        assert_eq!(parse_database("dbx"), None);
        assert_eq!((parse_version("7.2.4"), parse_version("x")), ((7, 2), (0, 0)));
    }
}
