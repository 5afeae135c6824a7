//! Keys with waiters that a request, or the requests of a unit, may write.

use crate::flags::{Locks, Wakes};
use crate::row::{Call, Row};
use base::PositionHash;
use session::{Args, DatabaseKey, Instance};
use smallvec::SmallVec;
use std::collections::VecDeque;
use store::ShardSet;

/// Keys whose lines are to be served, each with the ticket of the last waiter that was looked at;
/// zero for none.
pub(super) type Touched = VecDeque<(DatabaseKey, u64)>;

/// Request as far as waiters matter: its row, its arguments and its database.
#[derive(Clone, Copy)]
pub struct Request<'r> {
    row: &'static Row,
    args: Args<'r>,
    database: usize,
}

impl<'r> Request<'r> {
    /// Returns the request of a command.
    pub fn of(call: &Call<'r>) -> Request<'r> {
        Request { row: call.row, args: call.args, database: call.session.database }
    }

    /// Returns the keys that the request names.
    fn names(self) -> SmallVec<[&'r [u8]; 4]> {
        if self.row.has_one_key {
            return SmallVec::from_slice(&[self.args.get(self.row.first_key)]);
        }
        let words: SmallVec<[&[u8]; 8]> = self.args.from(0).collect();
        let found = (self.row.spec.find_keys)(self.row.spec.keys, &words).unwrap_or_default();
        found.iter().map(|(key, _)| *key).collect()
    }

    /// Returns the keys with waiters that the request touches. Adds the shards of all keys that it
    /// reaches to `shards`.
    pub fn touched(self, instance: &Instance, shards: &mut ShardSet) -> Touched {
        let (lines, wakes) = (&instance.waiters.lines, self.row.spec.wakes);
        if wakes == Wakes::AnyoneAfterwards {
            return begin_of_lines(lines.all());
        }
        if self.row.spec.locks == Locks::All {
            *shards = ShardSet::all();
        }
        let named = self.names();
        let keys = named.iter().map(|key| (*key, instance.store.hash(key)));
        keys.clone().for_each(|(_, hash)| shards.add(hash));
        if wakes == Wakes::ItsKeysAnywhere {
            return begin_of_lines(keys.flat_map(|(key, hash)| lines.anywhere(key, hash)));
        }
        let awaited = keys.filter(|(key, hash)| lines.has(self.database, key, *hash));
        begin_of_lines(awaited.map(|(key, hash)| DatabaseKey::new(self.database, key, hash)))
    }
}

/// Keys with waiters that the commands of a script have written, as far as it has run. The locks of
/// all of them are held, so nobody begins to wait for one meanwhile.
#[derive(Debug, Default)]
pub struct Gathered {
    pub(super) touched: Touched,
    /// Words of the requests: as many waiters may be served for each key.
    pub(super) words: usize,
}

impl Gathered {
    /// Adds the keys of a command that has run.
    pub fn add(&mut self, call: &Call<'_>) {
        let found = Request::of(call).touched(call.instance, &mut ShardSet::new());
        self.touched.extend(found);
        self.words += call.args.len();
    }
}

/// Returns the keys, whose lines are to be looked at from their begin.
pub fn begin_of_lines(keys: impl IntoIterator<Item = DatabaseKey>) -> Touched {
    keys.into_iter().map(|key| (key, 0)).collect()
}

/// Keys that the commands of a unit may write, and with them wake waiters.
#[derive(Debug, Default)]
pub struct Touch<'r> {
    /// Keys, each with the number of its database and its hash.
    pub keys: Vec<(usize, &'r [u8], PositionHash)>,
    /// Keys that are written in some database, each with its hash.
    pub anywhere: Vec<(&'r [u8], PositionHash)>,
    /// True if all keys may be written.
    pub all: bool,
    /// Words of the requests that may wake somebody: as many waiters may be served for each key.
    pub words: usize,
}

impl Touch<'_> {
    /// Returns the keys with waiters.
    pub fn touched(&self, instance: &Instance) -> Touched {
        let lines = &instance.waiters.lines;
        if instance.waiters.count() == 0 {
            return Touched::new();
        }
        let awaited =
            self.keys.iter().filter(|(database, key, hash)| lines.has(*database, key, *hash));
        let awaited = awaited.map(|(database, key, hash)| DatabaseKey::new(*database, key, *hash));
        let mut touched = begin_of_lines(awaited);
        if self.all {
            touched.extend(begin_of_lines(lines.all()));
        } else {
            let anywhere = self.anywhere.iter().flat_map(|(key, hash)| lines.anywhere(key, *hash));
            touched.extend(begin_of_lines(anywhere));
        }
        touched
    }
}
