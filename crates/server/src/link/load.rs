//! The snapshot of a primary: taken into a file without a name, or loaded as it comes; beside the
//! old data. The file may become the RDB file of this server.

use super::incoming::{Incoming, SIGN_MILLIS, SharedSocket};
use super::socket::Socket;
use super::thread::{Ended, LOOK, LinkThread, upstream_state};
use crate::limits;
use crate::load::{LoadFailed, Loaded, drop_all, load_beside};
use replication::{Ending, History, ReplicationId, transfer::Transfer};
use session::{Instance, LinkState};
use settings::DisklessLoad;
use settings::general::DIR;
use settings::replication as rows;
use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread;
use std::time::Duration;

/// Longest line before a snapshot.
const LINE_BYTES_MAX: usize = 1024;
/// Time between two looks whether one is due.
const SIGN_WAIT: Duration = Duration::from_millis(10);

impl LinkThread {
    /// Takes the snapshot and loads it in place of the data. What comes behind it stays with the
    /// socket.
    pub(super) fn take_snapshot(
        &mut self,
        socket: &mut Socket,
        id: ReplicationId,
        offset: u64,
    ) -> Result<(), Ended> {
        upstream_state(&self.instance, LinkState::Sync);
        tracing::info!("Full resync from the primary: {}:{offset}", id.as_str());
        let transfer = self.begin_transfer(socket)?;
        let facts = &self.instance.upstream.transfer;
        facts.read.store(0, Relaxed);
        let bytes = if let Transfer::Length(bytes) = transfer { bytes } else { 0 };
        facts.total.store(bytes, Relaxed);
        let is_empty = self.instance.store.keys() == 0;
        match rows::REPL_DISKLESS_LOAD.get(&self.instance.settings) {
            DisklessLoad::OnEmptyDatabase if !is_empty => {}
            DisklessLoad::Disabled => {}
            way => return self.load_as_it_comes(socket, (transfer, way), (id, offset)),
        }
        let (file, bytes) = self.receive(socket, transfer)?;
        tracing::info!("The snapshot of the primary has come: {bytes} bytes");
        self.load_file(socket, (file, bytes), (id, offset))
    }

    /// Receives the snapshot into a file. Returns it, and its length.
    fn receive(&mut self, socket: &mut Socket, transfer: Transfer) -> Result<(File, u64), Ended> {
        let facts = &self.instance.upstream.transfer;
        let directory = DIR.get(&self.instance.settings);
        let mut file = tempfile::tempfile_in(&*directory)?;
        let mut ending = Ending::new(transfer);
        loop {
            self.go_on()?;
            let mut written = Ok(());
            let received = std::mem::take(&mut socket.received);
            let came = ending.take(&received, |piece| {
                if written.is_ok() {
                    written = file.write_all(piece);
                }
            });
            written?;
            socket.received = received;
            socket.received.drain(..came.taken);
            facts.read.store(ending.passed(), Relaxed);
            if came.is_whole {
                file.seek(SeekFrom::Start(0))?;
                return Ok((file, ending.passed()));
            }
            socket.read(LOOK, self.instance.clock.steady())?;
            self.hear(socket)?;
        }
    }

    /// Waits for the line before the snapshot. Empty ones say that the primary lives.
    fn begin_transfer(&mut self, socket: &mut Socket) -> Result<Transfer, Ended> {
        loop {
            self.go_on()?;
            while let Some(line) = socket.take_line(LINE_BYTES_MAX)? {
                if line.is_empty() {
                    continue;
                }
                let text = || String::from_utf8_lossy(&line).into_owned();
                return Transfer::parse(&line).ok_or_else(|| Ended::Snapshot(text()));
            }
            socket.read(LOOK, self.instance.clock.steady())?;
            self.hear(socket)?;
        }
    }

