//! Commands of clients and operators of a cluster, answered by a server that is no part of one.
//!
//! | file | content |
//! |---|---|
//! | `table.rs` | the commands |
//! | `slot.rs` | the slot of a key |

mod slot;
mod table;

pub use table::TABLE;

use command::{Call, Command, Flags, Group, Handler, Outcome};
use session::{ClientFlags, Refusal};

const NO_CLUSTER: Refusal = Refusal::of("ERR This instance has cluster support disabled");

/// Answers what only a node of a cluster can do.
fn refuse(_: &mut Call<'_>) -> Outcome {
    Err(NO_CLUSTER.into())
}

/// Answers READONLY, by which a replica in a cluster may answer reads. Clients send it on every
/// connection, also to a server of which there is only one: CLIENT LIST shows it, and no more.
fn readonly(call: &mut Call<'_>) -> Outcome {
    call.session.client.set_flag(ClientFlags::READONLY, true);
    call.reply.ok();
    Ok(())
}

fn readwrite(call: &mut Call<'_>) -> Outcome {
    call.session.client.set_flag(ClientFlags::READONLY, false);
    call.reply.ok();
    Ok(())
}

fn keyslot(call: &mut Call<'_>) -> Outcome {
    call.reply.integer(slot::of_key(call.args.get(2)).into());
    Ok(())
}

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command::plain(Group::Cluster, name, arity, flags, since, run)
}
