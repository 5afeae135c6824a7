//! Decisions on rights, as ACL DRYRUN of Valkey 9.1.2 tells them.

use crate::commands::table;
use command::find_row::find_row;
use command::rights::{DatabasesNow, catalog_of, permit};
use command::{Categories, Flags, KeySpec, Row};
use session::Args;
use users::{Denied, Language, Reason, User};
use wire::Span;

const RECORDED: &str = include_str!("rights.txt");

/// Requests whose commands are not here yet.
const NOT_HERE: [&str; 1] = ["REPLICAOF no one"];

/// Returns the answer for a user to a request of words between blanks.
fn decided(user: &User, request: &str) -> Option<String> {
    let words: Vec<_> = request.split(' ').collect();
    let (bytes, spans) = (words.concat().into_bytes(), Span::of_joined(&words));
    let args = Args::new(&bytes, &spans);
    let row = find_row(table(), &args).ok()?;
    Some(match permit(user, row, args, DatabasesNow { selected: 0, count: 16 }) {
        Ok(()) => ".".to_owned(),
        Err(Denied { reason: Reason::Command, .. }) => "c".to_owned(),
        Err(Denied { reason, position }) => {
            let kind = match reason {
                Reason::Key => "k",
                Reason::Channel => "h",
                _ => "d",
            };
            format!("{kind}:{}", words[position])
        }
    })
}

