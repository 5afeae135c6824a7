//! Tests of how clients follow changes of users.

use super::testing::{Peer, World};

const DENIED: &str = "-NOPERM User ann has no permissions to run the 'get' command";

/// Returns a client that is a user of this name, which `owner` has made by these rules.
fn client_of(world: &mut World, owner: &Peer, name: &str, rules: &str) -> Peer {
    let made = world.ask(owner, &format!("ACL SETUSER {name} on nopass {rules}\r\n"));
    assert_eq!(made, "+OK");
    let peer = world.connect();
    assert_eq!(world.ask(&peer, &format!("AUTH {name} any\r\n")), "+OK");
    peer
}

#[test]
fn rules_hold_for_the_next_request_whoever_changes_them() {
    let mut world = World::new();
    let owner = world.connect();
    let ann = client_of(&mut world, &owner, "ann", "~* +get");
    assert_eq!(world.ask(&ann, "GET k\r\n"), "$-1");
    assert_eq!(world.ask(&owner, "ACL SETUSER ann -get\r\n"), "+OK");
    assert_eq!(world.ask(&ann, "GET k\r\n"), DENIED);
    assert_eq!(world.ask(&owner, "ACL SETUSER ann +@all ~* &*\r\n"), "+OK");
    assert_eq!(world.ask(&ann, "GET k\r\n"), "$-1");
}

#[test]
fn rules_hold_for_the_next_request_of_a_pipeline_in_which_a_client_changes_its_own() {
    let mut world = World::new();
    let owner = world.connect();
    let ann = client_of(&mut world, &owner, "ann", "~* +@all");
    let answers = world.ask(&ann, "GET k\r\nACL SETUSER ann -get\r\nGET k\r\nPING\r\n");
    assert_eq!(answers, format!("$-1 +OK {DENIED} +PONG"));
}

#[test]
fn a_client_that_deletes_its_own_user_is_answered_and_closed() {
    let mut world = World::new();
    let owner = world.connect();
    let ann = client_of(&mut world, &owner, "ann", "+@all");
    assert_eq!(world.ask(&ann, "PING\r\nACL DELUSER ann\r\nPING\r\n"), "+PONG :1");
    world.run_until_idle();
    assert!(ann.is_closed());
    assert!(!world.ask(&owner, "CLIENT LIST\r\n").contains("user=ann"));
}

#[test]
fn a_client_whose_user_was_deleted_runs_nothing_more_and_is_in_no_list() {
    let mut world = World::new();
    let owner = world.connect();
    let ann = client_of(&mut world, &owner, "ann", "~* +@all");
    ann.send("SET k v\r\n");
    let answers = world.ask(&owner, "ACL DELUSER ann nobody\r\nCLIENT LIST\r\n");
    assert!(answers.starts_with(":1 ") && !answers.contains("user=ann"), "{answers}");
    world.iterate(&[ann.readable()]);
    world.run_until_idle();
    assert!(world.instance.clients.find(ann.client.id).is_none());
    assert_eq!(world.ask(&owner, "EXISTS k\r\n"), ":0");
}

#[test]
fn a_user_that_is_made_again_has_no_clients_of_before() {
    let mut world = World::new();
    let owner = world.connect();
    let ann = client_of(&mut world, &owner, "ann", "~* +@all");
    ann.send("SET k v\r\n");
    let answers = world.ask(&owner, "ACL DELUSER ann\r\nACL SETUSER ann on nopass ~* +@all\r\n");
    assert_eq!(answers, ":1 +OK");
    world.iterate(&[ann.readable()]);
    world.run_until_idle();
    assert!(world.instance.clients.find(ann.client.id).is_none());
    assert_eq!(world.ask(&owner, "EXISTS k\r\n"), ":0");
}

