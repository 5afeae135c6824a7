//! Commands on whole databases, or on the whole server.

use command::{Call, Outcome, Turn, Unanswered};
use session::{Asker, Refusal, Rewrite};
use store::Flush;

pub(super) fn dbsize(call: &mut Call<'_>) -> Outcome {
    let keys = call.instance.store.len(call.session.database);
    call.reply.integer(keys as i64);
    Ok(())
}

pub(super) fn flushdb(call: &mut Call<'_>) -> Outcome {
    flush_mode(call)?;
    let database = call.session.database;
    call.instance.store.flush(call.thread, Flush::One(database));
    call.reply.ok();
    Ok(())
}

pub(super) fn flushall(call: &mut Call<'_>) -> Outcome {
    flush_mode(call)?;
    call.instance.store.flush(call.thread, Flush::All);
    // Where it comes from a file, more of the data is to come: no snapshot may be made of the rest.
    if call.is_obeyed() {
        call.reply.ok();
        return Ok(());
    }
    // The file must not bring the keys back.
    let asker = match call.turn {
        Turn::Only => Asker::of_nobody(call.instance.clock.steady()),
        _ => Asker::of(call.session).behind(call.thread.journal_position()),
    };
    if call.instance.data_files.emptied(call.instance, call.thread, asker)
        && call.turn != Turn::Only
    {
        return Err(Unanswered::Waits);
    }
    call.reply.ok();
    Ok(())
}

/// Checks SYNC or ASYNC. With either, the keys are gone at once, and their memory soon after.
fn flush_mode(call: &Call<'_>) -> Outcome {
    let args = call.args;
    let known = match args.len() {
        1 => true,
        2 => args.is(1, "SYNC") || args.is(1, "ASYNC"),
        _ => false,
    };
    if known { Ok(()) } else { Err(Refusal::SYNTAX.into()) }
}

pub(super) fn swapdb(call: &mut Call<'_>) -> Outcome {
    let number = |at, refusal| {
        let number = text::parse_i64(call.args.get(at)).and_then(|it| i32::try_from(it).ok());
        number.ok_or(Refusal::of(refusal))
    };
    let one = number(1, "ERR invalid first DB index")?;
    let other = number(2, "ERR invalid second DB index")?;
    let databases = call.instance.store.databases();
    let database = |number: i32| usize::try_from(number).ok().filter(|it| *it < databases);
    let (Some(one), Some(other)) = (database(one), database(other)) else {
        return Err(Refusal::DB_INDEX.into());
    };
    call.instance.store.swap_databases(call.thread, one, other, call.now);
    // Clients that wait for keys of the other database may be served now.
    call.session.yield_if_subscriber();
    call.reply.ok();
    Ok(())
}

pub(super) fn bgrewriteaof(call: &mut Call<'_>) -> Outcome {
    let later = call.turn == Turn::Only;
    match call.instance.data_files.rewrite_journal(call.instance, later) {
        Rewrite::Begins => call.reply.simple("Background append only file rewriting started"),
        Rewrite::Scheduled => call.reply.simple("Background append only file rewriting scheduled"),
        Rewrite::GoesOn => {
            let text = "ERR Background append only file rewriting already in progress";
            return Err(Refusal::of(text).into());
        }
    }
    Ok(())
}

pub(super) fn time(call: &mut Call<'_>) -> Outcome {
    let micros = call.session.stopped_at.unwrap_or_else(|| call.instance.clock.micros());
    call.reply.array(2);
    call.reply.bulk_integer((micros / 1_000_000) as i64);
    call.reply.bulk_integer((micros % 1_000_000) as i64);
    Ok(())
}
