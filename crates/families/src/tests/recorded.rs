//! Tests of what listeners get from commands: events, as Valkey's keyspace notifications, and
//! effects.
//!
//! A file of `tests/events` or `tests/effects` has a block for each case: a title line, and
//! requests, each followed by its expected events or effects. Every block begins with an empty
//! server, and `+20` lets 20 milliseconds pass. Of effects, none stands for the request itself, and
//! `-` for nothing.

use crate::commands::table;
use crate::testing::World;
use command::{Flags, Row};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use store::{Author, Change, Effect, EffectWords, EventClass, Interests, Listener, Unit};

/// Listener that keeps the units and changes it gets.
#[derive(Debug, Default)]
struct Recorder {
    units: Mutex<Vec<Unit>>,
    changes: Mutex<Vec<Vec<u8>>>,
}

impl Listener for Recorder {
    fn before(&self, change: &Change<'_>) {
        self.changes.lock().expect("no panic").push(change.key.bytes.to_vec());
    }

    fn unit(&self, unit: &Unit, _: Author) {
        self.units.lock().expect("no panic").push(unit.clone());
    }
}

impl Recorder {
    /// Returns a server and the listener registered with its store.
    fn world() -> (World, Arc<Recorder>) {
        let (world, recorder) = (World::new(), Arc::new(Recorder::default()));
        let listener: Arc<dyn Listener> = recorder.clone();
        world.instance.store.add_listener(&listener);
        world.instance.store.set_interest(Interests::all(), true);
        (world, recorder)
    }

    fn take(&self) -> Vec<Unit> {
        self.take_all().0
    }

    /// Removes and returns the units, and the keys that were announced to change.
    fn take_all(&self) -> (Vec<Unit>, Vec<Vec<u8>>) {
        let units = std::mem::take(&mut *self.units.lock().expect("no panic"));
        (units, std::mem::take(&mut *self.changes.lock().expect("no panic")))
    }
}

/// Returns the events of units, split into words as the files write them.
fn written(_: &[Vec<u8>], units: &[Unit]) -> Words {
    let mut lines = Vec::new();
    for it in units.iter().flat_map(|unit| &unit.events) {
        let class = match it.event.class {
            EventClass::SortedSet => "sorted_set".to_owned(),
            // The store raises these itself; its own tests cover them.
            EventClass::New | EventClass::Expired | EventClass::Evicted | EventClass::Miss => {
                continue;
            }
            class => format!("{class:?}").to_lowercase(),
        };
        let mut words = vec![class.into_bytes(), it.event.name.into(), it.key.clone()];
        if it.database != 0 {
            words.extend([b"db".to_vec(), it.database.to_string().into_bytes()]);
        }
        lines.push(words);
    }
    lines
}

fn shown(events: &[Vec<Vec<u8>>]) -> Vec<String> {
    let show = |words: &Vec<Vec<u8>>| String::from_utf8_lossy(&words.join(&b' ')).into_owned();
    events.iter().map(show).collect()
}

/// Splits a line into words; a word with a range, such as `e{1..100}`, becomes many.
fn words(line: &str) -> Vec<Vec<u8>> {
    let words = text::split_args(line.as_bytes()).expect("quotes are closed");
    words.into_iter().flat_map(expanded).collect()
}

fn expanded(word: Vec<u8>) -> Vec<Vec<u8>> {
    let parts = || {
        let text = str::from_utf8(&word).ok()?;
        let (head, rest) = text.split_once('{')?;
        let (range, tail) = rest.split_once('}')?;
        let (first, last) = range.split_once("..")?;
        let range = first.parse::<u32>().ok()?..=last.parse().ok()?;
        Some(range.map(|number| format!("{head}{number}{tail}").into_bytes()).collect())
    };
    parts().unwrap_or_else(|| vec![word.clone()])
}

/// Words of events or effects.
type Words = Vec<Vec<Vec<u8>>>;

/// Returns the effects of units as the files write them.
fn effects(request: &[Vec<u8>], units: &[Unit]) -> Words {
    let effects: Words = units.iter().flat_map(Unit::commands).map(|(_, args)| args).collect();
    match effects.as_slice() {
        [] => vec![vec![b"-".to_vec()]],
        [only] if only == request => Vec::new(),
        _ => effects,
    }
}

/// A request of a file, and what came of it.
struct Played<'f> {
    line: &'f str,
    words: Vec<Vec<u8>>,
    units: Vec<Unit>,
    /// Keys that were announced to change.
    changes: Vec<Vec<u8>>,
    expected: Words,
}

/// Plays a file; returns the requests of which something else is recorded than the file expects.
fn differences(file: &str, recorded: fn(&[Vec<u8>], &[Unit]) -> Words) -> Vec<String> {
    let mut wrong = Vec::new();
    play(file, |played| {
        let events = recorded(&played.words, &played.units);
        if events != played.expected {
            let (events, expected) = (shown(&events), shown(&played.expected));
            wrong.push(format!("{}: {events:?}, and not {expected:?}", played.line));
        }
    });
    wrong
}

/// Plays a file, and shows each request.
fn play<'f>(file: &'f str, mut show: impl FnMut(Played<'f>)) {
    let (mut world, mut recorder) = Recorder::world();
    let mut lines = file.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            (world, recorder) = Recorder::world();
            continue;
        }
        if let Some(millis) = line.strip_prefix('+') {
            world.instance.clock.advance(millis.parse().expect("a number"));
            continue;
        }
        let mut expected = Vec::new();
        while let Some(event) = lines.next_if(|line| line.starts_with("  ")) {
            expected.push(text::split_args(event.as_bytes()).expect("quotes are closed"));
        }
        let words = words(line);
        world.answer_words(&words.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let (units, changes) = recorder.take_all();
        show(Played { line, words, units, changes, expected });
    }
}