    /// Loads it from a file. What the primary sends meanwhile is kept.
    fn load_file(
        &mut self,
        socket: &mut Socket,
        (file, bytes): (File, u64),
        stream: (ReplicationId, u64),
    ) -> Result<(), Ended> {
        let kept = file.try_clone()?;
        self.load((bytes, true), stream, |link, may_be_empty| {
            let (clock, is_loaded) = (Arc::clone(&link.instance), AtomicBool::new(false));
            thread::scope(|scope| {
                let wait = || while_it_loads(socket, &clock, &is_loaded);
                let waiting = thread::Builder::new().name("link-ahead".to_owned());
                let waiting = waiting.spawn_scoped(scope, wait);
                let source = (BufReader::new(file), bytes);
                let loaded = load_beside(&clock, &mut link.thread, source, may_be_empty);
                let loaded = loaded.and_then(|it| it.if_whole(&clock, &mut link.thread, Ok(bytes)));
                if loaded.is_ok() {
                    link.keep_snapshot(&kept);
                }
                is_loaded.store(true, Release);
                if let Err(error) = waiting {
                    tracing::warn!(
                        "The primary, which heard nothing while its snapshot was loaded, may give \
                         the link up: {error}"
                    );
                }
                loaded
            })
        })
    }

    /// Loads it while it comes.
    fn load_as_it_comes(
        &mut self,
        socket: &mut Socket,
        (transfer, way): (Transfer, DisklessLoad),
        stream: (ReplicationId, u64),
    ) -> Result<(), Ended> {
        let bytes = if let Transfer::Length(bytes) = transfer { bytes } else { 0 };
        tracing::info!("The snapshot of the primary is loaded as it comes");
        // A primary of another history may be an empty one, which `replica-refuse-empty-primary`
        // is to keep from emptying this server.
        let may_go = self.may_be_empty() || self.knows(stream.0);
        let goes_first = way == DisklessLoad::FlushBeforeLoad && may_go;
        self.load((bytes, !goes_first), stream, |link, may_be_empty| {
            if goes_first {
                link.drop_data();
            }
            let (instance, roles) = (Arc::clone(&link.instance), Arc::clone(&link.roles));
            let changes = link.changes;
            let is_over =
                || instance.upstream.changes() != changes || roles.is_stopping.load(Acquire);
            let shared = SharedSocket::new(socket, instance.clock.steady());
            let mut incoming = Incoming::new(&shared, &instance, transfer, &is_over);
            // How much will come is nothing but what the primary says.
            let (source, is_loaded) = ((&mut incoming, 0), AtomicBool::new(false));
            let loaded = thread::scope(|scope| {
                let sign = || sign_while_it_loads(&shared, &instance, &is_loaded);
                let signing = thread::Builder::new().name("link-signs".to_owned());
                // Without it the reader tells that this server lives.
                let _ = signing.spawn_scoped(scope, sign);
                let loaded = load_beside(&instance, &mut link.thread, source, may_be_empty);
                is_loaded.store(true, Release);
                loaded
            })?;
            loaded.if_whole(&instance, &mut link.thread, incoming.finish())
        })
    }

    /// Loads it, in the way of `load`. Clients read what there is meanwhile if that stays and is of
    /// the same history.
    fn load(
        &mut self,
        (bytes, stays): (u64, bool),
        (id, offset): (ReplicationId, u64),
        load: impl FnOnce(&mut Self, bool) -> Result<Loaded, LoadFailed>,
    ) -> Result<(), Ended> {
        let instance = &self.instance;
        let has_begun = match stays && self.knows(id) {
            true => instance.begin_loading_beside(bytes),
            false => instance.begin_loading(bytes),
        };
        if !has_begun {
            return Err(Ended::Snapshot("data is being loaded already".to_owned()));
        }
        limits::apply(instance);
        tracing::info!("PRIMARY <-> REPLICA sync: Loading DB in memory");
        let may_be_empty = self.may_be_empty();
        let loaded = load(self, may_be_empty);
        let loaded = loaded.map_err(|error| Ended::Snapshot(error.to_string()));
        let outcome = loaded.map(|loaded| self.begin_history(loaded, id, offset));
        self.instance.end_loading();
        limits::apply(&self.instance);
        if outcome.is_ok() || !stays {
            self.journal.begin_anew();
            self.follower.serve_waiters(&self.instance, &mut self.thread);
        }
        outcome?;
        // Others that follow the same primary may come here when this server is promoted.
        if let Some(door) = self.journal.door() {
            // From before its role can change: what that puts is wanted too.
            door.keep_and_wait(None);
        }
        tracing::info!("The data of the primary is loaded: {} keys", self.instance.store.keys());
        Ok(())
    }

