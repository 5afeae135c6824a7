//! MODULE, for a server that loads no modules: Lua is one, built in, as in Valkey 9.1.

use command::{Call, Outcome};
use session::Refusal;
use wire::Reply;

/// Lists the modules.
pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    show(&mut call.reply);
    Ok(())
}

/// Writes all modules, as MODULE LIST and HELLO show them.
pub(crate) fn show(reply: &mut Reply<'_>) {
    reply.array(1);
    reply.map(4);
    reply.bulk(b"name");
    reply.bulk(b"lua");
    reply.bulk(b"ver");
    reply.integer(1);
    reply.bulk(b"path");
    reply.bulk(b"lua");
    reply.bulk(b"args");
    reply.array(0);
}

/// Stands for loading and unloading, which no client is let in to: the setting
/// `enable-module-command` is always `no`.
pub(super) fn refuse(_: &mut Call<'_>) -> Outcome {
    Err(Refusal::SYNTAX.into())
}
