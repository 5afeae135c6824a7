//! ROLE, for a server without replicas.

use command::{Call, Outcome};

/// Role of this server as ROLE, HELLO and INFO call it: that of a primary.
pub const ROLE: &str = "master";

/// Tells that the server is a primary, the position of its stream for replicas, and its replicas.
pub(super) fn role(call: &mut Call<'_>) -> Outcome {
    call.reply.array(3);
    call.reply.bulk(ROLE.as_bytes());
    call.reply.integer(0);
    call.reply.array(0);
    Ok(())
}