    /// True if a snapshot without keys may take the place of what there is.
    fn may_be_empty(&self) -> bool {
        !rows::REPLICA_REFUSE_EMPTY_PRIMARY.get(&self.instance.settings)
            || self.roles.was_asked_for.load(Acquire)
            || self.instance.store.keys() == 0
    }

    /// Lets the data go, before that of the primary is there. Nobody goes on with what is not
    /// there: replicas of this server are let go, its history ends, and sentinels pass it over.
    fn drop_data(&mut self) {
        let (instance, roles) = (Arc::clone(&self.instance), Arc::clone(&self.roles));
        roles.has_history.store(false, Release);
        instance.upstream.note_unsynced();
        if let Some(door) = self.journal.door() {
            door.part_and_wait();
        }
        drop_all(&instance, &mut self.thread);
    }

    /// True if the data here is of the history that has this id.
    fn knows(&self, id: ReplicationId) -> bool {
        let history = self.instance.replicas.history();
        self.roles.has_history.load(Relaxed)
            && history.is_some_and(|history| {
                history.id() == id || history.earlier().iter().any(|it| it.id == id)
            })
    }

    /// Has the data of the primary take the place of what there is, and its stream be the one of
    /// this server.
    fn begin_history(&mut self, loaded: Loaded, id: ReplicationId, offset: u64) {
        let (instance, journal, lane) = (&self.instance, &self.journal, &mut self.lane);
        let database = instance.loading.progress.stream.lock().database.unwrap_or(0);
        let database = usize::try_from(database).unwrap_or(0);
        let database = if database < instance.store.databases() { database } else { 0 };
        // Replicas of this server, and what is kept for them, are of another stream. Nobody becomes
        // one before loading has ended.
        if let Some(door) = journal.door() {
            door.part_and_wait();
        }
        loaded.take_place(instance, &mut self.thread, || {
            journal.set_offset(offset);
            lane.follow_selection(database);
            journal.note_selection(journal.tail(), database);
            instance.replicas.set_history(History::new(id));
        });
        self.follower.select(database);
        self.roles.note_history();
        self.roles.was_asked_for.store(false, Release);
    }
}

/// While a snapshot is loaded as it comes: tells the primary now and then that this server lives.
fn sign_while_it_loads(shared: &SharedSocket<'_>, instance: &Instance, is_loaded: &AtomicBool) {
    while !is_loaded.load(Acquire) {
        thread::sleep(SIGN_WAIT);
        // A broken connection shows when the snapshot is read.
        let _ = shared.sign(instance.clock.steady());
    }
}

/// While a snapshot is loaded: takes what the primary sends behind it, and tells it now and then
/// that this server lives.
fn while_it_loads(socket: &mut Socket, instance: &Instance, is_loaded: &AtomicBool) {
    let directory = PathBuf::from(&*DIR.get(&instance.settings));
    let mut said_at = instance.clock.steady();
    while !is_loaded.load(Acquire) {
        let now = instance.clock.steady();
        if now.since(said_at) >= SIGN_MILLIS {
            said_at = now;
            // A broken connection shows when the stream is read.
            let _ = socket.send(b"\n");
        }
        socket.read_ahead(&directory, now);
    }
}
