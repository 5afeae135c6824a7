//! The language of rules, as Valkey 9.1.2 takes it and prints it: recorded by ACL SETUSER and
//! ACL LIST.

use crate::commands::{catalog, language};
use users::{User, Users};

/// What a new user is like by rules, or what is wrong with them.
fn described(rules: &[&str]) -> String {
    let catalog = catalog();
    let language = language(&catalog);
    let user = User::new(b"u", &language);
    match user.with(rules.iter().map(|rule| rule.as_bytes()), &language) {
        Ok(user) => String::from_utf8(user.describe()).expect("text"),
        Err(error) => format!("ERR {error}"),
    }
}

fn holds(cases: &[(&[&str], &str)]) {
    for (rules, expected) in cases {
        assert_eq!(described(rules), *expected, "{rules:?}");
    }
}

/// Holds what is said of the last of some rules.
fn refuses(cases: &[(&[&str], &str)]) {
    for (rules, expected) in cases {
        let rule = rules.last().expect("a rule");
        let expected = format!("ERR Error in ACL SETUSER modifier '{rule}': {expected}");
        assert_eq!(described(rules), expected, "{rules:?}");
    }
}

const UNKNOWN: &str = "Unknown command or category name in ACL";
const SYNTAX: &str = "Syntax error";

#[test]
fn rules_of_commands_stay_in_their_order_and_take_the_place_of_earlier_ones() {
    holds(&[
        (
            &["+GET|X", "+select|0", "+Config|Get", "+@READ", "-config|get"],
            "off resetchannels -@all +get|x +select|0 +@read -config|get",
        ),
        (&["+config|get", "+config", "-config|set"], "off resetchannels -@all +config -config|set"),
        (
            &["+@all", "-get", "+get", "-@read", "+@read", "+get|x"],
            "off resetchannels +@all +get +@read +get|x",
        ),
        (&["+acl|setuser", "+acl"], "off resetchannels -@all +acl"),
        (&["+get", "-@all", "+set"], "off resetchannels -@all +set"),
        (&["+@all", "+@all", "-@all"], "off resetchannels -@all"),
        (&["allcommands", "resetdbs", "resetchannels"], "off resetchannels resetdbs +@all"),
    ]);
    refuses(&[
        (&["+config|get|x"], "Allowing first-arg of a subcommand is not supported"),
        (&["+get|x|y"], UNKNOWN),
        (&["-select|0"], UNKNOWN),
        (&["+nope"], UNKNOWN),
        (&["+@nope"], UNKNOWN),
        (&["-@nope"], UNKNOWN),
        (&["+config|nope"], UNKNOWN),
        (&["+config|"], SYNTAX),
        (&["+get|"], SYNTAX),
        (&["+"], UNKNOWN),
        (&["-"], UNKNOWN),
        (&["+@"], UNKNOWN),
        (&["foo"], SYNTAX),
    ]);
}

#[test]
fn a_pattern_of_keys_stands_once_with_all_that_it_allows() {
    holds(&[
        (&["%R~a", "%W~a", "+@all"], "off ~a resetchannels +@all"),
        (&["%rw~a"], "off ~a resetchannels -@all"),
        (&["%R~"], "off %R~ resetchannels -@all"),
        (&["%R"], "off %R~ resetchannels -@all"),
        (&["~"], "off ~ resetchannels -@all"),
    ]);
    let behind_all = "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid \
                      and does not have any effect. Try 'resetkeys' to start with an empty list \
                      of patterns";
    refuses(&[
        (&["%"], SYNTAX),
        (&["%X~a"], SYNTAX),
        (&["%RR~a"], SYNTAX),
        (&["%RWa"], SYNTAX),
        (&["~a b"], SYNTAX),
        (&["~*", "~a"], behind_all),
    ]);
}

#[test]
fn all_channels_take_the_place_of_some_and_not_the_other_way_round() {
    holds(&[(&["&a", "&*"], "off &* -@all"), (&["&a", "&a"], "off resetchannels &a -@all")]);
    refuses(&[(
        &["&*", "&a"],
        "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does \
         not have any effect. Try 'resetchannels' to start with an empty list of channels",
    )]);
}

#[test]
fn databases_are_sorted_and_a_second_list_replaces_the_first() {
    holds(&[
        (&["db=3,1,1,2"], "off resetchannels db=1,2,3 -@all"),
        (&["db=1", "DB=2"], "off resetchannels db=2 -@all"),
        (&["db= 1"], "off resetchannels db=1 -@all"),
        (&["db=+1"], "off resetchannels db=1 -@all"),
        (&["db=1", "alldbs"], "off resetchannels -@all"),
    ]);
    let out_of_range = "The provided database ID is out of range";
    refuses(&[
        (&["db=99999999999999999999"], out_of_range),
        (&["db=2147483648"], out_of_range),
        (&["db=-1"], out_of_range),
        (&["db=1,,2"], SYNTAX),
        (&["db="], SYNTAX),
        (&["db=a"], SYNTAX),
        (&["db=3-5"], SYNTAX),
        (&["db=-1,"], SYNTAX),
    ]);
}

#[test]
fn a_selector_may_be_spread_over_rules() {
    holds(&[
        (&["(+get", "~a)"], "off resetchannels -@all (~a resetchannels -@all +get)"),
        (&["()"], "off resetchannels -@all (resetchannels -@all)"),
        (&["(+get)", "clearselectors"], "off resetchannels -@all"),
    ]);
    refuses(&[(&["(+@all (+get))"], SYNTAX), (&["( +get ~\"a b\" )"], SYNTAX)]);
    for open in ["(+get", "(+get) ", "(+get 'x"] {
        let expected = format!("ERR Unmatched parenthesis in acl selector starting at '{open}'.");
        assert_eq!(described(&["+get", open, "~a"]), expected);
    }
}

#[test]
fn passwords_are_kept_as_hashes_and_nopass_forgets_them() {
    let a = "a".repeat(64);
    let hash = format!("#{a}");
    let of_x = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
    assert_eq!(described(&["on", ">a", &hash, "<a"]), format!("on {hash} resetchannels -@all"));
    assert_eq!(described(&["nopass", ">x"]), format!("off #{of_x} resetchannels -@all"));
    let no_such = "The password you are trying to remove from the user does not exist";
    let no_hash = "The password hash must be exactly 64 characters and contain only lowercase \
                   hexadecimal characters";
    let removed = format!("!{a}");
    refuses(&[(&["<a"], no_such), (&[&removed], no_such), (&["#A"], no_hash)]);
}

#[test]
fn words_may_be_in_any_case_and_some_mean_nothing() {
    holds(&[
        (&["ON", "NoPass", "AllKeys"], "on nopass ~* resetchannels -@all"),
        (&["sanitize-payload", "skip-sanitize-payload", ""], "off resetchannels -@all"),
        (&["on", "+@all", "~*", "db=1", "(+get)", "reset"], "off resetchannels -@all"),
    ]);
}

#[test]
fn a_rule_that_is_wrong_changes_nothing() {
    let catalog = catalog();
    let language = language(&catalog);
    let users = Users::new(&language);
    let user = users.get(b"default").expect("it is there");
    let error = user.with([&b"off"[..], b"-get", b"foo"], &language);
    assert!(error.is_err());
    assert_eq!(user.describe(), b"on nopass ~* &* +@all");
}
