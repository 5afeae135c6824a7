//! What becomes of a request that its user may not run: an entry of ACL LOG, a count, and the
//! refusal.

use crate::client_line;
use crate::row::{Call, Row, Table};
use session::{DeniedFor, DeniedNow, DeniedWithin, Instance, Needs, Refusal, Session};
use users::{Denied, Reason, User};

/// Where a call was denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Within {
    /// As a request, or when it was to be queued.
    Request,
    /// When EXEC was to run it.
    Exec,
    /// Where a script called it.
    Script,
}

/// Notes that a call was denied, and returns what its client is told. Which key or
/// channel it was is not told: it may be a secret of others.
#[cold]
#[inline(never)]
pub(crate) fn refuse(call: &Call<'_>, user: &User, denied: Denied, within: Within) -> Refusal {
    let is_in_transaction =
        !call.session.grants.contains(Needs::NO_TRANSACTION) || call.session.runs_queue();
    let context = match within {
        Within::Script => DeniedWithin::Script,
        _ if is_in_transaction => DeniedWithin::Transaction,
        _ => DeniedWithin::TopLevel,
    };
    let reason = match denied.reason {
        Reason::Database => DeniedFor::Database,
        Reason::Command => DeniedFor::Command,
        Reason::Key => DeniedFor::Key,
        Reason::Channel => DeniedFor::Channel,
    };
    let object = match denied.position {
        0 => call.row.full_name.as_bytes(),
        position => call.args.get(position),
    };
    note(call, DeniedNow { reason, context, object, user: user.name() });
    let text = match within {
        Within::Exec => {
            return Refusal::new(format!("{CHANGED_BEFORE_EXEC}{}", why(denied.reason)));
        }
        Within::Script => IN_SCRIPT,
        Within::Request => "NOPERM ",
    };
    Refusal::naming(&format!("{text}{}", lack(call.row, denied.reason)), &[user.name()])
}

/// Enters a refusal into ACL LOG, and counts it.
pub fn note(call: &Call<'_>, denied: DeniedNow<'_>) {
    let (access, now) = (&call.instance.access, call.instance.clock.now());
    let most = access.log_entries_max(&call.instance.settings);
    access.log.add(denied, (now, most), || {
        client_line::note_command(call);
        let mut line = Vec::new();
        client_line::write(&mut line, call, &call.session.client);
        line.pop();
        line
    });
}

/// Logs a new client in as the first user that its certificate names and who is on. If it names
/// nobody else, that is entered into ACL LOG, and the client stays who it is.
pub fn log_in_by_certificate(
    instance: &Instance,
    table: &'static Table,
    session: &mut Session,
    names: &[Vec<u8>],
) {
    let access = &instance.access;
    let found = names.iter().filter_map(|name| access.find(name)).find(|it| it.user.is_on());
    if let Some(found) = found {
        return session.log_in(found, access);
    }
    let Some(name) = names.last() else { return };
    let (reason, context) = (DeniedFor::Certificate, DeniedWithin::TopLevel);
    let denied = DeniedNow { reason, context, object: b"", user: name };
    let most = access.log_entries_max(&instance.settings);
    access.log.add(denied, (instance.clock.now(), most), || {
        let mut line = Vec::new();
        client_line::write_at(&mut line, (instance.clock.steady(), table), &session.client, 0);
        line.pop();
        line
    });
}

/// Returns what a user lacks, as a template for its name.
fn lack(row: &Row, reason: Reason) -> String {
    match reason {
        Reason::Database => "No permissions to access database".to_owned(),
        Reason::Command => {
            format!("User {{}} has no permissions to run the '{}' command", row.full_name)
        }
        Reason::Key => "No permissions to access a key".to_owned(),
        Reason::Channel => "No permissions to access a channel".to_owned(),
    }
}

/// Returns what ACL DRYRUN tells: it names the argument.
pub fn lack_of(row: &Row, user: &User, denied: Denied, argument: &[u8]) -> Vec<u8> {
    let (template, words): (String, &[&[u8]]) = match denied.reason {
        Reason::Command => (lack(row, denied.reason), &[user.name()]),
        Reason::Database => {
            let text = "User {} has no permissions to access database {}";
            (text.to_owned(), &[user.name(), argument])
        }
        Reason::Key => {
            let text = "User {} has no permissions to access the '{}' key";
            (text.to_owned(), &[user.name(), argument])
        }
        Reason::Channel => {
            let text = "User {} has no permissions to access the '{}' channel";
            (text.to_owned(), &[user.name(), argument])
        }
    };
    Refusal::naming(&template, words).text().to_vec()
}

fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::Database => "no permission",
        Reason::Command => "no permission to execute the command or subcommand",
        Reason::Key => "no permission to touch the specified keys",
        Reason::Channel => "no permission to access one of the channels used as arguments",
    }
}

/// Begin of a refusal that a script sees. INFO counts it as the refusal of a client all the same.
pub(crate) const IN_SCRIPT: &str = "ERR ACL failure in script: ";
const CHANGED_BEFORE_EXEC: &str = "NOPERM ACLs rules changed between the moment the transaction \
    was accumulated and the EXEC call. This command is no longer allowed for the following \
    reason: ";
