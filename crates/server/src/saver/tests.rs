use super::Telling;
use super::job::{Job, JobKind, Sink};
use super::queue::{Saver, Work};
use crate::worker::testing::{BEGIN, instance};
use base::Millis;
use session::{Begun, Cancelled, DataFiles, Instance, NoDataFiles, Refusal, SavingFacts, When};
use settings::{Origin, Settings};
use snapshot::{SaveError, SaveProgress};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use store::{Encoding, Expiry};

/// The base of an append-only file, of which nothing is written.
struct Rotation;

impl Job for Rotation {
    fn kind(&self) -> JobKind {
        JobKind::Rotation
    }

    fn open(&mut self, _: &Instance) -> io::Result<Box<dyn Sink>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn at_cut(&mut self, _: &Instance) {}

    fn end(self: Box<Self>, _: &Instance, _: Result<(), SaveError>) {}
}

struct World {
    instance: Arc<Instance>,
    saver: Saver,
}

impl World {
    fn new() -> World {
        let instance = instance();
        World { saver: Saver::new(&instance.clock), instance }
    }

    fn set(&self, name: &str, value: &str) {
        let settings: &Settings = &self.instance.settings;
        settings.set_many(&[(name, value)], Origin::Local).expect("a setting");
        self.saver.follow_outcome(&self.instance);
    }

    fn pass_seconds(&self, seconds: u64) {
        self.instance.clock.advance(seconds * 1000);
    }

    /// Changes data.
    fn change(&self) {
        let store = &self.instance.store;
        let mut thread = store.thread_context().expect("a thread");
        let key = store.key(store.keyspace(0).expect("it exists"), b"k");
        let mut access = store.lock(&mut thread, &key, BEGIN).muted();
        access.set_string(&key, b"v", Encoding::Raw, Expiry::Never).expect("room");
        access.report_changes_silently(1);
    }

    fn look(&self) -> SavingFacts {
        self.saver.look_after(&self.instance);
        self.saver.facts()
    }

    fn is_saving(&self) -> bool {
        self.look().current_seconds.is_some()
    }

    /// Ends the first snapshot of the queue.
    fn end(&self, saved: Result<u64, SaveError>) {
        let work: Work = self.saver.next().expect("work");
        self.saver.finish(&self.instance, work, saved);
    }

    fn fail(&self) {
        self.end(Err(io::Error::from(io::ErrorKind::StorageFull).into()));
    }

    /// Gives the first snapshot of the queue up.
    fn be_too_slow(&self) {
        let thread = self.instance.store.thread_context().expect("a thread");
        let work = self.saver.next().expect("work");
        self.saver.give_up_slow(&self.instance, &thread);
        self.saver.finish(&self.instance, work, Err(SaveError::TooSlow));
    }

    fn succeed(&self) {
        self.end(Ok(self.instance.store.totals().changes));
    }

    fn refuses_writes(&self) -> bool {
        !self.instance.clients.grants.get().contains(session::Needs::DISK)
    }
}

#[test]
fn one_snapshot_at_a_time_is_made_and_the_record_tells_of_the_last() {
    let world = World::new();
    assert_eq!(
        world.saver.save_in_background(&world.instance, When::Now, None),
        Ok(Begun::Started)
    );
    for when in [When::Now, When::WhenPossible, When::Later] {
        assert_eq!(
            world.saver.save_in_background(&world.instance, when, None),
            Err(Refusal::SAVING)
        );
    }
    assert_eq!(world.look().last_save, BEGIN.0 / 1000);
    world.change();
    world.pass_seconds(7);
    world.succeed();
    let facts = world.look();
    assert_eq!((facts.last_save, facts.saves, facts.changes_saved), (BEGIN.0 / 1000 + 7, 1, 1));
    assert!(facts.current.is_none() && facts.current_seconds.is_none() && !facts.has_failed);
    assert!(facts.last_seconds.is_some());
}

#[test]
fn a_snapshot_that_was_made_meanwhile_is_noticed_by_somebody_who_asks_now_and_then() {
    let world = World::new();
    assert!(!world.saver.has_been_busy());
    world.saver.push(Box::new(Rotation));
    world.succeed();
    assert!(!world.saver.is_busy());
    assert_eq!([(); 2].map(|()| world.saver.has_been_busy()), [true, false]);
    world.saver.push(Box::new(Rotation));
    assert_eq!([(); 2].map(|()| world.saver.has_been_busy()), [true, true], "while it goes on");
}

