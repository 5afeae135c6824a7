//! MODULE, for a server without modules.

use crate::call::{Call, Outcome};
use crate::refusal::Refusal;

const NOT_ALLOWED: Refusal = Refusal::of(
    "ERR MODULE command not allowed. If the enable-module-command option is set to \"local\", you \
     can run it from a local connection, otherwise you need to set this option in the \
     configuration file, and then restart the server.",
);

/// Lists the modules, of which there are none.
pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    call.reply.array(0);
    Ok(())
}

/// Refuses to load or to unload one: the setting `enable-module-command` is always `no`.
pub(super) fn refuse(_: &mut Call<'_>) -> Outcome {
    Err(NOT_ALLOWED.into())
}
