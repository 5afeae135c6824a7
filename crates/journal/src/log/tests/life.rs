//! A life of the journal on a disk, and what is loaded of it afterwards.

use crate::disk::simulated::SimulatedFiles;
use crate::disk::{File, Files, append_all};
use crate::inspect::{State, inspect};
use crate::log::Log;
use crate::reader::{AofReader, ReadError, Unit};
use crate::ring::Consumer;
use crate::set::{BaseForm, Deletion, Set, SetError};
use crate::sync_line::{ReplicationId, SyncLine};
use crate::unit::{Command, Words};
use crate::writer::{End, Start, SyncPolicy, Writer};
use crate::{Lane, Ring};
use base::Steady;
use std::io;

pub const PREFIX: &str = "appendonly.aof";
pub const UNITS: u64 = 24;

/// A life of the journal: units are numbered, a base says how many it stands for.
pub struct Life<F: Files> {
    pub log: Log<F>,
    pub lane: Lane,
    pub consumer: Consumer,
    pub now: Steady,
    pub policy: SyncPolicy,
    pub units: u64,
    /// For each unit of this life its number and the position behind it.
    pub ends: Vec<(u64, u64)>,
}

/// What goes to replicas and is no data.
pub const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";

pub fn id() -> ReplicationId {
    ReplicationId::parse(&[b'7'; 40]).expect("digits")
}

impl<F: Files> Life<F> {
    /// As a server starts, which fails where the disk does.
    pub fn begin(files: F, policy: SyncPolicy) -> Option<Life<F>> {
        let mut set = Set::open(files, PREFIX).ok()?;
        let loaded = load(&set).ok()?;
        set.make_last_safe(loaded.whole, loaded.safe).ok()?;
        let position = loaded.position.unwrap_or(100);
        let start = Start { position, selected: loaded.selected, id: id(), shift: 0 };
        let log = match loaded.line {
            // As a server does, but for lives that begin another file all the same.
            Some(line) if loaded.units % 3 > 0 => {
                let (file, end) = (set.reopen_last().ok()?, End { bytes: loaded.whole, line });
                Log::new(set, Writer::go_on(file, start, &end, Steady(0)).ok()?, start)
            }
            _ => Log::begin(set, start, Steady(0)).ok()?,
        };
        let (mut lanes, ring) = Ring::with_lanes(0, 1, 1 << 20).expect("memory");
        ring.begin_at(position, loaded.selected);
        let consumer = ring.read_from_end();
        let lane = lanes.pop().expect("a lane");
        Some(Life {
            log,
            lane,
            consumer,
            now: Steady(0),
            policy,
            units: loaded.units,
            ends: vec![],
        })
    }

    pub fn put(&mut self) {
        if self.units % 11 == 10 {
            let selected = usize::from(self.lane.ring().selected_database() == 0);
            let position = self.lane.select_database(selected);
            self.log.note_selected_database(position, selected);
        }
        if self.units % 5 == 3 {
            self.lane.put_aside(PING);
        }
        let number = self.units.to_string();
        let words: [&[u8]; 2] = [b"UNIT", number.as_bytes()];
        let command = |database| Command { database, words: Words::Args(&words) };
        let unit = [command(usize::from(self.units.is_multiple_of(3))), command(0)];
        let commands = if self.units.is_multiple_of(4) { 2 } else { 1 };
        let end = self.lane.put_unit(unit.into_iter().take(commands));
        self.lane.withdraw();
        self.ends.push((self.units + 1, end));
        self.units += 1;
    }

    /// What the journal's thread does again and again.
    pub fn turn(&mut self) {
        self.now.0 += 400;
        if self.log.has_sync_failed() {
            let _ = self.log.replace(&self.consumer, self.now);
        }
        self.log.set_padded(self.policy == SyncPolicy::Always);
        self.log.set_synced(self.policy != SyncPolicy::No);
        let _ = self.log.write(&mut self.consumer, self.now);
        if self.log.is_sync_due(self.policy, self.now)
            && let Ok(job) = self.log.begin_sync(self.now)
        {
            let outcome = job.run();
            self.log.end_sync(job, &outcome);
        }
        self.consumer.release(self.log.safe().position.max(self.consumer.position()));
    }

    pub fn rotate(&mut self) -> Option<u64> {
        let cut = self.consumer.whole();
        self.log.rotate(&self.consumer, cut, self.now).ok()
    }

