//! Tests of commands of and about connections.

use crate::testing::{STARTED, World, check, reply_to};
use session::{Endpoint, Owner, Pause, ReplyMode, Session};
use std::sync::atomic::Ordering::Relaxed;
use wire::Protocol;

#[test]
fn hello_switches_the_protocol_of_its_own_reply() {
    let mut world = World::new();
    let reply = reply_to(&mut world, "HELLO 3 SETNAME tester");
    assert!(reply.starts_with("%7 $6 server $6 valkey $7 version"), "{reply}");
    assert_eq!(world.session.protocol, Protocol::Resp3);
    check(
        &mut world,
        &[
            ("CLIENT GETNAME", "$6 tester"),
            ("HELLO 4", "-NOPROTO unsupported protocol version"),
            ("HELLO x", "-ERR Protocol version is not an integer or out of range"),
            ("HELLO 3 AUTH default", "-ERR Syntax error in HELLO option 'AUTH'"),
        ],
    );
}

#[test]
fn a_password_keeps_strangers_out() {
    let mut world = World::new();
    world.session.set_authenticated(false);
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.";
    check(
        &mut world,
        &[
            ("GET k", "-NOAUTH Authentication required."),
            ("AUTH nosuch x", wrong),
            ("AUTH a b c", "-ERR syntax error"),
            ("AUTH default x", "+OK"),
            ("GET k", "$-1"),
        ],
    );
}

#[test]
fn reset_forgets_all_but_the_library() {
    let mut world = World::new();
    check(
        &mut world,
        &[
            ("SELECT 3", "+OK"),
            ("CLIENT SETNAME tester", "+OK"),
            ("CLIENT SETINFO LIB-NAME lib", "+OK"),
            ("CLIENT NO-TOUCH ON", "+OK"),
            ("RESET", "+RESET"),
            ("CLIENT GETNAME", "$-1"),
        ],
    );
    assert_eq!((world.session.database, world.session.modes.is_empty()), (0, true));
    assert_eq!(world.session.client.info().library, "lib");
}

#[test]
fn select_takes_only_databases_that_exist() {
    let mut world = World::new();
    check(
        &mut world,
        &[
            ("SELECT 15", "+OK"),
            ("SELECT 16", "-ERR DB index is out of range"),
            ("SELECT -1", "-ERR DB index is out of range"),
            ("SELECT x", "-ERR value is not an integer or out of range"),
        ],
    );
    assert_eq!(world.session.client.database.load(Relaxed), 15);
}

#[test]
fn the_list_shows_what_a_client_told() {
    let mut world = World::new();
    reply_to(&mut world, "CLIENT SETNAME tester");
    reply_to(&mut world, "CLIENT SETINFO lib-ver 1.2");
    reply_to(&mut world, "CLIENT CAPA redirect");
    let line = reply_to(&mut world, "CLIENT INFO");
    let parts = [
        "id=1 addr=127.0.0.1:1 laddr=127.0.0.1:2 fd=3 name=tester age=0 idle=0 flags=N",
        " capa=r db=0 sub=0 psub=0 ssub=0 multi=-1 watch=0 ",
        " cmd=client|info user=default redir=-1 resp=2 lib-name= lib-ver=1.2 tot-net-in=",
    ];
    parts.iter().for_each(|part| assert!(line.contains(*part), "{part} is not in {line}"));
    check(
        &mut world,
        &[
            (
                "CLIENT SETNAME \"a b\"",
                "-ERR Client names cannot contain spaces, newlines or special characters.",
            ),
            ("CLIENT SETINFO color red", "-ERR Unrecognized option 'color'"),
        ],
    );
}