#[test]
fn rights_are_decided_as_they_are_there() {
    let lines = RECORDED.lines().skip_while(|line| !line.is_empty()).skip(1);
    let catalog = catalog_of(table());
    let language = Language { catalog: &catalog, opens_channels: false };
    let users: Vec<_> = lines.clone().take_while(|line| !line.is_empty()).collect();
    let requests = lines.skip(users.len() + 1);
    let mut wrong = Vec::new();
    for line in requests {
        let (request, answers) = line.split_once(" | ").expect("answers");
        for (rules, answer) in users.iter().zip(answers.split(' ')) {
            let rules = rules.split(' ').map(str::as_bytes);
            let user = User::new(b"u", &language).with(rules.clone(), &language).expect("rules");
            let own = decided(&user, request).unwrap_or_else(|| "no row".to_owned());
            if own != answer && !NOT_HERE.contains(&request) {
                let rules =
                    String::from_utf8_lossy(&rules.collect::<Vec<_>>().join(&b' ')).into_owned();
                wrong.push(format!("{request}: {own}, there {answer}, for {rules}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_asked_for_simply_is_decided_like_the_whole() {
    let language = Language { catalog: &catalog_of(table()), opens_channels: false };
    let rules: [&[&str]; 6] = [
        &["+@all", "~*"],
        &["+@all", "%R~0*"],
        &["+@all", "%W~0"],
        &["+@all", "~*", "db=1"],
        &["+@read", "~1*", "(+@write ~0* db=0,3)"],
        &["+@all", "-@hash", "~*"],
    ];
    let (mut simple, mut denied) = (0, 0);
    for row in table().rows().iter().filter(|row| row.simple_rights.is_some()) {
        let asked = row.simple_rights.expect("it was looked at");
        let words = vec![&b"0"[..]; usize::from(row.spec.arity.unsigned_abs())];
        assert!(words.len() <= asked.words_max, "{}", row.full_name);
        for (rules, selected) in rules.iter().flat_map(|rules| [(rules, 0), (rules, 1)]) {
            let user = User::new(b"ann", &language);
            let user = user.with(rules.iter().map(|rule| rule.as_bytes()), &language);
            let user = user.expect("the rules are right");
            let database = asked.reaches_selected.then_some(selected);
            let key = asked.key.map(|(at, access)| (words[at], access));
            let is_simple = user.may_simply(narrow::to_u16(row.id), database, key);
            let (request, spans) = (words.concat(), Span::of_joined(&words));
            let databases = DatabasesNow { selected, count: 16 };
            let whole = permit(&user, row, Args::new(&request, &spans), databases);
            // What everybody may call is not asked for here.
            let is_free = row.spec.flags.contains(Flags::NO_AUTH);
            assert!(
                is_free || is_simple == whole.is_ok(),
                "{} {rules:?} {selected}",
                row.full_name
            );
            (simple, denied) = (simple + 1, denied + u32::from(!is_simple));
        }
    }
    assert!(simple > 2_000 && denied > 500, "{simple} {denied}");
}

/// Returns a request of a row with as few arguments as it takes.
fn shortest(row: &Row) -> Vec<&[u8]> {
    let mut words: Vec<&[u8]> = row.full_name.split('|').map(str::as_bytes).collect();
    words.resize(words.len().max(usize::from(row.spec.arity.unsigned_abs())), b"0");
    words
}

/// Returns the names of the rows that a user may not run, and why.
fn denied_to(rules: &str) -> Vec<(&'static str, Reason)> {
    let language = Language { catalog: &catalog_of(table()), opens_channels: false };
    let user = User::new(b"u", &language).with(rules.split(' ').map(str::as_bytes), &language);
    let user = user.expect(rules);
    let mut denied = Vec::new();
    for row in table().rows() {
        let words = shortest(row);
        let (request, spans) = (words.concat(), Span::of_joined(&words));
        let databases = DatabasesNow { selected: 0, count: 16 };
        let decided = permit(&user, row, Args::new(&request, &spans), databases);
        denied.extend(decided.err().map(|it| (row.full_name.as_str(), it.reason)));
    }
    denied
}

#[test]
fn each_row_needs_its_own_right_and_no_other() {
    let is_needed = |row: &Row| !row.spec.flags.contains(Flags::NO_AUTH);
    for row in table().rows().iter().filter(|row| is_needed(row)) {
        let name = &row.full_name;
        let children = row.children().iter().filter(|it| is_needed(it));
        let own: Vec<_> = [row].into_iter().chain(children).map(|it| &it.full_name[..]).collect();
        let without = denied_to(&format!("+@all ~* &* -{name}"));
        assert!(
            without.iter().all(|(_, reason)| *reason == Reason::Command),
            "{name}: {without:?}"
        );
        assert_eq!(without.iter().map(|it| it.0).collect::<Vec<_>>(), own, "all but {name}");
        let others = table().rows().iter().filter(|row| is_needed(row)).count() - own.len();
        assert_eq!(denied_to(&format!("-@all ~* &* +{name}")).len(), others, "only {name}");
    }
}

#[test]
fn rows_that_name_channels_or_reach_all_databases_are_those_of_valkey() {
    let names = |rules: &str, reason: Reason| -> Vec<&str> {
        denied_to(rules).into_iter().filter(|it| it.1 == reason).map(|it| it.0).collect()
    };
    let mut channels = names("+@all ~* resetchannels", Reason::Channel);
    channels.sort_unstable();
    assert_eq!(channels, ["psubscribe", "publish", "spublish", "ssubscribe", "subscribe"]);
    // A user with the selected database alone; words that stand for a database name the same one.
    let mut all = names("+@all ~* &* db=0", Reason::Database);
    let of_cluster = ["cancelslotmigrations", "flushslot", "migrateslots"];
    let mut expected = of_cluster.map(|name| format!("cluster|{name}")).to_vec();
    expected.push("flushall".to_owned());
    all.sort_unstable();
    assert_eq!(all, expected);
    // A user with another database: rows with keys, those that read and write, and SELECT.
    let other = names("+@all ~* &* db=1", Reason::Database);
    for row in table().rows() {
        let of_data = Categories::KEYSPACE.union(Categories::READ).union(Categories::WRITE);
        let has_data = row.spec.all_categories().intersects(of_data);
        let name = row.full_name.as_str();
        let has_keys = row.spec.keys.iter().any(KeySpec::is_key);
        let is_needed =
            has_data || has_keys || name == "select" || expected.contains(&row.full_name);
        let is_parent = !row.children().is_empty();
        assert!(is_parent || is_needed == other.contains(&name), "{name}: {is_needed}");
    }
}
