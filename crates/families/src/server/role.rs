//! ROLE, for a server without replicas.

use command::{Call, Outcome};

/// Tells that the server is a primary, the position of its stream for replicas, and its replicas.
pub(super) fn role(call: &mut Call<'_>) -> Outcome {
    call.reply.array(3);
    call.reply.bulk(b"master");
    call.reply.integer(0);
    call.reply.array(0);
    Ok(())
}
