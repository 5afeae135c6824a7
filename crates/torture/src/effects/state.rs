//! All that a server holds, as plain commands that would make it.

use super::server::Server;
use crate::differential::step::{Request, line, word};
use base::Millis;
use std::collections::BTreeMap;

/// Commands for each key of each database.
#[derive(Debug, PartialEq, Eq)]
pub struct State(BTreeMap<(usize, Vec<u8>), Vec<Request>>);

impl State {
    /// Reads the state of a server, with all that has expired and is not removed yet.
    pub fn of(server: &mut Server) -> State {
        let mut all = BTreeMap::new();
        for database in 0..server.databases() {
            for bytes in server.keys(database) {
                all.insert((database, bytes.clone()), value_of(server, database, &bytes));
            }
        }
        State(all)
    }

    /// Number of keys.
    pub fn keys(&self) -> usize {
        self.0.len()
    }

    /// Describes the first key that two states do not have in common.
    pub fn difference(&self, other: &State) -> Option<String> {
        let keys = self.0.keys().chain(other.0.keys());
        let differs = |key: &&(usize, Vec<u8>)| self.0.get(*key) != other.0.get(*key);
        let key = keys.into_iter().find(differs)?;
        let (here, there) = (self.0.get(key), other.0.get(key));
        let show = |state: Option<&Vec<Request>>, but: Option<&Vec<Request>>| {
            let Some(rows) = state else { return "nothing".to_owned() };
            let alone = rows.iter().filter(|row| but.is_none_or(|but| !but.contains(row)));
            let shown: Vec<String> = alone.take(ROWS_SHOWN).map(shown).collect();
            format!("{} rows, with {}", rows.len(), shown.join("; "))
        };
        let (here, there) = (show(here, there), show(there, here));
        Some(format!("database {}, {}: {here}\nand not {there}", key.0, word(&key.1)))
    }
}

/// Most rows that are shown of a difference.
const ROWS_SHOWN: usize = 10;

fn shown(command: &Request) -> String {
    line(command).chars().take(200).collect()
}

/// Commands for the value of a key, what has no order of its own in one.
pub fn value_of(server: &mut Server, database: usize, bytes: &[u8]) -> Vec<Request> {
    let store = &server.instance.store;
    store.enter(&server.thread);
    let keyspace = store.keyspace(database).expect("a database");
    let key = store.key(keyspace, bytes);
    let mut commands = Vec::new();
    let access = store.lock(&mut server.thread, &key, Millis(0));
    access.value_in_words(&key, |args| commands.push(args));
    drop(access);
    store.leave(&server.thread);
    ordered(commands)
}

/// Puts what has no order of its own into one.
fn ordered(commands: Vec<Request>) -> Vec<Request> {
    let columns = |name: &[u8]| match name {
        b"SADD" => Some(1),
        b"HSET" | b"ZADD" => Some(2),
        _ => None,
    };
    let (mut rows, mut others) = (Vec::new(), Vec::new());
    for command in commands {
        match columns(&command[0]) {
            Some(columns) => rows.extend(command[2..].chunks(columns).map(<[Vec<u8>]>::to_vec)),
            None => others.push(command),
        }
    }
    if others.first().is_some_and(|it| it[0] == b"HPEXPIREAT") {
        others.sort();
    }
    // Small sorted sets know no negative zero.
    rows.iter_mut().filter(|row| row[0] == b"-0").for_each(|row| row[0] = b"0".to_vec());
    rows.sort();
    rows.extend(others);
    rows
}
