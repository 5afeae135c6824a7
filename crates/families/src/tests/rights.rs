//! Decisions on rights, as ACL DRYRUN of Valkey 9.1.2 tells them.

use crate::commands::table;
use command::find_row::find_row;
use command::rights::{DatabasesNow, catalog_of, permit};
use session::Args;
use users::{Denied, Language, Reason, User};
use wire::Span;

const RECORDED: &str = include_str!("rights.txt");

/// Requests whose commands are not here yet.
const NOT_HERE: [&str; 3] = ["ACL LIST", "ACL WHOAMI", "REPLICAOF no one"];

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
