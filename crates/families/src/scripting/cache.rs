//! SCRIPT: the cache of scripts.

use super::eval::{script_of, with_interpreter};
use super::{NO_SCRIPT, of_compiling};
use command::{Call, Outcome};
use session::{Digest, Refusal};
use std::sync::Arc;

/// SCRIPT LOAD. What it compiles is not kept: many programs load all scripts that they have, and
/// run few of them.
pub(super) fn load(call: &mut Call<'_>) -> Outcome {
    let source = call.args.get(2);
    let digest = Digest::of(source);
    with_interpreter(call, |call, own| {
        let cache = &call.instance.scripts.cache;
        let script = match cache.get(&digest) {
            Some(script) => script,
            None => {
                let script = script_of(call, digest, source)?;
                own.check(&script).map_err(|text| of_compiling(&text))?;
                Arc::new(script)
            }
        };
        cache.add_loaded(script);
        call.reply.bulk(digest.as_bytes());
        Ok(())
    })
}

/// SCRIPT EXISTS.
pub(super) fn exists(call: &mut Call<'_>) -> Outcome {
    let cache = &call.instance.scripts.cache;
    call.reply.array(call.args.len() - 2);
    for digits in call.args.from(2) {
        let is_there = Digest::parse(digits).is_some_and(|digest| cache.get(&digest).is_some());
        call.reply.integer(i64::from(is_there));
    }
    Ok(())
}

/// SCRIPT SHOW.
pub(super) fn show(call: &mut Call<'_>) -> Outcome {
    let found = Digest::parse(call.args.get(2)).and_then(|it| call.instance.scripts.cache.get(&it));
    call.reply.bulk(found.ok_or(NO_SCRIPT)?.source());
    Ok(())
}

/// SCRIPT FLUSH. Interpreters that run no script go at once, whatever the word asks for: what
/// takes time is to give their memory back, and that is little.
pub(super) fn flush(call: &mut Call<'_>) -> Outcome {
    let is_known = call.args.is(2, "SYNC") || call.args.is(2, "ASYNC");
    if call.args.len() > 2 && !(call.args.len() == 3 && is_known) {
        return Err(Refusal::of("ERR SCRIPT FLUSH only support SYNC|ASYNC option").into());
    }
    call.instance.scripts.cache.clear();
    call.instance.scripts.interpreters.clear();
    call.reply.ok();
    Ok(())
}

/// SCRIPT KILL.
pub(super) fn kill(call: &mut Call<'_>) -> Outcome {
    call.instance.scripts.long_runs.kill(false)?;
    call.reply.ok();
    Ok(())
}

/// SCRIPT DEBUG: there is no debugger.
pub(super) fn debug(call: &mut Call<'_>) -> Outcome {
    if call.args.len() > 4 {
        return Err(call.wrong_subcommand().into());
    }
    if call.args.len() == 4 && !call.args.is(3, "lua") {
        let text = "ERR No scripting engine found with name '{}' to enable debug";
        return Err(Refusal::naming(text, &[call.args.get(3)]).into());
    }
    if call.args.is(2, "NO") {
        call.reply.ok();
        return Ok(());
    }
    let is_known = call.args.is(2, "YES") || call.args.is(2, "SYNC");
    Err(Refusal::of(if is_known {
        "ERR SCRIPT DEBUG YES and SYNC are not supported: there is no debugger of scripts"
    } else {
        "ERR Use SCRIPT DEBUG YES/SYNC/NO"
    })
    .into())
}
