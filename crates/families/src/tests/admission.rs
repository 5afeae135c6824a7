//! Each need, withdrawn for each purpose.

use crate::commands::table;
use crate::testing::{STARTED, World, check};
use command::Row;
use command::admission::{Purpose, Rejection, UNKNOWN_NEED, admit, without};
use session::{LongRun, Needs, Pause, Primary, Troubles};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const PURPOSES: [Purpose; 6] = [
    Purpose::Fresh,
    Purpose::Queued,
    Purpose::InExec,
    Purpose::Rerun,
    Purpose::InScript,
    Purpose::FirstOfScript,
];

/// What becomes of a command that asks for a need which is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is refused with a text that begins so.
    Refused(&'static str),
    Postponed,
    Queued,
    Observed,
    RunsQueue,
    Meanwhile,
    /// Nothing: other needs are asked for in its place.
    Nothing,
}

/// Every need, and what becomes of a command without it, where that is asked for.
const FATES: [(Needs, Fate); 28] = [
    (Needs::AUTHENTICATED, Fate::Refused("NOAUTH Authentication required.")),
    (Needs::NAMED, Fate::Refused("ERR unknown command 'NOSUCH'")),
    (Needs::LET_IN, Fate::Refused("ERR DEBUG command not allowed.")),
    (Needs::DECLARED, Fate::Nothing),
    (Needs::PERMITTED, Fate::Refused("NOPERM User default has no permissions to run the '")),
    (Needs::SLOT, Fate::Refused("CLUSTERDOWN Hash slot not served")),
    (Needs::DIRECT, Fate::Refused("REDIRECT 127.0.0.1:7")),
    (Needs::MEMORY, Fate::Refused("OOM command not allowed")),
    (Needs::DISK, Fate::Refused("MISCONF ")),
    (Needs::REPLICAS, Fate::Refused("NOREPLICAS Not enough good replicas to write.")),
    (Needs::PRIMARY, Fate::Refused("READONLY You can't write against a read only replica.")),
    (Needs::UNSUBSCRIBED, Fate::Refused("ERR Can't execute '")),
    (Needs::FRESH, Fate::Refused("MASTERDOWN Link with MASTER is down")),
    (Needs::LOADED, Fate::Refused("LOADING Valkey is loading the dataset in memory")),
    (Needs::UNREPLACED, Fate::Refused("LOADING Valkey is loading the dataset in memory")),
    (Needs::IDLE, Fate::Refused("BUSY Valkey is busy running a script.")),
    (Needs::NO_MONITOR, Fate::Refused("ERR Replica can't interact with the keyspace")),
    (Needs::WRITES_FLOW, Fate::Postponed),
    (Needs::UNPAUSED, Fate::Postponed),
    (Needs::NO_TRANSACTION, Fate::Queued),
    (Needs::UNMONITORED, Fate::Observed),
    (Needs::JOURNAL_ROOM, Fate::Postponed),
    (Needs::MAIL_ROOM, Fate::Postponed),
    (Needs::EVENT_ROOM, Fate::Postponed),
    (Needs::LINE_ROOM, Fate::Postponed),
    (Needs::UNTRACKED, Fate::Observed),
    (Needs::QUEUE, Fate::RunsQueue),
    (Needs::MAY_WAIT, Fate::Meanwhile),
];

