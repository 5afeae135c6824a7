//! ROLE, and the role as other commands tell it.

use command::{Call, Outcome};
use session::{Instance, Phase};

/// Role of the server as ROLE, HELLO and INFO call it.
pub fn name(instance: &Instance) -> &'static str {
    if instance.upstream.is_replica() { "slave" } else { "master" }
}

/// Tells whether the server is a primary, with the replicas that follow it, or whose replica it is.
pub(super) fn role(call: &mut Call<'_>) -> Outcome {
    let replicas = &call.instance.replicas;
    let (facts, offset) = (call.instance.upstream.facts(), replicas.offset().cast_signed());
    let name = name(call.instance);
    let reply = &mut call.reply;
    if let Some(facts) = facts {
        reply.array(5);
        reply.bulk(name.as_bytes());
        reply.bulk(facts.primary.host.as_bytes());
        reply.integer(facts.primary.port.into());
        reply.bulk(facts.link.name().as_bytes());
        reply.integer(offset);
        return Ok(());
    }
    let online: Vec<_> =
        replicas.all().into_iter().filter(|replica| replica.phase() == Phase::Online).collect();
    reply.array(3);
    reply.bulk(name.as_bytes());
    reply.integer(offset);
    reply.array(online.len());
    for replica in online {
        reply.array(3);
        reply.bulk(replica.address().as_bytes());
        reply.bulk_integer(replica.about.port);
        reply.bulk_integer(replica.acknowledged().cast_signed());
    }
    Ok(())
}
