//! The line of a client in CLIENT LIST.

use crate::row::{Call, Table};
use base::Steady;
use session::{AccessModes, Client, ClientFlags};
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;

/// Size up to which output is shown as a buffer; what is larger is a list of blocks.
const BUFFER_BYTES: u64 = 16 * 1024;

/// Flags with their letters, in the order in which they are shown.
const LETTERS: [(ClientFlags, char); 17] = [
    (ClientFlags::MONITOR, 'O'),
    (ClientFlags::REPLICA, 'S'),
    (ClientFlags::PRIMARY, 'M'),
    (ClientFlags::PUBSUB, 'P'),
    (ClientFlags::MULTI, 'x'),
    (ClientFlags::BLOCKED, 'b'),
    // Never both: a client that waits for keys sends no command that could be postponed.
    (ClientFlags::PAUSED, 'b'),
    (ClientFlags::TRACKING, 't'),
    (ClientFlags::TRACKING_BROKEN, 'R'),
    (ClientFlags::BROADCAST, 'B'),
    (ClientFlags::CHANGED, 'd'),
    (ClientFlags::CLOSING, 'c'),
    (ClientFlags::UNIX_SOCKET, 'U'),
    (ClientFlags::READONLY, 'r'),
    (ClientFlags::NO_EVICT, 'e'),
    (ClientFlags::NO_TOUCH, 'T'),
    (ClientFlags::IMPORT_SOURCE, 'I'),
];

/// Returns the letters of a client's flags; `N` for none.
pub fn letters(flags: ClientFlags) -> String {
    let set = LETTERS.iter().filter(|(flag, _)| flags.contains(*flag));
    let letters: String = set.map(|(_, letter)| letter).collect();
    if letters.is_empty() { "N".to_owned() } else { letters }
}

/// Records the running command as the last one of its client, so that the client's own line shows
/// it. For a transaction or a script, that is the command that runs it.
pub fn note_command(call: &Call<'_>) {
    let is_in_script = call.session.modes.contains(AccessModes::SCRIPT);
    if !is_in_script && !call.session.runs_queue() {
        call.session.show_command(call.row.id);
    }
}

/// Appends a client's line.
pub fn write(out: &mut Vec<u8>, call: &Call<'_>, client: &Client) {
    // The arguments of the request that is at work are counted nowhere else.
    let is_own = client.id == call.session.client.id;
    let own = if is_own { call.args.from(0).map(|arg| arg.len() as u64).sum() } else { 0 };
    write_at(out, (call.instance.clock.steady(), call.row.table()), client, own);
}

/// Appends a client's line at a moment; `own` bytes are arguments of a request that is at work.
pub(crate) fn write_at(
    out: &mut Vec<u8>,
    (now, table): (Steady, &'static Table),
    client: &Client,
    own: u64,
) {
    let seconds = |since: u64| now.since(Steady(since)) / 1000;
    let Sizes { query, query_free, queue, room, buffered, blocks, listed, total } =
        Sizes::of(client);
    let info = client.info();
    let (arguments, total) = (client.argument_bytes.load(Relaxed) + own, total + own);
    // Writing to a vector cannot fail.
    let _ = writeln!(
        out,
        "id={} addr={} laddr={} fd={} name={} age={} idle={} flags={} capa={} db={} \
         sub={} psub={} ssub={} multi={} watch={} qbuf={query} qbuf-free={query_free} \
         argv-mem={arguments} multi-mem={queue} rbs={room} rbp={room} obl={buffered} \
         oll={blocks} omem={listed} tot-mem={total} events={} cmd={} user={} redir={} \
         resp={} lib-name={} lib-ver={} tot-net-in={} tot-net-out={} tot-cmds={}",
        client.id,
        client.address,
        client.local_address,
        client.fd,
        info.name,
        seconds(client.created.0),
        seconds(client.last_interaction.load(Relaxed)),
        letters(client.shown_flags()),
        info.capabilities,
        client.database.load(Relaxed),
        client.channels.load(Relaxed),
        client.patterns.load(Relaxed),
        client.shard_channels.load(Relaxed),
        queued(client),
        client.watches(),
        // The socket of a client whose output waits is to tell when it takes bytes again.
        if client.output_bytes.load(Relaxed) > 0 { "rw" } else { "r" },
        command_name(table, client.last_command.load(Relaxed)),
        String::from_utf8_lossy(info.user.as_deref().unwrap_or(b"(superuser)")),
        client.redirection.load(Relaxed),
        client.protocol.load(Relaxed),
        info.library,
        info.library_version,
        client.received.load(Relaxed),
        client.sent.load(Relaxed),
        client.commands.load(Relaxed),
    );
}

/// Returns the number of commands queued since MULTI that may still run; -1 for a client without a
/// transaction so far.
fn queued(client: &Client) -> i64 {
    if client.is_void() { 0 } else { client.queued.load(Relaxed).cast_signed() }
}

fn command_name(commands: &'static Table, id_plus_one: u32) -> &'static str {
    let row = (id_plus_one as usize).checked_sub(1).and_then(|id| commands.all_rows().get(id));
    row.map_or("NULL", |row| &row.full_name)
}

/// Memory of a client in bytes, by part; `blocks` is the length of the list.
struct Sizes {
    query: u64,
    query_free: u64,
    queue: u64,
    room: u64,
    buffered: u64,
    blocks: u64,
    listed: u64,
    total: u64,
}

impl Sizes {
    fn of(client: &Client) -> Sizes {
        let query = client.query_bytes.load(Relaxed);
        let query_free = client.query_free.load(Relaxed);
        let output = client.output_bytes.load(Relaxed);
        let room = client.output_room.load(Relaxed);
        // The limits of outputs count all memory, so a list has all of it too.
        let listed = if room > BUFFER_BYTES { room } else { 0 };
        Sizes {
            query,
            query_free,
            queue: client.queue_bytes.load(Relaxed),
            room: room.min(BUFFER_BYTES),
            buffered: if listed > 0 { 0 } else { output },
            blocks: u64::from(listed > 0),
            listed,
            total: client.memory(),
        }
    }
}