/// Needs that each purpose leaves to another one.
const LEFT_OUT: [(Purpose, Needs); 6] = [
    (Purpose::Fresh, Needs::empty()),
    (Purpose::Queued, Needs::NO_TRANSACTION.union(Needs::LET_IN).union(Needs::MAY_WAIT)),
    (Purpose::InExec, Needs::all().difference(Needs::PERMITTED)),
    (Purpose::InScript, Needs::all().difference(Needs::PERMITTED.union(Needs::SLOT))),
    (
        Purpose::FirstOfScript,
        Needs::all().difference(
            Needs::MEMORY.union(Needs::DISK).union(Needs::REPLICAS).union(Needs::PRIMARY),
        ),
    ),
    (
        Purpose::Rerun,
        Needs::AUTHENTICATED
            .union(Needs::NAMED)
            .union(Needs::UNSUBSCRIBED)
            .union(Needs::DIRECT)
            .union(Needs::LOADED)
            .union(Needs::UNREPLACED)
            .union(Needs::IDLE)
            .union(Needs::NO_MONITOR)
            .union(Needs::LET_IN)
            .union(Needs::DECLARED)
            .union(Needs::NO_TRANSACTION)
            .union(Needs::UNMONITORED)
            .union(Needs::JOURNAL_ROOM)
            .union(Needs::MAIL_ROOM)
            .union(Needs::EVENT_ROOM)
            .union(Needs::LINE_ROOM)
            .union(Needs::UNTRACKED)
            .union(Needs::QUEUE)
            .union(Needs::MAY_WAIT),
    ),
];

fn left_out(purpose: Purpose) -> Needs {
    LEFT_OUT.iter().find(|it| it.0 == purpose).expect("each purpose has a line").1
}

#[test]
fn needs_that_refuse_stand_before_those_that_postpone_or_queue() {
    let stops = |fate: &Fate| matches!(fate, Fate::Postponed | Fate::Queued);
    let (first, _) = FATES.iter().find(|(_, fate)| stops(fate)).expect("some postpone");
    for (need, fate) in FATES {
        if let Fate::Refused(_) = fate {
            assert!(need.bits() < first.bits(), "{need:?} is only asked for at EXEC");
        }
    }
}

/// Returns a server that lacks what a need stands for, so that the bit is not granted again.
fn world_without(need: Needs) -> World {
    let mut world = World::new();
    if need == Needs::MEMORY {
        check(&mut world, &[("CONFIG SET maxmemory 1 maxmemory-policy noeviction", "+OK")]);
        world.instance.memory.other_bytes.store(2, Relaxed);
    } else if need == Needs::DIRECT {
        let primary = Primary { host: "127.0.0.1".to_owned(), port: 7 };
        world.instance.upstream.set(Some(primary), STARTED);
    } else if need == Needs::DISK {
        world.instance.troubles.note(&world.instance.clients.grants, Troubles::SNAPSHOT, true);
    } else if need == Needs::IDLE {
        let run = Arc::new(LongRun::new(None, Vec::new(), (0, false), false));
        world.instance.scripts.long_runs.add(&run);
        let grants = &world.instance.clients.grants;
        world.instance.scripts.long_runs.note_slow(&run, grants, true);
    } else if need == Needs::LOADED {
        assert!(world.instance.begin_loading(1));
    } else if need == Needs::UNREPLACED {
        assert!(world.instance.begin_loading_beside(1));
    } else if need == Needs::PERMITTED {
        check(&mut world, &[("ACL SETUSER default -@all", "+OK")]);
    } else if need.intersects(Needs::WRITES_FLOW | Needs::UNPAUSED) {
        world.instance.clients.pause(Pause::Everything, STARTED.after(1000), STARTED);
    }
    world.session.grants = Needs::all().difference(need | Needs::QUEUE | Needs::NAMED);
    world.instance.clients.grants.restore(Needs::OF_SERVER);
    world.instance.clients.grants.withdraw(need);
    world
}

/// Admits a command to which all is granted but one need.
fn admit_without(need: Needs, row: &'static Row, purpose: Purpose) -> Result<(), Rejection> {
    let words: [&[u8]; 2] = [if need == Needs::NAMED { b"NOSUCH" } else { b"GET" }, b"k"];
    let mut world = world_without(need);
    world
        .with_call(&words, |call| {
            call.row = row;
            admit(call, Needs::MAY_WAIT.difference(need), purpose)
        })
        .0
}

