//! DEBUG subcommands that turn something on or off, or wait.

use crate::server::config::user_lines;
use command::{Call, Outcome};
use session::Refusal;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Reads a switch: any number but zero is on.
pub(super) fn is_on(word: &[u8]) -> bool {
    text::parse_i64(word).is_some_and(|number| number != 0)
}

pub(super) fn set_active_expire(call: &mut Call<'_>) -> Outcome {
    call.instance.active_expire.store(is_on(call.args.get(2)), Relaxed);
    call.reply.ok();
    Ok(())
}

pub(super) fn set_skip_checksum_validation(call: &mut Call<'_>) -> Outcome {
    call.instance.skips_checksums.store(is_on(call.args.get(2)), Relaxed);
    call.reply.ok();
    Ok(())
}

pub(super) fn set_disable_deny_scripts(call: &mut Call<'_>) -> Outcome {
    call.instance.scripts.may_debug.store(is_on(call.args.get(2)), Relaxed);
    call.reply.ok();
    Ok(())
}

pub(super) fn aof_flush_sleep(call: &mut Call<'_>) -> Outcome {
    let micros = text::parse_u64(call.args.get(2)).unwrap_or(0);
    call.instance.journal.pause_micros.store(micros, Relaxed);
    call.reply.ok();
    Ok(())
}

pub(super) fn pause_cron(call: &mut Call<'_>) -> Outcome {
    call.instance.background_jobs_paused.store(is_on(call.args.get(2)), Relaxed);
    call.reply.ok();
    Ok(())
}

pub(super) fn move_connections(call: &mut Call<'_>) -> Outcome {
    call.instance.moves_connections.store(is_on(call.args.get(2)), Relaxed);
    call.reply.ok();
    Ok(())
}

pub(super) fn force_tls_write_error(call: &mut Call<'_>) -> Outcome {
    let value = text::parse_i64(call.args.get(2)).ok_or(Refusal::NOT_INTEGER)?;
    let is_forced = match value {
        0 => false,
        1 => true,
        _ => return Err(Refusal::new("ERR Value must be 0 or 1".to_owned()).into()),
    };
    call.instance.tls.has_refused_writes.store(true, Relaxed);
    call.instance.tls.refuses_writes.store(is_forced, Relaxed);
    call.reply.ok();
    Ok(())
}

/// Writes the configuration file with a line for every setting.
pub(super) fn rewrite_config(call: &mut Call<'_>) -> Outcome {
    let file = call.instance.identity.config_file.as_deref();
    let written = call.instance.settings.rewrite_all(file, &user_lines(call.instance));
    written.map_err(|error| Refusal::new(error.to_string()))?;
    call.reply.ok();
    Ok(())
}

/// Accepts a switch of something that Varve does not have.
pub(super) fn accepted(call: &mut Call<'_>) -> Outcome {
    call.reply.ok();
    Ok(())
}

/// Largest threshold that Valkey accepts: somewhat less than 4 GiB.
const PACKED_THRESHOLD_MAX: u64 = (1 << 32) - (1 << 20);

/// Accepts the size from which Valkey gives an element of a list a node of its own.
pub(super) fn packed_threshold(call: &mut Call<'_>) -> Outcome {
    let size = text::parse_memory(call.args.get(2));
    if size.is_none_or(|size| size > PACKED_THRESHOLD_MAX) {
        return Err(Refusal::of(
            "ERR argument must be a memory value bigger than 1 and smaller than 4gb",
        )
        .into());
    }
    accepted(call)
}

pub(super) fn log(call: &mut Call<'_>) -> Outcome {
    tracing::warn!("DEBUG LOG: {}", String::from_utf8_lossy(call.args.get(2)));
    call.reply.ok();
    Ok(())
}

pub(super) fn error(call: &mut Call<'_>) -> Outcome {
    Err(Refusal::new(call.args.get(2)).into())
}

pub(super) fn sleep(call: &mut Call<'_>) -> Outcome {
    let seconds = text::parse_f64(call.args.get(2)).ok_or(Refusal::NOT_FLOAT)?;
    let time = Duration::try_from_secs_f64(seconds.max(0.0));
    let time = time.map_err(|_| Refusal::NOT_FLOAT)?;
    // Behind the closed gate nobody serves a client or works in the background meanwhile: the
    // server is to look as if it hung.
    call.instance.store.exclusively(call.thread, |_| std::thread::sleep(time));
    call.reply.ok();
    Ok(())
}

pub(super) fn stringmatch_len(call: &mut Call<'_>) -> Outcome {
    let matches = text::glob_match(call.args.get(2), call.args.get(3), false);
    call.reply.integer(matches.into());
    Ok(())
}
