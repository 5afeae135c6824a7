//! Rules may be any bytes: a user that they make is printed as rules that make the same user, whose
//! decisions are the same, by itself and in a file. A file may be any bytes too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use users::{
    Access, Asked, AskedChannel, AskedDatabases, AskedKey, Catalog, CommandFacts, Language, User,
    Users, decide, read_file, write_file,
};

const NAMES: [&str; 6] = ["get", "set", "select", "config", "config|get", "config|set"];

fn catalog() -> Catalog {
    let facts = (0..).zip(NAMES).map(|(at, name): (u32, _)| CommandFacts {
        name: name.into(),
        categories: 1 << (at % 3),
        parent: name.contains('|').then_some(3),
    });
    Catalog::new(facts.collect(), vec![("read", 1), ("write", 2), ("admin", 4)])
}

/// Decisions of a user about some requests.
fn decisions(user: &User) -> Vec<bool> {
    let mut all = Vec::new();
    for (command, argument) in
        (0..).zip([None, Some(&b"a"[..]), Some(b"0")].into_iter().cycle()).take(6)
    {
        for (key, database) in [(&b"a"[..], 0), (b"ab", 1), (b"(x)", 7)] {
            for access in [Access::READ, Access::WRITE, Access::all()] {
                let asked = Asked {
                    command,
                    is_for_everybody: false,
                    first_argument: argument,
                    databases: AskedDatabases::These(&[(0, database)]),
                    keys: &[AskedKey { position: 1, key, access }],
                    channels: &[AskedChannel {
                        position: 2,
                        channel: key,
                        is_pattern: database > 0,
                    }],
                };
                all.push(decide(user, &asked).is_ok());
            }
        }
    }
    all
}

fuzz_target!(|data: &[u8]| {
    let catalog = catalog();
    let Some((first, rest)) = data.split_first() else { return };
    let language = Language { catalog: &catalog, opens_channels: first & 1 == 0 };
    let _ = read_file(rest, "users.acl", &language);
    let mut user = User::new(b"u", &language);
    for rule in rest.split(|byte| *byte == b'\n') {
        if let Ok(changed) = user.with([rule], &language) {
            user = changed;
        }
    }
    let printed = user.describe();
    let words = printed.split(|byte| *byte == b' ');
    let again = User::new(b"u", &language).with(words, &language).expect("printed rules are rules");
    assert_eq!(decisions(&user), decisions(&again), "{}", String::from_utf8_lossy(&printed));
    assert_eq!(again.describe(), printed);

    let mut users = Users::new(&language);
    users.put(user);
    let content = write_file(&users);
    let read = read_file(&content, "users.acl", &language).expect("what is written is read");
    assert_eq!(write_file(&read), content);
});
