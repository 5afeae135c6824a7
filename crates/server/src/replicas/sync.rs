//! The snapshot with which replicas begin, as the saver makes it.
//!
//! At its cut the stream is on, and the offset is known from which on they follow it. The home
//! database, the one that most clients have selected, is selected anew behind that, for readers
//! that do not read it from the snapshot.

use super::backlog::Backlog;
use super::parcel::{Parcel, ParcelSink};
use crate::door::Door;
use crate::journal::{Journal, Reason};
use crate::saver::{Job, JobKind, Sink};
use base::mutex::Mutex;
use crossbeam_channel::Sender;
use journal::Lane;
use rdb::Version;
use replication::{Filter, Reader, ReplicationId};
use session::{ClientFlags, Instance, timed_version};
use settings::{RdbReader, Settings, snapshots};
use snapshot::{Fields, Save, SaveError};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

/// What is to be in a snapshot. Replicas that want the same share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Version for deadlines of fields; `None` if the reader knows none.
    timed: Option<Version>,
    filter: Filter,
}

/// First version of Valkey that knows deadlines of fields.
const VALKEY_TIMED: [u8; 3] = [9, 0, 0];

impl Wish {
    /// What a reader can read. One that only stores its snapshot reads what the settings say.
    pub fn of(about: &Reader, settings: &Settings) -> Wish {
        let is_redis = snapshots::RDB_READER.get(settings) == RdbReader::Redis;
        let timed = match about.version {
            Some(version) if version >= VALKEY_TIMED => Some(Version::VALKEY),
            _ if about.is_redis_8 => Some(Version::REDIS),
            _ if about.only_snapshot || about.port == 0 => Some(timed_version(settings)),
            None if is_redis => Some(Version::REDIS),
            _ => None,
        };
        Wish { timed, filter: about.filter }
    }

    /// True for a reader that does not know what commands about deadlines of fields mean.
    pub fn knows_no_field_deadlines(&self) -> bool {
        self.timed.is_none()
    }
}

/// What the sender is told at the cut.
pub struct Cut {
    /// Position of the stream at the snapshot.
    pub position: u64,
    /// The backlog from there on, unless there is one.
    pub backlog: Option<Backlog>,
}

/// The saver's part of a synchronization.
pub struct SyncJob {
    pub wish: Wish,
    pub parcel: Arc<Parcel>,
    pub journal: Arc<Journal>,
    pub lane: Arc<Mutex<Lane>>,
    pub door: Arc<Door>,
    pub cut: Sender<Cut>,
    /// True if a backlog is to be begun.
    pub begins_backlog: bool,
    /// Id of the stream, if it is to have a new one.
    pub new_id: ReplicationId,
    pub fields: Arc<OnceLock<Fields>>,
    /// Database that most clients have selected.
    pub home: usize,
}

impl Job for SyncJob {
    fn kind(&self) -> JobKind {
        JobKind::Replicas
    }

    fn shape(&self, save: &mut Save<'_>) {
        save.timed = self.wish.timed;
        save.leaves_out_keys = self.wish.filter != Filter::Everything;
        save.leaves_out_functions = self.wish.filter == Filter::Nothing;
        save.fields = Arc::clone(&self.fields);
    }

    fn open(&mut self, instance: &Instance) -> io::Result<Box<dyn Sink>> {
        self.home = busiest_database(instance, self.journal.ring().selected_database());
        Ok(Box::new(ParcelSink(Arc::clone(&self.parcel))))
    }

    fn at_cut(&mut self, instance: &Instance) {
        let (journal, replicas) = (&self.journal, &instance.replicas);
        if journal.reasons.all().is_empty() && !journal.reasons.follows() {
            // What has changed since the stream was on is in no history.
            replicas.end_history(self.new_id);
        }
        journal.reasons.add(&instance.store, Reason::REPLICAS);
        let backlog = self.begins_backlog.then(|| Backlog::of(journal.ring()));
        let position = journal.tail();
        // It is empty before the cut, and there is one.
        let _ = self.fields.set(replicas.fields());
        self.select_home(journal);
        // An error is ignored: the sender has ended.
        let _ = self.cut.send(Cut { position, backlog });
        self.door.wake();
    }

    fn end(self: Box<Self>, _: &Instance, saved: Result<(), SaveError>) {
        self.parcel.end(saved.map_err(|error| error.to_string()));
    }
}

impl SyncJob {
    fn select_home(&self, journal: &Journal) {
        // The stream of a primary is its own.
        if !journal.reasons.follows() {
            let mut lane = self.lane.lock();
            lane.follow_selection(self.home);
            // Before the files can have it: a file that begins here says the same.
            journal.note_selection(journal.tail(), self.home);
            lane.select_again(self.home);
            lane.withdraw();
        }
    }
}

/// The database that most clients have selected; `present` if no other has more.
fn busiest_database(instance: &Instance, present: usize) -> usize {
    let mut counts = BTreeMap::new();
    for client in instance.clients.list() {
        if !client.flags().contains(ClientFlags::REPLICA) {
            let database = client.database.load(Relaxed) as usize;
            *counts.entry(database).or_insert(0_u64) += 1;
        }
    }
    let of = |database| counts.get(&database).copied().unwrap_or(0);
    let most = counts.iter().max_by_key(|(_, count)| **count).map_or(present, |(it, _)| *it);
    if of(most) > of(present) { most } else { present }
}

#[cfg(test)]
mod tests {
    use super::*;
    use settings::Origin;

    fn wish(told: &[(&str, &str)], rdb_reader: &str) -> Wish {
        let (mut about, settings) = (Reader::default(), Settings::new());
        settings.set_many(&[("rdb-reader", rdb_reader)], Origin::Local).expect("a reader");
        for (option, value) in told {
            about.tell(option.as_bytes(), value.as_bytes()).expect("an option");
        }
        Wish::of(&about, &settings)
    }

    #[test]
    fn each_reader_gets_the_version_that_it_reads() {
        let port = ("listening-port", "7000");
        type Told<'a> = &'a [(&'a str, &'a str)];
        let cases: [(Told<'_>, &str, Option<Version>); 7] = [
            (&[port, ("version", "9.0.0")], "redis", Some(Version::VALKEY)),
            (&[port, ("version", "8.1.8")], "valkey", None),
            (&[port, ("capa", "rdb-channel-repl")], "valkey", Some(Version::REDIS)),
            (&[port], "redis", Some(Version::REDIS)),
            (&[port], "valkey", None),
            (&[("rdb-only", "1")], "valkey", Some(Version::VALKEY)),
            (&[], "redis", Some(Version::REDIS)),
        ];
        for (told, rdb_reader, timed) in cases {
            assert_eq!(wish(told, rdb_reader).timed, timed, "{told:?}, {rdb_reader}");
        }
    }
}