#[test]
fn a_snapshot_waits_for_a_rotation_if_it_may() {
    let world = World::new();
    world.saver.push(Box::new(Rotation));
    assert_eq!(
        world.saver.save_in_background(&world.instance, When::Now, None),
        Err(Refusal::REWRITING)
    );
    assert_eq!(world.saver.cancel(), None);
    for _ in 0..2 {
        assert_eq!(
            world.saver.save_in_background(&world.instance, When::WhenPossible, None),
            Ok(Begun::Scheduled)
        );
    }
    assert_eq!(world.saver.cancel(), Some(Cancelled::Scheduled));
    assert_eq!(
        world.saver.save_in_background(&world.instance, When::WhenPossible, None),
        Ok(Begun::Scheduled)
    );
    assert!(!world.is_saving());
    world.succeed();
    assert!(world.look().last_seconds.is_none(), "a rotation is no snapshot of its own");
    assert!(world.is_saving());
    world.succeed();
    assert!(!world.is_saving(), "it was asked for once");
}

#[test]
fn a_snapshot_that_is_to_begin_later_does_so_though_nothing_is_in_its_way() {
    let world = World::new();
    for _ in 0..2 {
        let begun = world.saver.save_in_background(&world.instance, When::Later, None);
        assert_eq!(begun, Ok(Begun::Scheduled));
    }
    assert!(world.saver.facts().current_seconds.is_none());
    assert!(world.is_saving());
}

#[test]
fn a_cancelled_snapshot_is_no_failure() {
    let world = World::new();
    assert_eq!(world.saver.cancel(), None);
    world.saver.save_in_background(&world.instance, When::Now, None).expect("it begins");
    let work = world.saver.next().expect("work");
    assert!(!work.progress.is_cancelled.load(Relaxed));
    assert_eq!(world.saver.cancel(), Some(Cancelled::Running));
    assert_eq!(world.saver.cancel(), Some(Cancelled::Running), "until it has ended");
    assert!(work.progress.is_cancelled.load(Relaxed));
    world.saver.finish(&world.instance, work, Err(SaveError::Cancelled));
    assert!(!world.look().has_failed && !world.refuses_writes());
    assert_eq!(world.saver.cancel(), None);
}

#[test]
fn a_save_point_holds_when_enough_changes_are_old_enough() {
    let world = World::new();
    world.set("save", "60 2 300 1");
    world.change();
    world.pass_seconds(61);
    assert!(!world.is_saving(), "one change is too few for the first");
    world.change();
    assert!(world.is_saving());
    world.change();
    world.succeed();
    world.pass_seconds(60);
    world.change();
    assert!(!world.is_saving(), "it is not yet older");
    world.pass_seconds(1);
    assert!(!world.is_saving(), "what was counted at the cut was saved");
    world.pass_seconds(240);
    assert!(world.is_saving());
    world.succeed();
    world.set("save", "");
    world.change();
    world.pass_seconds(100_000);
    assert!(!world.is_saving());
}

#[test]
fn a_save_point_holds_whatever_the_wall_clock_is_set_to() {
    for set_to in [BEGIN.0 / 2, BEGIN.0 * 2] {
        let world = World::new();
        world.set("save", "60 1");
        world.change();
        world.instance.clock.set_wall(Millis(set_to));
        world.pass_seconds(60);
        assert!(!world.is_saving(), "{set_to}");
        world.pass_seconds(1);
        assert!(world.is_saving(), "{set_to}");
        world.fail();
        world.instance.clock.set_wall(BEGIN);
        world.pass_seconds(5);
        assert!(!world.is_saving(), "{set_to}: it is too early for another try");
        world.pass_seconds(1);
        assert!(world.is_saving(), "{set_to}");
        world.succeed();
        assert_eq!(world.look().last_save, BEGIN.0 / 1000 + 6, "that is told by the wall clock");
    }
}