#[test]
fn a_client_goes_on_whose_user_is_turned_off() {
    let mut world = World::new();
    let owner = world.connect();
    let ann = client_of(&mut world, &owner, "ann", "~* +get");
    assert_eq!(world.ask(&owner, "ACL SETUSER ann off\r\n"), "+OK");
    assert_eq!(world.ask(&ann, "GET k\r\n"), "$-1");
    assert!(world.ask(&ann, "AUTH ann any\r\n").starts_with("-WRONGPASS"));
}

#[test]
fn a_subscriber_gets_what_was_published_before_it_lost_the_channel_and_is_closed() {
    let mut world = World::new();
    let owner = world.connect();
    let ann = client_of(&mut world, &owner, "ann", "&c &d +subscribe");
    let other = client_of(&mut world, &owner, "bob", "&c +subscribe");
    for peer in [&ann, &other] {
        assert!(world.ask(peer, "SUBSCRIBE c\r\n").starts_with("*3"));
    }
    let gains = world.ask(&owner, "PUBLISH c 1\r\nACL SETUSER ann &e\r\nPUBLISH c 2\r\n");
    assert_eq!(gains, ":2 +OK :2");
    let loses = "PUBLISH c 3\r\nACL SETUSER ann resetchannels &d\r\nPUBLISH c 4\r\nCLIENT LIST\r\n";
    assert!(!world.ask(&owner, loses).contains("user=ann"));
    world.run_until_idle();
    let message = |text| format!("*3 $7 message $1 c $1 {text}");
    assert_eq!(ann.read(), [1, 2, 3].map(message).join(" "));
    assert!(ann.is_closed());
    assert_eq!(world.ask(&owner, "PUBLISH c 5\r\n"), ":1");
}

#[test]
fn a_client_that_had_to_log_in_need_not_once_default_lets_anybody_in() {
    let mut world = World::new();
    let owner = world.connect();
    assert_eq!(world.ask(&owner, "ACL SETUSER default >secret\r\n"), "+OK");
    let stranger = world.connect();
    assert!(world.ask(&stranger, "PING\r\n").starts_with("-NOAUTH"));
    assert_eq!(world.ask(&owner, "ACL SETUSER default nopass\r\n"), "+OK");
    assert_eq!(world.ask(&stranger, "PING\r\n"), "+PONG");
    assert_eq!(world.ask(&owner, "ACL SETUSER default >secret\r\n"), "+OK");
    assert!(world.ask(&stranger, "PING\r\n").starts_with("-NOAUTH"));
    assert_eq!(world.ask(&owner, "PING\r\n"), "+PONG", "it was let in when it connected");
}

#[test]
fn a_client_that_waits_is_refused_at_its_turn_if_it_lost_the_right() {
    let mut world = World::new();
    let owner = world.connect();
    let ann = client_of(&mut world, &owner, "ann", "~* +blpop");
    assert_eq!(world.ask(&ann, "BLPOP k 0\r\n"), "");
    let answers = world.ask(&owner, "ACL SETUSER ann resetkeys\r\nRPUSH k v\r\nLLEN k\r\n");
    assert_eq!(answers, "+OK :1 :1");
    world.run_until_idle();
    assert_eq!(ann.read(), "-NOPERM No permissions to access a key");
    assert!(world.ask(&owner, "INFO commandstats\r\n").contains("cmdstat_blpop:calls=0"));
}

#[test]
fn a_transaction_runs_what_is_allowed_when_it_runs() {
    let mut world = World::new();
    let owner = world.connect();
    let ann = client_of(&mut world, &owner, "ann", "~* +@all");
    let queued = world.ask(&ann, "MULTI\r\nSET k v\r\nGET k\r\n");
    assert_eq!(queued, "+OK +QUEUED +QUEUED");
    assert_eq!(world.ask(&owner, "ACL SETUSER ann -get\r\n"), "+OK");
    let answers = world.ask(&ann, "EXEC\r\n");
    let changed = "-NOPERM ACLs rules changed between the moment the transaction was accumulated \
                   and the EXEC call. This command is no longer allowed for the following reason: \
                   no permission to execute the command or subcommand";
    assert_eq!(answers, format!("*2 +OK {changed}"));
}
