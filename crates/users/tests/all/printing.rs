//! What is printed of a user makes the same user again, in a rule each and in a file.

use crate::commands::{catalog, language};
use proptest::strategy::Strategy;
use proptest::{collection, prop_assert_eq, proptest, sample};
use users::{User, Users, read_file, write_file};

fn rule() -> impl Strategy<Value = String> {
    let words = [
        "on",
        "off",
        "nopass",
        "resetpass",
        ">secret",
        "<secret",
        "allkeys",
        "resetkeys",
        "allchannels",
        "resetchannels",
        "alldbs",
        "resetdbs",
        "db=1,0",
        "db=7",
        "allcommands",
        "nocommands",
        "+get",
        "-get",
        "+get|a",
        "+get|b",
        "+select|0",
        "+config",
        "-config",
        "+config|get",
        "-config|set",
        "+@read",
        "-@read",
        "+@write",
        "-@admin",
        "+@admin",
        "~a",
        "~b*",
        "%R~a",
        "%W~c?",
        "%RW~*",
        "&a",
        "&b*",
        "reset",
        "clearselectors",
        "(+get ~a)",
        "(~a) +get ~b)",
        "(~\"a)\" &\"b'\" +get|c\")",
        "+get|)",
        "~(x)",
        "(+@all -get|x &c db=3)",
        "(allkeys allchannels nocommands)",
    ];
    sample::select(words.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #[test]
    fn printed_rules_make_the_same_user(rules in collection::vec(rule(), 0..12)) {
        let catalog = catalog();
        let language = language(&catalog);
        let mut user = User::new(b"u", &language);
        for rule in &rules {
            // What is refused changes nothing that counts.
            if let Ok(changed) = user.with([rule.as_bytes()], &language) {
                user = changed;
            }
        }
        let printed = String::from_utf8(user.describe()).expect("text");
        let again = User::new(b"u", &language)
            .with(printed.split(' ').map(str::as_bytes), &language)
            .expect("printed rules are rules");
        prop_assert_eq!(String::from_utf8(again.describe()).expect("text"), printed);

        let mut users = Users::new(&language);
        users.put(user);
        let content = write_file(&users);
        let read = read_file(&content, "users.acl", &language).expect("users");
        prop_assert_eq!(write_file(&read), content);
    }
}

#[test]
fn a_star_among_other_patterns_and_a_parenthesis_in_a_selector_are_read_again() {
    let catalog = catalog();
    let language = language(&catalog);
    let rules = [&b"%RW~*"[..], b"~a", b"(+get \"~b)\")"];
    let user = User::new(b"u", &language).with(rules, &language).expect("rules");
    let expected = "off %RW~* ~a resetchannels -@all (\"~b)\" resetchannels -@all +get)";
    assert_eq!(String::from_utf8_lossy(&user.describe()), expected);
}