fn is_fate(outcome: &Result<(), Rejection>, fate: Fate) -> bool {
    match (outcome, fate) {
        (Ok(()), Fate::Nothing) => true,
        (Err(Rejection::Refused(refusal)), Fate::Refused(begin)) => {
            refusal.text().starts_with(begin.as_bytes())
        }
        (Err(rejection), fate) => matches!(
            (rejection, fate),
            (Rejection::Postponed, Fate::Postponed)
                | (Rejection::Queued, Fate::Queued)
                | (Rejection::Observed, Fate::Observed)
                | (Rejection::RunsQueue, Fate::RunsQueue)
                | (Rejection::Meanwhile, Fate::Meanwhile)
        ),
        (Ok(()), _) => false,
    }
}

/// A row that asks for a need, and for `LET_IN` only if it is that one.
fn row_with(need: Needs) -> &'static Row {
    match need {
        Needs::NAMED => table().nameless(),
        Needs::LET_IN => table().find(b"DEBUG").expect("it exists"),
        _ => {
            let asks = |row: &&Row| row.needs & (need | Needs::LET_IN) == need;
            table().rows().iter().find(asks).expect("some command has each need")
        }
    }
}

#[test]
fn every_need_has_a_line_in_the_table() {
    let listed = FATES.iter().fold(Needs::empty(), |listed, line| listed | line.0);
    assert_eq!(listed, Needs::all());
    assert!(FATES.iter().all(|line| line.0.bits().is_power_of_two()));
}

#[test]
fn without_a_need_that_its_purpose_asks_for_a_command_does_not_run_as_usual() {
    for (need, fate) in FATES {
        let row = row_with(need);
        for purpose in PURPOSES {
            let asks = purpose.asks(row).contains(need);
            let outcome = admit_without(need, row, purpose);
            if asks && (purpose, need) == (Purpose::InExec, Needs::PERMITTED) {
                let changed = Fate::Refused("NOPERM ACLs rules changed between the moment");
                assert!(is_fate(&outcome, changed), "{outcome:?}");
            } else if asks && (purpose, need) == (Purpose::InScript, Needs::PERMITTED) {
                let in_script = Fate::Refused("ERR ACL failure in script: User default has no");
                assert!(is_fate(&outcome, in_script), "{outcome:?}");
            } else if asks {
                assert!(is_fate(&outcome, fate), "{need:?} for {purpose:?}: {outcome:?}");
            } else {
                assert_eq!(outcome, Ok(()), "{need:?} for {purpose:?}");
            }
        }
    }
}

#[test]
fn a_purpose_asks_for_all_needs_of_a_row_but_those_that_are_left_out() {
    for row in table().rows() {
        for purpose in PURPOSES {
            let mut expected = row.needs.difference(left_out(purpose));
            // PING tells of a disk that fails, but as a part of a transaction it needs none.
            if purpose == Purpose::Queued && row.full_name == "ping" {
                expected.remove(Needs::DISK);
            }
            assert_eq!(purpose.asks(row), expected, "{} for {purpose:?}", row.full_name);
        }
    }
}

#[test]
fn a_need_that_nobody_answers_refuses() {
    let unknown = Needs::from_bits_retain(1 << 31);
    let mut world = World::new();
    let (outcome, _) = world.with_call(&[b"GET", b"k"], |call| {
        let outcomes =
            PURPOSES.map(|purpose| without(unknown, call, purpose, Pause::Nothing, None));
        outcomes.into_iter().all(|it| it == Err(Rejection::Refused(UNKNOWN_NEED)))
    });
    assert!(outcome);
}

#[test]
fn what_exec_of_a_queue_lacks_is_answered_before_anything_of_it_runs() {
    let mut world = World::new();
    check(&mut world, &[("MULTI", "+OK"), ("PING", "+QUEUED"), ("SET k v", "+QUEUED")]);
    world.instance.clients.grants.withdraw(Needs::PRIMARY);
    let refused = "-EXECABORT Transaction discarded because of: READONLY You can't write against a \
                read only replica.";
    check(&mut world, &[("EXEC", refused), ("EXISTS k", ":0")]);
}