#[test]
fn after_a_failure_it_is_tried_again_in_five_seconds_and_writes_are_refused() {
    let world = World::new();
    world.set("save", "1 1");
    world.change();
    world.pass_seconds(2);
    assert!(world.is_saving());
    world.fail();
    assert!(world.look().has_failed && world.refuses_writes());
    world.set("stop-writes-on-bgsave-error", "no");
    assert!(!world.refuses_writes());
    world.set("stop-writes-on-bgsave-error", "yes");
    assert!(world.refuses_writes());
    world.pass_seconds(5);
    assert!(!world.is_saving());
    world.pass_seconds(1);
    assert!(world.is_saving());
    world.succeed();
    assert!(!world.look().has_failed && !world.refuses_writes());
}

#[test]
fn a_snapshot_that_was_too_slow_fails_at_once_and_is_made_again_unasked() {
    let world = World::new();
    let thread = world.instance.store.thread_context().expect("a thread");
    world.saver.save_in_background(&world.instance, When::Now, None).expect("it begins");
    let work = world.saver.next().expect("work");
    world.saver.give_up_slow(&world.instance, &thread);
    assert!(world.is_saving() && world.look().has_failed, "its thread may be with the sink");
    assert!(matches!(work.progress.cancelled(), SaveError::TooSlow));
    world.saver.finish(&world.instance, work, Err(SaveError::TooSlow));
    world.pass_seconds(5);
    assert!(!world.is_saving() && world.look().has_failed);
    world.pass_seconds(1);
    assert!(world.is_saving());
    world.succeed();
    assert!(!world.is_saving() && !world.look().has_failed);
}

#[test]
fn a_snapshot_that_was_too_slow_refuses_no_writes_and_is_tried_ever_more_rarely() {
    let world = World::new();
    world.set("save", "1 1");
    world.change();
    world.pass_seconds(2);
    for wait in [5, 10, 20, 40, 80, 160, 320, 320] {
        assert!(world.is_saving());
        world.be_too_slow();
        assert!(world.look().has_failed && !world.refuses_writes());
        world.pass_seconds(wait);
        assert!(!world.is_saving(), "it is tried again after {wait} seconds");
        world.pass_seconds(1);
    }
    assert!(world.is_saving());
    world.fail();
    assert!(world.refuses_writes(), "a disk that fails is another matter");
    world.pass_seconds(321);
    assert!(world.is_saving());
    world.be_too_slow();
    assert!(world.refuses_writes(), "until something is written");
    world.pass_seconds(321);
    assert!(world.is_saving());
    world.succeed();
    assert!(!world.look().has_failed && !world.refuses_writes());
    world.change();
    world.pass_seconds(2);
    assert!(world.is_saving());
    world.be_too_slow();
    world.pass_seconds(6);
    assert!(world.is_saving(), "it begins with short waits again");
}

#[test]
fn a_base_that_is_made_worthless_is_cancelled_where_there_is_one() {
    let world = World::new();
    world.saver.restart_rotation(|| unreachable!("there is none"));
    world.saver.push(Box::new(Rotation));
    let (work, mut was_called) = (world.saver.next().expect("work"), false);
    world.saver.restart_rotation(|| {
        assert!(!work.progress.is_cancelled.load(Relaxed), "its end comes behind the wish");
        was_called = true;
    });
    assert!(was_called && work.progress.is_cancelled.load(Relaxed));
}

#[test]
fn the_pause_at_the_cut_is_reported_from_the_cut_on() {
    let world = World::new();
    world.saver.push(Box::new(Rotation));
    let work = world.saver.next().expect("work");
    assert_eq!(world.look().pause_micros, 0);
    work.progress.pause_micros.store(7, Relaxed);
    assert_eq!(world.look().pause_micros, 7);
    world.saver.finish(&world.instance, work, Err(SaveError::Cancelled));
    assert_eq!(world.look().pause_micros, 7);
    world.saver.save_in_background(&world.instance, When::Now, None).expect("it begins");
    assert_eq!(world.look().pause_micros, 7, "until the next one");
}

#[test]
fn the_pause_at_the_cut_is_a_latency_event_of_the_moment_when_writing_begins() {
    let world = World::new();
    world.set("latency-monitor-threshold", "5");
    let progress = SaveProgress::default();
    let events = || {
        let series = world.instance.latency.find(b"fork").map(|(_, series)| series);
        series.map(|it| (it.samples.back().map(|last| last.millis), it.count))
    };
    for (micros, noted) in [(4_999, None), (7_000, Some((Some(7), 1)))] {
        progress.pause_micros.store(micros, Relaxed);
        let (instance, progress) = (&*world.instance, &progress);
        let (behind, taken) = (Vec::<u8>::new(), &|| ());
        let mut telling = Telling { behind, taken, instance, progress, has_begun: false };
        assert_eq!(telling.write(b"first").ok(), Some(5));
        assert_eq!(events(), noted);
        telling.write_all(b"second").expect("there is room");
        assert_eq!(events(), noted, "it is noted once");
    }
}

