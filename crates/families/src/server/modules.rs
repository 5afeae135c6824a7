//! MODULE, for a server without modules.

use command::{Call, Outcome};
use session::Refusal;

/// Lists the modules, of which there are none.
pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    call.reply.array(0);
    Ok(())
}

/// Stands for loading and unloading, which no client is let in to: the setting
/// `enable-module-command` is always `no`.
pub(super) fn refuse(_: &mut Call<'_>) -> Outcome {
    Err(Refusal::SYNTAX.into())
}
