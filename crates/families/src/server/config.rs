//! CONFIG: `settings` does the work.

use command::{Call, Observer, Outcome, Positions, Seen};
use session::{Args, Instance, Refusal};
use settings::users::ACLFILE;
use settings::{Origin, Row, SetError};
use std::sync::atomic::Ordering::Relaxed;
use users::describe_line;

const UNKNOWN: &str = "ERR Unknown option or number of arguments for CONFIG SET - '{}'";

pub(super) fn get(call: &mut Call<'_>) -> Outcome {
    let patterns: Vec<&[u8]> = call.args.from(2).collect();
    let found = call.instance.settings.get_matching(&patterns);
    call.reply.map(found.len());
    for (name, value) in found {
        call.reply.bulk(name.as_bytes());
        call.reply.bulk(&value);
    }
    Ok(())
}

pub(super) fn set(call: &mut Call<'_>) -> Outcome {
    let words: Vec<&[u8]> = call.args.from(2).collect();
    let (pairs, []) = words.as_chunks::<2>() else { return Err(Refusal::SYNTAX.into()) };
    let pairs: Vec<(&[u8], &[u8])> = pairs.iter().map(|[name, value]| (*name, *value)).collect();
    let (before, stopwatch) = (Observer::of(&call.instance.settings), &call.instance.stopwatch);
    let began = stopwatch.read();
    change(call, &pairs)?;
    call.reply.ok();
    let nanos = stopwatch.nanos_between(began, stopwatch.read());
    before.note_by_new_limits(call, Seen { nanos, reply_bytes: 5 });
    Ok(())
}

/// Changes settings for a client.
pub(crate) fn change(call: &mut Call<'_>, pairs: &[(&[u8], &[u8])]) -> Result<(), Refusal> {
    let is_fixed = |(name, _): &(&[u8], &[u8])| {
        settings::find(name).is_some_and(|row| row.fixed_while_loading)
    };
    if call.instance.loading.is_active() && pairs.iter().any(is_fixed) {
        return Err(Refusal::LOADING);
    }
    let origin = if call.session.client.is_local() { Origin::Local } else { Origin::Remote };
    let changed = call.instance.settings.set_many(pairs, origin);
    let changed = changed.map_err(|error| match error {
        SetError::Unknown { name } => Refusal::naming(UNKNOWN, &[&name]),
        error => Refusal::new(error.to_string()),
    })?;
    let rows = changed.names.iter().filter_map(|name| settings::find(name.as_bytes()));
    rows.filter_map(Row::idle_note).for_each(|note| tracing::warn!("{note}"));
    // What its worker keeps of settings is read again before the client's next command.
    call.session.yields = true;
    call.instance.command_log.follow_settings(&call.instance.settings);
    Ok(())
}

/// Finds the values of settings that are secrets.
pub(super) fn secrets(args: &Args<'_>) -> Positions {
    let names = (2..args.len()).step_by(2);
    names.filter(|at| settings::is_sensitive(args.get(*at))).map(|at| at + 1).collect()
}

pub(super) fn resetstat(call: &mut Call<'_>) -> Outcome {
    let instance = call.instance;
    instance.statistics.reset(instance.store.totals());
    instance.journal.reset_counts();
    instance.data_files.reset_counts();
    instance.scripts.cache.reset_evicted();
    instance.loading.left_out.store(0, Relaxed);
    instance.upstream.left_out.store(0, Relaxed);
    instance.replicas.syncs.reset();
    call.reply.ok();
    Ok(())
}

pub(super) fn rewrite(call: &mut Call<'_>) -> Outcome {
    let file = call.instance.identity.config_file.as_deref();
    let users = user_lines(call.instance);
    let written = call.instance.settings.rewrite(file, &users);
    written.map_err(|error| Refusal::new(error.to_string()))?;
    call.reply.ok();
    Ok(())
}

/// Returns the lines `user` of a file of settings: none where users have a file of their own.
pub(super) fn user_lines(instance: &Instance) -> Vec<Vec<u8>> {
    if !ACLFILE.get(&instance.settings).is_empty() {
        return Vec::new();
    }
    instance.access.all().iter().map(|user| quoted(&describe_line(user))).collect()
}

/// Quotes the words of a line that would be read otherwise, since a file of settings has quotes and
/// one of users has none.
fn quoted(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len());
    for (at, word) in line.split(|byte| *byte == b' ').enumerate() {
        out.extend((at > 0).then_some(b' '));
        if word.iter().any(|byte| matches!(byte, b'"' | b'\'')) {
            text::quote_to(word, &mut out);
        } else {
            out.extend_from_slice(word);
        }
    }
    out
}
