//! CLIENT subcommands about the client itself.

use crate::connection::{checked_name, shown};
use command::{Call, Outcome, client_line};
use session::{AccessModes, ClientFlags, Needs, Refusal, ReplyMode};
use settings::general::IMPORT_MODE;

/// Letter of the capability to follow redirections, as CLIENT LIST shows it.
pub(super) const REDIRECT: char = 'r';

pub fn capa(call: &mut Call<'_>) -> Outcome {
    let redirects = call.args.from(2).any(|word| word.eq_ignore_ascii_case(b"redirect"));
    let mut info = call.session.client.info();
    if redirects && !info.capabilities.contains(REDIRECT) {
        info.capabilities.push(REDIRECT);
    }
    drop(info);
    if redirects {
        call.session.grants.remove(Needs::DIRECT);
    }
    call.reply.ok();
    Ok(())
}

pub fn get_name(call: &mut Call<'_>) -> Outcome {
    let info = call.session.client.info();
    if info.name.is_empty() {
        call.reply.null();
    } else {
        call.reply.bulk(info.name.as_bytes());
    }
    Ok(())
}

pub fn set_name(call: &mut Call<'_>) -> Outcome {
    let name = checked_name(call.args.get(2))?;
    call.session.client.info().name = name;
    call.session.memory_changed = true;
    call.reply.ok();
    Ok(())
}

pub fn set_info(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let what = args.get(2);
    let is_name = args.is(2, "LIB-NAME");
    if !is_name && !args.is(2, "LIB-VER") {
        return Err(Refusal::naming("ERR Unrecognized option '{}'", &[what]).into());
    }
    let value = shown(args.get(3)).ok_or_else(|| {
        let text = "ERR {} cannot contain spaces, newlines or special characters.";
        Refusal::naming(text, &[what])
    })?;
    let mut info = call.session.client.info();
    let field = if is_name { &mut info.library } else { &mut info.library_version };
    *field = value;
    call.session.memory_changed = true;
    call.reply.ok();
    Ok(())
}

pub fn id(call: &mut Call<'_>) -> Outcome {
    call.reply.integer(call.session.client.id.cast_signed());
    Ok(())
}

pub fn info(call: &mut Call<'_>) -> Outcome {
    client_line::note_command(call);
    let mut text = Vec::new();
    client_line::write(&mut text, call, &call.session.client);
    call.reply.verbatim(b"txt", &text);
    Ok(())
}

pub fn import_source(call: &mut Call<'_>) -> Outcome {
    if !IMPORT_MODE.get(&call.instance.settings) && !call.args.is(2, "OFF") {
        return Err(Refusal::of("ERR Server is not in import mode").into());
    }
    let on = on_or_off(call)?;
    call.session.modes.set(AccessModes::IMPORT_SOURCE, on);
    call.session.client.set_flag(ClientFlags::IMPORT_SOURCE, on);
    call.reply.ok();
    Ok(())
}

pub fn no_evict(call: &mut Call<'_>) -> Outcome {
    let on = on_or_off(call)?;
    call.session.client.set_flag(ClientFlags::NO_EVICT, on);
    call.reply.ok();
    Ok(())
}

pub fn no_touch(call: &mut Call<'_>) -> Outcome {
    let on = on_or_off(call)?;
    call.session.modes.set(AccessModes::NO_TOUCH, on);
    call.session.client.set_flag(ClientFlags::NO_TOUCH, on);
    call.reply.ok();
    Ok(())
}

fn on_or_off(call: &Call<'_>) -> Result<bool, Refusal> {
    match (call.args.is(2, "ON"), call.args.is(2, "OFF")) {
        (true, _) => Ok(true),
        (_, true) => Ok(false),
        _ => Err(Refusal::SYNTAX),
    }
}

pub fn reply(call: &mut Call<'_>) -> Outcome {
    if call.args.is(2, "SKIP") {
        if call.session.reply_mode != ReplyMode::Off {
            call.session.reply_mode = ReplyMode::SkipNext;
        }
        return Ok(());
    }
    if on_or_off(call)? {
        call.session.reply_mode = ReplyMode::On;
        call.reply.ok();
    } else {
        call.session.reply_mode = ReplyMode::Off;
    }
    Ok(())
}
