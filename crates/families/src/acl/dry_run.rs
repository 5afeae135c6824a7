//! ACL DRYRUN: whether a user may run a command, without running it.

use command::find_row::find_row;
use command::rights::{databases_of, permit};
use command::{Call, Outcome, denial};
use session::{Args, Refusal, write_request};

pub(super) fn dry_run(call: &mut Call<'_>) -> Outcome {
    let name = call.args.get(2);
    let Some(found) = call.instance.access.find(name) else {
        return Err(Refusal::naming("ERR User '{}' not found", &[name]).into());
    };
    let words: Vec<&[u8]> = call.args.from(3).collect();
    let (mut bytes, mut spans) = (Vec::new(), Vec::new());
    write_request(&words, &mut bytes, &mut spans);
    let (args, table) = (Args::new(&bytes, &spans), call.row.table());
    let unknown = Refusal::naming("ERR Command '{}' not found", &[words[0]]);
    let row = match find_row(table, &args) {
        // It would say itself that it has no such subcommand.
        Ok(row) if words.len() > 1 && !row.children().is_empty() => return Err(unknown.into()),
        Ok(row) => row,
        Err(misnamed) => {
            let row = misnamed.row;
            return Err(row.map_or(unknown, |row| call_error(&row.full_name)).into());
        }
    };
    match permit(&found.user, row, args, databases_of(call)) {
        Ok(()) => call.reply.ok(),
        Err(denied) => {
            let text = denial::lack_of(row, &found.user, denied, args.get(denied.position));
            call.reply.bulk(&text);
        }
    }
    Ok(())
}

fn call_error(name: &str) -> Refusal {
    Refusal::new(format!("ERR wrong number of arguments for '{name}' command"))
}