    /// Rotates, and makes a base of all units so far.
    pub fn make_base(&mut self) {
        let Some(first) = self.rotate() else { return };
        let base =
            format!("*2\r\n$4\r\nBASE\r\n${}\r\n{}\r\n", self.units.to_string().len(), self.units);
        let set = self.log.set();
        let write = || -> Result<(), SetError> {
            let file = set.create_base()?;
            let outcome = append_all(&file, base.as_bytes()).and_then(|()| file.sync());
            outcome.map_err(|error| SetError::Disk { doing: "write", name: "base".into(), error })
        };
        if write().is_ok() {
            let _ = set.switch_base(BaseForm::Commands, first);
        }
    }

    /// Removes a part of what is not needed.
    pub fn delete(&mut self, bytes: u64) {
        if let Ok(Deletion::Shorten(shortening)) = self.log.set().delete_step(bytes, |_| false) {
            let _ = shortening.run();
        }
    }

    pub fn live(&mut self, units: u64) {
        for _ in 0..units {
            self.put();
            self.turn();
            match self.units % 8 {
                3 => self.make_base(),
                6 => _ = self.rotate(),
                5 => self.delete(30),
                _ => {}
            }
        }
        (0..6).for_each(|_| self.turn());
    }

    /// Number of units that are safe, of all lives.
    pub fn acknowledged(&self) -> u64 {
        let safe = self.log.safe().position;
        let last = self.ends.iter().rev().find(|(_, end)| *end <= safe);
        last.map_or(0, |(units, _)| *units)
    }
}

pub struct Loaded {
    pub units: u64,
    pub whole: u64,
    pub safe: u64,
    pub position: Option<u64>,
    /// The last line of the last file, if that is an incremental one, and the database at its end.
    pub line: Option<(SyncLine, u64)>,
    pub selected: usize,
}

/// Loads a set, as a server does, and looks if it is a prefix of the history.
pub fn load<F: Files>(set: &Set<F>) -> io::Result<Loaded> {
    let (line, selected) = (None, 0);
    let mut loaded = Loaded { units: 0, whole: 0, safe: 0, position: None, line, selected };
    let files: Vec<_> = set.manifest().to_load().collect();
    for (number, entry) in files.iter().enumerate() {
        let file = set.files().open(&entry.name)?;
        let found = inspect(&file, 0)?;
        let is_last = number + 1 == files.len();
        match found.state {
            State::Whole => {}
            State::Torn { .. } if is_last => {}
            state => panic!("{} of {}: {state:?}", entry.name, set.manifest()),
        }
        let mut reader = AofReader::between(&file, 0, found.whole);
        let mut database = 0;
        while let Some(unit) = next(&mut reader)? {
            loaded.units += load_unit(&unit, loaded.units, &mut database);
        }
        (loaded.whole, loaded.safe) = (found.whole, found.safe);
        (loaded.line, loaded.selected) = (found.line, narrow::to_usize(database));
        loaded.position = found.position.map(|(position, _)| position).or(loaded.position);
    }
    Ok(loaded)
}

/// Looks if a unit is the expected one, in the right databases. Returns how many units it stands
/// for.
pub fn load_unit(unit: &Unit<'_>, expected: u64, database: &mut u64) -> u64 {
    let (mut units, mut databases) = (0, vec![]);
    for command in unit.commands() {
        let words: Vec<&[u8]> = command.collect();
        let value: u64 = std::str::from_utf8(words[1]).unwrap().parse().unwrap();
        match words[0] {
            b"SELECT" => *database = value,
            b"BASE" => return value - expected,
            _ => {
                assert_eq!(value, expected, "units stand in order, each once");
                databases.push(*database);
                units = 1;
            }
        }
    }
    let first = u64::from(expected.is_multiple_of(3));
    let both = if expected.is_multiple_of(4) { vec![first, 0] } else { vec![first] };
    assert!(units == 0 || databases == both, "{expected} in {databases:?}");
    units
}

pub fn next<'r>(reader: &'r mut AofReader<'_, impl File>) -> io::Result<Option<Unit<'r>>> {
    reader.next_unit().map_err(|error| match error {
        ReadError::Disk(error) => error,
        ReadError::Broken { .. } => panic!("{error}, and was inspected before"),
    })
}

pub fn reload(files: &SimulatedFiles) -> u64 {
    load(&Set::open(files.clone(), PREFIX).expect("a set")).expect("read").units
}

/// A life on a disk; returns how many units were acknowledged.
pub fn live(files: &SimulatedFiles, policy: SyncPolicy) -> u64 {
    let Some(mut life) = Life::begin(files.clone(), policy) else { return 0 };
    life.live(UNITS);
    life.acknowledged()
}

pub fn operations_of_a_life(policy: SyncPolicy) -> usize {
    let files = SimulatedFiles::new();
    assert_eq!(live(&files, policy), UNITS);
    files.operations()
}