/// Continues as another client, which has just connected from `port`; returns the session of the
/// one before.
fn connect(world: &mut World, port: u16) -> Session {
    let endpoint = Endpoint {
        address: format!("127.0.0.1:{port}"),
        local_address: "127.0.0.1:2".to_owned(),
        fd: i32::from(port),
        is_unix: false,
    };
    assert!(world.instance.clients.admit(u64::MAX));
    let client = world.instance.clients.add(endpoint, Owner::default(), STARTED);
    let session = Session::of_connection(client, &world.instance.access);
    std::mem::replace(&mut world.session, session)
}

/// Returns the ids that CLIENT LIST finds with some conditions, for clients 1, 2 and 3.
fn listed(conditions: &str) -> String {
    let mut world = World::new();
    let first = connect(&mut world, 2);
    let rows = [("CLIENT SETNAME two", "+OK"), ("CLIENT NO-EVICT ON", "+OK"), ("SELECT 5", "+OK")];
    check(&mut world, &rows);
    connect(&mut world, 3);
    world.session = first;
    let reply = reply_to(&mut world, &format!("CLIENT LIST {conditions}"));
    if reply.starts_with('-') {
        return reply;
    }
    let ids = reply.split(['\n', ' ']).filter_map(|word| word.strip_prefix("id="));
    ids.collect::<Vec<_>>().join(",")
}

#[test]
fn each_condition_chooses_clients_and_its_negation_the_others() {
    let rows = [
        ("ID 1 3", "1,3"),
        ("NOT-ID 1 3", "2"),
        ("ID 1 ID 2", "1,2"),
        ("NAME two", "2"),
        ("NOT-NAME two", "1,3"),
        ("NAME other NAME two", "2"),
        ("DB 5", "2"),
        ("NOT-DB 5", "1,3"),
        ("FLAGS e", "2"),
        ("FLAGS N", "1,3"),
        ("NOT-FLAGS e", "1,3"),
        ("TYPE normal", "1,2,3"),
        ("NOT-TYPE normal", ""),
        ("TYPE pubsub", ""),
        ("ADDR 127.0.0.1:3", "3"),
        ("NOT-ADDR 127.0.0.1:3", "1,2"),
        ("IP 127.0.0.1", "1,2,3"),
        ("NOT-IP 127.0.0.1", ""),
        ("IP 127.0.0", ""),
        ("USER default SKIPME yes", "2,3"),
        ("MAXAGE 1", ""),
        ("CAPA r", ""),
        ("NOT-CAPA r", "1,2,3"),
        ("LIB-NAME x", ""),
    ];
    for (conditions, expected) in rows {
        assert_eq!(listed(conditions), expected, "{conditions}");
    }
}

#[test]
fn impossible_conditions_are_refused() {
    let rows = [
        ("BAD", "-ERR syntax error"),
        ("BAD x", "-ERR syntax error"),
        ("ID x", "-ERR syntax error"),
        ("NOT-SKIPME yes", "-ERR syntax error"),
        ("NOT-MAXAGE 1", "-ERR syntax error"),
        ("ID 0", "-ERR client-id should be greater than 0"),
        ("TYPE nosuch", "-ERR Unknown client type 'nosuch'"),
        ("USER nosuch", "-ERR No such user 'nosuch'"),
        ("FLAGS q", "-ERR Unknown flags found in the provided filter: q"),
        ("NOT-FLAGS q", "-ERR Unknown flags found in the NOT-FLAGS filter: q"),
        ("CAPA x", "-ERR Unknown capa found in the provided filter: x"),
        ("DB 16", "-ERR DB number should be between 0 and 15"),
        ("NOT-DB x", "-ERR NOT-DB is not an integer or out of range"),
        ("IDLE 0", "-ERR idle should be greater than 0"),
        ("MAXAGE x", "-ERR maxage is not an integer or out of range"),
    ];
    for (conditions, expected) in rows {
        assert_eq!(listed(conditions), expected, "{conditions}");
    }
}

