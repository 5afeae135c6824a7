//! Decisions: of selectors, each of which has to allow all of a request by itself.

use crate::commands::{catalog, id, language};
use users::{
    Access, Asked, AskedChannel, AskedDatabases, AskedKey, Denied, Reason, User, decide,
    decide_on_all_keys,
};

/// The request `GET a` in database 0, changed by `change`, of a user with these rules.
fn decided(rules: &[&str], change: impl Fn(&mut Asked<'static>)) -> Result<(), Denied> {
    let catalog = catalog();
    let language = language(&catalog);
    let rules = rules.iter().map(|rule| rule.as_bytes());
    let user = User::new(b"u", &language).with(rules, &language).expect("rules");
    let mut asked = Asked {
        command: id(&catalog, "get"),
        is_for_everybody: false,
        first_argument: Some(b"a"),
        databases: AskedDatabases::These(&[(0, 0)]),
        keys: &[AskedKey { position: 1, key: b"a", access: Access::READ }],
        channels: &[],
    };
    change(&mut asked);
    decide(&user, &asked)
}

const BOTH: Access = Access::all();
const NEITHER: Access = Access::empty();

fn denied(reason: Reason, position: usize) -> Result<(), Denied> {
    Err(Denied { reason, position })
}

#[test]
fn command_key_and_database_are_asked_for() {
    for (rules, expected) in [
        (&["+get", "~a"][..], Ok(())),
        (&["+get|A", "~a"], Ok(())),
        (&["+get|b", "~a"], denied(Reason::Command, 0)),
        (&["+@read", "%R~a"], Ok(())),
        (&["+@read", "%W~a"], denied(Reason::Key, 1)),
        (&["+get", "~b*"], denied(Reason::Key, 1)),
        (&["-@all", "~a"], denied(Reason::Command, 0)),
        (&["+@all", "-@read", "~a"], denied(Reason::Command, 0)),
        (&["+get", "~a", "db=1"], denied(Reason::Database, 0)),
        (&["+get", "~a", "db=0"], Ok(())),
    ] {
        assert_eq!(decided(rules, |_| {}), expected, "{rules:?}");
    }
}

#[test]
fn selectors_do_not_add_up_and_the_furthest_reason_is_told() {
    assert_eq!(decided(&["+get", "(~a)"], |_| {}), denied(Reason::Key, 1));
    assert_eq!(decided(&["db=5", "(~a)", "(+get ~b)"], |_| {}), denied(Reason::Key, 1));
    assert_eq!(decided(&["db=5", "(~a)"], |_| {}), denied(Reason::Command, 0));
    let of_two = |asked: &mut Asked<'static>| {
        asked.keys = &[
            AskedKey { position: 1, key: b"a", access: Access::READ },
            AskedKey { position: 2, key: b"b", access: Access::READ },
        ];
    };
    assert_eq!(decided(&["+get", "~b", "(+get ~a)"], of_two), denied(Reason::Key, 2));
    assert_eq!(decided(&["+get", "~a", "(+get ~b)"], of_two), denied(Reason::Key, 2));
    assert_eq!(decided(&["+get", "~a", "(+get ~b)", "(+get ~?)"], of_two), Ok(()));
}

#[test]
fn a_key_that_is_read_and_written_needs_one_pattern_for_both() {
    let of_both = |asked: &mut Asked<'static>| {
        asked.keys = &[AskedKey { position: 1, key: b"ab", access: BOTH }];
    };
    assert_eq!(decided(&["+get", "%R~a*", "%W~ab"], of_both), denied(Reason::Key, 1));
    assert_eq!(decided(&["+get", "%R~ab", "%W~ab"], of_both), Ok(()));
    let of_none = |asked: &mut Asked<'static>| {
        asked.keys = &[AskedKey { position: 1, key: b"ab", access: NEITHER }];
    };
    assert_eq!(decided(&["+get", "%W~ab"], of_none), Ok(()));
    assert_eq!(decided(&["+get"], of_none), denied(Reason::Key, 1));
}

#[test]
fn a_pattern_of_channels_has_to_be_among_those_of_the_user() {
    let of = |channel: &'static [AskedChannel<'static>]| {
        move |asked: &mut Asked<'static>| (asked.keys, asked.channels) = (&[], channel)
    };
    let channel = of(&[AskedChannel { position: 1, channel: b"news.a", is_pattern: false }]);
    let pattern = of(&[AskedChannel { position: 1, channel: b"news.*", is_pattern: true }]);
    let narrower = of(&[AskedChannel { position: 1, channel: b"news.a", is_pattern: true }]);
    let rules = ["+get", "&news.*"];
    assert_eq!(decided(&rules, channel), Ok(()));
    assert_eq!(decided(&rules, pattern), Ok(()));
    assert_eq!(decided(&rules, narrower), denied(Reason::Channel, 1));
    assert_eq!(decided(&["+get", "allchannels"], narrower), Ok(()));
    assert_eq!(decided(&["+get"], channel), denied(Reason::Channel, 1));
}

#[test]
fn each_database_that_is_named_is_asked_for_and_for_some_commands_all() {
    let of = |databases: AskedDatabases<'static>| {
        move |asked: &mut Asked<'static>| asked.databases = databases
    };
    let of_two = of(AskedDatabases::These(&[(1, 3), (2, 4)]));
    assert_eq!(decided(&["+get", "~a", "db=3"], of_two), denied(Reason::Database, 2));
    assert_eq!(decided(&["+get", "~a", "db=3,4"], of_two), Ok(()));
    let of_all = of(AskedDatabases::All(2));
    assert_eq!(decided(&["+get", "~a", "db=0"], of_all), denied(Reason::Database, 0));
    assert_eq!(decided(&["+get", "~a", "db=0,1"], of_all), Ok(()));
    assert_eq!(decided(&["+get", "~a", "resetdbs"], of(AskedDatabases::These(&[]))), Ok(()));
}

#[test]
fn what_is_for_everybody_needs_no_right_to_be_called() {
    let of_everybody = |asked: &mut Asked<'static>| {
        (asked.is_for_everybody, asked.keys, asked.databases) =
            (true, &[], AskedDatabases::These(&[]));
    };
    assert_eq!(decided(&["-@all", "resetdbs"], of_everybody), Ok(()));
}

#[test]
fn all_keys_have_to_be_allowed_by_the_selector_that_allows_the_rest() {
    let catalog = catalog();
    let language = language(&catalog);
    let asked = Asked {
        command: id(&catalog, "get"),
        is_for_everybody: false,
        first_argument: None,
        databases: AskedDatabases::These(&[]),
        keys: &[],
        channels: &[],
    };
    let may = |rules: &[&str]| {
        let rules = rules.iter().map(|rule| rule.as_bytes());
        let user = User::new(b"u", &language).with(rules, &language).expect("rules");
        decide_on_all_keys(&user, &asked, Access::READ)
    };
    assert!(may(&["+get", "%R~*"]) && may(&["+get", "allkeys"]));
    assert!(!may(&["+get", "~a*"]) && !may(&["+get", "%W~*"]) && !may(&["+get", "(~*)"]));
}
