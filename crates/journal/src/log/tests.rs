//! The files on a disk that lies: power is lost, and any operation fails, at every step of a life
//! with rotations, bases and removals.

mod life;

use super::*;
use crate::disk::simulated::{Fault, SimulatedFiles};
use crate::disk::{Directory, File, append_all};
use crate::inspect::{State, inspect};
use crate::reader::AofReader;
use crate::set::{BaseForm, Deletion};
use base::Random;
use life::{Life, PING, PREFIX, UNITS, id, live, operations_of_a_life, reload};

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
        while !matches!(life.log.set().delete_step(1 << 20, |_| false), Ok(Deletion::Done) | Err(_))
        {
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
fn what_is_no_data_is_in_no_file_and_counts_for_the_position() {
    let files = SimulatedFiles::new();
    let mut life = Life::begin(files.clone(), SyncPolicy::No).expect("a life");
    for pings in [1, 2, 0, 3] {
        for _ in 0..pings {
            life.lane.put_aside(PING);
        }
        life.put();
        life.turn();
    }
    life.lane.put_aside(PING);
    let tail = life.lane.ring().tail();
    life.log.close(&mut life.consumer, Steady(9_000)).expect("closed");
    let bytes = files.contents("appendonly.aof.1.incr.aof").expect("the last file");
    let text = String::from_utf8_lossy(&bytes);
    assert!(!text.contains("PING") && text.matches("#gap ").count() == 4, "{text}");
    let file = files.open("appendonly.aof.1.incr.aof").expect("the last file");
    let found = inspect(&file, 0).expect("read");
    assert_eq!((found.position, found.state), (Some((tail, id())), State::Whole));
    assert_eq!(reload(&files.after_kill()), 4);
}

#[test]
fn each_unit_with_times_to_live_has_its_moment_in_the_file_also_behind_failures() {
    let policies = [SyncPolicy::Always, SyncPolicy::EverySecond, SyncPolicy::No];
    for (policy, failing) in policies.into_iter().flat_map(|it| (0..24).map(move |at| (it, at))) {
        let files = SimulatedFiles::new();
        let mut life = Life::begin(files.clone(), policy).expect("a life");
        let began = files.operations();
        files.fail_at(failing, Fault::Device);
        for moment in [None, Some(1_000), Some(1_000), None, Some(900), None] {
            let position = life.lane.ring().tail();
            life.log.note_moments(moment.map(|it| (position, Millis(it))).into_iter().collect());
            life.put();
            life.turn();
        }
        (0..3).for_each(|_| life.turn());
        if files.operations() <= began + failing {
            continue;
        }
        life.log.close(&mut life.consumer, Steady(99_000)).expect("closed");
        let mut found = [None; 6];
        for number in 1..=life.log.last_incremental() {
            let name = format!("appendonly.aof.{number}.incr.aof");
            let file = files.open(&name).expect("the file");
            let mut reader = AofReader::new(&file, 0).expect("opened");
            while let Some(batch) = reader.next_batch(100).expect("read") {
                for (bytes, words, _) in batch.commands() {
                    if &bytes[words[0].clone()] == b"UNIT" {
                        let unit = text::parse_u64(&bytes[words[1].clone()]).expect("a number");
                        found[unit as usize] = batch.moment.map(|it| it.0);
                    }
                }
            }
        }
        let at = |unit: usize| found[unit];
        let told = [at(1), at(2), at(4)];
        assert_eq!(told, [Some(1_000), Some(1_000), Some(900)], "{policy:?}, {failing}");
        assert_eq!(reload(&files.after_kill()), 6, "{policy:?}, {failing}");
    }
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
        match life.log.set().delete_step(50, |_| false).expect("a step") {
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