#[test]
fn a_killed_client_is_gone_from_lists_at_once() {
    let mut world = World::new();
    let first = connect(&mut world, 2);
    let other = std::mem::replace(&mut world.session, first);
    check(
        &mut world,
        &[
            ("CLIENT KILL ID 2 SKIPME yes", ":1"),
            ("CLIENT KILL ID 2", ":0"),
            ("CLIENT LIST ID 2", "$0"),
            ("CLIENT KILL 127.0.0.1:2", "-ERR No such client"),
        ],
    );
    assert!(other.client.is_doomed());
}

#[test]
fn a_client_that_kills_itself_still_gets_the_reply() {
    let mut world = World::new();
    check(&mut world, &[("CLIENT KILL ID 1", ":0"), ("CLIENT KILL ID 1 SKIPME no", ":1")]);
    assert!(world.session.close_after_reply && !world.session.client.is_doomed());
}

#[test]
fn a_stricter_pause_wins_and_unpause_ends_it() {
    let mut world = World::new();
    let now = world.instance.clock.steady();
    check(
        &mut world,
        &[
            ("CLIENT PAUSE 500 WRITE", "+OK"),
            ("CLIENT PAUSE 1 BAD", "-ERR CLIENT PAUSE mode must be WRITE or ALL"),
            ("CLIENT PAUSE -1", "-ERR timeout is negative"),
            ("CLIENT PAUSE x", "-ERR timeout is not an integer or out of range"),
            ("CLIENT PAUSE 9223372036854775807", "-ERR timeout is out of range"),
            ("CLIENT PAUSE 1000 ALL", "+OK"),
        ],
    );
    world.instance.clients.pause(Pause::Writes, now.after(500), now);
    assert_eq!(world.instance.clients.paused(now), Pause::Everything);
    assert_eq!(world.instance.clients.paused_until(now).since(now), 1000);
    assert!(world.is_postponed("CLIENT UNPAUSE"));
    world.instance.clients.unpause();
    assert_eq!(world.instance.clients.paused(now), Pause::Nothing);
    check(&mut world, &[("SET k v", "+OK"), ("CLIENT UNPAUSE", "+OK")]);
}

#[test]
fn reply_off_and_skip_write_nothing() {
    let mut world = World::new();
    check(&mut world, &[("CLIENT REPLY SKIP", "")]);
    assert_eq!(world.session.reply_mode, ReplyMode::SkipNext);
    check(&mut world, &[("CLIENT REPLY OFF", ""), ("CLIENT REPLY SKIP", "")]);
    assert_eq!(world.session.reply_mode, ReplyMode::Off);
    check(&mut world, &[("CLIENT REPLY ON", "+OK"), ("CLIENT REPLY BAD", "-ERR syntax error")]);
}

#[test]
fn connections_beyond_the_limit_are_not_admitted_until_others_are_gone() {
    let world = World::new();
    let clients = &world.instance.clients;
    assert_eq!([clients.admit(3), clients.admit(3), clients.admit(3)], [true, true, false]);
    assert_eq!(clients.count(), 3);
    clients.dismiss();
    assert_eq!([clients.admit(3), clients.admit(3)], [true, false]);
    clients.remove(world.session.client.id);
    assert_eq!((clients.count(), clients.admit(3)), (2, true));
}

#[test]
fn hello_tells_the_zone_when_there_is_one() {
    let mut world = World::new();
    assert!(!reply_to(&mut world, "HELLO 3").contains("availability_zone"));
    check(&mut world, &[("CONFIG SET availability-zone here", "+OK")]);
    assert!(reply_to(&mut world, "HELLO 3").ends_with("$17 availability_zone $4 here"));
}

#[test]
fn nobody_can_be_unblocked() {
    let mut world = World::new();
    check(
        &mut world,
        &[
            ("CLIENT UNBLOCK 1", ":0"),
            ("CLIENT UNBLOCK 1 ERROR", ":0"),
            ("CLIENT UNBLOCK x", "-ERR value is not an integer or out of range"),
            ("CLIENT UNBLOCK 1 BAD", "-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"),
        ],
    );
}
