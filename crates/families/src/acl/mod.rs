//! Users: ACL. What rules mean is said in the crate `users`; who asks for rights, in `rights.rs` of
//! `command`.

mod closing;
mod dry_run;
mod files;
mod log;
mod show;
mod table;

pub use table::TABLE;

use closing::{close_all_of, close_replicas_that_lost, close_subscribers_that_lost};
use command::{Call, Outcome, Positions};
use session::{Args, Refusal};
use std::collections::HashSet;
use users::{DEFAULT, has_blanks};

const DEFAULT_STAYS: Refusal = Refusal::of("ERR The 'default' user cannot be removed");
const BLANKS: Refusal = Refusal::of("ERR Usernames can't contain spaces or null characters");

fn whoami(call: &mut Call<'_>) -> Outcome {
    match call.session.user() {
        Some(user) => call.reply.bulk(user.name()),
        None => call.reply.null(),
    }
    Ok(())
}

/// ACL SETUSER.
fn set_user(call: &mut Call<'_>) -> Outcome {
    let (instance, name) = (call.instance, call.args.get(2));
    if has_blanks(name) {
        return Err(BLANKS.into());
    }
    let user = instance.access.set(name, call.args.from(3), &instance.settings);
    let user = user.map_err(|error| Refusal::naming("ERR {}", &[&error.text()]))?;
    close_subscribers_that_lost(instance, &user);
    close_replicas_that_lost(call, &user);
    call.session.follow_users(&instance.access);
    call.reply.ok();
    Ok(())
}

/// ACL DELUSER.
fn delete_users(call: &mut Call<'_>) -> Outcome {
    let instance = call.instance;
    if call.args.from(2).any(|name| name == DEFAULT) {
        return Err(DEFAULT_STAYS.into());
    }
    let names = call.args.from(2);
    let deleted: HashSet<&[u8]> = names.filter(|name| instance.access.remove(name)).collect();
    close_all_of(instance, &deleted);
    call.reply.integer(i64::try_from(deleted.len()).unwrap_or(i64::MAX));
    call.session.follow_users(&instance.access);
    Ok(())
}

/// Takes all that stands behind the subcommand for secrets: names of users, and rules with
/// passwords.
fn names_and_rules(args: &Args<'_>) -> Positions {
    (2..args.len()).collect()
}
