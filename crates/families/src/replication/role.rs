//! ROLE, and the role as other commands tell it.

use command::{Call, Outcome};
use session::Phase;

/// Role of this server as ROLE, HELLO and INFO call it: that of a primary.
pub const ROLE: &str = "master";

/// Tells that the server is a primary, the offset of its stream, and the replicas that follow it.
pub(super) fn role(call: &mut Call<'_>) -> Outcome {
    let replicas = &call.instance.replicas;
    let online: Vec<_> =
        replicas.all().into_iter().filter(|replica| replica.phase() == Phase::Online).collect();
    let reply = &mut call.reply;
    reply.array(3);
    reply.bulk(ROLE.as_bytes());
    reply.integer(replicas.offset().cast_signed());
    reply.array(online.len());
    for replica in online {
        reply.array(3);
        reply.bulk(replica.address().as_bytes());
        reply.bulk_integer(replica.about.port);
        reply.bulk_integer(replica.acknowledged().cast_signed());
    }
    Ok(())
}
