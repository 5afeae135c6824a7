//! A server that executes the effects of another one.

use super::server::Server;
use crate::differential::step::{Request, line, name};
use base::Millis;
use command::Applier;
use families::table;
use store::Unit;

/// Follower whose clock is far ahead, as that of a server that starts again: all deadlines have
/// passed when it gets them.
pub struct Follower(pub Server);

const AHEAD: Millis = Millis(1 << 43);

impl Follower {
    pub fn new() -> Follower {
        let server = Server::new(1, AHEAD);
        server.instance.store.apply_journal(true);
        Follower(server)
    }

    /// Executes units; describes the first effect that is refused, or is none.
    pub fn apply(&mut self, units: &[Unit]) -> Result<(), String> {
        if units.is_empty() {
            // An applier has counters for every command, and most requests change nothing.
            return Ok(());
        }
        let client = self.0.another_client();
        let Server { instance, thread, .. } = &mut self.0;
        let mut applier = Applier::new(instance, table(), client);
        for (database, args) in units.iter().flat_map(Unit::commands) {
            check_words(&args)?;
            instance.store.enter(thread);
            let done = applier.apply_words(thread, database, &args);
            instance.store.leave(thread);
            done.map_err(|refusal| {
                format!("{}: {}", shown(&args), String::from_utf8_lossy(refusal.text()))
            })?;
        }
        Ok(())
    }
}

/// Commands that are younger than Redis 7.2, and that effects may use all the same.
const YOUNGER: [&str; 2] = ["HPEXPIREAT", "HPERSIST"];

/// Refuses an effect in words that not every reader knows, or that depend on time.
fn check_words(args: &Request) -> Result<(), String> {
    let wanted = name(args).replace(' ', "|").to_lowercase();
    let row = table().rows().iter().find(|row| row.full_name == wanted);
    let row = row.ok_or_else(|| format!("{}: no command", shown(args)))?;
    let since: Vec<u32> = row.spec.since.split('.').filter_map(|it| it.parse().ok()).collect();
    let is_known = since < vec![7, 3] || YOUNGER.contains(&row.spec.name);
    let has_time = ["EX", "PX", "EXAT", "IFEQ"];
    let is_set = row.spec.name == "SET";
    let is_timed =
        is_set && args.iter().skip(3).any(|it| has_time.iter().any(|word| it == word.as_bytes()));
    if is_known && !is_timed { Ok(()) } else { Err(format!("{}: a word of its own", shown(args))) }
}

pub fn shown(args: &Request) -> String {
    line(args).chars().take(500).collect()
}