macro_rules! files {
    ($folder:literal: $($name:ident)*) => {
        [$(include_str!(concat!("../../../../tests/", $folder, "/", stringify!($name), ".txt")),)*]
    };
}

const EVENTS: [&str; 10] =
    files!["events": bitmap generic geo hash hyperloglog list set sorted_set stream string];
const EFFECTS: [&str; 5] = files!["effects": collections generic hash stream string];

#[test]
fn effects_are_plain_commands_with_absolute_times_and_nothing_of_chance() {
    let wrong = EFFECTS.into_iter().flat_map(|file| differences(file, effects));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn events_are_those_that_clients_know() {
    let wrong = EVENTS.into_iter().flat_map(|file| differences(file, written));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Commands that write and of which listeners are not notified of both, in Valkey either: one
/// changes the form of a value; a change of groups and ids of a stream is no change for clients
/// that watch it or have cached it; keys that are sent elsewhere leave when they have arrived
/// there; RESTORE is played; and those that name no keys, or are refused without a cluster.
const HALF_RECORDED: &str = "\
pfdebug xack xautoclaim xclaim xgroup|createconsumer xgroup|delconsumer xgroup|destroy \
xgroup|setid xreadgroup xsetid migrate restore-asking flushall flushdb swapdb function|delete \
function|flush function|load function|restore cluster|flushslot";

#[test]
fn every_command_that_writes_reports_which_keys_change_and_what_happened() {
    let mut named = BTreeSet::new();
    for file in EVENTS {
        play(file, |played| {
            let has_events = !written(&played.words, &played.units).is_empty();
            if has_events && !played.changes.is_empty() {
                let words = played.words.iter().map(Vec::as_slice);
                let name = |count| words.clone().take(count).collect::<Vec<_>>().join(&b'|');
                named.extend([name(1), name(2)].map(|name| name.to_ascii_lowercase()));
            }
        });
    }
    let writes = |row: &&Row| row.spec.flags.contains(Flags::WRITE);
    let rows = table().rows().iter().filter(writes).map(|row| &*row.full_name);
    let half_recorded: Vec<&str> = rows.filter(|name| !named.contains(name.as_bytes())).collect();
    assert_eq!(half_recorded.join(" "), HALF_RECORDED);
}

#[test]
fn a_request_is_recorded_in_its_own_words_and_what_expired_before_it() {
    let (mut world, recorder) = Recorder::world();
    world.answer("SET k v PX 10");
    recorder.take();
    world.answer("GET k");
    assert!(recorder.take().is_empty(), "nothing has changed");
    world.instance.clock.advance(20);
    world.answer("SETNX k w");
    let units = recorder.take();
    let effects: Vec<Vec<Vec<u8>>> =
        units.iter().flat_map(Unit::commands).map(|(_, args)| args).collect();
    let words = |line: &str| line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
    let expected: [Vec<Vec<u8>>; 2] = [words("UNLINK k"), words("SETNX k w")];
    assert_eq!(effects, expected);
    assert_eq!(units.len(), 1, "it is one unit");
}

#[test]
fn settings_choose_the_word_for_what_is_removed() {
    let (mut world, recorder) = Recorder::world();
    let effects_of = |world: &mut World, request: &str| {
        world.answer(request);
        let units = recorder.take();
        let commands = units.iter().flat_map(Unit::commands);
        commands.map(|(_, args)| String::from_utf8_lossy(&args.concat()).into_owned()).collect()
    };
    for (setting, is_lazy, word) in [("no", false, "DEL"), ("yes", true, "UNLINK")] {
        world.answer(&format!("CONFIG SET lazyfree-lazy-server-del {setting}"));
        // The server follows this setting for the store.
        world.instance.store.set_lazy_removals(is_lazy, true);
        for request in ["SADD s a b", "SET k v PX 10"] {
            world.answer(request);
        }
        recorder.take();
        let of_pop: Vec<String> = effects_of(&mut world, "SPOP s 2");
        assert_eq!(of_pop, [format!("{word}s")]);
        world.instance.clock.advance(20);
        let of_expiry: Vec<String> = effects_of(&mut world, "SET k w XX");
        assert_eq!(of_expiry, [format!("{word}k")]);
    }
}

#[test]
fn what_is_noted_of_a_string_stands_before_its_effect() {
    let (mut world, recorder) = Recorder::world();
    let payload = b"\0\x01v\x06\0\x07\xe5\xa62\xecm\xb6]";
    let mut noted = |words: &[&[u8]]| {
        world.answer_words(words);
        let effects: Vec<_> = recorder.take().into_iter().flat_map(|unit| unit.effects).collect();
        let [Effect { words: EffectWords::Noted(note, args), .. }] = &effects[..] else {
            panic!("{effects:?}")
        };
        let args = String::from_utf8_lossy(&args.join(&b' ')).into_owned();
        (String::from_utf8_lossy(&note.to_text()).into_owned(), args)
    };
    let (note, args) = noted(&[b"VARVE.NOTED", b"w c5 x", b"SET", b"k", b"v", b"EX", b"5"]);
    assert_eq!((&*note, &*args), ("c5 w", "SET k v PXAT 1700000005000"));
    let (note, args) = noted(&[b"VARVE.NOTED", b"s f7", b"EXISTS", b"k"]);
    assert_eq!((&*note, &*args), ("f7 s", "EXISTS k"));
    let (note, args) = noted(&[b"VARVE.NOTED", b"b", b"RESTORE", b"r", b"5", payload]);
    assert_eq!(note, "b");
    assert!(args.starts_with("RESTORE r 1700000000005 ") && args.ends_with(" REPLACE ABSTTL"));
}
