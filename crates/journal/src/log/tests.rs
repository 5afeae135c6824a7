//! The files on a disk that lies: power is lost, and any operation fails, at every step of a life
//! with rotations, bases and removals.

use super::*;
use crate::disk::simulated::{Fault, SimulatedFiles};
use crate::disk::{Directory, File, append_all};
use crate::inspect::{State, inspect};
use crate::reader::{AofReader, ReadError, Unit};
use crate::set::{BaseForm, Deletion};
use crate::sync_line::SyncLine;
use crate::unit::{Command, Words};
use crate::writer::End;
use crate::{Lane, Ring};
use base::Random;

const PREFIX: &str = "appendonly.aof";
const UNITS: u64 = 24;

/// A life of the journal: units are numbered, a base says how many it stands for.
struct Life<F: Files> {
    log: Log<F>,
    lane: Lane,
    consumer: Consumer,
    now: Steady,
    policy: SyncPolicy,
    units: u64,
    /// For each unit of this life its number and the position behind it.
    ends: Vec<(u64, u64)>,
}

fn id() -> ReplicationId {
    ReplicationId::parse(&[b'7'; 40]).expect("digits")
}

impl<F: Files> Life<F> {
    /// As a server starts, which fails where the disk does.
    fn begin(files: F, policy: SyncPolicy) -> Option<Life<F>> {
        let mut set = Set::open(files, PREFIX).ok()?;
        let loaded = load(&set).ok()?;
        set.make_last_safe(loaded.whole, loaded.safe).ok()?;
        let position = loaded.position.unwrap_or(100);
        let start = Start { position, selected: loaded.selected, id: id() };
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

    fn put(&mut self) {
        if self.units % 11 == 10 {
            let selected = usize::from(self.lane.ring().selected_database() == 0);
            let position = self.lane.select_database(selected);
            self.log.note_selected_database(position, selected);
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
    fn turn(&mut self) {
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

    fn rotate(&mut self) -> Option<u64> {
        let cut = self.consumer.whole();
        self.log.rotate(&self.consumer, cut, self.now).ok()
    }

    /// Rotates, and makes a base of all units so far.
    fn make_base(&mut self) {
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
    fn delete(&mut self, bytes: u64) {
        if let Ok(Deletion::Shorten(shortening)) = self.log.set().delete_step(bytes) {
            let _ = shortening.run();
        }
    }

    fn live(&mut self, units: u64) {
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
    fn acknowledged(&self) -> u64 {
        let safe = self.log.safe().position;
        let last = self.ends.iter().rev().find(|(_, end)| *end <= safe);
        last.map_or(0, |(units, _)| *units)
    }
}

struct Loaded {
    units: u64,
    whole: u64,
    safe: u64,
    position: Option<u64>,
    /// The last line of the last file, if that is an incremental one, and the database at its end.
    line: Option<(SyncLine, u64)>,
    selected: usize,
}

/// Loads a set, as a server does, and looks if it is a prefix of the history.
fn load<F: Files>(set: &Set<F>) -> io::Result<Loaded> {
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
fn load_unit(unit: &Unit<'_>, expected: u64, database: &mut u64) -> u64 {
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

fn next<'r>(reader: &'r mut AofReader<'_, impl File>) -> io::Result<Option<Unit<'r>>> {
    reader.next_unit().map_err(|error| match error {
        ReadError::Disk(error) => error,
        ReadError::Broken { .. } => panic!("{error}, and was inspected before"),
    })
}

fn reload(files: &SimulatedFiles) -> u64 {
    load(&Set::open(files.clone(), PREFIX).expect("a set")).expect("read").units
}

/// A life on a disk; returns how many units were acknowledged.
fn live(files: &SimulatedFiles, policy: SyncPolicy) -> u64 {
    let Some(mut life) = Life::begin(files.clone(), policy) else { return 0 };
    life.live(UNITS);
    life.acknowledged()
}

fn operations_of_a_life(policy: SyncPolicy) -> usize {
    let files = SimulatedFiles::new();
    assert_eq!(live(&files, policy), UNITS);
    files.operations()
}

#[test]
fn what_was_acknowledged_outlasts_power_loss_at_every_operation() {
    for policy in [SyncPolicy::Always, SyncPolicy::EverySecond] {
        for operation in 0..operations_of_a_life(policy) {
            let files = SimulatedFiles::new();
            files.fail_at(operation, Fault::Stop);
            let acknowledged = live(&files, policy);
            assert!(reload(&files.after_kill()) >= acknowledged, "killed at {operation}");
            for seed in 0..4 {
                let after = files.after_power_loss(&mut Random::from_seed(seed));
                let units = reload(&after);
                assert!(units >= acknowledged, "power lost at {operation}, seed {seed}");
            }
        }
    }
}

#[test]
fn lives_without_a_unit_leave_no_trace() {
    let files = SimulatedFiles::new();
    let mut life = Life::begin(files.clone(), SyncPolicy::EverySecond).expect("a life");
    (0..7).for_each(|_| life.put());
    (0..6).for_each(|_| life.turn());
    let state = |files: &SimulatedFiles| {
        let names = files.list().expect("listed");
        names.into_iter().map(|name| (files.contents(&name), name)).collect::<Vec<_>>()
    };
    let mut files = files.after_kill();
    let before = state(&files);
    for _ in 0..20 {
        let mut life = Life::begin(files.clone(), SyncPolicy::EverySecond).expect("a life");
        (0..6).for_each(|_| life.turn());
        files = files.after_kill();
        assert_eq!(state(&files), before);
    }
}

#[test]
fn a_rotation_that_fails_at_any_operation_leaves_a_file_that_goes_on() {
    let rotation = |operation: usize, fault: Option<Fault>| {
        let files = SimulatedFiles::new();
        let mut life = Life::begin(files.clone(), SyncPolicy::Always)?;
        (0..4).for_each(|_| life.put());
        life.turn();
        let began = files.operations();
        if let Some(fault) = fault {
            files.fail_at(operation, fault);
        }
        life.make_base();
        let operations = files.operations() - began;
        let _ = life.log.set().drop_base();
        (0..4).for_each(|_| life.put());
        (0..4).for_each(|_| life.turn());
        while !matches!(life.log.set().delete_step(1 << 20), Ok(Deletion::Done) | Err(_)) {
            life.delete(1 << 20);
        }
        assert_eq!(life.acknowledged(), 8, "at {operation}");
        assert_eq!(reload(&files.after_kill()), 8, "at {operation}");
        Some((operations, files.list().expect("listed")))
    };
    let (operations, names) = rotation(0, None).expect("a rotation");
    assert_eq!(names.len(), 3);
    for operation in 0..operations {
        for fault in [Fault::Device, Fault::NoSpace] {
            let (_, names) = rotation(operation, Some(fault)).expect("a rotation");
            assert!(names.iter().all(|name| !name.starts_with("temp-")), "{operation}: {names:?}");
            assert!(names.len() <= 4, "{operation}: {names:?}");
        }
    }
}

#[test]
fn a_second_life_goes_on_where_the_first_ended() {
    for operation in 0..operations_of_a_life(SyncPolicy::Always) {
        let files = SimulatedFiles::new();
        files.fail_at(operation, Fault::Stop);
        let acknowledged = live(&files, SyncPolicy::Always);
        let mut random = Random::from_seed(operation as u64);
        let is_kill = random.one_in(2);
        let after = if is_kill { files.after_kill() } else { files.after_power_loss(&mut random) };
        after.fail_at(operation / 2, Fault::Stop);
        let second = live(&after, SyncPolicy::Always).max(acknowledged);
        let units = reload(&after.after_power_loss(&mut random));
        assert!(units >= second, "lives of {operation} operations");
    }
}

#[test]
fn nothing_is_lost_when_any_operation_fails_once() {
    for fault in [Fault::NoSpace, Fault::Device] {
        // The first operations are those of the start, which is refused.
        for operation in 0..operations_of_a_life(SyncPolicy::Always) {
            let files = SimulatedFiles::new();
            files.fail_at(operation, fault);
            let Some(mut life) = Life::begin(files.clone(), SyncPolicy::Always) else { continue };
            life.live(UNITS);
            assert_eq!(life.acknowledged(), UNITS, "{fault:?} at {operation}");
            let after = files.after_power_loss(&mut Random::from_seed(operation as u64));
            assert_eq!(reload(&after), UNITS, "{fault:?} at {operation}");
        }
    }
}

#[test]
fn what_was_acknowledged_outlasts_a_failure_and_then_power_loss() {
    for operation in 0..operations_of_a_life(SyncPolicy::Always) {
        for later in [1, 2, 3, 5, 8, 13] {
            let files = SimulatedFiles::new();
            let Some(mut life) = Life::begin(files.clone(), SyncPolicy::Always) else { continue };
            files.fail_at(operation, Fault::Device);
            files.fail_at(operation + later, Fault::Stop);
            life.live(UNITS);
            let after = files.after_power_loss(&mut Random::from_seed(operation as u64));
            let units = reload(&after);
            assert!(units >= life.acknowledged(), "{operation}, and {later} later");
        }
    }
}

#[test]
fn lives_with_failures_at_random_lose_nothing() {
    for seed in 0..600 {
        let mut random = Random::from_seed(seed);
        let (mut files, mut acknowledged) = (SimulatedFiles::new(), 0);
        for _ in 0..5 {
            for _ in 0..random.below(4) {
                let fault = if random.one_in(2) { Fault::NoSpace } else { Fault::Device };
                files.fail_at(narrow::to_usize(random.below(200)), fault);
            }
            files.fail_at(narrow::to_usize(random.below(300)), Fault::Stop);
            acknowledged = live(&files, SyncPolicy::Always).max(acknowledged);
            let is_kill = random.one_in(2);
            files = if is_kill { files.after_kill() } else { files.after_power_loss(&mut random) };
            assert!(reload(&files) >= acknowledged, "seed {seed}");
        }
    }
}

#[test]
fn a_full_disk_refuses_until_space_returns() {
    let files = SimulatedFiles::new();
    let mut life = Life::begin(files.clone(), SyncPolicy::Always).expect("a life");
    life.live(5);
    files.set_full(true);
    life.live(5);
    assert_eq!(life.acknowledged(), 5);
    assert_eq!(reload(&files.after_kill()), 5, "truncated to a whole unit");
    files.set_full(false);
    life.live(5);
    assert_eq!((life.acknowledged(), reload(&files.after_kill())), (15, 15));
}

#[test]
fn a_failed_write_is_tried_again_after_a_second() {
    let files = SimulatedFiles::new();
    let mut life = Life::begin(files.clone(), SyncPolicy::Always).expect("a life");
    let bytes = || files.contents("appendonly.aof.1.incr.aof").expect("the file").len();
    let before = bytes();
    // Half of the unit is written.
    files.fail_at(0, Fault::NoSpace);
    life.put();
    let write =
        |life: &mut Life<SimulatedFiles>, now| life.log.write(&mut life.consumer, Steady(now));
    assert!(matches!(write(&mut life, 10), Err(WriteError::Write(_))));
    assert!(life.log.is_failing());
    assert_eq!(bytes(), before);
    assert!(matches!(write(&mut life, 1_009), Err(WriteError::Waiting)));
    assert!(write(&mut life, 1_010).is_ok() && !life.log.is_failing());
}

#[test]
fn a_failure_passes_though_nothing_waits_and_no_sync_is_due() {
    let files = SimulatedFiles::new();
    let mut life = Life::begin(files.clone(), SyncPolicy::No).expect("a life");
    life.put();
    life.turn();
    files.set_full(true);
    assert!(life.log.begin_sync(life.now).is_err() && life.log.is_failing());
    files.set_full(false);
    (0..3).for_each(|_| life.turn());
    assert!(!life.log.is_failing());
}

#[test]
fn what_a_failed_sync_has_lost_needs_a_base_if_it_was_released() {
    let files = SimulatedFiles::new();
    let mut life = Life::begin(files.clone(), SyncPolicy::Always).expect("a life");
    life.put();
    life.log.write(&mut life.consumer, Steady(0)).expect("written");
    life.consumer.release(life.log.written().position);
    let job = life.log.begin_sync(Steady(0)).expect("begun");
    let outcome = Err(io::ErrorKind::Other.into());
    life.log.end_sync(job, &outcome);
    assert!(matches!(
        life.log.write(&mut life.consumer, Steady(9_000)),
        Err(WriteError::SyncFailed)
    ));
    assert!(matches!(life.log.replace(&life.consumer, Steady(9_000)), Err(LogError::NeedsBase)));
}

/// A life whose manifest somebody removes, and that goes on apart with another base.
fn live_on_without_manifest(life: &mut Life<SimulatedFiles>, files: &SimulatedFiles) -> Option<()> {
    files.remove("appendonly.aof.manifest").ok()?;
    life.log.find_lost().ok()??;
    let cut = life.consumer.whole();
    life.log.go_apart(cut, life.now).ok()?;
    let base = format!("*2\r\n$4\r\nBASE\r\n${}\r\n{1}\r\n", 1, life.units);
    let file = life.log.set().create_base().ok()?;
    append_all(&file, base.as_bytes()).and_then(|()| file.sync()).ok()?;
    life.log.set().switch_base(BaseForm::Commands, 0).ok()
}

#[test]
fn a_death_while_a_lost_manifest_is_made_up_for_leaves_all_data() {
    let live = |operation: Option<usize>| {
        let files = SimulatedFiles::new();
        let mut life = Life::begin(files.clone(), SyncPolicy::Always).expect("a life");
        (0..8).for_each(|_| life.put());
        life.turn();
        assert_eq!(life.acknowledged(), 8);
        let began = files.operations();
        operation.inspect(|operation| files.fail_at(*operation, Fault::Stop));
        let lived_on = live_on_without_manifest(&mut life, &files);
        assert!(lived_on.is_some() || operation.is_some());
        (files.operations() - began, files)
    };
    for operation in 1..=live(None).0 {
        let files = live(Some(operation)).1;
        let disks = (0..4).map(|seed| files.after_power_loss(&mut Random::from_seed(seed)));
        for files in disks.chain([files.after_kill()]) {
            match Set::open(files.clone(), PREFIX) {
                Ok(_) => assert_eq!(reload(&files), 8, "{operation}"),
                Err(SetError::NoManifest(_)) => {}
                Err(error) => panic!("{operation}: {error}"),
            }
        }
    }
}

#[test]
fn everysec_begins_a_sync_once_a_second() {
    let files = SimulatedFiles::new();
    let mut life = Life::begin(files.clone(), SyncPolicy::EverySecond).expect("a life");
    life.put();
    life.log.write(&mut life.consumer, Steady(0)).expect("written");
    let is_due = |policy, now| life.log.is_sync_due(policy, Steady(now));
    assert!(!is_due(SyncPolicy::EverySecond, 999) && is_due(SyncPolicy::EverySecond, 1_000));
    assert!(is_due(SyncPolicy::Always, 0) && !is_due(SyncPolicy::No, 5_000));
}

#[test]
fn after_a_clean_end_all_is_told_to_be_safe() {
    let files = SimulatedFiles::new();
    let mut life = Life::begin(files.clone(), SyncPolicy::No).expect("a life");
    life.live(2);
    assert_eq!(life.acknowledged(), 0);
    life.log.close(&mut life.consumer, Steady(9_000)).expect("closed");
    assert_eq!((life.acknowledged(), reload(&files.after_kill())), (2, 2));
    let file = files.open("appendonly.aof.1.incr.aof").expect("the last file");
    let (found, line) = (inspect(&file, 0).expect("read"), crate::sync_line::LINE_BYTES_MAX as u64);
    assert!(found.state == State::Whole && found.whole - found.safe < line);
}

#[test]
fn after_a_clean_end_the_file_has_nothing_ahead() {
    for policy in [SyncPolicy::Always, SyncPolicy::No] {
        for turns in [0, 1] {
            let files = SimulatedFiles::new();
            let mut life = Life::begin(files.clone(), policy).expect("a life");
            life.live(2);
            (0..turns).for_each(|_| life.turn());
            life.log.close(&mut life.consumer, Steady(9_000)).expect("closed");
            let bytes = files.contents("appendonly.aof.1.incr.aof").expect("the last file");
            let end = String::from_utf8_lossy(&bytes[bytes.len() - 20..]).into_owned();
            assert!(!end.contains('#') && end.ends_with("\r\n"), "{policy:?}: {end}");
        }
    }
}

#[test]
fn history_is_removed_in_pieces() {
    let files = SimulatedFiles::new();
    let mut life = Life::begin(files.clone(), SyncPolicy::Always).expect("a life");
    life.put();
    life.turn();
    life.make_base();
    let name = "appendonly.aof.1.incr.aof";
    let mut bytes = files.contents(name).expect("history").len();
    loop {
        match life.log.set().delete_step(50).expect("a step") {
            Deletion::Shorten(shortening) => shortening.run().expect("shorter"),
            Deletion::Removed => {}
            Deletion::Done => break,
        }
        let left = files.contents(name).map_or(0, |bytes| bytes.len());
        assert!(left < bytes || left == 0);
        bytes = left;
    }
    assert_eq!(files.contents(name), None);
    let manifest = life.log.set().manifest().to_string();
    assert_eq!(
        manifest,
        "file appendonly.aof.1.base.aof seq 1 type b\nfile appendonly.aof.2.incr.aof seq 2 type i\n"
    );
}

#[test]
fn lives_in_a_real_directory_follow_each_other() {
    let parent = tempfile::tempdir().expect("a directory");
    let open = || Directory::open(parent.path()).expect("a directory");
    for lives in 1..=3 {
        let mut life = Life::begin(open(), SyncPolicy::Always).expect("a life");
        assert_eq!(life.units, UNITS * (lives - 1));
        life.live(UNITS);
        assert_eq!(life.acknowledged(), UNITS * lives);
    }
}
