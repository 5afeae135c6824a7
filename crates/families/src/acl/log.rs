//! ACL LOG.

use command::{Call, Outcome};
use session::AclLogEntry;
use wire::Reply;

/// Entries that are shown unless told how many.
const SHOWN: i64 = 10;

pub(super) fn log(call: &mut Call<'_>) -> Outcome {
    let log = &call.instance.access.log;
    let most = match call.args.len() {
        2 => SHOWN,
        3 if call.args.is(2, "RESET") => {
            log.clear();
            call.reply.ok();
            return Ok(());
        }
        3 => call.args.integer(2)?,
        _ => return Err(call.wrong_subcommand().into()),
    };
    let entries = log.newest(narrow::to_usize(most.max(0).cast_unsigned()));
    call.reply.array(entries.len());
    let now = call.instance.clock.now();
    for entry in &entries {
        show(&mut call.reply, entry, now.0.saturating_sub(entry.updated.0));
    }
    Ok(())
}

/// Writes an entry whose newest refusal was so many milliseconds ago.
fn show(reply: &mut Reply<'_>, entry: &AclLogEntry, age_millis: u64) {
    reply.map(10);
    reply.bulk(b"count");
    reply.integer(entry.count.cast_signed());
    let texts: [(&str, &[u8]); 4] = [
        ("reason", entry.reason.name().as_bytes()),
        ("context", entry.context.name().as_bytes()),
        ("object", &entry.object),
        ("username", &entry.user),
    ];
    for (name, text) in texts {
        reply.bulk(name.as_bytes());
        reply.bulk(text);
    }
    reply.bulk(b"age-seconds");
    reply.double(age_millis as f64 / 1000.0);
    reply.bulk(b"client-info");
    reply.bulk(&entry.client);
    let numbers = [
        ("entry-id", entry.id),
        ("timestamp-created", entry.created.0),
        ("timestamp-last-updated", entry.updated.0),
    ];
    for (name, number) in numbers {
        reply.bulk(name.as_bytes());
        reply.integer(number.cast_signed());
    }
}
