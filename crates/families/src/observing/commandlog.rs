//! COMMANDLOG, and SLOWLOG for the slow ones alone.

use command::{Call, Outcome};
use session::{Entry, LogKind, Refusal};

const BAD_COUNT: Refusal = Refusal::of("ERR count should be greater than or equal to -1");
const BAD_KIND: Refusal =
    Refusal::of("ERR type should be one of the following: slow, large-request, large-reply");

/// Entries that SLOWLOG GET shows unless it is told how many.
const SHOWN: usize = 10;

pub(super) fn get(call: &mut Call<'_>) -> Outcome {
    let most = count(call, 2)?;
    let kind = kind(call, 3)?;
    show(call, kind, most);
    Ok(())
}

pub(super) fn get_slow(call: &mut Call<'_>) -> Outcome {
    let most = match call.args.len() {
        2 => Some(SHOWN),
        3 => count(call, 2)?,
        _ => return Err(call.wrong_subcommand().into()),
    };
    show(call, LogKind::Slow, most);
    Ok(())
}

pub(super) fn len(call: &mut Call<'_>) -> Outcome {
    let kind = kind(call, 2)?;
    show_len(call, kind)
}

pub(super) fn len_slow(call: &mut Call<'_>) -> Outcome {
    show_len(call, LogKind::Slow)
}

pub(super) fn reset(call: &mut Call<'_>) -> Outcome {
    let kind = kind(call, 2)?;
    drop_all(call, kind)
}

pub(super) fn reset_slow(call: &mut Call<'_>) -> Outcome {
    drop_all(call, LogKind::Slow)
}

/// Reads a number of entries; `None` for all.
fn count(call: &Call<'_>, at: usize) -> Result<Option<usize>, Refusal> {
    match text::parse_i64(call.args.get(at)).ok_or(BAD_COUNT)? {
        -1 => Ok(None),
        count => usize::try_from(count).map(Some).map_err(|_| BAD_COUNT),
    }
}

fn kind(call: &Call<'_>, at: usize) -> Result<LogKind, Refusal> {
    let words = [
        ("slow", LogKind::Slow),
        ("large-request", LogKind::LargeRequest),
        ("large-reply", LogKind::LargeReply),
    ];
    let found = words.into_iter().find(|(word, _)| call.args.is(at, word));
    found.map(|(_, kind)| kind).ok_or(BAD_KIND)
}

fn show(call: &mut Call<'_>, kind: LogKind, most: Option<usize>) {
    let entries = call.instance.command_log.latest(kind, most);
    let reply = &mut call.reply;
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    reply.array(entries.len());
    for Entry { id, seconds, value, args, address, name } in &entries {
        reply.array(6);
        [id, seconds, value].iter().for_each(|it| reply.integer(number(**it)));
        reply.array(args.len());
        args.iter().for_each(|argument| reply.bulk(argument));
        reply.bulk(address.as_bytes());
        reply.bulk(name.as_bytes());
    }
}

fn show_len(call: &mut Call<'_>, kind: LogKind) -> Outcome {
    let len = call.instance.command_log.len(kind);
    call.reply.integer(i64::try_from(len).unwrap_or(i64::MAX));
    Ok(())
}

fn drop_all(call: &mut Call<'_>, kind: LogKind) -> Outcome {
    call.instance.command_log.reset(kind);
    call.reply.ok();
    Ok(())
}