#[test]
fn a_reset_forgets_how_many_snapshots_were_begun_and_the_pause_at_the_last_cut() {
    let world = World::new();
    let counts = || {
        let facts = world.look();
        (facts.saves, facts.pause_micros)
    };
    world.saver.save_in_background(&world.instance, When::Now, None).expect("it begins");
    let work = world.saver.next().expect("work");
    work.progress.pause_micros.store(7, Relaxed);
    assert_eq!(counts(), (1, 7));
    world.saver.reset_counts();
    assert_eq!(counts(), (0, 0));
    world.saver.finish(&world.instance, work, Ok(0));
    assert_eq!(counts(), (0, 0), "its end brings nothing back");
}

#[test]
fn a_snapshot_that_retains_much_is_given_up_if_its_sink_takes_nothing_for_a_second() {
    let world = World::new();
    let store = &world.instance.store;
    let [mut thread, mut saver] = [(); 2].map(|()| store.thread_context().expect("a thread"));
    let mut set = |number: u32, value: &[u8]| {
        let name = number.to_le_bytes();
        let key = store.key(store.keyspace(0).expect("it exists"), &name);
        let mut access = store.lock(&mut thread, &key, BEGIN).muted();
        access.set_string(&key, value, Encoding::Raw, Expiry::Never).expect("room");
        access.report_changes_silently(1);
    };
    let value = vec![7; 1 << 20];
    (0..20).for_each(|number| set(number, &value));
    world.saver.save_in_background(&world.instance, When::Now, None).expect("it begins");
    let work = world.saver.next().expect("work");
    let cut = store.cut(&mut saver, BEGIN, || ()).expect("the only one");
    let looker = store.thread_context().expect("a thread");
    let is_given_up = |millis| {
        world.instance.clock.advance(millis);
        world.saver.give_way(&world.instance, &looker);
        work.progress.is_too_slow.load(Relaxed)
    };
    work.progress.note_sink();
    assert!(!is_given_up(0) && !is_given_up(5_000), "it holds nothing");
    (0..20).for_each(|number| set(number, b"v"));
    work.progress.note_sink();
    assert!(!is_given_up(0) && !is_given_up(5_000), "the sink was given nothing");
    for _ in 0..3 {
        work.progress.note_sink();
        assert!(!is_given_up(0) && !is_given_up(900), "the sink takes some");
        work.progress.note_sink();
    }
    work.progress.note_sink();
    assert!(!is_given_up(0) && !is_given_up(1_000) && is_given_up(1));
    assert!(cut.is_given_up() && world.look().has_failed);
    drop(cut);
    assert_eq!(store.retained_bytes(), 0);
}

#[test]
fn what_a_snapshot_retained_at_most_is_reported_of_a_file_and_of_a_base() {
    let world = World::new();
    for (retained, job) in [(7, None), (9, Some(Box::new(Rotation)))] {
        match job {
            Some(rotation) => world.saver.push(rotation),
            None => drop(world.saver.save_in_background(&world.instance, When::Now, None)),
        }
        let work = world.saver.next().expect("work");
        [retained, 1].iter().for_each(|bytes| work.progress.note_retained(*bytes));
        let facts = world.look().current.expect("one is at work");
        assert_eq!((facts.retained_bytes, facts.retained_bytes_most), (1, retained));
        world.saver.finish(&world.instance, work, Ok(0));
    }
    let facts = world.look();
    assert_eq!((facts.last_retained_bytes, facts.last_base_retained_bytes), (7, 9));
}

#[test]
fn a_stopped_saver_has_no_work() {
    let world = World::new();
    let saved = world.saver.save_for_thread();
    world.saver.stop();
    assert!(world.saver.next().is_none());
    assert!(saved.recv().is_err(), "nobody waits for ever");
}

#[test]
fn a_server_without_files_says_so() {
    let world = World::new();
    assert_eq!(
        NoDataFiles.save_in_background(&world.instance, When::Now, None),
        Err(Refusal::SAVE_FAILED)
    );
}
