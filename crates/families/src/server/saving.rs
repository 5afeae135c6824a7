//! BGSAVE, SAVE, LASTSAVE and SHUTDOWN. The server makes the snapshots.

use command::{Call, Outcome, Turn, Unanswered};
use session::{Asker, Begun, Cancelled, Refusal, Shutdown, When};

pub(super) fn bgsave(call: &mut Call<'_>) -> Outcome {
    let files = &call.instance.data_files;
    let when = match call.args.len() {
        1 => When::Now,
        2 if call.args.is(1, "SCHEDULE") => When::WhenPossible,
        2 if call.args.is(1, "CANCEL") => {
            let cancelled = files.cancel_saving().ok_or(Refusal::NOTHING_TO_CANCEL)?;
            call.reply.simple(match cancelled {
                Cancelled::Running => "Background saving cancelled",
                Cancelled::Scheduled => "Scheduled background saving cancelled",
            });
            return Ok(());
        }
        _ => return Err(Refusal::SYNTAX.into()),
    };
    let when = if call.turn == Turn::Only { When::Later } else { when };
    let asker = Asker::of(call.session);
    match files.save_in_background(call.instance, when, Some(asker))? {
        // It is answered at the cut.
        Begun::Started => Err(Unanswered::Waits),
        Begun::Scheduled => {
            call.reply.simple("Background saving scheduled");
            Ok(())
        }
    }
}

/// Makes a snapshot while others are served; the client waits for its end.
pub(super) fn save(call: &mut Call<'_>) -> Outcome {
    call.instance.data_files.save(call.instance, Asker::of(call.session))?;
    Err(Unanswered::Waits)
}

pub(super) fn lastsave(call: &mut Call<'_>) -> Outcome {
    call.reply.integer(call.instance.data_files.saving().last_save as i64);
    Ok(())
}

#[derive(Default)]
struct ShutdownWords {
    how: Shutdown,
    nosave: bool,
    save: bool,
    failover: bool,
    abort: bool,
    any: bool,
}

pub(super) fn shutdown(call: &mut Call<'_>) -> Outcome {
    let words = shutdown_words(call)?;
    if (words.abort && words.any) || (words.save && words.nosave) {
        return Err(Refusal::SYNTAX.into());
    }
    if words.failover {
        return Err(Refusal::of("ERR SHUTDOWN FAILOVER is only supported in cluster mode.").into());
    }
    if !words.nosave
        && !words.abort
        && let Some(busy) = call.instance.scripts.long_runs.busy()
    {
        return Err(busy.into());
    }
    if words.abort {
        if !call.instance.shutdown.abort(&call.instance.loading, &call.instance.statistics) {
            return Err(Refusal::of("ERR No shutdown in progress.").into());
        }
        call.reply.ok();
        return Ok(());
    }
    let saves = (words.save || words.nosave).then_some(words.save);
    // On success the client gets no reply: its connection ends.
    let how = Shutdown { saves, ..words.how };
    call.instance.shutdown.request(&call.instance.loading, how, Some(Asker::of(call.session)));
    Err(Unanswered::Waits)
}

fn shutdown_words(call: &Call<'_>) -> Result<ShutdownWords, Refusal> {
    let mut words = ShutdownWords::default();
    for at in 1..call.args.len() {
        let is = |word| call.args.is(at, word);
        let flag = match () {
            () if is("NOSAVE") => &mut words.nosave,
            () if is("SAVE") => &mut words.save,
            () if is("NOW") => &mut words.how.now,
            () if is("FORCE") => &mut words.how.force,
            // It concerns servers of a cluster only.
            () if is("SAFE") => &mut words.any,
            () if is("FAILOVER") => &mut words.failover,
            () if is("ABORT") => {
                words.abort = true;
                continue;
            }
            () => return Err(Refusal::SYNTAX),
        };
        *flag = true;
        words.any = true;
    }
    Ok(words)
}
